"""load: show what a session is given at its start."""

from __future__ import annotations

from memory_fabric.cli import environment, show
from memory_fabric.redaction.prefilter import without_secrets


def load(as_json: show.AsJson = False) -> int:
    """Show the memories that a session is given at its start.

    Pinned memories, then the last ten decisions, rules, preferences and patterns, then the newest
    three open questions and blockers. If MEMORY_FABRIC_DOMAIN names a domain that config.toml
    isolates, only memories of this domain.
    """
    from memory_fabric.handlers.load_context import open_points, standing_records
    from memory_fabric.recall.agent_domains import visible_to_process
    from memory_fabric.recall.render import recent_decisions

    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        records, asked = standing_records(memory), open_points(memory)
        failures = list(memory.failures)
    text = recent_decisions(
        [r for r in records if not r.pinned], pinned=[r for r in records if r.pinned], asked=asked
    )
    text = without_secrets(text)
    if as_json:
        show.json_out({"text": text, "failures": failures})
    else:
        show.block(text or "Nothing is remembered here yet.")
    for failure in failures:
        show.warn(failure)
    return 0 if text else 1 if failures else 3

"""load: show what a session is given at its start."""

from memory_fabric.cli import environment, show
from memory_fabric.ids import timestamp
from memory_fabric.recall import session_block
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.recall.session_block import mark_contents
from memory_fabric.redaction.prefilter import without_secrets


def load(as_json: show.AsJson = False) -> int:
    """Show the memories that a session is given at its start.

    The newest three open questions and blockers, rules and preferences, the ten decisions that
    matter most, facts of yours, and fixes of the last week. What MEMORY.md shows is not left out.
    If MEMORY_FABRIC_DOMAIN names a domain that config.toml isolates, only memories of this
    domain.
    """
    from memory_fabric.hooks.session.standing import Standing

    with environment.open_memory() as whole:
        memory = visible_to_process(whole)
        now = timestamp()
        contents = mark_contents(Standing(memory, now).contents(), memory)
        failures = list(memory.failures)
    text = without_secrets(session_block.block(contents, now=now).text)
    if as_json:
        show.json_out({"text": text, "failures": failures})
    else:
        show.block(text or "Nothing is remembered here yet.")
    for failure in failures:
        show.warn(failure)
    return 0 if text else 1 if failures else 3

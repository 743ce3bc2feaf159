"""check: look for damage in what is stored."""

from __future__ import annotations

from dataclasses import asdict

from memory_fabric.cli import environment, show
from memory_fabric.store.health import integrity_check


def check(as_json: show.AsJson = False) -> int:
    """Check stored data for damage and disorder, without changing anything.

    Finds damage in databases, indexes, journals, queues and backups, and notes what to tidy up:
    entities without observations or relations, names in several spellings. Exit code 1 only for
    damage.
    """
    with environment.open_memory() as memory:
        found = integrity_check.findings(memory)
    harms = any(finding.harms for finding in found)
    if as_json:
        show.json_out({"sound": not harms, "findings": [asdict(finding) for finding in found]})
        return int(harms)
    for finding in found:
        place = f" ({finding.where})" if finding.where else ""
        head = "" if finding.harms else "note: "
        show.line(f"{head}{finding.text} {finding.remedy}{place}")
    if not harms:
        show.line("Nothing is damaged.")
    return int(harms)

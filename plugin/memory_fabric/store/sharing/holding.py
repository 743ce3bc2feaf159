"""Lines that wait in home until the shared journal may have them, and what must not get there."""

from __future__ import annotations

import os

from memory_fabric.store import files, journal
from memory_fabric.store.sharing import place, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memory_fabric.store.memory import Memory


def bring_over(memory: Memory) -> int:
    """How many lines that waited stand in the shared journal now.

    None while this user does not share, or a merge of the journal is not settled. A crash between
    the two files repeats no line. Raises OSError, TimeoutError.
    """
    project = memory.project
    if project is None or place.is_in_home(memory, project):
        return 0
    waiting = os.path.join(place.kept_folder(memory, project), journal.DECISIONS)
    if not os.path.exists(waiting):
        return 0
    if place.journal_folder(memory, "project") != project.local:
        return 0
    shared = place.shared_file(project)
    with files.Locked(waiting + ".lock"):
        known = set(map(files.line_of, _lines_of(shared)))
        lines, _ = files.read_lines(waiting)
        new = [line for line in without_forgotten(lines) if files.line_of(line) not in known]
        journal.prepare_folder(project.local)
        files.append_lines(shared, new)
        os.unlink(waiting)
    return len(new)


def clean(memory: Memory) -> int:
    """How many lines left the journal: texts of records that were forgotten before it was shared.

    What a repository has already is left alone. Raises OSError.
    """
    project = memory.project
    if project is None or place.is_tracked(project):
        return 0
    path = place.shared_file(project)
    if not reading.stamp(path):
        return 0
    lines, bad = files.read_lines(path)
    kept = without_forgotten(lines)
    if bad or len(kept) == len(lines):
        return 0
    text = "".join(files.line_of(line) for line in kept)
    files.write_atomic(path, text.encode("utf-8", "replace"))
    return len(lines) - len(kept)


def without_forgotten(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines without those of records that a later line says are forgotten."""
    over = {line.get("id"): bool(line.get("forgotten")) for line in lines}
    return [line for line in lines if not over[line.get("id")]]


def _lines_of(path: str) -> list[dict[str, Any]]:
    return files.read_lines(path)[0] if reading.stamp(path) else []

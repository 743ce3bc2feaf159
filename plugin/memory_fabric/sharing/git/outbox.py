"""Lines that wait in home for the shared journal, and removal of lines that must not be shared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from memory_fabric.sharing.git import claims_read, location
from memory_fabric.store import files, journal

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Memory


def publish(memory: Memory) -> int:
    """Move the waiting lines into the shared journal; return how many.

    Lines of isolated domains stay in home, and are moved there from a journal that git does not
    track yet. Nothing is moved while this user does not share, or while a merge is unfinished. A
    crash between the two files repeats no line. Raises OSError, TimeoutError.
    """
    project = memory.project
    if project is None or location.is_in_home(memory, project):
        return 0
    if memory.settings.domains.isolated and location.is_on(memory):
        remove_private(memory)
    waiting = os.path.join(location.private_folder(memory, project), journal.DECISIONS)
    if not os.path.exists(waiting) or not location.may_write_journal(memory, project):
        return 0
    shared = location.shared_file(project)
    with files.Locked(waiting + ".lock"):
        there = _lines_of(shared)
        known = set(map(files.json_line, there))
        lines = _shared_form(memory, files.read_lines(waiting)[0])
        # A forgotten record must be reported as such where it has been written already.
        published = {line.get("id") for line in there}
        over = [line for line in lines if line.get("forgotten") and line.get("id") in published]
        apart, rest = _split_isolated(memory, without_forgotten(lines))
        new = [line for line in (*rest, *over) if files.json_line(line) not in known]
        journal.prepare_folder(project.local)
        files.append_lines(shared, new)
        if not apart:
            os.unlink(waiting)
        elif len(apart) < len(lines):
            files.write_atomic(waiting, _text_of(apart))
    return len(new)


def count_waiting(memory: Memory) -> int:
    """Return the number of lines that wait for the shared journal. Raises OSError."""
    project = memory.project
    if project is None or location.is_in_home(memory, project):
        return 0
    path = os.path.join(location.private_folder(memory, project), journal.DECISIONS)
    return len(_split_isolated(memory, files.read_lines(path)[0])[1])


def remove_private(memory: Memory) -> int:
    """Remove from the journal what must not be shared; return the number of lines.

    These are texts of records that were forgotten before, records of isolated domains, which are
    kept in home, and the user's own words behind notes. A journal that git tracks is left alone.
    Raises OSError.
    """
    project = memory.project
    if project is None or location.is_tracked(project):
        return 0
    path = location.shared_file(project)
    if not claims_read.stamp(path):
        return 0
    lines, bad = files.read_lines(path)
    apart, kept = _split_isolated(memory, _shared_form(memory, without_forgotten(lines)))
    if bad or kept == lines:
        return 0
    if apart:
        folder = location.private_folder(memory, project)
        journal.prepare_folder(folder)
        files.append_lines(os.path.join(folder, journal.DECISIONS), apart)
    files.write_atomic(path, _text_of(kept))
    return sum(line not in kept for line in lines)


def without_forgotten(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines without those of records that a later line reports as forgotten."""
    over = {line.get("id"): bool(line.get("forgotten")) for line in lines}
    return [line for line in lines if not over[line.get("id")]]


def _shared_form(memory: Memory, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return lines if memory.settings.share_words else list(map(journal.without_words, lines))


def _split_isolated(
    memory: Memory, lines: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the lines of isolated domains, and the others."""
    isolated = memory.settings.domains.isolated
    apart = [line for line in lines if line.get("domain") in isolated]
    return apart, [line for line in lines if line.get("domain") not in isolated]


def _text_of(lines: list[dict[str, Any]]) -> bytes:
    return "".join(files.json_line(line) for line in lines).encode("utf-8", "replace")


def _lines_of(path: str) -> list[dict[str, Any]]:
    return files.read_lines(path)[0] if claims_read.stamp(path) else []

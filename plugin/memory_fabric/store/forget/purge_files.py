"""Remove purged content from files other than databases, and search them for the check."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memory_fabric.ids import timestamp
from memory_fabric.models import Record
from memory_fabric.store import files, journal, signing
from memory_fabric.store.domains import callers
from memory_fabric.store.forget import scrub_log
from memory_fabric.store.forget.scrub_log import PurgeTarget, line_without
from memory_fabric.store.forget.spellings import Sought
from memory_fabric.store.projects import own_lines
from memory_fabric.store.queues import spool
from memory_fabric.store.tiers import memory_md

Change = Callable[[str], str | None]
LOCK_S = 10.0
# Temporary files that were never renamed to their final name.
UNFINISHED = (".tmp", ".tmp-journal")
# Files with memories have one of these in their name; all others are settings.
OF_MEMORIES = (".db", ".jsonl", ".log", ".tmp", ".corrupt-", ".html")


def rewrite(path: str, change: Change) -> bool:
    """Rewrite a file line by line; `change` returns the new line, or None to drop it.

    Unchanged lines are kept byte for byte. Returns True if any line was changed.
    """
    try:
        with files.open_regular(path) as stream:
            text = stream.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return False
    lines = text.split("\n")
    new = [change(line) if line.strip() else line for line in lines]
    if new == lines:
        return False
    kept = "\n".join(line for line in new if line is not None)
    files.write_atomic(path, kept.encode("utf-8", "surrogateescape"))
    return True


def operations(path: str, target: PurgeTarget) -> bool:
    """Clean a journal of operations; the caller holds the database's write lock. Returns True if
    changed.
    """
    return rewrite(
        path, lambda line: _line(line, lambda value: line_without(value, target), target)
    )


def decisions(path: str, target: PurgeTarget, home: str) -> bool:
    """Clean a decisions.jsonl; a purged record is replaced by the mark that it is forgotten.

    Lines that were signed as this user's own are signed again. Returns True if changed.
    """
    changed: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        left = without(value)
        if left is not value:
            changed.append((value, left))
        return left

    def without(value: Mapping[str, Any]) -> Mapping[str, Any]:
        if value.get("forgotten") or not target.is_record(value):
            left = line_without({"kind": "remember", "payload": {"record": value}}, target)
            record = left["payload"].get("record", value) if "what" in value else value
            return record if record != value else value
        return {"id": value.get("id", ""), "forgotten": True, "at": timestamp()}

    if not rewrite(path, lambda line: _line(line, change, target)):
        return False
    folder = os.path.dirname(path)
    proved = own_lines.proved(home, folder, [before for before, _ in changed])
    own_lines.add(home, folder, [after for before, after in changed if before in proved])
    return True


def queue(folder: str, key: bytes, targets: Mapping[str, PurgeTarget]) -> None:
    """Clean the queue of changes; own lines are signed again. Raises TimeoutError, OSError."""

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        store = "user" if value.get("store") == "user" else "project"
        left = line_without(value, targets.get(store) or targets["user"])
        if left is value or not signing.is_ours(value, key):
            return left
        return {**left, "signature": signing.signature(left, key)}

    every = _union(targets.values())
    there = journal.waiting_files(folder)
    if there:
        queue_lock = os.path.join(folder, journal.QUEUE + ".lock")
        drain_lock = os.path.join(folder, journal.DRAIN_LOCK)
        with files.Locked(drain_lock, LOCK_S), files.Locked(queue_lock, LOCK_S):
            for path in filter(files.is_own_file, there):  # some may have been applied meanwhile
                rewrite(path, lambda line: _line(line, change, every))
    rewrite(os.path.join(folder, journal.BAD), lambda line: _unless(line, every))


def page(path: str, target: PurgeTarget) -> None:
    """Replace the words by a mark in a file that is one JSON object."""
    value = files.read_json(path)
    left = scrub_log.marked(value, target.sought)
    if left != value:
        files.write_atomic(path, json.dumps(left, ensure_ascii=False).encode("utf-8"))


def other_lines(path: str, target: PurgeTarget) -> bool:
    """Drop lines with purged text from a log, from notices, or from lines that were set aside."""
    lines = (files.read_text(path) or "").split("\n")
    if all(_unless(line, target) is not None for line in lines):
        return False
    with files.Locked(path + ".lock", LOCK_S):
        return rewrite(path, lambda line: _unless(line, target))


def rewrite_block(
    path: str,
    lock: str,
    target: PurgeTarget,
    purged_ids: frozenset[str],
    record_of: Callable[[str], Record | None],
) -> None:
    """Rewrite the memory block of a MEMORY.md without these records, and without the words in
    lines of a lost memory; the rest of the file is kept.
    """

    def keeps(lines: Mapping[str, str]) -> list[str]:
        whole = (id_ for id_, line in lines.items() if not is_in(line.encode(), target))
        return [id_ for id_ in whole if id_ not in purged_ids and record_of(id_) is None]

    notes = memory_md.MemoryFile(path)
    shown = memory_md.shown_lines(notes)
    if purged_ids & shown.keys() or any(is_in(line.encode(), target) for line in shown.values()):
        left = [record_of(id_) for id_ in shown if id_ not in purged_ids]
        memory_md.promote(notes, [record for record in left if record is not None], lock, keeps)


def memory_block(path: str) -> bytes:
    """Return the memory block of a MEMORY.md; the rest is the user's own text."""
    text = (files.read_text(path) or "").replace("\r\n", "\n")
    start, end = text.find("<!-- memory-fabric:begin"), text.rfind(memory_md.END)
    return text[start:end].encode() if 0 <= start < end else b""


def matches_in(path: str, sought: Sought) -> list[tuple[int, int]]:
    """Return the matches in the bytes of a file; empty if there is no file. Raises OSError."""
    try:
        with files.open_regular(path) as stream:
            return sought.spans(stream.read())
    except FileNotFoundError:
        return []


def is_in_user_text(path: str, sought: Sought) -> bool:
    """True if a client memory file holds the text outside of the memory block. Raises OSError."""
    text = (files.read_text(path) or "").replace("\r\n", "\n").encode()
    return bool(sought.spans(text.replace(memory_block(path), b" ")))


def lines_with(path: str, target: PurgeTarget) -> int:
    """Count the lines of a file that hold purged text. Raises OSError."""
    try:
        with files.open_regular(path) as stream:  # a journal may be larger than other files
            return sum(target.is_in(line.decode("utf-8", "replace")) for line in stream)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def is_in(line: bytes, target: PurgeTarget) -> bool:
    """True if a line holds purged text, however deep it is escaped."""
    return bool(target.sought.spans(line))


def is_of_memories(path: str) -> bool:
    """True if a file holds memories, not only settings or locations."""
    folders = path.split(os.sep)[:-1]
    ours = spool.FOLDER in folders or callers.FOLDER in folders
    return ours or any(part in os.path.basename(path) for part in OF_MEMORIES)


def is_unfinished(path: str) -> bool:
    """True for a temporary file that a killed process left behind."""
    return path.endswith(UNFINISHED)


def _line(
    line: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]], target: PurgeTarget
) -> str | None:
    value = files.parsed(line)
    if value is None:
        return _unless(line, target)
    left = change(value)
    if left is value:
        return line
    new = json.dumps(left, ensure_ascii=False)
    # The words may span the JSON of a line without being in any of its texts.
    return None if target.asked.is_in(new) else new


def _unless(line: str, target: PurgeTarget) -> str | None:
    """Return the line, or None if it holds purged text, however deep it is escaped."""
    data = line.encode("utf-8", "surrogateescape")
    return None if target.sought.spans(data) else line


def _union(some: Iterable[PurgeTarget]) -> PurgeTarget:
    parts = list(some)
    return PurgeTarget(
        ids=frozenset().union(*(g.ids for g in parts)),
        texts=tuple(dict.fromkeys(text for g in parts for text in g.texts)),
        words=parts[0].words,
        exact=parts[0].exact,
        inside=parts[0].inside,
    )

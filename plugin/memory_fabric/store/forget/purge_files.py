"""What was purged leaves the files beside the databases, and the proof that it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memory_fabric import jsontext
from memory_fabric.ids import timestamp
from memory_fabric.models import Record
from memory_fabric.store import files, journal, signing, spool
from memory_fabric.store.domains import callers
from memory_fabric.store.forget import scrub_log
from memory_fabric.store.forget.scrub_log import Gone, line_without
from memory_fabric.store.forget.spellings import Sought
from memory_fabric.store.projects import own_lines
from memory_fabric.store.tiers import memory_md

Change = Callable[[str], str | None]
LOCK_S = 10.0
# A part of a file that is written beside and was never put in its place.
UNFINISHED = (".tmp", ".tmp-journal")
# What holds memories has one of these in its name; all else of ours says how things are set.
OF_MEMORIES = (".db", ".jsonl", ".log", ".tmp", ".corrupt-", ".html")


def rewrite(path: str, change: Change) -> bool:
    """Whether any line was changed; `change` gives a line anew, or None for none.

    Lines that stay are kept byte for byte.
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


def operations(path: str, gone: Gone) -> bool:
    """Whether a journal of operations was changed; hold the database's write lock for it."""
    return rewrite(path, lambda line: _line(line, lambda value: line_without(value, gone), gone))


def decisions(path: str, gone: Gone, home: str) -> bool:
    """The same for decisions.jsonl: of a record that was purged, the word that it is forgotten.

    Lines that were proved to be ours are proved again as they are now.
    """
    changed: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        left = without(value)
        if left is not value:
            changed.append((value, left))
        return left

    def without(value: Mapping[str, Any]) -> Mapping[str, Any]:
        if value.get("forgotten") or not gone.is_record(value):
            left = line_without({"kind": "remember", "payload": {"record": value}}, gone)
            record = left["payload"].get("record", value) if "what" in value else value
            return record if record != value else value
        return {"id": value.get("id", ""), "forgotten": True, "at": timestamp()}

    if not rewrite(path, lambda line: _line(line, change, gone)):
        return False
    folder = os.path.dirname(path)
    proved = own_lines.proved(home, folder, [before for before, _ in changed])
    own_lines.add(home, folder, [after for before, after in changed if before in proved])
    return True


def queue(folder: str, key: bytes, gone_in: Mapping[str, Gone]) -> None:
    """Take it out of what waits; lines of ours are signed again. Raises TimeoutError, OSError."""

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        store = "user" if value.get("store") == "user" else "project"
        left = line_without(value, gone_in.get(store) or gone_in["user"])
        if left is value or not signing.is_ours(value, key):
            return left
        return {**left, "signature": signing.signature(left, key)}

    every = _all_of(gone_in.values())
    for name in (journal.CLAIMED, journal.QUEUE):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with files.Locked(path + ".lock", LOCK_S):
                rewrite(path, lambda line: _line(line, change, every))
    rewrite(os.path.join(folder, journal.BAD), lambda line: _unless(line, every))


def page(path: str, gone: Gone) -> None:
    """Put a mark in the place of the words in a file that is one JSON object."""
    value = files.read_json(path)
    left = scrub_log.marked(value, gone.sought)
    if left != value:
        files.write_atomic(path, jsontext.dumps(left, ensure_ascii=False).encode("utf-8"))


def other_lines(path: str, gone: Gone) -> bool:
    """Take lines that hold it out of a log, of notices, of lines that were set aside."""
    lines = (files.read_text(path) or "").split("\n")
    if all(_unless(line, gone) is not None for line in lines):
        return False
    with files.Locked(path + ".lock", LOCK_S):
        return rewrite(path, lambda line: _unless(line, gone))


def fence(
    path: str, lock: str, ids: Iterable[str], record_of: Callable[[str], Record | None]
) -> None:
    """Write our fence in a MEMORY.md again without these records; the rest of it stays."""
    notes = memory_md.MemoryFile(path)
    shown, gone = memory_md.shown_ids(notes), set(ids)
    if gone & set(shown):
        left = [record_of(id_) for id_ in shown if id_ not in gone]
        memory_md.promote(notes, [record for record in left if record is not None], lock)


def own_fence(path: str) -> bytes:
    """What of a MEMORY.md is ours; the rest is the user's own text."""
    text = (files.read_text(path) or "").replace("\r\n", "\n")
    start, end = text.find("<!-- memory-fabric:begin"), text.rfind(memory_md.END)
    return text[start:end].encode() if 0 <= start < end else b""


def held_in(path: str, sought: Sought) -> list[tuple[int, int]]:
    """Where the bytes of a file hold what is sought; nowhere in no file. Raises OSError."""
    try:
        with files.open_regular(path) as stream:
            return sought.spans(stream.read())
    except FileNotFoundError:
        return []


def held_in_notes(path: str, sought: Sought) -> bool:
    """True if a file of notes holds what is sought outside of our fence in it. Raises OSError."""
    text = (files.read_text(path) or "").replace("\r\n", "\n").encode()
    return bool(sought.spans(text.replace(own_fence(path), b" ")))


def lines_with(path: str, gone: Gone) -> int:
    """How many lines of a file hold it. Raises OSError."""
    text = files.read_text(path) or ""
    return sum(map(gone.is_in, text.split("\n"))) if gone.is_in(text) else 0


def is_in(line: bytes, gone: Gone) -> bool:
    """True if a line holds it, however deep it is escaped."""
    return bool(gone.sought.spans(line))


def is_of_memories(path: str) -> bool:
    """True if a file of ours holds memories, and not only how things are set or where they lie."""
    folders = path.split(os.sep)[:-1]
    ours = spool.FOLDER in folders or callers.FOLDER in folders
    return ours or any(part in os.path.basename(path) for part in OF_MEMORIES)


def is_unfinished(path: str) -> bool:
    """Whether this is what a process that died had not put in its place."""
    return path.endswith(UNFINISHED)


def _line(
    line: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]], gone: Gone
) -> str | None:
    value = files.parsed(line)
    if value is None:
        return _unless(line, gone)
    left = change(value)
    if left is value:
        return line
    new = jsontext.dumps(left, ensure_ascii=False)
    # Words may stand in a line as JSON joins them, and in no text of it.
    return None if gone.asked.is_in(new) else new


def _unless(line: str, gone: Gone) -> str | None:
    """The line, unless it holds any of it, however deep it is escaped."""
    data = line.encode("utf-8", "surrogateescape")
    return None if gone.sought.spans(data) else line


def _all_of(some: Iterable[Gone]) -> Gone:
    parts = list(some)
    return Gone(
        ids=frozenset().union(*(g.ids for g in parts)),
        texts=tuple(dict.fromkeys(text for g in parts for text in g.texts)),
        words=parts[0].words,
        exact=parts[0].exact,
        inside=parts[0].inside,
    )

"""What was purged leaves the files beside the databases, and the proof that it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric import jsontext
from memory_fabric.ids import timestamp
from memory_fabric.models import Record
from memory_fabric.store import files, journal, native, seal
from memory_fabric.store.purge.scrubbing import Gone, forms, line_without

Change = Callable[[str], str | None]
LOCK_S = 10.0
# A part of a file that is written beside and was never put in its place.
UNFINISHED = (".tmp", ".tmp-journal")


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


def decisions(path: str, gone: Gone) -> bool:
    """The same for decisions.jsonl: of a record that was purged, the word that it is forgotten."""

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        if value.get("forgotten") or not gone.is_record(value):
            left = line_without({"kind": "remember", "payload": {"record": value}}, gone)
            record = left["payload"].get("record", value) if "what" in value else value
            return record if record != value else value
        return {"id": value.get("id", ""), "forgotten": True, "at": timestamp()}

    return rewrite(path, lambda line: _line(line, change, gone))


def queue(folder: str, key: bytes, gone_in: Mapping[str, Gone]) -> None:
    """Take it out of what waits; lines of ours are signed again. Raises TimeoutError, OSError."""

    def change(value: Mapping[str, Any]) -> Mapping[str, Any]:
        store = "user" if value.get("store") == "user" else "project"
        left = line_without(value, gone_in.get(store) or gone_in["user"])
        if left is value or not seal.is_ours(value, key):
            return left
        return {**left, "signature": seal.signature(left, key)}

    every = _all_of(gone_in.values())
    for name in (journal.CLAIMED, journal.QUEUE):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with files.Locked(path + ".lock", LOCK_S):
                rewrite(path, lambda line: _line(line, change, every))
    rewrite(os.path.join(folder, journal.BAD), lambda line: _unless(line, every))


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
    notes = native.NativeNotes(path)
    shown, gone = native.shown_ids(notes), set(ids)
    if gone & set(shown):
        left = [record_of(id_) for id_ in shown if id_ not in gone]
        native.promote(notes, [record for record in left if record is not None], lock)


def own_fence(path: str) -> bytes:
    """What of a MEMORY.md is ours; the rest is the user's own text."""
    text = (files.read_text(path) or "").replace("\r\n", "\n")
    start, end = text.find("<!-- memory-fabric:begin"), text.rfind(native.END)
    return text[start:end].encode() if 0 <= start < end else b""


def holds(path: str, texts: Sequence[str]) -> bool:
    """Whether the bytes of a file hold one of the texts, in any form in which we write it."""
    try:
        with files.open_regular(path) as stream:
            found = stream.read()
    except FileNotFoundError:
        return False
    return any_form_in(found, texts)


def any_form_in(found: bytes, texts: Sequence[str]) -> bool:
    """Whether one of the texts stands in these bytes, in any form in which we write it."""
    return any(form in found for text in texts for form in forms(text))


def is_in(line: bytes, gone: Gone) -> bool:
    """Whether a line holds one of the texts, however deep it is escaped."""
    return _unless(line.decode("utf-8", "surrogateescape"), gone) is None


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
    return line if left is value else jsontext.dumps(left, ensure_ascii=False)


def _unless(line: str, gone: Gone) -> str | None:
    """The line, unless it holds one of the texts, however deep it is escaped."""
    plain = line
    for _ in range(3):
        if gone.is_in(plain):
            return None
        plain = plain.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", " ")
    raw = line.encode("utf-8", "surrogateescape")
    return None if any(form in raw for text in gone.texts for form in forms(text)) else line


def _all_of(some: Iterable[Gone]) -> Gone:
    parts = list(some)
    return Gone(
        ids=frozenset().union(*(g.ids for g in parts)),
        texts=tuple(dict.fromkeys(text for g in parts for text in g.texts)),
    )

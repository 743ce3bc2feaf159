"""Removal of purged content from files other than databases, and the search for what remains."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memory_fabric import models
from memory_fabric.ids import timestamp
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.store import files, journal, schema
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget.scrub_log import PurgeTarget, line_without
from memory_fabric.store.forget.spellings import Sought
from memory_fabric.store.home import callers, signing
from memory_fabric.store.operations.kinds import KINDS
from memory_fabric.store.projects import own_lines
from memory_fabric.store.queues import ingest_queue, spool
from memory_fabric.store.tiers import memory_md

Line = Mapping[str, Any]
LOCK_S = 10.0
# The names of files with memories contain one of these texts; all other files contain settings.
OF_MEMORIES = (".db", ".jsonl", ".log", ".tmp", ".corrupt-", ".html")
# Further words that this plugin writes into its files: names of fields, and words of its messages.
_OTHERS = """signature store forgotten body answer place text file number line at about idempotency
    tasks asked said waiting files items failing command words error cause attended because from to
    entityName entityType relationType relations contents observations seen_in evidence"""
_FIELDS = (models.Record, models.Provenance, models.Operation, models.Entity, Ingest)
_VALUES = (
    *(models.RECORD_TYPES, models.ENTITY_TYPES, models.SCOPES, models.TRUST_ORDER, models.SOURCES),
    *(models.OUTCOMES, sessions.CHANNELS, ingest_queue.STATES),
)
# The words that memory writes into its files itself; a text that occurs here cannot be erased.
OWN_TEXT = "\n".join(
    (
        *(line for line in schema.whole().split("\n") if not line.startswith("--")),  # no comments
        *KINDS,
        *(field for kind in KINDS.values() for field in kind.shape),
        *(name for value in _FIELDS for name in value._fields),
        *(name for values in _VALUES for name in values),
        *(memory_md.BEGIN, memory_md.BEGIN_JOINED, memory_md.END, memory_md.HEADING),
        ingest_queue.PURGED,
        *_OTHERS.split(),
    )
)


def rewrite(path: str, target: PurgeTarget, change: Callable[[Line], Line] | None = None) -> bool:
    """Remove purged content from a file of JSON lines; return True if any line changed. `change`
    returns the new object for a line. Lines with purged text are deleted if they are not JSON, or
    if there is no `change`. For a journal, the caller must hold the write lock.
    """

    def left_of(line: str) -> str | None:
        if change and not target.may_concern(line):
            return line
        value = files.parsed(line) if change else None
        if not change or value is None:
            # An unparsable line may contain purged text that is escaped several times.
            return None if target.is_in(line.encode("utf-8", "surrogateescape")) else line
        new_value = change(value)
        new = line if new_value is value else json.dumps(new_value, ensure_ascii=False)
        # The words may match across several texts of a line, even if they are in no single text.
        return None if new_value is not value and target.asked.is_in(new) else new

    try:
        with files.open_regular(path) as stream:
            lines = stream.read().decode("utf-8", "surrogateescape").split("\n")
    except FileNotFoundError:
        return False
    new = [left_of(line) if line.strip() else line for line in lines]
    if new == lines:
        return False
    content = "\n".join(line for line in new if line is not None)
    files.write_atomic(path, content.encode("utf-8", "surrogateescape"))
    return True


def rewrite_decisions(path: str, target: PurgeTarget, home: str) -> None:
    """Purge a decisions.jsonl: mark purged records as forgotten; re-sign lines this home signed."""
    changed: list[tuple[Line, Line]] = []

    def change(value: Line) -> Line:
        left = value
        if not value.get("forgotten") and target.is_record(value):
            left = {"id": value.get("id", ""), "forgotten": True, "at": timestamp()}
        elif "what" in value:
            line = line_without({"kind": "remember", "payload": {"record": value}}, target)
            left = line["payload"].get("record", value)
        if left == value:
            return value
        changed.append((value, left))
        return left

    if rewrite(path, target, change):
        folder = os.path.dirname(path)
        proved = own_lines.proved(home, folder, [before for before, _ in changed])
        own_lines.add(home, folder, [after for before, after in changed if before in proved])


def rewrite_queue(folder: str, key: bytes, targets: Mapping[str, PurgeTarget]) -> None:
    """Remove purged content from a queue; `targets` has the content for each kind of database. Sign
    changed lines again if `key` signed them. Raises TimeoutError (locked queue), OSError.
    """

    def change(value: Line) -> Line:
        store = "user" if value.get("store") == "user" else "project"
        left = line_without(value, targets.get(store) or targets["user"])
        if left is value or not signing.is_ours(value, key):
            return left
        return {**left, "signature": signing.signature(left, key)}

    every = targets["user"]  # becomes the union of all targets, which have the same words
    for target in targets.values():
        texts = tuple(dict.fromkeys((*every.texts, *target.texts)))
        sets = {f: getattr(every, f) | getattr(target, f) for f in ("ids", "names", "said")}
        every = replace(every, texts=texts, **sets)
    if waiting := journal.waiting_files(folder):
        queue_lock = os.path.join(folder, journal.QUEUE + ".lock")
        drain_lock = os.path.join(folder, journal.DRAIN_LOCK)
        with files.Locked(drain_lock, LOCK_S), files.Locked(queue_lock, LOCK_S):
            for path in filter(files.is_own_file, waiting):  # skip files applied in the meantime
                rewrite(path, every, change)
    rewrite(os.path.join(folder, journal.BAD), every)


def memory_block(path: str) -> bytes:
    """Return the block of a MEMORY.md file that this plugin maintains, without the user's text."""
    text = _text_of(path)
    start, end = text.find("<!-- memory-fabric:begin"), text.rfind(memory_md.END)
    return text[start:end].encode() if 0 <= start < end else b""


def is_in_user_text(path: str, sought: Sought) -> bool:
    """Return True if the user's part of a MEMORY.md file contains the text. Raises OSError."""
    contents, block = _text_of(path).encode(), memory_block(path)
    return sought.is_in(contents.replace(block, b" ") if block else contents)


def is_in_file(path: str, sought: Sought) -> bool:
    """Return True if the file exists and its bytes contain the text. Raises OSError."""
    try:
        with files.open_regular(path) as stream:
            return sought.is_in(stream.read())
    except FileNotFoundError:
        return False


def lines_with(path: str, target: PurgeTarget) -> int:
    """Count the lines of a file that contain purged text. Raises OSError."""
    try:
        with files.open_regular(path) as stream:  # a journal may exceed the limit for other files
            return sum(target.is_in(line.decode("utf-8", "replace")) for line in stream)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def is_of_memories(path: str) -> bool:
    """Return True if a file contains memories, and not only settings or locations."""
    folders = path.split(os.sep)[:-1]
    ours = spool.FOLDER in folders or callers.FOLDER in folders
    return ours or any(part in os.path.basename(path) for part in OF_MEMORIES)


def is_log(path: str) -> bool:
    """Return True for logs and `.jsonl` files (notices, late events), but not journals, queues."""
    name = os.path.basename(path)
    return not journal.is_ours(name) and name.endswith((".jsonl", ".refused", ".log", ".log.1"))


def _text_of(path: str) -> str:
    return (files.read_text(path) or "").replace("\r\n", "\n")

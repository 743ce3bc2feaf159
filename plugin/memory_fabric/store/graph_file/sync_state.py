"""The state in which a mirrored file and its database last agreed: the file's signature and lines.

From it each side's later changes can be determined. The state is in the database; the redacted
lines are in a separate file, named after the digest of the content.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from memory_fabric.store import files
from memory_fabric.store.database import Database

# Size, time of change, inode; None without a file.
Signature = tuple[int, int, int] | None
# Digests of a file's lines, each with the redacted line; empty for a line that is not of the
# graph.
Marked = dict[bytes, bytes]

KEY = "mirror"
PREFIX = "agreed-"


class State(NamedTuple):
    """The file's signature and digest, and the last operation that it contains.

    `seq` and `operation` are checked together: after a rebuild a number may mean another operation.
    `owed` is true if another program overwrote the file without the latest change of the database.
    `base` names the file of the agreed lines, and `length` is its part that counts, in bytes; 0 if
    the whole of it counts and the mirrored file is to be written as a whole.
    """

    signature: Signature
    digest: str
    seq: int = 0
    operation: str = ""
    owed: bool = False
    base: str = ""
    length: int = 0


NOTHING = State(None, "")


class Digest:
    """A digest of lines in any order, which is kept up to date line by line.

    Without lines it is that of an empty file.
    """

    def __init__(self, known: str = "") -> None:
        self._sum = int(known or "0", 16)

    def add(self, mark: bytes) -> None:
        """Add a line by its digest."""
        self._sum = (self._sum + int.from_bytes(mark, "big")) % (1 << 64)

    def remove(self, mark: bytes) -> None:
        """Remove a line by its digest."""
        self._sum = (self._sum - int.from_bytes(mark, "big")) % (1 << 64)

    def __str__(self) -> str:
        return f"{self._sum:016x}"


def mark_of(line: bytes) -> bytes:
    """Return the digest of a line."""
    return hashlib.blake2b(line, digest_size=8).digest()


def digest_of(lines: Iterable[bytes]) -> str:
    """Return the digest of all lines of a content."""
    digest = Digest()
    for line in lines:
        digest.add(mark_of(line))
    return str(digest)


def state_of(db: Database) -> State | None:
    """Return the last agreed state; None if unknown, or if it belongs to another database."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return None
    value = json.loads(row[0])
    signature = value["signature"]
    state = State(**value)._replace(signature=tuple(signature) if signature else None)
    return state if _is_true(db, state) else None


def is_ahead(db: Database, state: State | None) -> bool:
    """True if the database holds a change that the file lacks."""
    if state is not None and state.owed:
        return True
    found = db.row(
        "SELECT 1 FROM operations WHERE seq > ? AND json_extract(provenance, '$.source') <> ? "
        "LIMIT 1",
        (state.seq if state else 0, "import"),
    )
    return found is not None


def agree(db: Database, home: str, state: State) -> None:
    """Save the agreed state, and delete the lines of former ones."""
    value = json.dumps(state._asdict())
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (KEY, value))
    kept = os.path.basename(_path(home, state.base))
    for name in os.listdir(home):
        if name.startswith(PREFIX) and name != kept:
            os.unlink(os.path.join(home, name))


def clear(db: Database) -> None:
    """Delete the agreed state: after a crash half-way, the next process merges the whole file."""
    with db.transaction() as c:
        c.execute("DELETE FROM meta WHERE key = ?", (KEY,))


def save_lines(home: str, state: State, marked: Marked) -> State:
    """Save the lines of a content: a head, then each line's digest and redacted text.

    Returns the state with its `base` and `length`. The file's own lines are never saved, since they
    may hold secrets. Raises OSError.
    """
    head = json.dumps({"seq": state.seq, "operation": state.operation}).encode()
    lines = [mark.hex().encode() + b" " + line for mark, line in marked.items()]
    saved = b"\n".join([head, *lines, b""])
    files.write_atomic(_path(home, state.digest), saved)
    return state._replace(base=state.digest, length=len(saved))


def save_edits(
    home: str, before: State, after: State, removed: Iterable[bytes], new: Iterable[bytes]
) -> State:
    """Append edits to the agreed lines: the state that they lead to, the digests of removed lines,
    and new lines.

    Returns `after` with its `base` and `length`. It counts once it is agreed. Raises OSError.
    """
    path = _path(home, before.base)
    lines = [b"= " + json.dumps(after._replace(signature=before.signature)._asdict()).encode()]
    lines += [b"- " + mark.hex().encode() for mark in removed]
    lines += [mark_of(line).hex().encode() + b" " + line for line in new]
    added = b"\n".join([*lines, b""])
    handle = files.open_to_append(path)
    try:
        if os.fstat(handle).st_size > before.length:
            os.ftruncate(handle, before.length)  # of a process that died
        files.write_all(handle, added)
        os.fsync(handle)
    finally:
        os.close(handle)
    return after._replace(base=before.base, length=before.length + len(added))


def can_be_edited(home: str, state: State) -> bool:
    """True if edits can be appended to the agreed lines: they are there and not too many edits."""
    if state.owed or not state.length or not state.signature:
        return False
    most = 4 * state.signature[0] + (1 << 20)
    return files.size_of(_path(home, state.base)) >= state.length and state.length < most


def saved_lines(home: str, state: State) -> bytes:
    """Return the agreed lines as they are saved; empty if they are lost. Raises OSError."""
    try:
        with files.open_regular(_path(home, state.base or state.digest)) as stream:
            saved = stream.read()
    except FileNotFoundError:
        return b""
    if not state.length:
        return saved
    return saved[: state.length] if len(saved) >= state.length else b""


def load_lines(home: str, state: State | None) -> Marked:
    """Return the agreed lines; empty if they are lost, so that nothing counts as removed."""
    found: Marked = {}
    try:
        for line in saved_lines(home, state).split(b"\n")[1:] if state else ():
            mark, _, text = line.partition(b" ")
            if mark == b"-":
                found.pop(bytes.fromhex(text.decode()), None)
            elif mark and mark != b"=":
                found[bytes.fromhex(mark.decode())] = text
    except ValueError:
        return {}
    return found


def interrupted(db: Database, home: str, state: State, digest: str) -> State | None:
    """Return the state for this content if its lines were saved but this process died before
    `agree`.
    """
    edits = pending(home, state)
    if edits and edits[0].digest == digest and _is_true(db, edits[0]):
        return edits[0]
    try:
        with files.open_regular(_path(home, digest)) as stream:
            head: dict[str, Any] = files.parsed(stream.readline().decode("utf-8", "replace")) or {}
            length = os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        return None
    whole = State(None, digest, head.get("seq", 0), head.get("operation", ""))
    whole = whole._replace(base=digest, length=length)
    return whole if whole.operation and _is_true(db, whole) else None


def pending(home: str, state: State) -> tuple[State, list[bytes]] | None:
    """Return the state and the new lines of edits that were saved and not agreed, if any."""
    if not state.length:
        return None
    try:
        with files.open_regular(_path(home, state.base)) as stream:
            stream.seek(state.length)
            saved = stream.read()
    except FileNotFoundError:
        return None
    first, *lines = saved.split(b"\n")
    head = files.parsed(first[2:].decode("utf-8", "replace")) if first[:2] == b"= " else None
    if head is None or not saved.endswith(b"\n"):
        return None
    signature = head.pop("signature")
    after = State(tuple(signature) if signature else None, **head)
    after = after._replace(base=state.base, length=state.length + len(saved))
    return after, [line.partition(b" ")[2] for line in lines if line and line[:2] != b"- "]


def _path(home: str, digest: str) -> str:
    return os.path.join(home, f"{PREFIX}{digest or 'nothing'}.jsonl")


def _is_true(db: Database, state: State) -> bool:
    """True if the state's last operation still has its number."""
    if not state.operation:
        return True
    row = db.row("SELECT id FROM operations WHERE seq = ?", (state.seq,))
    return row is not None and row[0] == state.operation

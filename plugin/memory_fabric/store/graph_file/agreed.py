"""The last state in which a mirrored file and its database had equal content: the agreed state.

A comparison of the file or the database with this state shows their later changes. The database
stores the state, but a separate file stores the *agreed lines*: the mirrored file's lines in this
state, redacted. The separate file is named after the mirrored file's digest.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from memory_fabric.store import files
from memory_fabric.store.database import Database

# A file's size, modification time and inode; None if the file is missing.
Signature = tuple[int, int, int] | None
# Maps a line's digest to the redacted line, or to b"" if it is neither an entity nor a relation.
Marked = dict[bytes, bytes]

KEY, PREFIX = "mirror", "agreed-"
# A signature that no file has: it causes the file to be read again.
UNSEEN = (-1, -1, -1)


class State(NamedTuple):
    """A state in which file and database agreed. `signature` and `digest` are the mirrored file's.
    The last operation written to it has the id `operation` and the row number `seq`. `owed` is True
    if the file lacks changes of the database because another program overwrote it. `base`
    identifies the file of agreed lines, whose first `length` bytes are valid. If `length` is 0, all
    bytes are valid, but the next write must replace the whole mirrored file.
    """

    signature: Signature
    digest: str
    seq: int = 0
    operation: str = ""
    owed: bool = False
    base: str = ""
    length: int = 0


NOTHING = State(None, "")


def mark_of(line: bytes) -> bytes:
    """Return the digest that identifies a line of the mirrored file."""
    return hashlib.blake2b(line, digest_size=8).digest()


def digest_of(lines: Iterable[bytes]) -> str:
    """Return the digest of a file's lines, which does not depend on the order of the lines."""
    return digest_after("", (), map(mark_of, lines))


def digest_after(digest: str, removed: Iterable[bytes], added: Iterable[bytes]) -> str:
    """Return a file's digest after the lines with these digests are removed or added."""
    total = int(digest or "0", 16) + sum(int.from_bytes(mark, "big") for mark in added)
    return f"{(total - sum(int.from_bytes(mark, 'big') for mark in removed)) % (1 << 64):016x}"


def state_of(db: Database) -> State | None:
    """Return the state in which this database and its mirrored file last agreed, or None."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    state = _state_in(json.loads(row[0])) if row else None
    return state if state and _is_of(db, state) else None


def is_ahead(db: Database, state: State | None) -> bool:
    """Return True if the database contains a change that the mirrored file lacks."""
    if state is not None and state.owed:
        return True
    later = "SELECT 1 FROM operations WHERE seq > ? AND json_extract(provenance, '$.source') <> ?"
    return db.row(f"{later} LIMIT 1", (state.seq if state else 0, "import")) is not None


def agree(db: Database, home: str, state: State) -> None:
    """Save the agreed state, and delete the files with the agreed lines of earlier states."""
    value = json.dumps(state._asdict())
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (KEY, value))
    current = os.path.basename(_path(home, state.base))
    for name in os.listdir(home):
        if name.startswith(PREFIX) and name != current:
            os.unlink(os.path.join(home, name))


def clear(db: Database) -> None:
    """Delete the agreed state, so that after a crash the next process merges the whole file."""
    with db.transaction() as c:
        c.execute("DELETE FROM meta WHERE key = ?", (KEY,))


def save_lines(home: str, state: State, marked: Marked) -> State:
    """Write agreed lines to a file; return the state with this file as `base`. Raises OSError."""
    head = json.dumps({"seq": state.seq, "operation": state.operation}).encode()
    lines = [mark.hex().encode() + b" " + line for mark, line in marked.items()]
    content = b"\n".join([head, *lines, b""])
    files.write_atomic(_path(home, state.digest), content)
    return state._replace(base=state.digest, length=len(content))


def save_edits(
    home: str, before: State, after: State, removed: Iterable[bytes], new: Iterable[bytes]
) -> State:
    """Append the `removed` digests and `new` lines to the file of agreed lines of the state
    `before`. Return `after`, changed to refer to this file. Raises OSError.
    """
    lines = [b"= " + json.dumps(after._replace(signature=before.signature)._asdict()).encode()]
    lines += [b"- " + mark.hex().encode() for mark in removed]
    lines += [mark_of(line).hex().encode() + b" " + line for line in new]
    added = b"\n".join([*lines, b""])
    handle = files.opened(_path(home, before.base), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        if os.fstat(handle).st_size > before.length:
            os.ftruncate(handle, before.length)  # remove lines that a killed process appended
        files.write_all(handle, added)
        os.fsync(handle)
    finally:
        os.close(handle)
    return after._replace(base=before.base, length=before.length + len(added))


def can_be_edited(home: str, state: State) -> bool:
    """Return True if the file of agreed lines is complete, and small enough to append changes."""
    if state.owed or not state.length or not state.signature:
        return False
    most = 4 * state.signature[0] + (1 << 20)
    return files.size_of(_path(home, state.base)) >= state.length and state.length < most


def saved_lines(home: str, state: State) -> bytes:
    """Return the valid part of the file of agreed lines; empty if it is lost. Raises OSError."""
    content = read(_path(home, state.base or state.digest))
    return content[: state.length or None] if len(content) >= state.length else b""


def load_lines(home: str, state: State | None) -> Marked:
    """Map digests to agreed lines; {} if their file is lost, so that a merge removes nothing."""
    marked: Marked = {}
    try:
        for line in saved_lines(home, state).split(b"\n")[1:] if state else ():
            mark, _, text = line.partition(b" ")
            if mark == b"-":
                marked.pop(bytes.fromhex(text.decode()), None)
            elif mark and mark != b"=":
                marked[bytes.fromhex(mark.decode())] = text
    except ValueError:
        return {}
    return marked


def interrupted(db: Database, home: str, state: State, digest: str) -> State | None:
    """Return the state with this digest if a process saved it but died before `agree`, or None."""
    appended = read(_path(home, state.base))[state.length :] if state.length else b""
    first = appended.partition(b"\n")[0].removeprefix(b"= ").decode("utf-8", "replace")
    saved = files.parsed(first) if appended[:2] == b"= " and appended.endswith(b"\n") else None
    if saved is not None:
        edits = _state_in(saved)._replace(base=state.base, length=state.length + len(appended))
        if edits.digest == digest and _is_of(db, edits):
            return edits
    content = read(_path(home, digest))
    head = files.parsed(content.partition(b"\n")[0].decode("utf-8", "replace")) or {}
    whole = State(None, digest, head.get("seq", 0), head.get("operation", ""))
    whole = whole._replace(base=digest, length=len(content))
    return whole if whole.operation and _is_of(db, whole) else None


def signature_of(path: str) -> Signature:
    """Return a file's signature; None if it is missing. Raises OSError for a folder or device."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if status.st_mode & files.FILE_KIND != files.REGULAR:
        raise OSError("it is not a file")
    return status.st_size, status.st_mtime_ns, status.st_ino


def read(path: str) -> bytes:
    """Return the whole content of a file; empty if it is missing. Raises OSError."""
    try:
        with files.open_regular(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return b""


def _path(home: str, digest: str) -> str:
    return os.path.join(home, f"{PREFIX}{digest or 'nothing'}.jsonl")


def _state_in(value: dict[str, Any]) -> State:
    signature = value["signature"]
    return State(**value)._replace(signature=tuple(signature) if signature else None)


def _is_of(db: Database, state: State) -> bool:
    """Return True if the state belongs to this database: its last operation is in row `seq`."""
    if not state.operation:
        return True
    row = db.row("SELECT id FROM operations WHERE seq = ?", (state.seq,))
    return row is not None and row[0] == state.operation

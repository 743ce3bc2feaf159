"""The state in which a mirrored file and its database last agreed: the file's signature and lines.

From it each side's later changes can be determined. The state is in the database; the redacted
lines are in a separate file, named after the digest of the content.
"""

from __future__ import annotations

import json
import os

from memory_fabric.store import files
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from memory_fabric.store.database import Database

    # Size, time of change, inode; None without a file.
    Signature = tuple[int, int, int] | None
    # Digests of a file's lines, each with the redacted line; empty for a line that is not of the
    # graph.
    Marked = dict[bytes, bytes]

KEY = "mirror"
PREFIX = "agreed-"


class State(Value):
    """The file's signature and digest, and the last operation that it contains.

    `seq` and `operation` are checked together: after a rebuild a number may mean another operation.
    `owed` is true if another program overwrote the file without the latest change of the database.
    """

    signature: Signature
    digest: str
    seq: int = 0
    operation: str = ""
    owed: bool = False


NOTHING = State(None, "")


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
    kept = os.path.basename(_path(home, state.digest))
    for name in os.listdir(home):
        if name.startswith(PREFIX) and name != kept:
            os.unlink(os.path.join(home, name))


def clear(db: Database) -> None:
    """Delete the agreed state: after a crash half-way, the next process merges the whole file."""
    with db.transaction() as c:
        c.execute("DELETE FROM meta WHERE key = ?", (KEY,))


def save_lines(home: str, state: State, marked: Marked) -> None:
    """Save the lines of a content: a head, then each line's digest and redacted text.

    The file's own lines are never saved, since they may hold secrets. Raises OSError.
    """
    head = json.dumps({"seq": state.seq, "operation": state.operation}).encode()
    lines = [mark.hex().encode() + b" " + line for mark, line in marked.items()]
    files.write_atomic(_path(home, state.digest), b"\n".join([head, *lines]))


def load_lines(home: str, state: State | None) -> Marked:
    """Return the agreed lines; empty if they are lost, so that nothing counts as removed."""
    if state is None:
        return {}
    try:
        with files.open_regular(_path(home, state.digest)) as stream:
            _, *lines = stream.read().split(b"\n")
        pairs = (line.split(b" ", 1) for line in lines)
        return {bytes.fromhex(mark.decode()): line for mark, line in pairs}
    except (FileNotFoundError, ValueError):
        return {}


def interrupted(db: Database, home: str, digest: str) -> State | None:
    """Return the state for this content if its lines were saved but this process died before
    `agree`.
    """
    try:
        with files.open_regular(_path(home, digest)) as stream:
            head: dict[str, Any] = files.parsed(stream.readline().decode("utf-8", "replace")) or {}
    except FileNotFoundError:
        return None
    state = State(None, digest, head.get("seq", 0), head.get("operation", ""))
    return state if state.operation and _is_true(db, state) else None


def _path(home: str, digest: str) -> str:
    return os.path.join(home, f"{PREFIX}{digest or 'nothing'}.jsonl")


def _is_true(db: Database, state: State) -> bool:
    """True if the state's last operation still has its number."""
    if not state.operation:
        return True
    row = db.row("SELECT id FROM operations WHERE seq = ?", (state.seq,))
    return row is not None and row[0] == state.operation

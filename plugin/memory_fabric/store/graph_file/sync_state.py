"""What a mirrored file and its database last agreed on: how the file was, and its lines, cleaned.

From it both sides can tell what the other has changed since. The note of it lies in the database;
the lines lie beside that, in a file that bears the digest of the content they stand for.
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
    # Digests of a file's lines, each with the cleaned line; empty for one that is not of the graph.
    Marked = dict[bytes, bytes]

KEY = "mirror"
PREFIX = "agreed-"


class State(Value):
    """The file as it was, and the last operation in it.

    `seq` and `operation` belong together: after a rebuild the numbers may mean others. `owed` says
    that others wrote the file without having seen our last change of it, which it lacks now.
    """

    signature: Signature
    digest: str
    seq: int = 0
    operation: str = ""
    owed: bool = False


NOTHING = State(None, "")


def state_of(db: Database) -> State | None:
    """What was agreed on; None when that is not known, or true of another database than this."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return None
    value = json.loads(row[0])
    signature = value["signature"]
    state = State(**value)._replace(signature=tuple(signature) if signature else None)
    return state if _is_true(db, state) else None


def is_ahead(db: Database, state: State | None) -> bool:
    """Whether the database holds a change that did not come from the file, or that it lost."""
    if state is not None and state.owed:
        return True
    found = db.row(
        "SELECT 1 FROM operations WHERE seq > ? AND json_extract(provenance, '$.source') <> ? "
        "LIMIT 1",
        (state.seq if state else 0, "import"),
    )
    return found is not None


def agree(db: Database, home: str, state: State) -> None:
    """Note what is agreed on; the lines of former agreements go."""
    value = json.dumps(state._asdict())
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (KEY, value))
    kept = os.path.basename(_path(home, state.digest))
    for name in os.listdir(home):
        if name.startswith(PREFIX) and name != kept:
            os.unlink(os.path.join(home, name))


def clear(db: Database) -> None:
    """Forget what was agreed on: who finds us dead in the middle takes all of the file over."""
    with db.transaction() as c:
        c.execute("DELETE FROM meta WHERE key = ?", (KEY,))


def keep_lines(home: str, state: State, marked: Marked) -> None:
    """Keep the lines of a content: a head, then each line's mark and what it says, cleaned.

    The file itself may hold what our memory must not; so never its own lines. Raises OSError.
    """
    head = json.dumps({"seq": state.seq, "operation": state.operation}).encode()
    lines = [mark.hex().encode() + b" " + line for mark, line in marked.items()]
    files.write_atomic(_path(home, state.digest), b"\n".join([head, *lines]))


def lines_of(home: str, state: State | None) -> Marked:
    """The lines agreed on; empty when they are not known any longer: then nothing was removed."""
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
    """The agreement about this content, if its lines were kept and we died before the note."""
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
    """Whether the operation that was the last one then still has its number."""
    if not state.operation:
        return True
    row = db.row("SELECT id FROM operations WHERE seq = ?", (state.seq,))
    return row is not None and row[0] == state.operation

"""Who calls the server's tools: noted by the hook before a call, looked up by the server.

The client tells the server a call's id, and its hooks whose call that is (decision 0031). A note is
a small file in home: neither the hook nor the server has to open a database for it, and it is the
same whichever memory the server serves.
"""

from __future__ import annotations

import os
import time

from memory_fabric.store import files
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "callers"
MAX_ID_CHARS = 128
# A person may take this long to allow a call; later nobody asks whose it was.
KEPT_S = 24 * 3600
# Looked through for old ones at most once in so many seconds.
SWEPT_EVERY_S = 3600


class Caller(Value):
    """Who calls: the session, and of its agents the one with this id and type; empty for itself."""

    session: str = ""
    agent: str = ""
    agent_type: str = ""


def note(home: str, call: str, caller: Caller) -> None:
    """Keep whose call this is. Raises OSError, ValueError for an id that names no file."""
    path = _path(home, call)
    files.make_folder(os.path.dirname(path))
    _sweep(os.path.dirname(path))
    files.write_atomic(path, files.line_of(caller._asdict()).encode(), durable=False)


def of(home: str, call: str) -> Caller | None:
    """Whose call this is; None where nobody has noted it."""
    try:
        known = files.read_json(_path(home, call))
    except ValueError:
        return None
    if not known:
        return None
    return Caller(**{name: str(known.get(name, "")) for name in Caller._fields})


def _path(home: str, call: str) -> str:
    fits = call.replace("-", "").replace("_", "")
    if not (fits.isascii() and fits.isalnum() and len(call) <= MAX_ID_CHARS):
        raise ValueError(f"{call[:MAX_ID_CHARS]!r} is no id of a call")
    return os.path.join(home, FOLDER, f"{call}.json")


def _sweep(folder: str) -> None:
    """Take away old notes, once in a while: the folder's own mark says when it was done."""
    now_s, mark = time.time(), os.path.join(folder, ".swept")
    if _age_s(mark, now_s) < SWEPT_EVERY_S:
        return
    files.write_atomic(mark, b"", durable=False)
    for path in _notes(folder):
        if _age_s(path, now_s) > KEPT_S:
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue  # another hook took it away


def _notes(folder: str) -> Iterator[str]:
    return (os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".json"))


def _age_s(path: str, now_s: float) -> float:
    try:
        return now_s - os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")

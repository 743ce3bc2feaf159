"""Callers of the server's tools. The client sends the server only the id of a call. A hook saves
the call's session and agent under this id (decision 0031), in files, so that it opens no database.
"""

import os
import time
from typing import NamedTuple

from memory_fabric.store import files

FOLDER = "callers"
MAX_ID_CHARS = 128
# The time, in seconds, that the user may take to permit a call.
MAX_AGE_S = 24 * 3600
# The interval, in seconds, at which files of old calls are removed.
CLEAN_UP_EVERY_S = 3600


class Caller(NamedTuple):
    """The session of a call; `agent` and `agent_type` are empty if the main conversation calls."""

    session: str = ""
    agent: str = ""
    agent_type: str = ""


def save(home: str, call: str, caller: Caller) -> None:
    """Save a tool call's caller. Raises OSError, or ValueError if the id cannot name a file."""
    path = _path(home, call)
    folder = os.path.dirname(path)
    files.make_folder(folder)
    # The modification time of a marker file shows when old files were last removed.
    now_s, marker = time.time(), os.path.join(folder, ".swept")
    if _age_s(marker, now_s) >= CLEAN_UP_EVERY_S:
        files.write_atomic(marker, b"", durable=False)
        for name in os.listdir(folder):
            caller_file = os.path.join(folder, name)
            if name.endswith(".json") and _age_s(caller_file, now_s) > MAX_AGE_S:
                files.remove(caller_file)  # another hook may already have removed the file
    files.write_atomic(path, files.json_line(caller._asdict()).encode(), durable=False)


def load(home: str, call: str) -> Caller | None:
    """Return the caller that was saved for the call with this id, or None."""
    try:
        fields = files.read_json(_path(home, call))
    except ValueError:
        return None
    return Caller(*(str(fields.get(name, "")) for name in Caller._fields)) if fields else None


def _path(home: str, call: str) -> str:
    fits = call.replace("-", "").replace("_", "")
    if not (fits.isascii() and fits.isalnum() and len(call) <= MAX_ID_CHARS):
        raise ValueError(f"{call[:MAX_ID_CHARS]!r} is not the id of a tool call")
    return os.path.join(home, FOLDER, f"{call}.json")


def _age_s(path: str, now_s: float) -> float:
    stamp = files.stamp(path)
    return now_s - stamp[1] / 1e9 if stamp else float("inf")

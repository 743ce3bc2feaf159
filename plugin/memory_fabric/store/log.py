"""Log of the hooks: one line per problem, in home, the client's data folder or on stderr; and
notices for the user, each shown once and kept until an event can show it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Container, Iterable, Sequence
from typing import Any

from memory_fabric.store import files

MAX_LOG_BYTES = 1 << 20
MAX_LINE_CHARS = 1000
LOG_NAME = "memory-fabric.log"
FAULTS_NAME = "faults.log"
# Marks the line of an event that ran out of time, after the event's name.
OUT_OF_TIME = ": out of time: "
NOTICES, LOCK_S = "notices.jsonl", 0.2


def note(home: str, data_dir: str, line: str) -> None:
    """Append one line with the time; never raises. Home, else the data folder, else stderr."""
    # late: slow to import, and only needed for a problem
    from memory_fabric.redaction.redact import redact

    stamped = f"{_now()} {redact(' '.join(line.split())[:MAX_LINE_CHARS])}"
    try:
        if not _append_in_first((home, data_dir), stamped):
            sys.stderr.write(stamped + "\n")
    except OSError:
        return  # nowhere left to log; a hook must not fail the session for that


def note_late(places: Sequence[str], event: str, work: Sequence[str]) -> None:
    """Append the line of an event that left this work to later events; never raises."""
    _append_in_first(places, f"{_now()} {event}{OUT_OF_TIME}{', '.join(work)}")


def late_events(folders: Iterable[str], work: Container[str] = ()) -> dict[str, int]:
    """Count events by name that ran out of time in these logs, or that left some of this work."""
    counts: dict[str, int] = {}
    for path in (os.path.join(folder, LOG_NAME + end) for folder in folders for end in ("", ".1")):
        try:
            text = files.read_text(path) or ""
        except OSError:
            continue  # no log, no count
        for line in text.splitlines():
            head, late, work_left = line.partition(OUT_OF_TIME)
            if late and (not work or any(name in work for name in work_left.split(", "))):
                name = head.rpartition(" ")[2]
                counts[name] = counts.get(name, 0) + 1
    return counts


def keep_traceback(home: str, trace: str) -> str:
    """Append the traceback of an internal error; return the file, empty if none can be written."""
    from memory_fabric.redaction.redact import redact  # slow to import

    folder = os.path.join(home, "logs")
    is_written = _append(folder, f"{_now()}\n{redact(trace)}", FAULTS_NAME)
    return os.path.join(folder, FAULTS_NAME) if is_written else ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _append_in_first(places: Sequence[str], line: str) -> bool:
    """Append to the log in home, else in the data folder; False if neither takes it."""
    home, data_dir = places
    folders = (os.path.join(home, "logs") if home else "", data_dir)
    return any(folder and _append(folder, line) for folder in folders)


def _append(folder: str, line: str, name: str = LOG_NAME) -> bool:
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if files.size_of(path) > MAX_LOG_BYTES:
            os.replace(path, path + ".1")
        handle = files.open_to_append(path)
        try:
            return os.write(handle, line.encode("utf-8", "replace") + b"\n") > 0
        finally:
            os.close(handle)
    except OSError:
        return False


def add(home: str, text: str, *, place: str = "") -> None:
    """Save a notice for the next event, or start in `place`. Raises OSError, TimeoutError."""
    # late: slow to import, and only needed with a notice
    from memory_fabric.redaction.redact import redact

    more = {"place": place} if place else {}
    path = os.path.join(home, NOTICES)
    with files.Locked(path + ".lock", LOCK_S):
        files.append_lines(path, [{"text": redact(text), **more}])


def take(home: str, place: str = "") -> list[str]:
    """Return the notices for any place and this one, each once; those that a lock keeps wait."""
    path = os.path.join(home, NOTICES)
    if not os.path.exists(path):
        return []
    mine: list[dict[str, Any]] = []
    remaining: list[dict[str, Any]] = []
    try:
        with files.Locked(path + ".lock", LOCK_S):
            for line in files.read_lines(path)[0]:
                (mine if line.get("place", "") in ("", place) else remaining).append(line)
            if mine and remaining:
                text = "".join(json.dumps(o, ensure_ascii=False) + "\n" for o in remaining)
                files.write_atomic(path, text.encode("utf-8", "replace"))
            elif mine:
                os.unlink(path)
    except OSError:
        return []
    return list(dict.fromkeys(str(line.get("text", "")) for line in mine if line.get("text")))


def is_first_time(home: str, name: str) -> bool:
    """True the first time that `name` is asked for in this home."""
    folder = os.path.join(home, "told")
    try:
        files.make_folder(folder)
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return False  # in a home that cannot be written it would be shown at every start
    return True

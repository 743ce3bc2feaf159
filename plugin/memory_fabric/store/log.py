"""Log of the hooks: one line per problem, in home, the client's data folder or on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Container, Iterable, Sequence

from memory_fabric.store import files

MAX_LOG_BYTES = 1 << 20
MAX_LINE_CHARS = 1000
LOG_NAME = "memory-fabric.log"
FAULTS_NAME = "faults.log"
# Marks the line of an event that ran out of time, after the event's name.
OUT_OF_TIME = ": out of time: "


def note(home: str, data_dir: str, line: str) -> None:
    """Append one line with the time; never raises. Home, else the data folder, else stderr."""
    # late: slow to import, and only needed for a problem
    from memory_fabric.redaction.redact import redact

    said = redact(" ".join(line.split())[:MAX_LINE_CHARS])
    stamped = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + said
    for folder in (os.path.join(home, "logs") if home else "", data_dir):
        if folder and _append(folder, stamped):
            return
    try:
        sys.stderr.write(stamped + "\n")
    except OSError:
        return  # nowhere left to log; a hook must not fail the session for that


def note_late(places: Sequence[str], event: str, work: Sequence[str]) -> None:
    """Append the line of an event that left this work to later ones; never raises.

    `places` are home and the data folder. The words are the program's own, so nothing is redacted:
    loading that would take longer than what there was no time for.
    """
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{stamp} {event}{OUT_OF_TIME}{', '.join(work)}"
    home, data_dir = places
    for folder in (os.path.join(home, "logs") if home else "", data_dir):
        if folder and _append(folder, line):
            return


def late_events(folders: Iterable[str], work: Container[str] = ()) -> dict[str, int]:
    """Count events by name that ran out of time, as far back as the logs in these folders go.

    With `work`, only those that left some of it undone.
    """
    found: dict[str, int] = {}
    for path in (os.path.join(folder, LOG_NAME + end) for folder in folders for end in ("", ".1")):
        try:
            text = files.read_text(path) or ""
        except OSError:
            continue  # no log, no count
        for line in text.splitlines():
            head, late, left = line.partition(OUT_OF_TIME)
            if late and (not work or any(name in work for name in left.split(", "))):
                name = head.rpartition(" ")[2]
                found[name] = found.get(name, 0) + 1
    return found


def keep_traceback(home: str, trace: str) -> str:
    """Append the traceback of an internal error; return the file, empty if none can be written."""
    from memory_fabric.redaction.redact import redact  # slow to import

    folder = os.path.join(home, "logs")
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    kept = _append(folder, f"{stamp}\n{redact(trace)}", FAULTS_NAME)
    return os.path.join(folder, FAULTS_NAME) if kept else ""


def _append(folder: str, line: str, name: str = LOG_NAME) -> bool:
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > MAX_LOG_BYTES:
            os.replace(path, path + ".1")
        handle = files.open_to_append(path)
    except OSError:
        return False
    try:
        written = os.write(handle, line.encode("utf-8", "replace") + b"\n")
    except OSError:
        written = 0
    finally:
        os.close(handle)
    return written > 0

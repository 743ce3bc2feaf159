"""The hooks' log, notices for the user, and marks: empty files that an event leaves for later ones.

The log has one line per problem. A notice waits until an event can show it, and is shown once. A
mark says that a part of memory (e.g. the journal) fails, that a prompt was not saved, or that it
got no memories in time. A mark can be made even on a full disk. A failing part is reported again
only if it worked in between.
"""

import os
import sys
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from memory_fabric.config import Settings
from memory_fabric.store import files
from memory_fabric.text import cut, one_line

MAX_LOG_BYTES = 1 << 20
MAX_LINE_CHARS = 1000
LOG_NAME = "memory-fabric.log"
FAULTS_NAME = "faults.log"
# Separates the event's name from the unfinished work in the log line of an event that timed out.
OUT_OF_TIME = ": out of time: "
NOTICES, LOCK_S = "notices.jsonl", 0.2
MARKS, PREFIX = "told", "trouble-"
# Marks for a prompt that was not saved, and for a prompt that got no memories in time.
LOST_PROMPT, UNTOLD_PROMPT = "lost-prompt", "untold-prompt"
MAX_NOTICE_CHARS = 300
# Maps the first word of a failure to its meaning for the user.
MEANINGS = {
    "graph": "the graph cannot be written; what is said waits in a queue and is applied later",
    "queue": "changes that wait for the graph cannot be kept or applied",
    "journal": "the journal cannot be written; it follows when it can",
    "MEMORY.md": "MEMORY.md cannot be written; it follows when it can",
    "file": "a file was not read",
    "prompt": "a prompt could not be kept; a note that quotes it counts as the assistant's",
    "refused": "nothing was stored",
}
REFUSED = "Nothing was stored"
LATE_NOTICE = (
    "memory-fabric: a prompt was not told what memory knows, as 1.5 s had passed, or 0.5 s of "
    "processor time: the machine is busy, or the memory slow. Ask again when it is not; "
    "`memory-fabric status` counts such prompts, `memory-fabric doctor` looks for a cause"
)


def note(home: str, data_dir: str, line: str) -> None:
    """Log a line with its time in home, else in the data folder, else on stderr. Never raises."""
    # Imported late: slow to import, and needed only for a problem.
    from memory_fabric.redaction.redact import redact

    stamped = f"{_now()} {redact(' '.join(line.split())[:MAX_LINE_CHARS])}"
    try:
        if not _append_in_first((home, data_dir), stamped):
            sys.stderr.write(stamped + "\n")
    except OSError:
        return  # no log is writable, but a hook must not fail because of that


def note_late(places: Sequence[str], event: str, work: Sequence[str]) -> None:
    """Log that an event ran out of time and left the tasks `work` to later events. Never raises."""
    _append_in_first(places, f"{_now()} {event}{OUT_OF_TIME}{', '.join(work)}")


def late_events(folders: Iterable[str], work: Container[str] = ()) -> dict[str, int]:
    """Count timeouts in these logs by event; with `work`, only those that left such work undone."""
    counts: dict[str, int] = {}
    for path in (os.path.join(folder, LOG_NAME + end) for folder in folders for end in ("", ".1")):
        try:
            text = files.read_text(path) or ""
        except OSError:
            continue  # a folder without a log has no events to count
        for line in text.splitlines():
            head, late, work_left = line.partition(OUT_OF_TIME)
            if late and (not work or any(name in work for name in work_left.split(", "))):
                name = head.rpartition(" ")[2]
                counts[name] = counts.get(name, 0) + 1
    return counts


def keep_traceback(home: str, trace: str) -> str:
    """Append the traceback of an internal error; return the file's path, or '' if not writable."""
    from memory_fabric.redaction.redact import redact  # imported late: slow to import

    folder = os.path.join(home, "logs")
    is_written = _append(folder, f"{_now()}\n{redact(trace)}", FAULTS_NAME)
    return os.path.join(folder, FAULTS_NAME) if is_written else ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _append_in_first(places: Sequence[str], line: str) -> bool:
    home, data_dir = places
    folders = (os.path.join(home, "logs") if home else "", data_dir)
    return any(folder and _append(folder, line) for folder in folders)


def _append(folder: str, line: str, name: str = LOG_NAME) -> bool:
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if files.size_of(path) > MAX_LOG_BYTES:
            os.replace(path, path + ".1")
        handle = files.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            return os.write(handle, line.encode("utf-8", "replace") + b"\n") > 0
        finally:
            os.close(handle)
    except OSError:
        return False


def add(home: str, text: str, *, place: str = "") -> None:
    """Save a notice for the next event, in project `place` if set. Raises OSError, TimeoutError."""
    # Imported late: slow to import, and needed only for a notice.
    from memory_fabric.redaction.redact import redact

    more = {"place": place} if place else {}
    path = os.path.join(home, NOTICES)
    with files.Locked(path + ".lock", LOCK_S):
        files.append_lines(path, [{"text": redact(text), **more}])


def take(home: str, place: str = "") -> list[str]:
    """Remove and return notices for `place` and for everywhere; take none if the file is locked."""
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
                text = "".join(map(files.json_line, remaining))
                files.write_atomic(path, text.encode("utf-8", "replace"))
            elif mine:
                os.unlink(path)
    except OSError:
        return []
    return list(dict.fromkeys(str(line.get("text", "")) for line in mine if line.get("text")))


def is_first_time(home: str, name: str) -> bool:
    """Return True for the first call with this `name` in this home."""
    # Also return False if no mark can be created, or every session start would show the notice.
    return _make_mark(name, (home,), os.O_CREAT | os.O_EXCL | os.O_WRONLY) is True


def leave_mark(mark: str, places: Sequence[str]) -> None:
    """Create a mark in the first writable folder; the next Stop event reads it. Never raises."""
    _make_mark(mark, places, os.O_CREAT | os.O_WRONLY)


def take_mark(mark: str, places: Sequence[str]) -> bool:
    """Remove a mark; True if it existed, i.e. was left since the last Stop event. Never raises."""
    is_left = False
    for folder in _mark_folders(places):
        try:
            os.unlink(os.path.join(folder, mark))
        except OSError:
            continue  # the mark was not left in this folder
        is_left = True
    return is_left


def notice_of_failures(failures: Sequence[str], settings: Settings, event_name: str) -> str:
    """Return a notice of failures that were not reported yet; '' if there are none. At a Stop
    event, also report, but only once per home, that a prompt got no memories in time.
    """
    from memory_fabric.redaction.redact import without_secrets  # imported late: failures are rare

    places = (settings.home, settings.data_dir)
    late = ""
    if event_name == "Stop":  # all parts have been used, so parts without a failure work again
        failing = {PREFIX + _kind_of(failure) for failure in failures}
        for folder in _mark_folders(places):
            marked = {name for name in files.names_in(folder) if name.startswith(PREFIX)}
            for name in marked - failing:
                take_mark(name, [os.path.dirname(folder)])
        is_late = take_mark(UNTOLD_PROMPT, places) and is_first_time(places[0], "out-of-time")
        late = LATE_NOTICE if is_late else ""
    # At a prompt, only report that nothing was stored: other failures may pass, or are shown later.
    by_kind: dict[str, str] = {}
    for failure in failures:
        kind = _kind_of(failure)
        if kind and (kind == "refused" or event_name != "UserPromptSubmit"):
            by_kind.setdefault(kind, failure)
    if "refused" in by_kind:
        by_kind = {"refused": by_kind["refused"]}
    texts = []
    for kind, failure in by_kind.items():
        is_new = _make_mark(PREFIX + kind, places, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        if is_new or (is_new is None and event_name == "SessionStart"):
            line = one_line(failure)
            cause = line.partition(": ")[2] or line
            texts.append(without_secrets(cut(f"{MEANINGS[kind]} ({cause})", MAX_NOTICE_CHARS)))
    text = " · ".join(texts)
    notice = f"memory-fabric: {text}; `/memory-fabric:memory status` says more" if text else ""
    return " · ".join(part for part in (notice, late) if part)


def _kind_of(failure: str) -> str:
    """Return a failure's key in MEANINGS; '' if no key fits, so that the user is not notified."""
    if REFUSED in failure:
        return "refused"
    head = failure.partition(":")[0].partition(" ")[0]
    return head if head in MEANINGS else ""


def _make_mark(name: str, places: Sequence[str], flags: int) -> bool | None:
    """Create a mark; return False if it exists (with O_EXCL), None if no folder is writable."""
    for folder in _mark_folders(places):
        path = os.path.join(folder, name)
        try:
            files.make_folder(folder)
            os.close(os.open(path, flags, 0o600))
        except OSError:
            if os.path.lexists(path):
                return False
            continue  # this folder is not writable; try the next folder
        return True
    return None


def _mark_folders(places: Sequence[str]) -> Iterator[str]:
    return (os.path.join(place, MARKS) for place in places if place)

"""Marks that one event leaves for a later one to tell of: failing tiers, lost and late prompts.

A failing tier is reported once, and again only after it has worked in between. Marks are empty
files, which can be made even on a full disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from memory_fabric.config import Settings
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store import files
from memory_fabric.store.log import is_first_time
from memory_fabric.text import cut, one_line

FOLDER, PREFIX = "told", "trouble-"
# A prompt that was not kept after its reply, and one that was told nothing for want of time.
LOST_PROMPT, UNTOLD_PROMPT = "lost-prompt", "untold-prompt"
MAX_CHARS = 300
# The first words of failures, and their explanation for the user.
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
OUT_OF_TIME = "out-of-time"
LATE_NOTICE = (
    "memory-fabric: a prompt was not told what memory knows, as 1.5 s had passed, or 0.5 s of "
    "processor time: the machine is busy, or the memory slow. Ask again when it is not; "
    "`memory-fabric status` counts such prompts, `memory-fabric doctor` looks for a cause"
)


def leave(mark: str, places: Sequence[str]) -> None:
    """Leave a mark for the next Stop, in the first writable of these places. Never raises."""
    _make(mark, places, os.O_CREAT | os.O_WRONLY)


def take(mark: str, places: Sequence[str]) -> bool:
    """Return True if the mark was left since the last Stop; remove it. Never raises."""
    is_left = False
    for folder in _folders(places):
        try:
            os.unlink(os.path.join(folder, mark))
        except OSError:
            continue  # no mark there
        is_left = True
    return is_left


def notice(failures: Sequence[str], settings: Settings, event_name: str) -> str:
    """Return the notice of failures not reported yet, and once of a late prompt; or ''."""
    places = (settings.home, settings.data_dir)
    late = ""
    if event_name == "Stop":  # Stop tried all tiers
        _clear(failures, places)
        is_late = take(UNTOLD_PROMPT, places) and is_first_time(places[0], OUT_OF_TIME)
        late = LATE_NOTICE if is_late else ""
    # At a prompt all but a refusal may be temporary, and is left to a later event. If no mark can
    # be made, only the start of a session reports.
    by_kind: dict[str, str] = {}
    for failure in failures:
        kind = _kind_of(failure)
        if kind and (kind == "refused" or event_name != "UserPromptSubmit"):
            by_kind.setdefault(kind, failure)
    if "refused" in by_kind:
        by_kind = {"refused": by_kind["refused"]}
    texts = []
    for kind, failure in by_kind.items():
        is_new = _make(PREFIX + kind, places, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        if is_new or (is_new is None and event_name == "SessionStart"):
            line = one_line(failure)
            cause = line.partition(": ")[2] or line
            texts.append(without_secrets(cut(f"{MEANINGS[kind]} ({cause})", MAX_CHARS)))
    text = " · ".join(texts)
    said = f"memory-fabric: {text}; `/memory-fabric:memory status` says more" if text else ""
    return " · ".join(part for part in (said, late) if part)


def _kind_of(failure: str) -> str:
    """Return the key of MEANINGS for a failure; empty for one that the user need not know."""
    if REFUSED in failure:
        return "refused"
    head = failure.partition(":")[0].partition(" ")[0]
    return head if head in MEANINGS else ""


def _clear(failures: Sequence[str], places: Sequence[str]) -> None:
    failing = {_kind_of(failure) for failure in failures}
    for folder in _folders(places):
        for name in files.names_in(folder):
            if name.startswith(PREFIX) and name[len(PREFIX) :] not in failing:
                take(name, [os.path.dirname(folder)])


def _make(name: str, places: Sequence[str], flags: int) -> bool | None:
    """Make a mark; return False if it exists already, None if no folder can be written."""
    for folder in _folders(places):
        try:
            files.make_folder(folder)
            os.close(os.open(os.path.join(folder, name), flags, 0o600))
        except FileExistsError:
            return False
        except OSError:
            continue  # try the next folder
        return True
    return None


def _folders(places: Sequence[str]) -> Iterator[str]:
    return (os.path.join(place, FOLDER) for place in places if place)

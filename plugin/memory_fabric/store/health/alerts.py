"""Alerts: a failing tier is reported once, and again only after it has worked in between."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memory_fabric.config import Settings
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store import files
from memory_fabric.store.health import lateness
from memory_fabric.text import cut, one_line

FOLDER, PREFIX = "told", "trouble-"
# A prompt that was not kept after its reply; an empty file can be made even on a full disk.
LOST_PROMPT = "lost-prompt"
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


def kind_of(failure: str) -> str:
    """Return the key of MEANINGS for a failure; empty for one that the user need not know."""
    if REFUSED in failure:
        return "refused"
    head = failure.partition(":")[0].partition(" ")[0]
    return head if head in MEANINGS else ""


def unreported(
    failures: Sequence[str], places: Sequence[str], *, only_refused: bool, unmarked: bool
) -> str:
    """Return a text about the failures that were not reported yet; empty if there is nothing new.

    Reports are marked in the first of the folders `places` that can be written; if none can,
    `unmarked` decides if a failure is reported. `only_refused`: other failures may be temporary and
    are left to a later event.
    """
    found: dict[str, str] = {}
    for failure in failures:
        kind = kind_of(failure)
        if kind and (kind == "refused" or not only_refused):
            found.setdefault(kind, failure)
    if "refused" in found:
        found = {"refused": found["refused"]}
    fresh = [kind for kind in found if _first(kind, places, unmarked)]
    return " · ".join(
        without_secrets(cut(f"{MEANINGS[kind]} ({_cause(found[kind])})", MAX_CHARS))
        for kind in fresh
    )


def notice(failures: Sequence[str], settings: Settings, event_name: str) -> str:
    """Return the notice at the end of an event: failures that were not reported yet, and a prompt
    that was told nothing for want of time; '' without any.
    """
    places = (settings.home, settings.data_dir)
    late = ""
    if event_name == "Stop":  # Stop tried all tiers
        clear_marks(failures, places)
        late = lateness.notice(places)
    text = unreported(
        failures,
        places,
        only_refused=event_name == "UserPromptSubmit",
        unmarked=event_name == "SessionStart",
    )
    told = f"memory-fabric: {text}; `/memory-fabric:memory status` says more" if text else ""
    return " · ".join(part for part in (told, late) if part)


def clear_marks(failures: Sequence[str], places: Sequence[str]) -> None:
    """Delete the marks of tiers that work again. Never raises."""
    still = {kind_of(failure) for failure in failures}
    for folder in _folders(places):
        try:
            names = os.listdir(folder)
        except OSError:
            continue  # no marks there
        for name in names:
            if name.startswith(PREFIX) and name[len(PREFIX) :] not in still:
                try:
                    os.unlink(os.path.join(folder, name))
                except OSError:
                    continue  # it will be reported once less


def leave_lost_prompt(places: Sequence[str]) -> None:
    """Leave a mark for the next Stop that a prompt could not be kept. Never raises."""
    for folder in _folders(places):
        try:
            files.make_folder(folder)
            path = os.path.join(folder, LOST_PROMPT)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            continue  # try the next folder
        return


def take_lost_prompt(places: Sequence[str]) -> bool:
    """Return True if a prompt could not be kept since the last Stop; remove the mark."""
    found = False
    for folder in _folders(places):
        try:
            os.unlink(os.path.join(folder, LOST_PROMPT))
        except OSError:
            continue  # no mark there
        found = True
    return found


def _cause(failure: str) -> str:
    text = one_line(failure)
    return text.partition(": ")[2] or text


def _first(kind: str, places: Sequence[str], unmarked: bool) -> bool:
    for folder in _folders(places):
        try:
            files.make_folder(folder)
            path = os.path.join(folder, PREFIX + kind)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        except OSError:
            continue  # try the next folder
        return True
    return unmarked


def _folders(places: Sequence[str]) -> list[str]:
    return [os.path.join(place, FOLDER) for place in places if place]

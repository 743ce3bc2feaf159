"""Marks of prompts that were told nothing for want of time, and the notice about the first."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memory_fabric.store import files
from memory_fabric.store.log import is_first_time

FOLDER, MARK, TOLD = "told", "untold-prompt", "out-of-time"
NOTICE = (
    "memory-fabric: a prompt was not told what memory knows, as 1.5 s had passed, or 0.5 s of "
    "processor time: the machine is busy, or the memory slow. Ask again when it is not; "
    "`memory-fabric status` counts such prompts, `memory-fabric doctor` looks for a cause"
)


def mark_untold(places: Sequence[str]) -> None:
    """Leave a mark for the next Stop in the first of these folders that can be written."""
    for folder in filter(None, places):
        try:
            files.make_folder(os.path.join(folder, FOLDER))
            path = os.path.join(folder, FOLDER, MARK)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            continue  # try the next folder
        return


def notice(places: Sequence[str]) -> str:
    """Return the notice where a mark was left, once in a home; remove the mark. Never raises."""
    found = False
    for folder in filter(None, places):
        try:
            os.unlink(os.path.join(folder, FOLDER, MARK))
        except OSError:
            continue  # no mark there
        found = True
    return NOTICE if found and is_first_time(places[0], TOLD) else ""

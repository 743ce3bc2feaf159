"""Switches that turn reading and writing of memory off and on, everywhere or for one project."""

from __future__ import annotations

import os

from memory_fabric.config import PARTS
from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import files, launch_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings

SWITCHES = "switches.json"
EVERYWHERE = "*"
# The switch of the notes that the assistant is asked for.
NOTES = "notes"


def state(home: str, project_id: str) -> dict[str, bool]:
    """Return whether reading, writing and notes are on: everywhere, and for the project."""
    switches = files.read_json(os.path.join(home, SWITCHES))
    result = dict.fromkeys((*PARTS, NOTES), True)
    for place in (EVERYWHERE, project_id):
        own = switches.get(place)
        if isinstance(own, dict):
            result = {part: result[part] and own.get(part) is not False for part in result}
    return result


def off_error(settings: Settings) -> StoreUnavailable:
    """Return the error for memory that is switched off, with the remedy."""
    if settings.closed:
        return StoreUnavailable("", f"{settings.closed}.", remedy="Correct config.toml.")
    return StoreUnavailable(
        "", "Memory is switched off here.", remedy="Turn it on with memory-fabric on."
    )


def own(home: str, place: str) -> dict[str, bool]:
    """Return the switches of a project id or of EVERYWHERE itself, regardless of the others."""
    said = files.read_json(os.path.join(home, SWITCHES)).get(place)
    switched = said if isinstance(said, dict) else {}
    return {part: switched.get(part) is not False for part in PARTS}


def turn(home: str, place: str, parts: Sequence[str], on: bool) -> None:
    """Turn parts on or off for a project id, or for EVERYWHERE. Raises OSError, TimeoutError."""
    path = os.path.join(home, SWITCHES)
    with files.Locked(path + ".lock"):
        switches = files.read_json(path)
        own = switches.get(place)
        own = dict(own) if isinstance(own, dict) else {}
        for part in parts:
            if on:
                own.pop(part, None)
            else:
                own[part] = False
        switches[place] = own
        kept = {name: value for name, value in switches.items() if value}
        files.write_atomic(path, files.pretty_json(kept))
    launch_marks.forget_places(home)

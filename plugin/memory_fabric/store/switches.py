"""Switches that turn reading and writing of memory off and on, everywhere or for one project."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memory_fabric import ids
from memory_fabric.config import PARTS, Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import files, launch_marks

SWITCHES = "switches.json"
EVERYWHERE = "*"
# The switch of the notes that the assistant is asked for, and the key of the times [from, until]
# in which it was off: what was written then is not kept later either.
NOTES, OFF_TIMES, MAX_OFF_TIMES = "notes", "notes_off_times", 50
FOR_EVER = "9999"


def state(home: str, project_id: str) -> dict[str, bool]:
    """Return whether reading, writing and notes are on: everywhere, and for the project."""
    switches = files.read_json(os.path.join(home, SWITCHES))
    result = dict.fromkeys((*PARTS, NOTES), True)
    for place in (EVERYWHERE, project_id):
        own = switches.get(place)
        if isinstance(own, dict):
            result = {part: result[part] and own.get(part) is not False for part in result}
    return result


def notes_off_times(home: str, project_id: str) -> list[tuple[str, str]]:
    """Return the times (from, until; ISO 8601) in which notes were off, here or everywhere."""
    switches = files.read_json(os.path.join(home, SWITCHES))
    own = [switches.get(place) for place in (EVERYWHERE, project_id)]
    spans = [span for one in own if isinstance(one, dict) for span in one.get(OFF_TIMES, ())]
    return [(str(since), str(until)) for since, until in spans]


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
    path, now = os.path.join(home, SWITCHES), ids.timestamp()
    with files.Locked(path + ".lock"):
        switches = files.read_json(path)
        own = switches.get(place)
        own = dict(own) if isinstance(own, dict) else {}
        for part in parts:
            if on:
                own.pop(part, None)
            else:
                own[part] = False
        if NOTES in parts:
            spans = [[since, until] for since, until in own.get(OFF_TIMES, ())]
            is_off = bool(spans) and spans[-1][1] > now
            if on and is_off:
                spans[-1][1] = now
            elif not (on or is_off):
                spans.append([now, FOR_EVER])
            own |= {OFF_TIMES: spans[-MAX_OFF_TIMES:]} if spans else {}
        switches[place] = own
        kept = {name: value for name, value in switches.items() if value}
        files.write_atomic(path, files.pretty_json(kept))
    launch_marks.forget_places(home)

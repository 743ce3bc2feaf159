"""Settings of a home: its config.toml and switches.json, read again after each change.

If config.toml is invalid, only those of its switches that turn something off apply; if it might
isolate domains, everything is off.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric import config, ids
from memory_fabric.config import PARTS, Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import files
from memory_fabric.store.home import launch_marks

NAME = "config.toml"
SWITCHES = "switches.json"
EVERYWHERE = "*"
# The switch for the assistant's notes, and the key of the periods [from, until] in which it was
# off: notes from these periods are never saved.
NOTES, OFF_TIMES, MAX_OFF_TIMES = "notes", "notes_off_times", 50
FOR_EVER = "9999"


class ConfigFile(NamedTuple):
    """Valid tables in config.toml, its error; `closed`: memory is off, domains may be isolated."""

    table: Mapping[str, Any] = {}
    error: str = ""
    closed: bool = False

    @property
    def complaint(self) -> str:
        """Return the error and its consequence, for the user; '' for a valid file."""
        if not self.error:
            return ""
        consequence = "; only its switches that turn something off apply"
        if self.closed:
            consequence = " and may isolate domains, so memory is off until it is corrected"
        return f"{NAME} cannot be read{consequence}: {self.error}"


def settings_of(environ: Mapping[str, str]) -> Settings:
    """Return the settings from variables and config.toml, with errors of both in `complaints`."""
    file = read_file(config.home_path(environ))
    settings = config.read_settings(environ, file.table)
    complaints = (*settings.complaints, *filter(None, [file.complaint]))
    return settings._replace(complaints=complaints, closed=file.complaint if file.closed else "")


def follow(settings: Settings, home: str) -> Settings:
    """Return the settings with the current switches and domains of config.toml."""
    file = read_file(home)
    return config.with_changes(settings, file.table, file.complaint if file.closed else "")


def read_file(home: str) -> ConfigFile:
    """Read the config.toml of a home; return empty tables if the file is missing."""
    path = os.path.join(home, NAME)
    try:
        return ConfigFile(files.read_toml(path))
    except (OSError, ValueError, RecursionError) as error:
        why = str(error).replace(path, NAME).rstrip(".")  # other clients may see the message
    try:
        text = files.read_text(path) or ""
    except (OSError, ValueError):
        text = None  # the unreadable file may isolate any domain, so memory is off
    if text is None or config.may_isolate(text):
        return ConfigFile(dict.fromkeys(PARTS, False), why, closed=True)
    return ConfigFile(config.switches_in(text), why)


def state(home: str, project_id: str) -> dict[str, bool]:
    """Return for reading, writing and notes if both the global and the project's switch are on."""
    tables = _tables(home, EVERYWHERE, project_id)
    return {p: all(table.get(p) is not False for table in tables) for p in (*PARTS, NOTES)}


def notes_off_times(home: str, project_id: str) -> list[tuple[str, str]]:
    """Return the periods (from, until; ISO 8601) in which notes were off, here or everywhere."""
    tables = _tables(home, EVERYWHERE, project_id)
    spans = (span for table in tables for span in table.get(OFF_TIMES, ()))
    return [(str(since), str(until)) for since, until in spans]


def off_error(settings: Settings) -> StoreUnavailable:
    """Return the error that reports that memory is switched off, with the remedy."""
    if settings.closed:
        return StoreUnavailable("", f"{settings.closed}.", remedy="Correct config.toml.")
    problem = "Memory is switched off here."
    return StoreUnavailable("", problem, remedy="Turn it on with memory-fabric on.")


def own(home: str, place: str) -> dict[str, bool]:
    """Return the switches set for a project id or for EVERYWHERE alone, without combining them."""
    tables = _tables(home, place)
    return {part: all(table.get(part) is not False for table in tables) for part in PARTS}


def _tables(home: str, *places: str) -> list[dict[str, Any]]:
    switches = files.read_json(os.path.join(home, SWITCHES))
    return [table for table in map(switches.get, places) if isinstance(table, dict)]


def turn(home: str, place: str, parts: Sequence[str], on: bool) -> None:
    """Turn parts on or off for a project id, or for EVERYWHERE. Raises OSError, TimeoutError."""
    path, now = os.path.join(home, SWITCHES), ids.timestamp()
    with files.Locked(path + ".lock"):
        switches = files.read_json(path)
        own = switches.get(place)
        own = dict(own) if isinstance(own, dict) else {}
        own = {part: value for part, value in own.items() if part not in parts}
        own |= {} if on else dict.fromkeys(parts, False)
        if NOTES in parts:
            spans = [[since, until] for since, until in own.get(OFF_TIMES, ())]
            is_off = bool(spans) and spans[-1][1] > now
            if on and is_off:
                spans[-1][1] = now
            elif not (on or is_off):
                spans.append([now, FOR_EVER])
            own |= {OFF_TIMES: spans[-MAX_OFF_TIMES:]} if spans else {}
        switches[place] = own
        changed = {name: value for name, value in switches.items() if value}
        files.write_atomic(path, files.pretty_json(changed))
    launch_marks.forget_places(home)

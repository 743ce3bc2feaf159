"""Settings in home: config.toml and switches.json, which are read again after each change. If
config.toml cannot be parsed, only its switches that turn something off apply. If an invalid file
might isolate a domain (hide its memories from other domains), or cannot be read, all memory is off.
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
# The switches for the assistant's notes and for capture. The key `<switch>_off_times` lists periods
# [from, until] in which the switch was off: notes, or turns, from these periods are never saved.
NOTES, WRITE, OFF_TIMES, MAX_OFF_TIMES = "notes", "write", "_off_times", 50
FOR_EVER = "9999"


class ConfigFile(NamedTuple):
    """The valid tables and error of config.toml. If `closed`, memory is off to isolate domains."""

    table: Mapping[str, Any] = {}
    error: str = ""
    closed: bool = False

    @property
    def complaint(self) -> str:
        """Return, for the user, the error and its consequence; '' if the file is valid."""
        if not self.error:
            return ""
        consequence = "; only its switches that turn something off apply"
        if self.closed:
            consequence = " and may isolate domains, so memory is off until it is corrected"
        return f"{NAME} cannot be read{consequence}: {self.error}"


def settings_of(environ: Mapping[str, str]) -> Settings:
    """Return the settings from the environment and config.toml; `complaints` lists their errors."""
    file = read_file(config.home_path(environ))
    settings = config.read_settings(environ, file.table)
    complaints = (*settings.complaints, *filter(None, [file.complaint]))
    return settings._replace(complaints=complaints, closed=file.complaint if file.closed else "")


def follow(settings: Settings, home: str) -> Settings:
    """Return the settings with the switches and domains that config.toml contains now."""
    file = read_file(home)
    return config.with_changes(settings, file.table, file.complaint if file.closed else "")


def read_file(home: str) -> ConfigFile:
    """Read a home's config.toml; if the file is missing, its tables are empty."""
    path = os.path.join(home, NAME)
    try:
        return ConfigFile(files.read_toml(path))
    except (OSError, ValueError, RecursionError) as error:
        why = str(error).replace(path, NAME).rstrip(".")  # other clients see this: omit the path
    try:
        text = files.read_text(path) or ""
    except (OSError, ValueError):
        text = None  # memory is off, as the unreadable file might isolate domains
    if text is None or config.may_isolate(text):
        return ConfigFile(dict.fromkeys(PARTS, False), why, closed=True)
    return ConfigFile(config.switches_in(text), why)


def state(home: str, project_id: str) -> dict[str, bool]:
    """Map `read`, `write` and `notes` to True unless switched off globally or in the project."""
    tables = _tables(home, EVERYWHERE, project_id)
    return {p: all(table.get(p) is not False for table in tables) for p in (*PARTS, NOTES)}


def off_times(part: str, home: str, project_id: str) -> list[tuple[str, str]]:
    """Return the periods (from, until; ISO 8601) with NOTES or WRITE off here or everywhere."""
    tables = _tables(home, EVERYWHERE, project_id)
    spans = (span for table in tables for span in table.get(part + OFF_TIMES, ()))
    return [(str(since), str(until)) for since, until in spans]


def off_error(settings: Settings) -> StoreUnavailable:
    """Return the error that says that memory is switched off and how to switch it on."""
    if settings.closed:
        return StoreUnavailable("", f"{settings.closed}.", remedy="Correct config.toml.")
    problem = "Memory is switched off here."
    return StoreUnavailable("", problem, remedy="Turn it on with memory-fabric on.")


def own(home: str, place: str) -> dict[str, bool]:
    """Return the switches of one `place` only: a project id, or EVERYWHERE for the global ones."""
    tables = _tables(home, place)
    return {part: all(table.get(part) is not False for table in tables) for part in PARTS}


def _tables(home: str, *places: str) -> list[dict[str, Any]]:
    switches = files.read_json(os.path.join(home, SWITCHES))
    return [table for table in map(switches.get, places) if isinstance(table, dict)]


def turn(home: str, place: str, parts: Sequence[str], on: bool) -> None:
    """Switch parts of memory on or off in a project or EVERYWHERE. Raises OSError, TimeoutError."""
    path, now = os.path.join(home, SWITCHES), ids.timestamp()
    with files.Locked(path + ".lock"):
        switches = files.read_json(path)
        own = switches.get(place)
        own = {k: v for k, v in own.items() if k not in parts} if isinstance(own, dict) else {}
        own |= {} if on else dict.fromkeys(parts, False)
        for part in {NOTES, WRITE}.intersection(parts):
            spans = [[since, until] for since, until in own.get(part + OFF_TIMES, ())]
            is_off = bool(spans) and spans[-1][1] > now
            if on and is_off:
                spans[-1][1] = now
            elif not (on or is_off):
                spans.append([now, FOR_EVER])
            own |= {part + OFF_TIMES: spans[-MAX_OFF_TIMES:]} if spans else {}
        switches[place] = own
        changed = {name: value for name, value in switches.items() if value}
        files.write_atomic(path, files.pretty_json(changed))
    launch_marks.forget_places(home)

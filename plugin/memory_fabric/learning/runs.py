"""The runs of `learn`, in a file of home: which are unfinished, and what undo takes back.

The file also has the new places of folders that were moved, which a person states. Imports have a
file of the same form.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.store import files

FILE, LOCK = "learn.json", "learn.lock"
MAX_KEPT = 50


class Run(NamedTuple):
    """A run: its name as a batch, its start (ISO 8601), a folder of each project by project id.

    `finished` are the projects in which it has done all. `state` is "open" until all was read, then
    "done"; "undone" after undo.
    """

    batch: str
    at: str
    folders: dict[str, str]
    finished: tuple[str, ...] = ()
    state: str = "open"


@contextmanager
def alone(home: str) -> Iterator[None]:
    """Hold the lock that one run or undo at a time has. Raises BadInput if another has it."""
    lock = files.Locked(os.path.join(home, LOCK), timeout_s=0)
    try:
        lock.__enter__()
    except TimeoutError as error:
        told = "Another memory-fabric learn is running."
        raise BadInput("learn", told, remedy="Wait until it has ended.") from error
    try:
        yield
    finally:
        lock.__exit__()


def unfinished(home: str) -> Run | None:
    """Return the run that was interrupted, if the last one was."""
    known = load(home)
    return known[-1] if known and known[-1].state == "open" else None


def begin(home: str) -> Run:
    """Return the unfinished run, or a new one."""
    run = unfinished(home)
    if run is not None:
        return run
    run = Run(f"learn-{ids.new_id()[-12:]}", ids.timestamp(), {})
    save(home, run)
    return run


def last(home: str, file: str = FILE) -> Run | None:
    """Return the last run that is not undone."""
    return next((run for run in reversed(load(home, file)) if run.state != "undone"), None)


def save(home: str, run: Run, file: str = FILE) -> None:
    """Write a run, which replaces the one of the same name. Raises OSError."""
    with _locked(home, file):
        known = [one for one in load(home, file) if one.batch != run.batch]
        _write(home, [*known, run], moved(home, file), file)


def load(home: str, file: str = FILE) -> list[Run]:
    """Return all runs, oldest first; a damaged file is as none."""
    runs = files.read_json(os.path.join(home, file)).get("runs")
    return [run for one in (runs if isinstance(runs, list) else ()) if (run := _run(one))]


def moved(home: str, file: str = FILE) -> dict[str, str]:
    """Return the new places of moved folders by their old ones."""
    found = files.read_json(os.path.join(home, file)).get("moved")
    return {str(old): str(new) for old, new in found.items()} if isinstance(found, dict) else {}


def note_moved(home: str, places: Mapping[str, str]) -> None:
    """Remember new places of moved folders. Raises OSError."""
    if places:
        with _locked(home, FILE):
            _write(home, load(home), moved(home) | dict(places), FILE)


def _locked(home: str, file: str) -> files.Locked:
    """Return the lock under which a file is read, changed and written."""
    return files.Locked(os.path.join(home, f"{file}.lock"))


def _write(home: str, runs: Sequence[Run], places: Mapping[str, str], file: str) -> None:
    table: dict[str, Any] = {"runs": [one._asdict() for one in runs[-MAX_KEPT:]]}
    table |= {"moved": dict(places)} if places else {}
    files.make_folder(home)
    files.write_atomic(os.path.join(home, file), files.pretty_json(table))


def _run(value: Any) -> Run | None:
    try:
        folders = {str(id_): str(folder) for id_, folder in value["folders"].items()}
        finished = tuple(map(str, value["finished"]))
        return Run(str(value["batch"]), str(value["at"]), folders, finished, str(value["state"]))
    except (AttributeError, KeyError, TypeError):
        return None

"""The run logs in the home folder, one for `learn` and one for imports, and the undo of a run."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Provenance
from memory_fabric.store import files
from memory_fabric.store.history import changes
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import home_projects, identity, registry_file

FILE, LOCK = "learn.json", "learn.lock"
MAX_KEPT = 50
# SQL for changes that a person later made to a run's records: `learn --accept`, `review`, `edit`.
_BATCH = "coalesce(json_extract(payload, '$.batch'), '')"
_SINCE = f"kind IN ('remember', 'put_record') AND {_BATCH} <> ?"


class Run(NamedTuple):
    """A run: batch, start time, project folders by id, and state ("open", "done", "undone")."""

    batch: str
    at: str
    folders: dict[str, str]
    finished: tuple[str, ...] = ()
    state: str = "open"


class Taken(NamedTuple):
    """Numbers of changes that an undo reverted, failed to revert, or kept as already accepted."""

    name: str
    changes: int = 0
    left: int = 0
    kept: int = 0


@contextmanager
def alone(home: str) -> Iterator[None]:
    """Hold a lock that allows only one run or undo at a time. Raises BadInput if it is held."""
    with ExitStack() as held:
        try:
            held.enter_context(files.Locked(os.path.join(home, LOCK), timeout_s=0))
        except TimeoutError as error:
            problem = "Another memory-fabric learn is running."
            raise BadInput("learn", problem, remedy="Wait until it has ended.") from error
        yield


def unfinished(home: str) -> Run | None:
    """Return the last run if it was interrupted, otherwise None."""
    runs = load(home)
    return runs[-1] if runs and runs[-1].state == "open" else None


def begin(home: str) -> Run:
    """Return the interrupted run, which is to be continued, or otherwise a new run."""
    if (run := unfinished(home)) is None:
        run = Run(f"learn-{ids.new_id()[-12:]}", ids.timestamp(), {})
        save(home, run)
    return run


def last(home: str, file: str = FILE) -> Run | None:
    """Return the last run that has not been undone; None if there is no such run."""
    return next((run for run in reversed(load(home, file)) if run.state != "undone"), None)


def load(home: str, file: str = FILE) -> list[Run]:
    """Return all runs, oldest first; an empty list if the file is damaged."""
    rows, loaded = files.read_json(os.path.join(home, file)).get("runs"), []
    for row in rows if isinstance(rows, list) else ():
        try:
            folders = {str(id_): str(folder) for id_, folder in row["folders"].items()}
            batch, at, state = (str(row[name]) for name in ("batch", "at", "state"))
            loaded.append(Run(batch, at, folders, tuple(map(str, row["finished"])), state))
        except (AttributeError, KeyError, TypeError):
            continue
    return loaded


def save(home: str, run: Run, file: str = FILE) -> None:
    """Save a run, replacing any saved run with the same batch. Raises OSError."""
    with files.Locked(os.path.join(home, f"{file}.lock")):
        runs = [other for other in load(home, file) if other.batch != run.batch]
        _write(home, [*runs, run], moved(home, file), file)


def moved(home: str, file: str = FILE) -> dict[str, str]:
    """Map old to new paths of the folders that the user reported as moved."""
    places = files.read_json(os.path.join(home, file)).get("moved")
    return {str(old): str(new) for old, new in places.items()} if isinstance(places, dict) else {}


def note_moved(home: str, places: Mapping[str, str]) -> None:
    """Save which folders have moved, as a mapping of old to new paths. Raises OSError."""
    if places:
        with files.Locked(os.path.join(home, f"{FILE}.lock")):
            _write(home, load(home), moved(home) | dict(places), FILE)


def _write(home: str, runs: Sequence[Run], places: Mapping[str, str], file: str) -> None:
    table: dict[str, Any] = {"runs": [run._asdict() for run in runs[-MAX_KEPT:]]}
    table |= {"moved": dict(places)} if places else {}
    files.make_folder(home)
    files.write_atomic(os.path.join(home, file), files.pretty_json(table))


def undo(settings: Settings, run: Run, by: Provenance, file: str = FILE) -> list[Taken]:
    """Undo a run in all its projects, except accepted changes. Raises StoreUnavailable, OSError."""
    taken = []
    for key, folder in run.folders.items():
        with closing(_opened(settings, key, folder)) as memory:
            made = [c for c in changes.of_batch(memory, run.batch) if not c.undone]
            since = changes.read_all(memory, _SINCE, (run.batch,)) if file == FILE else ()
            accepted = {c.payload["record"]["id"] for c in since if not c.undone}
            chosen = [c for c in made if c.payload.get("record", {}).get("id") not in accepted]
            results = undoing.undo(memory, chosen, by)
            name = memory.project.name if memory.project else folder
            count = sum(bool(result.by) for result in results)
            if memory.project or results:
                taken.append(Taken(name, count, len(results) - count, len(made) - len(chosen)))
    save(settings.home, run._replace(state="undone"), file)
    return taken


def _opened(settings: Settings, key: str, folder: str) -> Memory:
    """Open a project's memory by id (`key`) or else by folder; if unknown, the user's memory."""
    id_ = key
    if not ids.is_project_id(key):
        place = identity.identify(os.path.realpath(folder))
        id_ = registry_file.place_owner(registry_file.read_registry(settings.home), place)
    try:
        return home_projects.memory_of(settings, id_)
    except NotFound:
        return Memory.open(settings._replace(project_dir=""))

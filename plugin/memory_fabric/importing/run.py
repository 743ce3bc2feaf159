"""One import: its parts by project, stored as one batch that `undo` takes back in all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.importing import choose, write
from memory_fabric.importing.choose import Choice
from memory_fabric.importing.items import ELSEWHERE, Here, Item, Left, LeftOut, Reading
from memory_fabric.importing.recognise import Source
from memory_fabric.importing.write import Stored
from memory_fabric.learning import runs
from memory_fabric.learning.plan import make as past_sessions
from memory_fabric.learning.runs import Run
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Progress

FILE = "import.json"
NO_FOLDER = "of projects without a known folder on this machine"
SEVERAL = "of projects whose name several folders have"


class Part(NamedTuple):
    """The statements for one project: the folder that it is opened by, its name."""

    folder: str
    name: str
    choice: Choice


class Plan(NamedTuple):
    """The statements of a source by project, and all that is left out.

    `names` are those by which the source names this project, where it states no folder.
    """

    source: Source
    path: str
    found: int
    parts: tuple[Part, ...]
    left: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """The number of statements that are to be stored."""
        return sum(len(part.choice.records) for part in self.parts)


def plan(
    memory: Memory, source: Source, path: str, here: Here, others: dict[str, list[str]]
) -> Plan:
    """Read a source and choose what to store; nothing is written.

    `others` are the folders of other projects by name, where their statements go, too; empty to
    leave these out. Raises BadInput, StoreUnavailable, OSError.
    """
    reading = source.read(path, here._replace(whole=True) if others else here)
    now, left = ids.timestamp(), Left()
    parts = []
    if others:
        left.extend(reading.left)
        groups = _by_folder(reading, here, others, left)
    else:
        groups = {"": _of_here(reading, here, left)}
    for folder, items in groups.items():
        some = reading._replace(
            items=tuple(items),
            relations=() if folder else reading.relations,
            left=() if others else reading.left,
        )
        parts.append(_part(memory, source, some, folder, now))
        left.extend(parts[-1].choice.left)
    found = len(reading.items) + sum(one.number for one in reading.left)
    here_ = [item.project for item in groups[""] if item.project]
    names = tuple(dict.fromkeys(name for name in here_ if not os.path.isabs(name)))
    return Plan(source, path, found, tuple(parts), left.all, reading.notes, names)


def store(
    memory: Memory, plans: Sequence[Plan], batch: str, progress: Progress | None = None
) -> list[Stored]:
    """Store all parts as one batch, and note it for undo; return the result of each plan.

    Raises StoreUnavailable.
    """
    home, own = memory.settings.home, memory.settings.project_dir
    folders = [part.folder or own for plan in plans for part in plan.parts if _has(part)]
    if not folders:
        return [Stored(batch=batch) for _ in plans]
    run = Run(batch, ids.timestamp(), {folder: folder for folder in folders}, state="done")
    runs.save(home, run, FILE)
    results = []
    for one in plans:
        made = Stored(batch=batch)
        for part in filter(_has, one.parts):
            with_ = _opened(memory, part.folder)
            try:
                done = write.store(with_, part.choice, batch, progress)
            finally:
                if with_ is not memory:
                    memory.failures += with_.failures
                    with_.close()
            made = made._replace(
                records=made.records + done.records, relations=made.relations + done.relations
            )
        results.append(made)
    return results


def _has(part: Part) -> bool:
    return bool(part.choice.records or part.choice.relations)


def folders_by_name(settings: Settings, roots: dict[str, str]) -> dict[str, list[str]]:
    """Return the folders of the projects that clients have worked in on this machine, by name."""
    found: dict[str, list[str]] = {}
    for one in past_sessions(settings, roots, time.time()):
        if one.place.gone or not os.path.isdir(one.place.root):
            continue
        for name in {one.place.name.casefold(), os.path.basename(one.place.root).casefold()}:
            some = found.setdefault(name, [])
            if one.place.root not in some:
                some.append(one.place.root)
    return found or {"": []}


def namesakes(
    memory: Memory, here: Here, plans: Sequence[Plan], roots: dict[str, str]
) -> list[str]:
    """Return the folders of other projects that a source would name as it names this one.

    `roots` are the folders of clients' transcripts, which know these projects.
    """
    stated = {name.casefold().split("/")[0] for plan in plans for name in plan.names}
    if not stated:
        return []
    own = memory.project.id if memory.project else ""
    found = set()
    for one in past_sessions(memory.settings, roots, time.time()):
        place = one.place
        is_other = not place.gone and place.root not in here.roots and (not own or place.id != own)
        names = {place.name.casefold(), os.path.basename(place.root).casefold()}
        if is_other and names & stated and os.path.isdir(place.root):
            found.add(place.root)
    return sorted(found)


def _of_here(reading: Reading, here: Here, left: Left) -> list[Item]:
    """Return the statements that name this project, or none."""
    kept = []
    for item in reading.items:
        if item.project and not here.whole and not here.is_stated(item.project):
            left.add(ELSEWHERE, item.project)
        else:
            kept.append(item)
    return kept


def _by_folder(
    reading: Reading, here: Here, others: dict[str, list[str]], left: Left
) -> dict[str, list[Item]]:
    """Return the statements by the folder of their project; '' is the one here."""
    groups: dict[str, list[Item]] = {"": []}
    for item in reading.items:
        if not item.project or here.is_stated(item.project):
            groups[""].append(item)
            continue
        places = list(_places(item.project, others))
        if len(places) == 1:
            groups.setdefault(places[0], []).append(item)
        else:
            left.add(SEVERAL if places else NO_FOLDER, item.project)
    return groups


def _places(project: str, others: dict[str, list[str]]) -> Iterator[str]:
    if os.path.isabs(project):
        if os.path.isdir(project):
            yield identity.worktree_of(os.path.realpath(project))
        return
    yield from others.get(project.casefold(), others.get(project.casefold().split("/")[0], ()))


def _part(memory: Memory, source: Source, reading: Reading, folder: str, now: str) -> Part:
    with_ = _opened(memory, folder)
    try:
        name = with_.project.name if with_.project else "the user"
        choice = choose.choose(with_, reading, source.key, now)
        return Part(folder, name, choice)
    finally:
        if with_ is not memory:
            with_.close()


def _opened(memory: Memory, folder: str) -> Memory:
    if not folder:
        return memory
    opened = Memory.open(memory.settings._replace(project_dir=folder))
    opened.batch = memory.batch
    return opened

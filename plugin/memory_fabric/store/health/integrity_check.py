"""Whether what is stored can be relied on: what is wrong, where, and what helps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from memory_fabric.models import OLD, SOUND
from memory_fabric.store import backup, files, invariants, journal, repair
from memory_fabric.store.database import Database
from memory_fabric.store.forget import purge
from memory_fabric.store.forget.purge_steps import set_aside
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import cards, identity
from memory_fabric.text import first_of

MAX_SHOWN = 5
MAX_ORPHANS = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; what does not harm is an offer to tidy up."""

    what: str
    where: str
    text: str
    remedy: str
    harms: bool = True


def findings(memory: Memory) -> list[Finding]:
    """All that is wrong with this memory, what harms first."""
    databases = memory.databases()
    found = [
        Finding("database", "", failure, "memory-fabric repair rebuilds a damaged database.")
        for failure in memory.failures
    ]
    for database in databases:
        found += [*_pages(database), *_indexes(database), *_names(database), *_copies(database)]
    for folder in dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")):
        found += _lines(folder)
    for path in dict.fromkeys(memory.journal_of(kind) for kind in ("project", "user")):
        found += _unreadable(path)
    found += _registered(memory.settings.home)
    if purge.pending(memory.settings.home):
        text = "A purge was stopped before its end."
        remedy = "memory-fabric forget --purge --yes with any text completes it."
        found.append(Finding("purge", memory.settings.home, text, remedy))
    return sorted(found, key=lambda finding: not finding.harms)


def _registered(home: str) -> Iterator[Finding]:
    """Find where registry and cards differ, and projects whose folder is gone."""
    path = os.path.join(home, identity.REGISTRY)
    known = identity.read_registry(home)
    if known.state not in (SOUND, OLD) and known.keys:
        text = f"The registry of projects is {known.state}; the cards say the same."
        yield Finding("registry", path, text, "The next session or command writes it again.")
        return
    hidden = cards.missing(identity.read_cards(home), known)
    if hidden:
        text = f"Keys that projects have and the registry lacks: {first_of(hidden, MAX_SHOWN)}."
        remedy = "memory-fabric project link settles whose they are."
        yield Finding("registry", path, text, remedy)
    for id_ in dict.fromkeys(known.keys.values()):
        if identity.has_lost_card(home, id_):
            text = f"The folder of the project {id_} is gone, with what it remembered."
            remedy = "A session or repair in the project's folder says what its journal still has."
            yield Finding("project", identity.folder_of(home, id_), text, remedy)


def _pages(database: Database) -> Iterator[Finding]:
    remedy = "memory-fabric repair rebuilds it from backup and journal."
    for (said,) in database.rows("PRAGMA quick_check(5)"):
        if said != "ok":
            yield Finding("damage", database.path, str(said), remedy)
    broken = database.rows("PRAGMA foreign_key_check")
    if broken:
        text = f"{len(broken)} rows point to nothing, in {broken[0][0]} first."
        yield Finding("links", database.path, text, remedy)


def _indexes(database: Database) -> Iterator[Finding]:
    if database.newer or database.read_only:
        return
    for table in repair.unfit_indexes(database):
        text = f"The index {table} does not fit its texts: searches miss some."
        yield Finding("index", database.path, text, "memory-fabric repair makes it again.")


def _names(database: Database) -> Iterator[Finding]:
    alone = invariants.orphans(database, MAX_ORPHANS)
    if alone:
        text = f"Entities of which nothing is said: {first_of(alone, MAX_SHOWN)}."
        remedy = "memory-fabric repair --orphans takes them out."
        yield Finding("orphans", database.path, text, remedy, harms=False)
    for names in invariants.variants(database):
        text = f"One name in several spellings: {first_of(names, MAX_SHOWN)}."
        remedy = "memory-fabric merge makes them one."
        yield Finding("variants", database.path, text, remedy, harms=False)
    for alias, entity, owner in invariants.alias_conflicts(database):
        text = f"{alias!r} is a name of {entity!r}, and of {owner!r} itself."
        remedy = "memory-fabric merge, or alias --remove."
        yield Finding("alias", database.path, text, remedy, harms=False)


def _copies(database: Database) -> Iterator[Finding]:
    copies = backup.every(database.path)
    if not copies:
        text, remedy = "There is no backup yet.", "memory-fabric backup makes one."
        yield Finding("backup", files.backups_of(database.path), text, remedy, harms=False)
    for copy in copies:
        if not backup.is_sound(copy):
            remedy = "Delete it; memory-fabric backup makes a new one."
            yield Finding("backup", copy, "The backup cannot be read.", remedy)
    for path in set_aside(database.path):
        if not path.endswith(("-wal", "-shm")):
            text, remedy = "A damaged database was set aside.", "Delete it when nothing is missed."
            yield Finding("set aside", path, text, remedy, harms=False)


def _lines(folder: str) -> Iterator[Finding]:
    for name in (journal.DECISIONS, journal.QUEUE, journal.CLAIMED):
        yield from _unreadable(os.path.join(folder, name))
    try:
        waiting, _ = journal.queued(folder)
    except OSError:
        return  # said already
    if waiting:
        text = f"{len(waiting)} changes wait for the graph."
        yield Finding("queue", folder, text, "memory-fabric sync brings them in.", harms=False)
    for aside in (os.path.join(folder, name) for name in (journal.BAD, journal.REFUSED)):
        if not os.path.exists(aside):
            continue
        text = "Changes that could not be read or applied were set aside."
        yield Finding("queue", aside, text, "Look at them, then delete the file.")


def _unreadable(path: str) -> Iterator[Finding]:
    try:
        _, bad = files.read_lines(path)
    except OSError as error:
        yield Finding("file", path, f"It cannot be read: {error}.", "Check its permissions.")
        return
    if bad:
        numbers = first_of(map(str, bad), MAX_SHOWN)
        text = f"{len(bad)} lines cannot be read: {numbers}."
        yield Finding("lines", path, text, "Look at them; delete what cannot be saved.")

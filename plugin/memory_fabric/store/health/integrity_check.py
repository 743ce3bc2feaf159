"""Integrity checks of what is stored: each problem with its place and remedy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial

from memory_fabric.models import OLD, SOUND
from memory_fabric.store import backup, files, invariants, journal
from memory_fabric.store.database import Database
from memory_fabric.store.forget import purge
from memory_fabric.store.forget.purge_steps import set_aside
from memory_fabric.store.health import index_check, repair
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import cards, identity
from memory_fabric.text import first_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory_fabric.values import Progress

    Part = Callable[[], Iterable["Finding"]]

MAX_SHOWN = 5
MAX_ORPHANS = 10_000


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem and its remedy; one that does no harm is only an offer to tidy up."""

    what: str
    where: str
    text: str
    remedy: str
    harms: bool = True


def findings(
    memory: Memory, *, full: bool = False, progress: Progress | None = None
) -> list[Finding]:
    """Return all problems of this memory, harmful ones first.

    Large indexes and older large backups are read whole only if `full`.
    """
    databases = memory.databases()
    found = [
        Finding("database", "", failure, "memory-fabric repair rebuilds a damaged database.")
        for failure in memory.failures
    ]
    parts = [part for database in databases for part in _parts_of(database, full=full)]
    folders = dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user"))
    parts += [partial(_lines, folder) for folder in folders]
    journals = dict.fromkeys(memory.journal_of(kind) for kind in ("project", "user"))
    parts += [partial(_unreadable, path, journal.MAX_JOURNAL_BYTES) for path in journals]
    parts.append(partial(_registered, memory.settings.home))
    for number, part in enumerate(parts):
        if progress is not None:
            progress(number, len(parts))
        found += part()
    if purge.pending(memory.settings.home):
        text = "A purge was stopped before its end."
        remedy = "memory-fabric forget --purge --yes with any text completes it."
        found.append(Finding("purge", memory.settings.home, text, remedy))
    return sorted(found, key=lambda finding: not finding.harms)


def _parts_of(database: Database, *, full: bool) -> list[Part]:
    """Return the checks of one database, in their order."""
    parts: list[Part] = [partial(_pages, database), partial(_links, database)]
    if not database.newer and not database.read_only:
        parts += [partial(_index, database, table, full) for table in repair.FULL_TEXT]
        parts += [] if full else [partial(_sampled, database)]
    parts.append(partial(_names, database))
    return [*parts, partial(_copies, database, full)]


def _registered(home: str) -> Iterator[Finding]:
    """Yield differences between registry and cards, and projects whose folder is gone."""
    path = os.path.join(home, identity.REGISTRY)
    known = identity.read_registry(home)
    if known.state not in (SOUND, OLD) and known.keys:
        text = f"The registry of projects is {known.state}; the cards replace it."
        yield Finding("registry", path, text, "The next session or command rewrites it.")
        return
    hidden = cards.missing_keys(identity.read_cards(home), known)
    if hidden:
        text = f"Keys on project cards that the registry lacks: {first_of(hidden, MAX_SHOWN)}."
        remedy = "memory-fabric project link assigns them."
        yield Finding("registry", path, text, remedy)
    for id_ in dict.fromkeys(known.keys.values()):
        if identity.has_lost_card(home, id_):
            text = f"The folder of the project {id_} is gone, with its memory."
            remedy = "A session or repair in the project's folder shows what its journal has."
            yield Finding("project", identity.folder_of(home, id_), text, remedy)


def _pages(database: Database) -> Iterator[Finding]:
    remedy = "memory-fabric repair rebuilds it from backup and journal."
    for (said,) in database.rows("PRAGMA quick_check(5)"):
        if said != "ok":
            yield Finding("damage", database.path, str(said), remedy)


def _links(database: Database) -> Iterator[Finding]:
    broken = database.rows("PRAGMA foreign_key_check")
    if broken:
        text = f"{len(broken)} rows have broken references, first in {broken[0][0]}."
        remedy = "memory-fabric repair rebuilds it from backup and journal."
        yield Finding("links", database.path, text, remedy)


def _index(database: Database, table: str, full: bool) -> Iterator[Finding]:
    if not index_check.matches(database, table, full=full):
        text = f"The index {table} does not match its texts: searches miss some."
        yield Finding("index", database.path, text, "memory-fabric repair rebuilds it.")


def _sampled(database: Database) -> Iterator[Finding]:
    """Yield a note if indexes are so large that only their rows and samples were compared."""
    large = [table for table in repair.FULL_TEXT if index_check.is_large(database, table)]
    if large:
        text = f"Compared by rows and samples only, since they are large: {', '.join(large)}."
        remedy = "memory-fabric check --full compares every text."
        yield Finding("sampled", database.path, text, remedy, harms=False)


def _names(database: Database) -> Iterator[Finding]:
    alone = invariants.orphans(database, MAX_ORPHANS)
    if alone:
        text = f"Entities without observations and relations: {first_of(alone, MAX_SHOWN)}."
        remedy = "memory-fabric repair --orphans deletes them."
        yield Finding("orphans", database.path, text, remedy, harms=False)
    for names in invariants.variants(database):
        text = f"One name in several spellings: {first_of(names, MAX_SHOWN)}."
        remedy = "memory-fabric merge combines them."
        yield Finding("variants", database.path, text, remedy, harms=False)
    for alias, entity, owner in invariants.alias_conflicts(database):
        text = f"{alias!r} is an alias of {entity!r} and the name of {owner!r}."
        remedy = "memory-fabric merge, or alias --remove."
        yield Finding("alias", database.path, text, remedy, harms=False)


def _copies(database: Database, full: bool) -> Iterator[Finding]:
    copies = backup.list_backups(database.path)
    if not copies:
        text, remedy = "There is no backup yet.", "memory-fabric backup makes one."
        yield Finding("backup", files.backups_of(database.path), text, remedy, harms=False)
    for number, copy in enumerate(copies):
        is_read = full or not number or not backup.is_large(copy)
        if not (backup.is_sound(copy) if is_read else backup.can_be_opened(copy)):
            remedy = "Delete it; memory-fabric backup makes a new one."
            yield Finding("backup", copy, "The backup cannot be read.", remedy)
    for path in set_aside(database.path):
        if not path.endswith(("-wal", "-shm")):
            text, remedy = "A damaged database was set aside.", "Delete it if nothing is missing."
            yield Finding("set aside", path, text, remedy, harms=False)


def _lines(folder: str) -> Iterator[Finding]:
    for name in (journal.DECISIONS, journal.QUEUE, journal.CLAIMED):
        yield from _unreadable(os.path.join(folder, name))
    try:
        waiting, _ = journal.queued(folder)
    except OSError:
        return  # reported above
    if waiting:
        text = f"{len(waiting)} changes wait for the graph."
        yield Finding("queue", folder, text, "memory-fabric sync applies them.", harms=False)
    for aside in (os.path.join(folder, name) for name in (journal.BAD, journal.REFUSED)):
        if not os.path.exists(aside):
            continue
        text = "Changes that could not be read or applied were set aside."
        yield Finding("queue", aside, text, "Look at them, then delete the file.")


def _unreadable(path: str, max_bytes: int = files.MAX_LINES_BYTES) -> Iterator[Finding]:
    try:
        bad = files.invalid_lines(path, max_bytes)
    except OSError as error:
        yield Finding("file", path, f"It cannot be read: {error}.", "Check its permissions.")
        return
    if bad:
        numbers = first_of(map(str, bad), MAX_SHOWN)
        text = f"{len(bad)} lines cannot be read: {numbers}."
        yield Finding("lines", path, text, "Look at them; delete what cannot be saved.")

"""The steps of a purge, in an order that loses nothing else, and the proof at its end."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation, Provenance, Record
from memory_fabric.store import (
    backup,
    files,
    journal,
    log,
    pages,
    records,
    seal,
    spool,
    write,
)
from memory_fabric.store.database import Database, open_database, translated
from memory_fabric.store.graph_file import agreement, exchange
from memory_fabric.store.memory import Memory
from memory_fabric.store.purge import places, purge_files, purge_rows
from memory_fabric.store.purge.places import Place
from memory_fabric.store.purge.purge_plan import Plan, gone_from
from memory_fabric.store.purge.scrubbing import Gone

SET_ASIDE = ".corrupt-"
_OF_OPERATIONS = frozenset(
    (journal.OPERATIONS, journal.DECISIONS, journal.QUEUE, journal.CLAIMED, journal.BAD)
)


@contextmanager
def opened(memory: Memory, where: Sequence[Place]) -> Iterator[list[tuple[Place, Database]]]:
    """All databases of these places; those of other projects are open for this block only."""
    own = {memory.path_of(kind): kind for kind in ("project", "user")}
    found: list[tuple[Place, Database]] = []
    others: list[Database] = []
    try:
        for place in where:
            if place.path in own:
                database = memory.database(own[place.path], create=False)
            else:
                database = open_database(place.path, place.kind, create=False)
                others += [database] if database else []
            found += [(place, database)] if database else []
        yield found
    except sqlite3.Error as error:
        raise translated(found[-1][1].path if found else "", error) from error
    finally:
        for database in others:
            database.close()


def forget(memory: Memory, plan: Plan, provenance: Provenance) -> None:
    """Take the rows themselves, as anybody forgets, and note that nobody may bring them back."""
    by = write.cleaned_provenance(provenance._replace(at=provenance.at or ids.timestamp()))
    for kind, part in plan["stores"].items():
        database = memory.database(kind, create=False)
        if database is None:
            continue
        payload = write.cleaned(part["forget"])
        memory.apply_now(Operation(ids.new_id(), "forget", payload, by, kind))
        graves = [
            list(row)
            for id_ in sorted(gone_from(plan, memory, database).graves())
            for row in database.rows("SELECT * FROM tombstones WHERE id = ?", (id_,))
        ]
        if graves:
            told = {"add": graves, "remove": []}
            memory.apply_now(Operation(ids.new_id(), "tombstones", told, by, kind))


def erase(memory: Memory, plan: Plan, where: Sequence[Place]) -> int:
    """Take it out of everything but the copies; how many rows were changed.

    Raises StoreUnavailable, OSError, sqlite3.Error; what was done until then is done.
    """
    rows, gone_in = 0, {"user": Gone(texts=tuple(plan["texts"]))}
    with opened(memory, where) as databases:
        for place, database in databases[::-1]:  # the user's first: a queue may hold both
            gone = purge_rows.with_the_living(database, gone_from(plan, memory, database))
            gone_in[place.kind] = gone
            database.connection.execute("PRAGMA secure_delete = ON")
            with database.transaction() as c:
                rows += purge_rows.scrub(c, gone)
                _journals(place, gone)  # who appends to them holds the write lock
            _queues(memory, place, gone_in)
        for place, _ in databases:
            _fences(memory, place, frozenset(plan["ids"]), databases)
        _other_lines(memory, where, Gone(texts=tuple(plan["texts"])))
        pages.drop_all(memory.settings.home)
        every = Gone(texts=tuple(plan["texts"]))
        spool.erase(memory.settings.home, lambda data: purge_files.is_in(data, every))
        memory.flush()
        if memory.mirror is not None:
            gone = Gone(texts=tuple(_unshared(memory, plan, databases)))
            memory.mirror.erase(memory, lambda line: purge_files.is_in(line, gone))
        for _, database in databases:
            purge_rows.compact(database)
    return rows


def copy(where: Sequence[Place]) -> list[str]:
    """One new backup of each database; when it is verified, all other copies go."""
    fresh = []
    for place in where:
        made = backup.make(place.path)
        fresh.append(made)
        folder = files.backups_of(place.path)
        stem = os.path.splitext(os.path.basename(place.path))[0] + "-"
        old = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(stem)]
        for other in (*old, *set_aside(place.path)):
            if other != made:
                os.unlink(other)
    return fresh


def set_aside(path: str) -> list[str]:
    """Damaged databases that were set aside, with their logs: nothing can be taken out of them."""
    folder, start = os.path.dirname(path), os.path.basename(path) + SET_ASIDE
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(start)]


def prove(memory: Memory, plan: Plan, where: Sequence[Place], noted: str) -> list[str]:
    """Files of the user or of other projects that hold one of the texts still.

    The file in which the purge is `noted` does not count. Raises StoreUnavailable for a file of
    ours that holds one, too.
    """
    with opened(memory, where) as databases:
        texts = _unshared(memory, plan, databases)
        held = [db.path for _, db in databases if purge_rows.holding(db, texts)]
    served = [memory.mirror.path] if memory.mirror else []
    for path in (*_own_files(memory, where), *served):
        if path != noted and purge_files.holds(path, texts):
            if purge_files.is_unfinished(path):
                os.unlink(path)
            else:
                held.append(path)
    notes = [path for place in where for path in place.notes]
    held += [p for p in notes if purge_files.any_form_in(purge_files.own_fence(p), texts)]
    if held:
        raise StoreUnavailable(
            held[0],
            f"{', '.join(dict.fromkeys(held))} still holds what was to be erased.",
            remedy="Look at it; then say the same again.",
        )
    others = dict.fromkeys((*places.other_files(memory, where), *notes))
    return [path for path in others if path != noted and purge_files.holds(path, texts)]


def _unshared(memory: Memory, plan: Plan, databases: Sequence[tuple[Place, Database]]) -> list[str]:
    """The texts that nothing else holds that stays."""
    shared = {
        text
        for _, database in databases
        for text in purge_rows.others_with(database, gone_from(plan, memory, database))
    }
    return [text for text in plan["texts"] if text not in shared]


def _own_files(memory: Memory, where: Sequence[Place]) -> list[str]:
    """Every file of ours; the log lies elsewhere where home could not be written.

    What an import of a served file set aside lies in the home around this memory's own.
    """
    data = memory.settings.data_dir
    more = [os.path.join(data, log.LOG_NAME + ending) for ending in ("", ".1")] if data else []
    more.append(os.path.join(memory.switched_by[0], exchange.SET_ASIDE))
    return list(dict.fromkeys((*places.own_files(memory, where), *filter(os.path.exists, more))))


def _journals(place: Place, gone: Gone) -> None:
    folder = os.path.dirname(place.path)
    purge_files.operations(os.path.join(folder, journal.OPERATIONS), gone)
    for local in place.folders:
        purge_files.decisions(os.path.join(local, journal.DECISIONS), gone)


def _queues(memory: Memory, place: Place, gone_in: Mapping[str, Gone]) -> None:
    key = seal.key_of(memory.settings.home)
    for folder in place.folders:
        if os.path.isdir(folder):
            purge_files.queue(folder, key, gone_in)


def _fences(
    memory: Memory,
    place: Place,
    gone_ids: frozenset[str],
    databases: Sequence[tuple[Place, Database]],
) -> None:
    def record_of(id_: str) -> Record | None:
        for _, database in databases:
            for record, _ in records.find(database.connection, "id = ?", (id_,)):
                return record
        return None

    for path in place.notes:
        purge_files.fence(path, memory.native_lock(path), gone_ids, record_of)


def _other_lines(memory: Memory, where: Sequence[Place], gone: Gone) -> None:
    """Logs, notices, lines that were set aside; what was agreed on is written with the file."""
    for path in _own_files(memory, where):
        name = os.path.basename(path)
        if memory.mirror is not None and name.startswith(agreement.PREFIX):
            continue
        if name not in _OF_OPERATIONS and name.endswith((".jsonl", ".log", ".log.1")):
            purge_files.other_lines(path, gone)

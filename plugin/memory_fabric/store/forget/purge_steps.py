"""The steps of a purge, in an order that loses nothing else, and the check at its end."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation, Provenance, Record
from memory_fabric.store import backup, files, journal, launch_marks, records, signing, write
from memory_fabric.store.database import Database, open_database, translated
from memory_fabric.store.domains import callers
from memory_fabric.store.forget import own_words, purge_files, purge_rows, saved_pages
from memory_fabric.store.forget.purge_plan import Plan, asked, target_in
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.forget.spellings import Sought
from memory_fabric.store.graph_file import exchange, sync_state
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import spool
from memory_fabric.store.tiers import file_locations
from memory_fabric.store.tiers.file_locations import Location
from memory_fabric.text import many

SET_ASIDE = ".corrupt-"
# How the file of a database begins.
SQLITE = b"SQLite format 3\0"


@contextmanager
def opened(memory: Memory, where: Sequence[Location]) -> Iterator[list[tuple[Location, Database]]]:
    """Open all databases of these locations; those of other projects only for this block."""
    own = {memory.path_of(kind): kind for kind in ("project", "user")}
    found: list[tuple[Location, Database]] = []
    others: list[Database] = []
    try:
        for location in where:
            if location.path in own:
                database = memory.database(own[location.path], create=False)
            else:
                database = open_database(location.path, location.kind, create=False)
                others += [database] if database else []
            found += [(location, database)] if database else []
        yield found
    except sqlite3.Error as error:
        raise translated(found[-1][1].path if found else "", error) from error
    finally:
        for database in others:
            database.close()


def forget(memory: Memory, plan: Plan, provenance: Provenance) -> None:
    """Delete the memories as `forget` does, and log their tombstones."""
    by = write.cleaned_provenance(provenance._replace(at=provenance.at or ids.timestamp()))
    for kind, part in plan["stores"].items():
        database = memory.database(kind, create=False)
        if database is None:
            continue
        payload = write.cleaned(part["forget"])
        memory.apply_now(Operation(ids.new_id(), "forget", payload, by, kind))
        with database.transaction() as c:
            purge_rows.log_tombstones(c, target_in(plan, memory, database), by)


def erase(memory: Memory, plan: Plan, where: Sequence[Location], provenance: Provenance) -> int:
    """Remove everything that was planned from all files but backups; return the number of changed
    rows.

    Raises StoreUnavailable, OSError, sqlite3.Error; steps done before the error stay done.
    """
    by = write.cleaned_provenance(provenance._replace(at=provenance.at or ids.timestamp()))
    every = PurgeTarget(**asked(plan))
    rows, targets, purged_ids = 0, {"user": every}, frozenset(plan["ids"])
    with opened(memory, where) as databases:
        for location, database in databases[::-1]:  # the user's first: a queue may hold both kinds
            database.connection.execute("PRAGMA secure_delete = ON")
            with database.transaction() as c:
                changed, target = purge_rows.scrub(
                    database, c, target_in(plan, memory, database), by
                )
                _clean_journals(
                    memory.settings.home, location, target
                )  # who appends to them holds the write lock
            rows, purged_ids, targets[location.kind] = (
                rows + changed,
                purged_ids | target.ids,
                target,
            )
            _clean_queues(memory, location, targets)
        for location, _ in databases:
            _rewrite_blocks(memory, location, every, purged_ids, databases)
        _clean_other_files(memory, where, every)
        memory.flush()
        if memory.mirror is not None:
            target = replace(every, texts=tuple(_unshared_texts(memory, plan, databases)))
            memory.mirror.erase(memory, lambda line: purge_files.is_in(line, target))
        for _, database in databases:
            purge_rows.compact(database)
    return rows


def renew_backups(where: Sequence[Location]) -> list[str]:
    """Make one new backup of each database and delete all older copies."""
    fresh = []
    for location in where:
        made = backup.create(location.path)
        fresh.append(made)
        folder = files.backups_of(location.path)
        stem = os.path.splitext(os.path.basename(location.path))[0] + "-"
        old = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(stem)]
        for other in (*old, *set_aside(location.path)):
            if other != made:
                os.unlink(other)
    return fresh


def forget_launches(home: str, where: Sequence[Location]) -> None:
    """Remove what the launcher's files tell of rules and folders; later hooks note it again."""
    launch_marks.forget_places(home)
    for location in where:
        launch_marks.forget_unbound(location.path)


def set_aside(path: str) -> list[str]:
    """Return damaged databases that were set aside, with their logs: nothing can be removed from
    them.
    """
    folder, start = os.path.dirname(path), os.path.basename(path) + SET_ASIDE
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(start)]


class NotErased(StoreUnavailable):
    """A file of memory still holds what was to be erased."""


class Verification(NamedTuple):
    """The result of the check after a purge.

    `left` are files that hold purged text and are left alone (of the user, of other projects, or
    settings), `shared` is the number of purged texts that other memories hold, too, and `inside`
    the number of texts that hold the words inside longer ones.
    """

    left: tuple[str, ...]
    shared: int
    inside: int


def verify(memory: Memory, plan: Plan, where: Sequence[Location], plan_path: str) -> Verification:
    """Search every table and file for purged text.

    The plan's own file does not count. Raises NotErased if another file of this memory still holds
    any, with the number of bytes.
    """
    held: Counter[str] = Counter()
    with opened(memory, where) as databases:
        target = replace(
            PurgeTarget(**asked(plan)), texts=tuple(_unshared_texts(memory, plan, databases))
        )
        for _, database in databases:
            held[database.path] += purge_rows.bytes_held(database, target.sought).total()
        # If so, the bytes of a database file hold them, too, and only its tables can be checked.
        inside = sum(
            len(purge_rows.tables_with_inside(database, target)) for _, database in databases
        )
        is_inside = bool(inside) or own_words.are_in(target.sought.anywhere())
    left = []
    for path in own_files(memory, where):
        size = 0 if path == plan_path else _bytes_in_file(path, target.sought, is_inside=is_inside)
        if not size:
            continue
        if purge_files.is_unfinished(path):
            os.unlink(path)
        elif purge_files.is_of_memories(path) or path == _served(memory):
            held[path] = held[path] or size
        else:
            left.append(path)
    for path in (path for location in where for path in location.notes):
        held[path] += _bytes_in(target.sought.spans(purge_files.memory_block(path)))
    _refuse(+held)
    left += elsewhere(memory, where, target.sought, plan_path)
    shared = len(plan["texts"]) - len(target.texts)
    return Verification(tuple(dict.fromkeys(left)), shared, inside)


def elsewhere(
    memory: Memory, where: Sequence[Location], sought: Sought, plan_path: str = ""
) -> list[str]:
    """Return files of other projects, of the user and of the client that hold what is sought."""
    others = [path for path in file_locations.other_files(memory, where) if path != plan_path]
    held = [path for path in others if purge_files.matches_in(path, sought)]
    notes = file_locations.client_memory_files(where)
    return [*held, *(path for path in notes if purge_files.is_in_user_text(path, sought))]


def own_files(memory: Memory, where: Sequence[Location]) -> list[str]:
    """Return every file of this memory, with the client's logs where home could not be written.

    The file for bad lines of an imported served file is in the home of the outer memory.
    """
    aside = os.path.join(memory.switched_by[0], exchange.SET_ASIDE)
    more = [path for path in (aside, _served(memory)) if path and os.path.exists(path)]
    every = (
        *file_locations.own_files(memory, where),
        *file_locations.logs_of_client(memory),
        *more,
    )
    return list(dict.fromkeys(every))


def _served(memory: Memory) -> str:
    return memory.mirror.path if memory.mirror else ""


def _refuse(held: Mapping[str, int]) -> None:
    """Raise NotErased with the number of bytes that each file still holds."""
    if held:
        named = ", ".join(f"{path} ({many(size, 'byte')} of it)" for path, size in held.items())
        raise NotErased(
            next(iter(held)),
            f"Not erased: it is still in {named}.",
            remedy="Close other sessions, repeat the command, and delete what still holds it.",
        )


def _bytes_in_file(path: str, sought: Sought, *, is_inside: bool) -> int:
    """Count the bytes of what is sought in a file."""
    with files.open_regular(path) as stream:
        data = stream.read()
    if not data.startswith(SQLITE):
        return _bytes_in(sought.spans(data))
    # A database file stores texts without a separator.
    spans = sought.spans(data) if is_inside else sought.anywhere().spans(data)
    return 0 if not spans or purge_rows.is_only_in_indexes(path, sought) else _bytes_in(spans)


def _bytes_in(spans: Sequence[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


def _unshared_texts(
    memory: Memory, plan: Plan, databases: Sequence[tuple[Location, Database]]
) -> list[str]:
    """Return the purged texts that no remaining memory holds."""
    shared = {
        text
        for _, database in databases
        for text in purge_rows.shared_texts(database, target_in(plan, memory, database))
    }
    return [text for text in plan["texts"] if text not in shared]


def _clean_journals(home: str, location: Location, target: PurgeTarget) -> None:
    folder = os.path.dirname(location.path)
    purge_files.operations(os.path.join(folder, journal.OPERATIONS), target)
    for local in location.folders:
        purge_files.decisions(os.path.join(local, journal.DECISIONS), target, home)


def _clean_queues(memory: Memory, location: Location, targets: Mapping[str, PurgeTarget]) -> None:
    key = signing.key_of(memory.settings.home)
    for folder in location.folders:
        if os.path.isdir(folder):
            purge_files.queue(folder, key, targets)


def _rewrite_blocks(
    memory: Memory,
    location: Location,
    target: PurgeTarget,
    purged_ids: frozenset[str],
    databases: Sequence[tuple[Location, Database]],
) -> None:
    def record_of(id_: str) -> Record | None:
        for _, database in databases:
            for record, _ in records.find(database.connection, "id = ?", (id_,)):
                return record
        return None

    for path in location.notes:
        lock = memory.memory_md_lock(path)
        purge_files.rewrite_block(path, lock, target, purged_ids, record_of)


def _clean_other_files(memory: Memory, where: Sequence[Location], target: PurgeTarget) -> None:
    """Clean logs, notices, lines that were set aside, the spool, notes of callers, and saved pages.
    The state of a served file is written with that file.
    """
    home = memory.settings.home
    saved_pages.delete_all(home)
    spool.erase(home, lambda data: purge_files.is_in(data, target))
    for path in own_files(memory, where):
        name = os.path.basename(path)
        if path == _served(memory) or (memory.mirror and name.startswith(sync_state.PREFIX)):
            continue
        if not journal.is_ours(name) and name.endswith((".jsonl", ".log", ".log.1")):
            purge_files.other_lines(path, target)
        elif os.path.dirname(path) == os.path.join(home, callers.FOLDER):
            purge_files.page(path, target)

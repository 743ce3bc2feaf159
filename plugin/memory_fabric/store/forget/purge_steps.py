"""The steps of a purge, in an order that loses no other data, and the check at the end."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation, Progress, Provenance, Record
from memory_fabric.store import files, journal, records, write
from memory_fabric.store.database import Database, open_database, translated
from memory_fabric.store.forget import purge_files, purge_rows, saved_pages
from memory_fabric.store.forget.plan import PurgePlan, target_in, target_of
from memory_fabric.store.forget.scrub_log import PurgeTarget, line_without, marked
from memory_fabric.store.forget.spellings import Sought
from memory_fabric.store.graph_file import agreed, exchange
from memory_fabric.store.home import callers, signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import spool
from memory_fabric.store.tiers import file_locations, memory_md
from memory_fabric.store.tiers.file_locations import Location
from memory_fabric.store.upkeep import backup
from memory_fabric.text import many

SET_ASIDE = ".corrupt-"

Opened = Sequence[tuple[Location, Database]]


class NotErased(StoreUnavailable):
    """Error: a file that the memory wrote still contains text that a purge was to erase."""


@contextmanager
def opened(memory: Memory, where: Sequence[Location]) -> Iterator[Opened]:
    """Yield these locations with open databases; finally, close those of other projects."""
    own = {memory.path_of(kind): kind for kind in ("project", "user")}
    databases: list[tuple[Location, Database]] = []
    try:
        with ExitStack() as others:
            for location in where:
                if location.path in own:
                    database = memory.database(own[location.path], create=False)
                elif database := open_database(location.path, location.kind, create=False):
                    others.callback(database.close)
                databases += [(location, database)] if database else []
            yield databases
    except sqlite3.Error as error:
        raise translated(databases[-1][1].path if databases else "", error) from error


def forget(memory: Memory, plan: PurgePlan, by: Provenance) -> None:
    """Delete the planned memories with the operation `forget`, and log their tombstones."""
    for kind, part in plan["stores"].items():
        if database := memory.database(kind, create=False):
            payload = write.cleaned(part["forget"])
            memory.apply_now(Operation(ids.new_id(), "forget", payload, by, kind))
            with database.transaction() as c:
                purge_rows.log_tombstones(c, target_in(plan, memory, database), by)


def erase(
    memory: Memory, plan: PurgePlan, where: Sequence[Location], by: Provenance, progress: Progress
) -> int:
    """Remove the planned content from everything but backups; return the number of changed rows.
    `progress` gets a percentage: up to 30 while content is removed, then up to 70 while indexes are
    rebuilt. Raises StoreUnavailable, OSError, sqlite3.Error; completed steps remain.
    """
    every, home = target_of(plan), memory.settings.home
    rows, targets, purged_ids = 0, {"user": every}, frozenset(plan["ids"])
    with opened(memory, where) as databases:
        of = len(databases)
        # Purge the user's database first: a project's queue is purged with the targets of both.
        for number, (location, database) in enumerate(databases[::-1]):
            progress(30 * number // of, 100)
            database.connection.execute("PRAGMA secure_delete = ON")
            with database.transaction() as c:
                target = target_in(plan, memory, database)
                changed, target = purge_rows.scrub(database, c, target, by)
                # A journal is written only under the write lock, which this transaction has.
                path = os.path.join(os.path.dirname(location.path), journal.OPERATIONS)
                purge_files.rewrite(path, target, partial(line_without, target=target))
                for folder in location.folders:
                    path = os.path.join(folder, journal.DECISIONS)
                    purge_files.rewrite_decisions(path, target, home)
            rows, purged_ids = rows + changed, purged_ids | target.ids
            targets[location.kind] = target
            for folder in filter(os.path.isdir, location.folders):
                purge_files.rewrite_queue(folder, signing.key_of(home), targets)
        _rewrite_blocks(memory, every, purged_ids, databases)
        _clean_other_files(memory, where, every)
        memory.flush()
        if memory.mirror is not None:
            unshared = replace(every, texts=_unshared_texts(memory, plan, databases))
            memory.mirror.erase(memory, unshared.is_in)
        for number, (_, database) in enumerate(databases):
            start = 30 + 40 * number // of
            tell = lambda n, all_, at=start: progress(at + 40 * n // (all_ * of), 100)  # noqa: E731
            purge_rows.compact(database, tell)
    return rows


def renew_backups(where: Sequence[Location]) -> list[str]:
    """Make a new backup of each database, then delete all older copies; return the new paths."""
    fresh = []
    for location in where:
        fresh.append(backup.create(location.path))
        folder = files.backups_of(location.path)
        stem = os.path.splitext(os.path.basename(location.path))[0] + "-"
        old = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(stem)]
        for path in {*old, *set_aside(location.path)} - {*fresh}:
            os.unlink(path)
    return fresh


def set_aside(path: str) -> list[str]:
    """Return the paths of damaged databases that a repair moved aside, which cannot be cleaned."""
    names, start = os.listdir(os.path.dirname(path)), os.path.basename(path) + SET_ASIDE
    return [os.path.join(os.path.dirname(path), name) for name in names if name.startswith(start)]


def verify(
    memory: Memory, plan: PurgePlan, where: Sequence[Location], plan_path: str
) -> tuple[tuple[str, ...], int, int]:
    """Search every table and file except the plan for purged text. Return three values: files with
    purged text that a purge does not change (the user's, other projects', settings), the number of
    purged texts that stay in other memories, and the number of texts with the words inside longer
    words. If a file of this memory still has purged text, raise NotErased with the number of bytes.
    """
    sizes: Counter[str] = Counter()
    with opened(memory, where) as databases:
        target = replace(target_of(plan), texts=_unshared_texts(memory, plan, databases))
        for _, database in databases:
            sizes[database.path] += purge_rows.bytes_held(database, target.sought)
        inside = sum(purge_rows.count_inside(database, target) for _, database in databases)
    sought, outside = target.sought, []
    # True if the words may remain inside longer words, in memories or in this plugin's own texts.
    is_inside = bool(inside) or sought.anywhere().is_in(purge_files.OWN_TEXT)
    served = memory.mirror.path if memory.mirror else ""
    for path in (path for path in own_files(memory, where) if path != plan_path):
        with files.open_regular(path) as stream:
            data = stream.read()
        is_database = data.startswith(b"SQLite format 3\0")
        # A database's bytes join adjacent texts: match inside words, unless such matches may stay.
        size = (sought.anywhere() if is_database and not is_inside else sought).bytes_in(data)
        if not size or (is_database and purge_rows.is_only_in_indexes(path, sought)):
            continue
        if path.endswith((".tmp", ".tmp-journal")):  # a killed process left this file
            os.unlink(path)
        elif purge_files.is_of_memories(path) or path == served:
            sizes[path] = sizes[path] or size
        else:
            outside.append(path)
    for path in (path for location in where for path in location.notes):
        sizes[path] += sought.bytes_in(purge_files.memory_block(path))
    if sizes := +sizes:
        listed = ", ".join(f"{path} ({many(size, 'byte')} of it)" for path, size in sizes.items())
        problem = f"Not erased: it is still in {listed}."
        remedy = "Close other sessions, repeat the command, and delete what still holds it."
        raise NotErased(next(iter(sizes)), problem, remedy=remedy)
    outside += elsewhere(memory, where, sought, plan_path)
    return tuple(dict.fromkeys(outside)), len(plan["texts"]) - len(target.texts), inside


def elsewhere(
    memory: Memory, where: Sequence[Location], sought: Sought, plan_path: str = ""
) -> list[str]:
    """Return the files of other projects, the user and the client that contain these texts."""
    paths = [path for path in file_locations.other_files(memory, where) if path != plan_path]
    notes = file_locations.client_memory_files(where)
    with_text = [path for path in paths if purge_files.is_in_file(path, sought)]
    return with_text + [path for path in notes if purge_files.is_in_user_text(path, sought)]


def own_files(memory: Memory, where: Sequence[Location]) -> list[str]:
    """Return all files of this memory, its logs in client folders, and rejected import lines."""
    aside = os.path.join(memory.switched_by[0], exchange.SET_ASIDE)
    served = memory.mirror.path if memory.mirror else ""
    paths = file_locations.own_files(memory, where) + file_locations.logs_of_client(memory)
    paths += [path for path in (aside, served) if path and os.path.exists(path)]
    return list(dict.fromkeys(paths))


def delete_vectors(memory: Memory, where: Sequence[Location]) -> int:
    """Delete all vectors, also from free pages; return the count. Raises StoreUnavailable."""
    deleted = 0
    with opened(memory, where) as databases:  # translates SQLite's errors
        for _, database in databases:
            database.connection.execute("PRAGMA secure_delete = ON")
            with database.transaction() as c:
                deleted += c.execute("DELETE FROM vectors").rowcount
            database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return deleted


def _unshared_texts(memory: Memory, plan: PurgePlan, databases: Opened) -> tuple[str, ...]:
    targets = ((database, target_in(plan, memory, database)) for _, database in databases)
    shared = {text for pair in targets for text in purge_rows.shared_texts(*pair)}
    return tuple(text for text in plan["texts"] if text not in shared)


def _rewrite_blocks(
    memory: Memory, target: PurgeTarget, purged_ids: frozenset[str], databases: Opened
) -> None:

    def stored(id_: str) -> list[Record]:
        matches = (records.find(db.connection, "id = ?", (id_,)) for _, db in databases)
        return [record for pairs in matches for record, _ in pairs][:1]

    def keeps(lines: Mapping[str, str]) -> list[str]:
        whole = (id_ for id_, line in lines.items() if not target.is_in(line))
        return [id_ for id_ in whole if id_ not in purged_ids and not stored(id_)]

    for path in (path for location, _ in databases for path in location.notes):
        notes = memory_md.MemoryFile(path)
        shown = memory_md.shown_lines(notes)
        if purged_ids & shown.keys() or any(map(target.is_in, shown.values())):
            left = [record for id_ in shown if id_ not in purged_ids for record in stored(id_)]
            memory_md.promote(notes, left, files.lock_path(memory.settings.home, path), keeps)


def _clean_other_files(memory: Memory, where: Sequence[Location], target: PurgeTarget) -> None:
    """Purge the other files of this memory, except a mirror's, which `Mirror.erase` purges."""
    home, mirror = memory.settings.home, memory.mirror
    saved_pages.delete_all(home)
    spool.erase(home, target.is_in)
    for path in own_files(memory, where):
        if mirror and (path == mirror.path or os.path.basename(path).startswith(agreed.PREFIX)):
            continue
        if purge_files.is_log(path) and purge_files.lines_with(path, target):
            with files.Locked(path + ".lock", purge_files.LOCK_S):
                purge_files.rewrite(path, target)
        elif os.path.dirname(path) == os.path.join(home, callers.FOLDER):
            caller = files.read_json(path)
            if (left := marked(caller, target.sought)) != caller:
                files.write_atomic(path, files.json_line(left).encode())

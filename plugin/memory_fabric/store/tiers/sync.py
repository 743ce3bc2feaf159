"""Tiers 2 and 3 after tier 1: queues drained, journals written, MEMORY.md refreshed; backups."""

from __future__ import annotations

from _functools import partial  # type: ignore[import-not-found]  # `functools` loads more

from memory_fabric import deadline, ids
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.store import backup, journal, sessions, signing
from memory_fabric.store.projects import own_lines
from memory_fabric.store.sharing import switch
from memory_fabric.store.sqlite import sqlite3
from memory_fabric.store.tiers import memory_md

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory_fabric.store.database import Database
    from memory_fabric.store.protocols import Memory

BACKUP_EVERY_S = 24 * 3600
_FAILURES = (FabricError, OSError, sqlite3.Error)


def flush(memory: Memory) -> None:
    """Do all of it; a part that fails is named in `memory.failures` and the others go on."""
    # Made while home can be written: a queue needs it when home no longer can.
    _attempt(memory, "queue", partial(signing.key_of, memory.settings.home))
    drain(memory)
    for database in memory.databases():
        _attempt(memory, f"journal ({database.kind})", partial(_export, memory, database))
    _attempt(memory, "shared journal", partial(share, memory))
    _attempt(memory, "journal (own lines)", partial(_seal, memory))
    _attempt(memory, "MEMORY.md", partial(promote, memory))
    if memory.mirror is not None:
        _attempt(memory, "MEMORY_FILE_PATH", partial(memory.mirror.write, memory))


def drain(memory: Memory) -> int:
    """Apply queued operations; returns how many. A failure is named and leaves the rest queued."""
    done = 0
    for folder in dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")):
        if not journal.is_waiting(folder):
            continue
        try:
            deadline.current().check("the queue")
            done += journal.drain(folder, signing.key_of(memory.settings.home), memory.apply_now)
        except DeadlinePassed:
            deadline.current().postpone("queue")
        except _FAILURES as error:
            memory.fail(f"queue: {error}")
    return done


def share(memory: Memory) -> int:
    """What waited in home goes into the shared journal, and what others wrote there is taken in.

    Returns how many records of others are new or changed. Raises OSError, StoreUnavailable.
    """
    project = memory.project
    if project is None or not switch.is_on(memory.settings.home, project.id):
        return 0
    from memory_fabric.store.sharing import (
        location,
        outbox,
        remote_records,
    )  # only where somebody shares

    if not location.is_on(memory):
        return 0
    if outbox.bring_over(memory):
        from memory_fabric.store.sharing import adoption  # only where a merge was settled

        adoption.seal_all(memory, max_bytes=adoption.MAX_AT_STOP_BYTES)
    return remote_records.take_in(memory)


def restore_journals(memory: Memory) -> int:
    """Write again what the journals have lost and the graph still has; returns how many lines."""
    from memory_fabric.store.sharing import location  # no session's start needs it

    done = 0
    for database in memory.databases():
        if database.newer or database.read_only:
            continue
        folder = location.journal_folder(memory, database.kind)
        told_in = location.told_in(memory, database.kind)
        try:
            done += journal.restore(database, memory.journal_of(database.kind), folder, told_in)
        except _FAILURES as error:
            memory.fail(f"journal ({database.kind}): {error}")
    return done


def promote(memory: Memory) -> None:
    """Refresh our fence in MEMORY.md and note in the project's database what it shows."""
    if memory.project is None:
        return
    notes = memory_md.locate(
        memory.settings.config_dir, memory.project.root, memory.settings.native_memory
    )
    shown: tuple[str, ...] = ()
    if not notes.off_because:
        lock = memory.native_lock(notes.path)
        shown = memory_md.promote(notes, memory.promotable(), lock)
    database = memory.database("project", create=bool(shown))
    if database is None:
        return
    root = memory.project.root
    before = database.rows("SELECT record FROM promoted WHERE root = ?", (root,))
    if {row[0] for row in before} != set(shown):
        _note_shown(memory, database, root, shown)


def confirm_shown(memory: Memory) -> None:
    """Correct what the database believes of MEMORY.md: the user may have emptied or disabled it."""
    if memory.project is None:
        return
    database = memory.database("project", create=False)
    if database is None:
        return
    root = memory.project.root
    believed = database.rows("SELECT record FROM promoted WHERE root = ?", (root,))
    if not believed:
        return
    notes = memory_md.locate(memory.settings.config_dir, root, memory.settings.native_memory)
    try:
        there = () if notes.off_because else memory_md.shown_ids(notes)
    except OSError as error:  # what cannot be read is shown by nobody
        memory.fail(f"MEMORY.md: {error}")
        there = ()
    kept = [row[0] for row in believed if row[0] in there]
    if len(kept) < len(believed):
        _note_shown(memory, database, root, kept)


def backup_when_due(memory: Memory) -> list[str]:
    """A verified backup of each database whose newest is older than a day; returns the copies."""
    made = []
    for database in memory.databases():
        age_s = backup.age_s(database.path)
        if age_s is None or age_s > BACKUP_EVERY_S:
            made.append(backup.make(database.path))
    return made


def expire_episodes(memory: Memory, before: str) -> None:
    """Drop the turns of past sessions that are older than `before` (ISO 8601)."""
    for database in memory.databases():
        with database.transaction() as c:
            c.execute("DELETE FROM episodes WHERE created_at < ?", (before,))


def expire_texts(memory: Memory, before: str) -> None:
    """Take the words out of texts that were worked off before: their rows, and records, stay."""
    from memory_fabric.store import ingest_queue  # once a day, and no hook waits for it

    for database in memory.databases():
        with database.transaction() as c:
            ingest_queue.expire(c, before)


def expire_sessions(memory: Memory, before: str) -> None:
    """Drop what belonged to sessions that were not seen since."""
    for database in memory.databases():
        sessions.expire(database, before)


def expire_local(memory: Memory, before: str) -> None:
    """Drop the local records of sessions that were not seen since: who broke off forgot nothing."""
    for database in memory.databases():
        with database.transaction() as c:
            c.execute(
                "DELETE FROM records WHERE scope = 'local' AND created_at < ?1 "
                "AND session NOT IN (SELECT id FROM sessions WHERE seen_at >= ?1)",
                (before,),
            )


def expire_candidates(memory: Memory, before: str) -> None:
    """Drop candidates of before that nobody has said again: they never became memories.

    Nothing of them is in the graph, and no tombstone keeps them from being said anew.
    """
    for database in memory.databases():
        with database.transaction() as c:
            c.execute(
                "DELETE FROM records WHERE status = 'candidate' AND pinned = 0 AND created_at < ?",
                (before,),
            )


def _note_shown(memory: Memory, project: Database, root: str, shown: Sequence[str]) -> None:
    now, marks = ids.timestamp(), ", ".join("?" * len(shown))
    with project.transaction() as c:
        c.execute(
            f"DELETE FROM promoted WHERE root = ? AND record NOT IN ({marks})", (root, *shown)
        )
        c.executemany(
            "INSERT OR IGNORE INTO promoted (root, record, since) VALUES (?, ?, ?)",
            [(root, id_, now) for id_ in shown],
        )
    for database in memory.databases():
        with database.transaction() as c:
            c.execute(
                f"UPDATE records SET promoted_at = ? WHERE promoted_at = '' AND id IN ({marks})",
                (now, *shown),
            )


def _export(memory: Memory, database: Database) -> None:
    if journal.has_news(database):
        from memory_fabric.store.sharing import location  # no session's start needs it

        folder = location.journal_folder(memory, database.kind)
        told = None
        if memory.project is not None and folder == memory.project.local:
            told = partial(own_lines.add, memory.settings.home, folder)
        journal.export(database, memory.journal_of(database.kind), folder, told)


def _seal(memory: Memory) -> None:
    """Keep the file beside the journal that proves which of its lines are ours."""
    from memory_fabric.store.sharing import adoption  # no session's start needs it

    now, before = own_lines.looked_at(memory)
    if now != before or not adoption.is_sealed(memory):
        adoption.seal(memory)
    if now != before and (before or not adoption.waits(memory)):
        own_lines.note_looked_at(memory)


def _attempt(memory: Memory, what: str, part: Callable[[], object]) -> None:
    limit = deadline.current()
    try:
        limit.check(what)
        part()
    except DeadlinePassed:
        limit.postpone(what)
    except _FAILURES as error:
        memory.fail(f"{what}: {error}")

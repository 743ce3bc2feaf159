"""Synchronisation of databases with queues, journals and MEMORY.md; backups; expiry of old rows."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial

from memory_fabric import deadline, ids
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import PROMOTED_FROM, Record, marked_older, newer_records
from memory_fabric.sharing.git import switch
from memory_fabric.store import files, journal
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.conversations import sessions
from memory_fabric.store.database import Database
from memory_fabric.store.home import signing
from memory_fabric.store.projects import own_lines
from memory_fabric.store.schema import ACTIVE_CURRENT
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.upkeep import backup

# SQL for MEMORY.md: rules, preferences; records of several sessions or not noted by the assistant.
_STANDING = "type IN ('constraint', 'preference')"
_OTHERS_LASTING = "(sightings > 1 OR json_extract(body, '$.evidence.noted') IS NULL)"
_FAILURES = (FabricError, OSError, sqlite3.Error)


def flush(memory: BaseMemory) -> None:
    """Apply queued changes, then update journals and MEMORY.md; add errors to `memory.failures`."""
    # Create the signing key now: a change that is queued while home is read-only needs it.
    _attempt(memory, "queue", partial(signing.key_of, memory.settings.home))
    drain(memory)
    from memory_fabric.store.projects import file_states  # imported late: unused at session start

    _attempt(memory, "files that records name", partial(file_states.update, memory))
    for database in memory.databases():
        _attempt(memory, f"journal ({database.kind})", partial(_export, memory, database))
    _attempt(memory, "shared journal", partial(share, memory))
    _attempt(memory, "journal (own lines)", partial(_sign_own_lines, memory))
    _attempt(memory, "MEMORY.md", partial(promote, memory))
    if memory.mirror is not None:
        _attempt(memory, "MEMORY_FILE_PATH", partial(memory.mirror.write, memory))


def drain(memory: BaseMemory) -> int:
    """Apply queued operations; return their count. After a failure, the rest stays queued."""
    applied = 0
    for folder in memory.queue_folders():
        if not journal.waiting_files(folder):
            continue
        try:
            deadline.current().check("the queue")
            applied += journal.drain(folder, signing.key_of(memory.settings.home), memory.apply_now)
        except DeadlinePassed:
            deadline.current().postpone("queue")
        except _FAILURES as error:
            memory.fail(f"queue: {error}")
    return applied


def share(memory: BaseMemory) -> int:
    """Exchange records with the shared journal; return the count of others' changed records."""
    project = memory.project
    if project is None or not switch.is_on(memory.settings.home, project.id):
        return 0
    from memory_fabric.sharing.git import location, shared_journal  # needed only by users who share

    if not location.is_on(memory):
        return 0
    if shared_journal.publish(memory):
        from memory_fabric.sharing.git import adoption  # needed only for an unfinished merge

        adoption.sign_all(memory, max_bytes=adoption.MAX_AT_STOP_BYTES)
    return shared_journal.import_new(memory)


def restore_journals(memory: BaseMemory) -> int:
    """For each database, append records that no journal contains to decisions.jsonl, and write
    operations.jsonl again if it is lost. Return the number of lines written.
    """
    from memory_fabric.sharing.git import location  # imported late: unused at session start

    restored, words = 0, _keeps_words(memory)
    for database in (db for db in memory.databases() if not (db.newer or db.read_only)):
        kind = database.kind
        folder = location.journal_folder(memory, kind)
        journals = location.all_journals(memory, kind)
        try:
            path = memory.journal_of(kind)
            restored += journal.restore(database, path, folder, journals, words=words)
        except _FAILURES as error:
            memory.fail(f"journal ({kind}): {error}")
    return restored


def promote(memory: BaseMemory) -> None:
    """Update the block in MEMORY.md if the client reads it, and save the ids of its records."""
    if memory.project is None or memory.settings.memory_md_off:
        return
    notes = memory_md.locate(memory.settings.config_dir, memory.project.root)
    shown_ids: tuple[str, ...] = ()
    if not notes.off_because:
        from memory_fabric.sharing.git import adoption  # imported late: unused at session start
        from memory_fabric.store.tiers import file_locations

        home, records = memory.settings.home, promotable(memory)
        if records:
            file_locations.written(home, memory.project.id, notes.path)
        # The lock file is in home, so that the client's folder gets no new file.
        lock, keeps = files.lock_path(home, notes.path), partial(adoption.unknown, memory)
        shown_ids = memory_md.promote(notes, records, lock, keeps)
    root = memory.project.root
    if database := memory.database("project", create=bool(shown_ids)):
        before = database.rows("SELECT record FROM promoted WHERE root = ?", (root,))
        if {row[0] for row in before} != set(shown_ids):
            _note_shown(memory, database, root, shown_ids)


def promotable(memory: BaseMemory) -> list[Record]:
    """Return the records for MEMORY.md: first pinned records, then rules and preferences, then
    others, each group newest first. The file has space for only a part of a large memory. Those of
    the last group count only if stated or kept by the user on purpose, or noted in a second
    session. Records of isolated domains are left out, because all the client's agents see the file.
    """
    apart = sorted(memory.settings.domains.isolated)
    fit = (
        f"{ACTIVE_CURRENT} AND scope <> 'local' "
        "AND scope <> 'global' AND trust = 'user' AND type <> 'session' "
        # Omit records from instruction files, which the client shows anyway.
        "AND json_extract(body, '$.evidence.instructions') IS NULL "
        f"AND domain NOT IN ({', '.join('?' * len(apart))}) AND "
    )
    records = memory.find_records(fit + "pinned = 1", (*apart,))
    for kind in (_STANDING, f"NOT {_STANDING} AND {_OTHERS_LASTING}"):
        stated = f"{fit} pinned = 0 AND confidence >= ? AND {kind}"
        records += memory.find_records(stated, (*apart, PROMOTED_FROM))
    from memory_fabric.store.records import contradicting_any  # a session's start does not need it

    # Omit a record if a newer record in this list contradicts it, unless it is pinned. Mark each
    # remaining record that a newer one contradicts.
    ids = {record.id for record in records}
    since = memory.find_records(*contradicting_any(list(ids))) if ids else []
    newer = newer_records([*records, *since])
    shown = (r for r in records if r.pinned or ids.isdisjoint(newer.get(r.id, ())))
    return [marked_older(record, newer.get(record.id, ())) for record in shown]


def confirm_shown(memory: BaseMemory) -> None:
    """Delete saved ids of records that are no longer in MEMORY.md, which the user may edit."""
    if memory.project is None or memory.settings.memory_md_off:
        return
    database, root = memory.database("project", create=False), memory.project.root
    saved = "SELECT record FROM promoted WHERE root = ?"
    believed = database.rows(saved, (root,)) if database is not None else []
    if database is None or not believed:
        return
    notes = memory_md.locate(memory.settings.config_dir, root)
    try:
        ids_in_file = () if notes.off_because else tuple(memory_md.shown_lines(notes))
    except OSError as error:  # treat an unreadable file as empty
        memory.fail(f"MEMORY.md: {error}")
        ids_in_file = ()
    shown_ids = [row[0] for row in believed if row[0] in ids_in_file]
    if len(shown_ids) < len(believed):
        _note_shown(memory, database, root, shown_ids)


def backup_when_due(memory: BaseMemory) -> list[str]:
    """Make a verified backup of each database for which one is due; return the paths."""
    due = [database.path for database in memory.databases() if backup.is_due(database.path)]
    return [backup.create(path) for path in due]


# SQL to delete old rows: local records of sessions that are no longer active (e.g. after a crash),
# turns, and candidates. A candidate (unreviewed record) has no statements in the graph to delete.
_EXPIRED = {
    "local": "DELETE FROM records WHERE scope = 'local' AND created_at < ?1 "
    "AND session NOT IN (SELECT id FROM sessions WHERE seen_at >= ?1)",
    "turns": "DELETE FROM episodes WHERE created_at < ?",
    "candidates": "DELETE FROM records WHERE status = 'candidate' AND pinned = 0 "
    "AND created_at < ?",
}


def expire(memory: BaseMemory, what: str, before: str) -> None:
    """Delete data older than `before` (ISO 8601). `what` is `turns`, `candidates`, `local`
    (records), `sessions` (prompts, tasks, shown memories) or `texts` (contents of processed texts).
    """
    from memory_fabric.store.queues import ingest_queue  # imported late: used once a day

    for database in memory.databases():
        if what == "sessions":
            sessions.expire(database, before)
            continue
        with database.transaction() as c:
            if what == "texts":
                ingest_queue.expire(c, before)
            else:
                c.execute(_EXPIRED[what], (before,))


def _note_shown(memory: BaseMemory, project: Database, root: str, shown_ids: Sequence[str]) -> None:
    now, among = ids.timestamp(), f"IN ({', '.join('?' * len(shown_ids))})"
    added = "INSERT OR IGNORE INTO promoted (root, record, since) VALUES (?, ?, ?)"
    marked = f"UPDATE records SET promoted_at = ? WHERE promoted_at = '' AND id {among}"
    with project.transaction() as c:
        c.execute(f"DELETE FROM promoted WHERE root = ? AND record NOT {among}", (root, *shown_ids))
        c.executemany(added, [(root, id_, now) for id_ in shown_ids])
    for database in memory.databases():
        with database.transaction() as c:
            c.execute(marked, (now, *shown_ids))


def _export(memory: BaseMemory, database: Database) -> None:
    if journal.has_unexported(database):
        from memory_fabric.sharing.git import location  # imported late: unused at session start

        folder = location.journal_folder(memory, database.kind)
        is_local = memory.project is not None and folder == memory.project.local
        note_own = partial(own_lines.add, memory.settings.home, folder) if is_local else None
        words = _keeps_words(memory)
        journal.export(database, memory.journal_of(database.kind), folder, note_own, words=words)


def _keeps_words(memory: BaseMemory) -> bool:
    """Return True if the journal may quote the user: it is not shared, or the settings allow it."""
    project = memory.project
    is_shared = project is not None and switch.is_on(memory.settings.home, project.id)
    return memory.settings.share_words or not is_shared


def _sign_own_lines(memory: BaseMemory) -> None:
    from memory_fabric.sharing.git import adoption  # imported late: unused at session start

    now, before = own_lines.stamps(memory)
    if now != before or not adoption.is_signed(memory):
        adoption.sign_if_missing(memory)
    if now != before and (before or not adoption.awaits_answer(memory)):
        own_lines.save_stamp(memory)


def _attempt(memory: BaseMemory, what: str, part: Callable[[], object]) -> None:
    limit = deadline.current()
    try:
        limit.check(what)
        part()
    except DeadlinePassed:
        limit.postpone(what)
    except _FAILURES as error:
        memory.fail(f"{what}: {error}")

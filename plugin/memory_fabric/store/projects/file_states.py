"""The state of each file that a record mentions, to flag the record if the file has changed since.

States are local: they are not journalled, shared or exported, and a trigger deletes them with their
record. They are saved at a time when nobody waits (`update`), and compared when a record is shown
(`changed`). Only regular files inside the worktree are read.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memory_fabric import deadline
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory
from memory_fabric.store.database import Database
from memory_fabric.store.projects import identity

# Limits: files of a record, candidates for a path in its text, and characters of a path.
MAX_FILES, MAX_CANDIDATES, MAX_PATH_CHARS = 5, 40, 400
# For a larger file, no blob id is computed; only a change of the file's size is noticed.
MAX_BLOB_BYTES = 2 << 20
# Limits of one call of `update`: records, and bytes of files. The next call continues.
MAX_RECORDS, MAX_BYTES = 1000, 16 << 20
# Limits while the user waits: files per record, and bytes of a file (reading them takes 0.4 ms).
MAX_FILES_WAITING, MAX_BYTES_WAITING = 2, 64 << 10
SAME, CHANGED, GONE = "same", "changed", "gone"
_SEPARATORS = dict.fromkeys(map(ord, "`'\"“”‘’«»<>|,;()[]{}=*，。；、（）"), " ")
_ENDS = ".:!?…"


class FileState(NamedTuple):
    """A file's state: path from the top of the worktree, git's blob id, size, modification time."""

    path: str
    blob_id: str
    size: int
    mtime_ns: int


def update(memory: BaseMemory) -> int:
    """Save the states of files that new or changed records mention; return the count of records."""
    database = _database(memory.whole)
    if database is None or database.newer or database.read_only:
        return 0
    fields = "f.record, coalesce(r.what, ''), coalesce(r.why, ''), coalesce(r.body, '{}')"
    joined = "files_due AS f LEFT JOIN records AS r ON r.id = f.record"
    if not (due := database.rows(f"SELECT {fields} FROM {joined} LIMIT ?", (MAX_RECORDS,))):
        return 0
    root, folder = _folders(memory)
    limit, records, read_bytes = deadline.current(), [], 0
    for id_, what, why, body in due:
        limit.check("files that records name")
        # Paths may also be in a rule's condition (`when`), or among the files that a fix changed.
        evidence = json.loads(body).get("evidence") or {}
        fixed = evidence.get("files")
        paths = [f"`{path}`" for path in fixed] if isinstance(fixed, list) else []
        states = states_of([what, why, str(evidence.get("when") or ""), *paths], root, folder)
        records.append((id_, what, why, states))
        read_bytes += sum(state.size for state in states if state.blob_id)
        if read_bytes > MAX_BYTES:
            break
    with database.transaction(durable=False) as c:
        for id_, what, why, states in records:
            reworded = "SELECT 1 FROM records WHERE id = ?1 AND (what, why) IS NOT (?2, ?3)"
            # A record that was reworded in the meantime is left for the next call.
            if c.execute(reworded, (id_, what, why)).fetchone() is None:
                c.execute("DELETE FROM files_due WHERE record = ?", (id_,))
                c.execute("DELETE FROM file_states WHERE record = ?", (id_,))
                if c.execute("SELECT 1 FROM records WHERE id = ?", (id_,)).fetchone():
                    rows = [(id_, *state) for state in states]
                    c.executemany("INSERT INTO file_states VALUES (?, ?, ?, ?, ?)", rows)
    return len(records)


def changed(
    memory: BaseMemory,
    record_ids: Iterable[str] | None,
    max_files: int = MAX_FILES_WAITING,
    max_bytes: int = MAX_BYTES_WAITING,
) -> dict[str, dict[str, str]]:
    """Map record ids (None: of all records) to their changed files: {path: CHANGED or GONE}.
    Compare at most `max_files` files of each record. If only a file's time differs (after a
    checkout, for instance), compare its blob id; but a file of more than `max_bytes` is not read,
    and counts as unchanged. Return {} if the database cannot be read, or not in time.
    """
    wanted = None if record_ids is None else list(filter(None, dict.fromkeys(record_ids)))
    try:
        database = None if wanted == [] else _database(memory)
        rows = _rows(database, wanted) if database is not None else []
    except StoreUnavailable as error:
        memory.fail(f"files that records name: {error}")
        return {}
    except DeadlinePassed:  # memories without flags are better than none
        deadline.current().postpone("files that records name")
        return {}
    if not rows:
        return {}
    root, counts = _folders(memory)[0], Counter[str]()
    changes: dict[str, dict[str, str]] = {}
    for record, *state in rows:
        counts[record] += 1
        if counts[record] <= max_files:
            how = _compare(root, FileState(*state), max_bytes)
            if how != SAME:
                changes.setdefault(record, {})[state[0]] = how
    return changes


def of_record(memory: BaseMemory, record_id: str) -> dict[str, str]:
    """Return the record's files, each with SAME, CHANGED or GONE. Too slow for a hook."""
    database = _database(memory)
    rows = _rows(database, [record_id]) if database is not None else []
    root = _folders(memory)[0] if rows else ""
    return {state[0]: _compare(root, FileState(*state), MAX_BLOB_BYTES) for _, *state in rows}


def all_changed(memory: BaseMemory) -> dict[str, dict[str, str]]:
    """Return the changed files of all records, by record id. Too slow for a hook."""
    return changed(memory, None, MAX_FILES, MAX_BLOB_BYTES)


def states_of(texts: Iterable[str], root: str, folder: str = "") -> list[FileState]:
    """Return the states of files whose paths in these texts are relative to `root` or `folder`."""
    states: dict[str, FileState] = {}
    for path in paths_in(texts):
        for base in dict.fromkeys((root, folder or root)):
            if (state := _state(root, os.path.join(base, path))) is not None:
                states.setdefault(state.path, state)
                break
        if len(states) >= MAX_FILES:
            break
    return list(states.values())


def drop_due(database: Database, batch: str) -> None:
    """Make `update` skip a batch's records: they are old, so files may have changed since then."""
    with database.transaction(durable=False) as c:
        c.execute(
            "DELETE FROM files_due WHERE record IN (SELECT json_extract(payload, '$.record.id') "
            "FROM operations WHERE instr(payload, ?1) > 0 "
            "AND json_extract(payload, '$.batch') = ?1)",
            (batch,),
        )


def _database(memory: BaseMemory) -> Database | None:
    return memory.database("project", create=False) if memory.project is not None else None


def _folders(memory: BaseMemory) -> tuple[str, str]:
    assert memory.project is not None
    folder = os.path.realpath(memory.settings.project_dir or memory.project.root)
    # The project's root would be the main worktree; `folder` may be in a linked worktree inside it.
    return identity.worktree_of(folder), folder


def _rows(database: Database, ids: Sequence[str] | None) -> list[tuple[Any, ...]]:
    columns = "f.record, f.path, f.blob_id, f.size, f.mtime_ns"
    if ids is None:
        return database.rows(f"SELECT {columns} FROM file_states AS f ORDER BY f.record, f.path")
    of_ids = "json_each(?) AS j CROSS JOIN file_states AS f ON f.record = j.value"
    query = f"SELECT {columns} FROM {of_ids} ORDER BY j.key, f.path"
    return database.rows(query, (json.dumps(list(ids)),))


def paths_in(texts: Iterable[str]) -> list[str]:
    """Return the words that look like paths: in backquotes, or with a slash or a dot."""
    paths: dict[str, None] = {}
    for text in texts:
        for word in (*text.split("`")[1::2], *text.translate(_SEPARATORS).split()):
            word = word.strip().rstrip(_ENDS).removeprefix("./")
            head, colon, tail = word.partition(":")  # a line number may follow the path
            path = head if colon and tail[:1].isdigit() else word
            is_plain = not any(part in path for part in ("\0", "\n", "://"))
            fits = is_plain and 2 < len(path) <= MAX_PATH_CHARS
            if fits and ("/" in path or "." in path[1:] or path.endswith("file")):
                paths.setdefault(path)
    return list(paths)[:MAX_CANDIDATES]


def _state(root: str, path: str) -> FileState | None:
    above = os.path.join(root, "")
    try:
        real = os.path.realpath(path)
        inside = real[len(above) :] if real.startswith(above) else ""
        if not inside or inside.split(os.sep, 1)[0] == ".git":
            return None
        with files.open_regular(real) as stream:
            status = os.fstat(stream.fileno())
            content = stream.read(MAX_BLOB_BYTES) if status.st_size <= MAX_BLOB_BYTES else b""
    except (OSError, ValueError):
        return None
    blob_id = ""
    if len(content) == status.st_size:
        import hashlib  # imported late: it loads OpenSSL, and few hooks need it

        # The result is the id that `git hash-object --no-filters` returns.
        blob = b"blob %d\0%b" % (len(content), content)
        blob_id = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    return FileState(inside, blob_id, status.st_size, status.st_mtime_ns)


def _compare(root: str, state: FileState, max_bytes: int) -> str:
    path = os.path.join(root, state.path)
    try:
        now = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return GONE
    except OSError:
        return SAME
    if now.st_mode & files.FILE_KIND != files.REGULAR or now.st_size != state.size:
        return CHANGED
    if now.st_mtime_ns == state.mtime_ns or not state.blob_id or state.size > max_bytes:
        return SAME
    later = _state(root, path)
    return SAME if later is None or later.blob_id == state.blob_id else CHANGED

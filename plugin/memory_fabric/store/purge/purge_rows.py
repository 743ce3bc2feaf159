"""What was purged leaves a database: rows, words in other rows, and the pages behind them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memory_fabric.errors import StoreUnavailable
from memory_fabric.store import records, repair
from memory_fabric.store.database import Database, translated
from memory_fabric.store.intake import PURGED
from memory_fabric.store.purge import scrubbing
from memory_fabric.store.purge.scrubbing import Gone

# Readers hold the write-ahead log only as long as they read.
CHECKPOINT_S = 10.0
BATCH = 500


def with_the_living(database: Database, gone: Gone) -> Gone:
    """The same, with what this database goes on holding once the rows themselves are gone."""
    alive = database.rows("SELECT id FROM records")
    kept = database.rows("SELECT DISTINCT text FROM observations")
    said = {text for (text,) in kept if gone.is_in(text)}
    return replace(gone, alive=frozenset(row[0] for row in alive) - gone.ids, kept=frozenset(said))


def scrub(c: sqlite3.Connection, gone: Gone) -> int:
    """Take what was purged out of every table, inside a transaction; how many rows changed."""
    return sum(
        (
            _operations(c, gone),
            _records(c, gone),
            _sessions(c, gone),
            _injections(c, gone),
            _intake(c, gone),
            _delete(c, "episodes", "id", turns(c, gone)),
            _delete(c, "tasks", "id", tasks(c, gone)),
        )
    )


def turns(c: sqlite3.Connection, gone: Gone) -> list[Any]:
    """Numbers of the turns of past sessions that hold what was purged."""
    return [id_ for id_, text in c.execute("SELECT id, text FROM episodes") if gone.is_in(text)]


def tasks(c: sqlite3.Connection, gone: Gone) -> list[Any]:
    """Ids of the tasks of subagents that hold it."""
    return [id_ for id_, text in c.execute("SELECT id, prompt FROM tasks") if gone.is_in(text)]


def texts(c: sqlite3.Connection, gone: Gone) -> list[Any]:
    """Ids of texts of other programs that hold it, or from which it was about to be made."""
    return [
        id_
        for id_, *parts in c.execute("SELECT id, body, result, error FROM intake")
        if any(gone.is_in(_plain(part)) for part in parts)
    ]


def blocks(c: sqlite3.Connection, gone: Gone) -> list[tuple[str, str]]:
    """Fields (name, session) of sessions that hold it."""
    return [
        (name, row[0])
        for name in ("block", "checkpoint")
        for row in c.execute(f"SELECT id, {name} FROM sessions WHERE {name} <> ''")
        if gone.is_in(_plain(row[1]))
    ]


def compact(database: Database) -> None:
    """Make the indexes anew and write the file without its free pages and without a log.

    Raises StoreUnavailable while another process reads or writes.
    """
    connection = database.connection
    try:
        with database.transaction() as c:
            for table in repair.FULL_TEXT:
                c.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        connection.execute("VACUUM")
        give_up = time.monotonic() + CHECKPOINT_S
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > give_up:
                raise StoreUnavailable(
                    database.path,
                    "Another process is reading this memory; its log still holds old pages.",
                    remedy="Close other sessions, and say the same again.",
                )
            time.sleep(0.05)
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def holding(database: Database, texts: Sequence[str]) -> str:
    """The table in which one of the texts still stands; empty when none does."""
    gone = Gone(texts=tuple(texts))
    tables = database.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        "AND instr(name, '_fts_') = 0 AND instr(name, '_trigrams_') = 0"
    )
    for (table,) in tables:
        for row in database.connection.execute(f"SELECT * FROM {table}"):
            if any(isinstance(part, str) and gone.is_in(_plain(part)) for part in row):
                return str(table)
    return ""


def others_with(database: Database, gone: Gone) -> list[str]:
    """Those of the texts that other memories of this database hold, too, which stay."""
    living = [
        f"{what} {why}"
        for id_, what, why in database.rows("SELECT id, what, why FROM records")
        if id_ not in gone.ids
    ]
    living += [
        text
        for name, text, record in database.rows(
            "SELECT e.name, o.text, o.record FROM observations AS o "
            "JOIN entities AS e ON e.id = o.entity"
        )
        if record not in gone.ids and name not in gone.names and (name, text) not in gone.said
    ]
    return [text for text in gone.texts if any(map(Gone(texts=(text,)).is_in, living))]


def _operations(c: sqlite3.Connection, gone: Gone) -> int:
    done, last = 0, 0
    while found := c.execute(
        "SELECT seq, kind, payload, inverse FROM operations WHERE seq > ? ORDER BY seq LIMIT ?",
        (last, BATCH),
    ).fetchall():
        last = found[-1][0]
        for seq, kind, payload, inverse in found:
            done += _operation(c, gone, seq, kind, json.loads(payload), json.loads(inverse))
    return done


def _operation(
    c: sqlite3.Connection, gone: Gone, seq: int, kind: str, payload: Any, inverse: Any
) -> int:
    left = scrubbing.without(kind, payload, gone)
    back = scrubbing.without_steps(inverse, gone)
    if left is payload and back == inverse:
        return 0
    if left is None:
        kind, left, back = "purged", {}, []
    texts = [json.dumps(value, ensure_ascii=False) for value in (left, back)]
    c.execute(
        "UPDATE operations SET kind = ?, payload = ?, inverse = ? WHERE seq = ?",
        (kind, *texts, seq),
    )
    return 1


def _records(c: sqlite3.Connection, gone: Gone) -> int:
    """Records that stay but name an entity that goes: without its name."""
    changed = 0
    for record, seen in records.find(c, "1", (), limit=-1) if gone.names else ():
        whole = records.as_object(record)
        left = scrubbing.without("remember", {"record": whole}, gone)
        if left is not None and left["record"] != whole:
            records.put(c, records.from_object(left["record"]), seen)
            changed += 1
    return changed


def _sessions(c: sqlite3.Connection, gone: Gone) -> int:
    found = blocks(c, gone)
    for name, session in found:
        c.execute(f"UPDATE sessions SET {name} = '' WHERE id = ?", (session,))
    return len(found)


def _intake(c: sqlite3.Connection, gone: Gone) -> int:
    """Texts that hold what goes lose all that was said, and nobody works them off any more; their
    row stays, so that they are not taken in again under their key.
    """
    found = texts(c, gone)
    for id_ in found:
        (body,) = c.execute("SELECT body FROM intake WHERE id = ?", (id_,)).fetchone()
        left = json.dumps(_unsaid(json.loads(body)), ensure_ascii=False)
        c.execute(
            "UPDATE intake SET body = ?, result = '', error = ?, state = 'done', worker = '', "
            "leased_until = '' WHERE id = ?",
            (left, PURGED, id_),
        )
    return len(found)


def _unsaid(body: dict[str, Any]) -> dict[str, Any]:
    kept = ("domain", "source_model", "confidence", "idempotency_key", "created_at")
    return {name: body[name] for name in kept if name in body} | {"session_summary": ""}


def _injections(c: sqlite3.Connection, gone: Gone) -> int:
    done = _delete(c, "promoted", "record", sorted(gone.ids))
    for id_ in gone.ids:
        keys = (id_, f"record:{id_}")
        done += c.execute("DELETE FROM injections WHERE memory IN (?, ?)", keys).rowcount
    for name in gone.given:
        start = f"graph:{name}#"
        done += c.execute(
            "DELETE FROM injections WHERE memory = ? OR substr(memory, 1, ?) = ?",
            (f"graph:{name}", len(start), start),
        ).rowcount
    return done


def _delete(c: sqlite3.Connection, table: str, column: str, values: Sequence[Any]) -> int:
    c.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(value,) for value in values])
    return len(values)


def _plain(text: str) -> str:
    """The text, and what JSON has written in another way."""
    return text.replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\")

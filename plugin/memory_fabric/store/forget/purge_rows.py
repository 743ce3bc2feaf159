"""Remove purged content from a database: rows, words in other rows, and the pages behind them."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import records, write
from memory_fabric.store.database import Database, translated
from memory_fabric.store.files import as_address
from memory_fabric.store.forget import purge_team, scrub_log
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.forget.spellings import MARK, Needle, Sought
from memory_fabric.store.health import repair
from memory_fabric.store.operations import inverses
from memory_fabric.store.queues.ingest_queue import PURGED
from memory_fabric.text import index_extra

Row = TypeVar("Row", bound=tuple[Any, ...])

# Readers hold the write-ahead log only while they read.
CHECKPOINT_S = 10.0
BATCH = 500
TEXTS_AT_ONCE, CHARS_AT_ONCE = 500, 1 << 20
# The forms in which the injection ledger names a record, a turn, and an entity or its rows.
KEYS_OF_RECORD = ("", "record:", "rule:", "debt:", "closed:", "conflict:record:")
KEYS_OF_TURN = ("episode:", "conflict:episode:")
KEYS_OF_NAME = ("graph:", "conflict:graph:")
# Derived from another column, which is searched itself.
DERIVED = frozenset((("entities", "key"), ("aliases", "key"), ("records", "key")))


def scrub(
    database: Database, c: sqlite3.Connection, target: PurgeTarget, by: Provenance
) -> tuple[int, PurgeTarget]:
    """Remove purged content from every table, inside a transaction.

    Returns the number of changed rows, and `target` extended by what the words led to.
    """
    target = with_remaining(database, _forget_stated(c, target, by))
    changed = sum(
        (
            _operations(c, target),
            _records(c, target),
            _aliases(c, target),
            _sessions(c, target),
            _injections(c, target),
            _ingests(c, target),
            _turns(c, target),
            _delete(c, "tasks", "id", tasks(c, target)),
            _delete(c, "prompts", "seq", prompts(c, target)),
            purge_team.scrub(c, target),
        )
    )
    changed += _cells(c, target)
    purge_team.clear_due(c, target)
    return changed, target


def with_remaining(database: Database, target: PurgeTarget) -> PurgeTarget:
    """Return `target` with the records and observations that this database keeps."""
    alive = database.rows("SELECT id FROM records")
    kept = database.rows("SELECT DISTINCT text FROM observations")
    said = {text for (text,) in kept if target.is_in(text) and not target.asked.is_in(text)}
    return replace(
        target, alive=frozenset(row[0] for row in alive) - target.ids, kept=frozenset(said)
    )


def stated(c: sqlite3.Connection, target: PurgeTarget) -> dict[str, list[Any]]:
    """Return the records, entities and observations that state the words, as a payload for
    `forget`.
    """
    if not target.asked:
        return {"ids": [], "entityNames": [], "deletions": []}
    named = _holding(c.execute("SELECT name FROM entities"), 0, target.asked)
    names = [name for (name,) in named]
    ids = [
        record.id
        for record, _ in records.find(c, "1", (), limit=-1)
        if target.is_stated_by(records.as_object(record))
    ]
    said = [
        {"entityName": name, "observations": [text]}
        for name, text, record in _holding(
            c.execute(
                "SELECT e.name, o.text, o.record FROM observations AS o "
                "JOIN entities AS e ON e.id = o.entity"
            ),
            1,
            target.asked,
        )
        if name not in names and record not in ids
    ]
    return {"ids": ids, "entityNames": names, "deletions": said}


def turns(c: sqlite3.Connection, target: PurgeTarget) -> list[Any]:
    """Return row numbers of turns that are purged or hold purged text."""
    rows = c.execute("SELECT id, uuid, text FROM episodes")
    return [id_ for id_, uuid, text in rows if uuid in target.turns or target.is_in(text)]


def tasks(c: sqlite3.Connection, target: PurgeTarget) -> list[Any]:
    """Return ids of subagents' tasks that hold purged text."""
    return [id_ for id_, text in c.execute("SELECT id, prompt FROM tasks") if target.is_in(text)]


def prompts(c: sqlite3.Connection, target: PurgeTarget) -> list[Any]:
    """Return the numbers of typed prompts that hold purged text."""
    return [seq for seq, text in c.execute("SELECT seq, text FROM prompts") if target.is_in(text)]


def ingests(c: sqlite3.Connection, target: PurgeTarget) -> list[Any]:
    """Return ids of ingested texts that hold purged text, in their body, result or error."""
    return [
        id_
        for id_, *parts in c.execute("SELECT id, body, result, error FROM intake")
        if any(map(target.is_in, parts))
    ]


def blocks(c: sqlite3.Connection, target: PurgeTarget) -> list[tuple[str, str]]:
    """Return fields (name, session) of sessions that hold purged text."""
    return [
        (name, row[0])
        for name in ("block", "checkpoint")
        for row in c.execute(f"SELECT id, {name} FROM sessions WHERE {name} <> ''")
        if target.is_in(row[1])
    ]


def history(c: sqlite3.Connection, target: PurgeTarget) -> list[Any]:
    """Return sequence numbers of operations that hold purged text, or whose inverse does."""
    rows = c.execute("SELECT seq, payload, inverse FROM operations")
    return [seq for seq, *parts in rows if any(map(target.is_in, parts))]


def tables_with_inside(database: Database, target: PurgeTarget) -> list[str]:
    """Return the table of each text that holds the words only inside longer ones."""
    wide = target.asked.anywhere()
    return [
        table
        for table, _, text, _ in _holding(cells(database.connection), 2, wide)
        if len(wide.spans(_bytes(text))) > len(target.asked.spans(_bytes(text)))
    ]


def compact(database: Database) -> None:
    """Rebuild the indexes and write the file without free pages and without a write-ahead log.

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
                    remedy="Close other sessions, then repeat the command.",
                )
            time.sleep(0.05)
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def bytes_held(database: Database, sought: Sought) -> Counter[str]:
    """Count the bytes that each table still holds; empty if there are none."""
    held: Counter[str] = Counter()
    for table, _, text, _ in _holding(cells(database.connection), 2, sought):
        held[table] += sum(end - start for start, end in sought.spans(_bytes(text)))
    return +held


def cells(c: sqlite3.Connection) -> Iterator[tuple[str, str, str, tuple[Any, ...]]]:
    """Yield every text of a database: table, column, text, and the key of its row.

    Search indexes and keys derived from another column are left out.
    """
    tables = c.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND sql NOT LIKE 'CREATE VIRTUAL%' AND substr(name, 1, 7) <> 'sqlite_' "
        "AND instr(name, '_fts_') = 0 AND instr(name, '_trigrams_') = 0"
    ).fetchall()
    for table, sql in tables:
        columns = [name for name in _columns(c, table) if (table, name) not in DERIVED]
        key = _key(c, table, sql)
        for row in c.execute(f"SELECT {', '.join((*key, *columns))} FROM {table}"):
            for name, value in zip(columns, row[len(key) :], strict=True):
                if isinstance(value, str) and value:
                    yield table, name, value, row[: len(key)]


def is_only_in_indexes(path: str, sought: Sought) -> bool:
    """True if only the indexes of a database file look as if they held the text.

    They keep stems and bare letters of words: those of a longer word, or of one with accents, may
    equal the sought text. The texts themselves are in tables, which are searched separately.
    """
    connection = sqlite3.connect(":memory:")
    try:
        source = sqlite3.connect(f"file:{as_address(path)}?mode=ro", uri=True)
        try:
            source.backup(connection)
        finally:
            source.close()
        connection.execute("PRAGMA secure_delete = ON")
        for table in repair.FULL_TEXT:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (trigger,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("DELETE FROM aliases")
        connection.execute("UPDATE entities SET key = '', extra = ''")
        connection.execute("UPDATE records SET key = '', extra = ''")
        connection.execute("UPDATE observations SET extra = ''")
        connection.execute("UPDATE episodes SET extra = ''")
        connection.commit()
        connection.execute("VACUUM")
        return not sought.spans(connection.serialize())
    except sqlite3.Error:
        return False
    finally:
        connection.close()


def _holding(rows: Iterable[Row], column: int, sought: Sought) -> Iterator[Row]:
    """Yield the rows whose text in that column holds what is sought.

    Texts are searched some hundred at once: few hold it, and a search costs most at its start.
    """
    some: list[Row] = []
    chars = 0
    for row in chain(rows, (None,)):
        if row is None or len(some) == TEXTS_AT_ONCE or chars > CHARS_AT_ONCE:
            if sought.is_in("\n".join(one[column] for one in some)):
                yield from (one for one in some if sought.is_in(one[column]))
            some, chars = [], 0
        if row is not None:
            some.append(row)
            chars += len(row[column])


def shared_texts(database: Database, target: PurgeTarget) -> list[str]:
    """Return the purged texts that other memories of this database hold, too, and keep."""
    living = [
        f"{what} {why}"
        for id_, what, why in database.rows("SELECT id, what, why FROM records")
        if id_ not in target.ids
    ]
    living += [
        text
        for name, text, record in database.rows(
            "SELECT e.name, o.text, o.record FROM observations AS o "
            "JOIN entities AS e ON e.id = o.entity"
        )
        if record not in target.ids and name not in target.names and (name, text) not in target.said
    ]
    return [text for text in target.texts if any(map(Sought((Needle(text),)).is_in, living))]


def _operations(c: sqlite3.Connection, target: PurgeTarget) -> int:
    done, last = 0, 0
    while found := c.execute(
        "SELECT seq, kind, payload, inverse FROM operations WHERE seq > ? ORDER BY seq LIMIT ?",
        (last, BATCH),
    ).fetchall():
        last = found[-1][0]
        for seq, kind, payload, inverse in found:
            said = json.loads(payload)
            done += _operation(c, target, seq, kind, said, inverses.read(kind, said, inverse))
    return done


def _operation(
    c: sqlite3.Connection, target: PurgeTarget, seq: int, kind: str, payload: Any, inverse: Any
) -> int:
    left = scrub_log.without(kind, payload, target)
    back = scrub_log.without_steps(inverse, target)
    if left is payload and back == inverse:
        return 0
    if left is None:
        kind, left, back = "purged", {}, []
    texts = [json.dumps(left, ensure_ascii=False), inverses.stored(kind, left, back)]
    c.execute(
        "UPDATE operations SET kind = ?, payload = ?, inverse = ? WHERE seq = ?",
        (kind, *texts, seq),
    )
    return 1


def _forget_stated(c: sqlite3.Connection, target: PurgeTarget, by: Provenance) -> PurgeTarget:
    """Forget what states the words; a replay of the journal sets the same tombstones."""
    payload = stated(c, target)
    if not any(payload.values()):
        return target
    write.apply_within(c, Operation(ids.new_id(), "forget", payload, by, ""))
    said = {(d["entityName"], text) for d in payload["deletions"] for text in d["observations"]}
    target = replace(
        target,
        ids=target.ids | {*payload["ids"]},
        names=target.names | {*payload["entityNames"]},
        said=target.said | said,
    )
    log_tombstones(c, target, by)
    return target


def log_tombstones(c: sqlite3.Connection, target: PurgeTarget, by: Provenance) -> None:
    """Log the tombstones of all purged memories as an operation of its own, which is kept."""
    tombs = [
        list(row)
        for id_ in sorted(target.tombstone_ids())
        for row in c.execute("SELECT * FROM tombstones WHERE id = ?", (id_,))
    ]
    if tombs:
        payload = {"add": tombs, "remove": []}
        write.apply_within(c, Operation(ids.new_id(), "tombstones", payload, by, ""))


def _records(c: sqlite3.Connection, target: PurgeTarget) -> int:
    """Remove the names of purged entities, and the words, from records that are kept."""
    changed = 0
    concerned = target.names or target.asked
    for record, seen in records.find(c, "1", (), limit=-1) if concerned else ():
        whole = records.as_object(record)
        left = scrub_log.without("remember", {"record": whole}, target)
        if left is not None and left["record"] != whole:
            records.put(c, records.from_object(left["record"]), seen)
            changed += 1
    return changed


def _aliases(c: sqlite3.Connection, target: PurgeTarget) -> int:
    found = [alias for (alias,) in c.execute("SELECT alias FROM aliases") if target.is_name(alias)]
    relations = c.execute("SELECT id, type FROM relations")
    worded = [id_ for id_, kind in relations if target.asked.is_in(kind)]
    return _delete(c, "aliases", "alias", found) + _delete(c, "relations", "id", worded)


def _sessions(c: sqlite3.Connection, target: PurgeTarget) -> int:
    """Replace purged text in notes of sessions by a mark and keep the rest."""
    found = blocks(c, target)
    for name, session in found:
        (text,) = c.execute(f"SELECT {name} FROM sessions WHERE id = ?", (session,)).fetchone()
        new = scrub_log.marked_json(text, target.sought)
        c.execute(f"UPDATE sessions SET {name} = ? WHERE id = ?", (new, session))
    return len(found)


def _turns(c: sqlite3.Connection, target: PurgeTarget) -> int:
    """Replace purged text in turns by a mark; of a turn purged by its id nothing is kept."""
    found = turns(c, target)
    for id_ in found:
        row = c.execute("SELECT * FROM episodes WHERE id = ?", (id_,))
        columns = [description[0] for description in row.description]
        values = dict(zip(columns, row.fetchone(), strict=True))
        text = MARK if values["uuid"] in target.turns else target.sought.without(values["text"])
        # The full-text index follows only inserts and deletes.
        c.execute("DELETE FROM episodes WHERE id = ?", (id_,))
        values |= {"text": text, "extra": index_extra(text)}
        marks = ", ".join("?" * len(columns))
        c.execute(
            f"INSERT INTO episodes ({', '.join(columns)}) VALUES ({marks})", [*values.values()]
        )
    return len(found)


def _cells(c: sqlite3.Connection, target: PurgeTarget) -> int:
    """Replace the words in every other text by a mark; delete a row whose key holds them."""
    found = [cell for cell in cells(c) if target.asked.is_in(cell[2])] if target.asked else []
    for table, column, text, key in found:
        (sql,) = c.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        names = _key(c, table, sql)
        row = " AND ".join(f"{name} = ?" for name in names)
        try:
            if column in names:
                raise sqlite3.IntegrityError("a key")
            new = scrub_log.marked_json(text, target.asked)
            c.execute(f"UPDATE {table} SET {column} = ? WHERE {row}", (new, *key))
        except sqlite3.IntegrityError:
            c.execute(f"DELETE FROM {table} WHERE {row}", key)
    return len(found)


def _columns(c: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in c.execute(f"PRAGMA table_info({table})")]


def _key(c: sqlite3.Connection, table: str, sql: str) -> list[str]:
    """Return the columns that identify a row of a table."""
    if "WITHOUT ROWID" not in sql:
        return ["rowid"]
    parts = [(row[5], row[1]) for row in c.execute(f"PRAGMA table_info({table})") if row[5]]
    return [name for _, name in sorted(parts)]


def _ingests(c: sqlite3.Connection, target: PurgeTarget) -> int:
    """Empty ingested texts that hold purged text and mark them as done. Their row is kept, so that
    their idempotency key still protects against sending them again.
    """
    found = ingests(c, target)
    for id_ in found:
        (body,) = c.execute("SELECT body FROM intake WHERE id = ?", (id_,)).fetchone()
        left = json.dumps(_without_text(json.loads(body)), ensure_ascii=False)
        c.execute(
            "UPDATE intake SET body = ?, result = '', error = ?, state = 'done', worker = '', "
            "leased_until = '' WHERE id = ?",
            (left, PURGED, id_),
        )
    return len(found)


def _without_text(body: dict[str, Any]) -> dict[str, Any]:
    kept = ("domain", "source_model", "confidence", "idempotency_key", "created_at")
    return {name: body[name] for name in kept if name in body} | {"session_summary": ""}


def _injections(c: sqlite3.Connection, target: PurgeTarget) -> int:
    done = _delete(c, "promoted", "record", sorted(target.ids))
    keys = [prefix + id_ for prefix in KEYS_OF_RECORD for id_ in target.ids]
    keys += [prefix + uuid for prefix in KEYS_OF_TURN for uuid in target.turns]
    names = [prefix + name for prefix in KEYS_OF_NAME for name in target.given]
    for table in ("injections", "told"):
        for key in keys:
            done += c.execute(f"DELETE FROM {table} WHERE memory = ?", (key,)).rowcount
        for name in names:
            done += c.execute(
                f"DELETE FROM {table} WHERE memory = ? OR substr(memory, 1, ?) = ?",
                (name, len(name) + 1, f"{name}#"),
            ).rowcount
    return done


def _delete(c: sqlite3.Connection, table: str, column: str, values: Sequence[Any]) -> int:
    c.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(value,) for value in values])
    return len(values)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

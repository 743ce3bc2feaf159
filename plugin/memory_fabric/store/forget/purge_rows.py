"""Removal of purged content from a database: rows, words in other rows, and freed pages."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain
from sqlite3 import Connection
from typing import Any, TypeVar

from memory_fabric import ids
from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Operation, Progress, Provenance
from memory_fabric.sharing.team import purge as purge_team
from memory_fabric.store import records, write
from memory_fabric.store.database import Database, translated
from memory_fabric.store.files import as_address
from memory_fabric.store.forget import scrub_log
from memory_fabric.store.forget.scrub_log import PurgeTarget
from memory_fabric.store.forget.spellings import MARK, Needle, Sought
from memory_fabric.store.operations import kinds, rows
from memory_fabric.store.queries.conditions import marks
from memory_fabric.store.queues.ingest_queue import PURGED
from memory_fabric.store.upkeep import repair
from memory_fabric.text import index_extra

Row = TypeVar("Row", bound=tuple[Any, ...])

# Seconds to wait until no reader uses the write-ahead log.
CHECKPOINT_S = 10.0
TEXTS_AT_ONCE, CHARS_AT_ONCE = 500, 1 << 20
# Prefixes of ids in the lists of injected memories: for records, for turns, and for entities.
KEYS_OF_RECORD = ("", "record:", "rule:", "debt:", "closed:", "conflict:record:")
KEYS_OF_TURN = ("episode:", "conflict:episode:")
KEYS_OF_NAME = ("graph:", "conflict:graph:")
# Columns whose content is derived from another column, which is searched instead.
DERIVED = frozenset((table, "key") for table in ("entities", "aliases", "records", "team_heads"))
# For each kind of text that is not a memory: its table, the key column, and the text columns.
TEXTS = {
    "history": ("operations", "seq", "payload", "inverse"),
    "turns": ("episodes", "id", "text"),
    "blocks": ("sessions", "id", "block"),
    "checkpoints": ("sessions", "id", "checkpoint"),
    "tasks": ("tasks", "id", "prompt"),
    "prompts": ("prompts", "seq", "text"),
    "ingests": ("intake", "id", "body", "result", "error"),
}
_OBSERVATIONS = (
    "SELECT e.name, o.text, o.record FROM observations AS o JOIN entities AS e ON e.id = o.entity"
)
_NAMES = (("entities", "name"), ("entities", "type"), ("aliases", "alias"), ("relations", "type"))
# Fields of an ingest that are kept, because they contain nothing of the ingested text.
_KEPT_OF_INGEST = ("domain", "source_model", "confidence", "idempotency_key", "created_at")


def scrub(
    database: Database, c: Connection, target: PurgeTarget, by: Provenance
) -> tuple[int, PurgeTarget]:
    """Remove purged content from all rows of a database. Return the number of changed rows, and
    `target` extended by the memories that this call deleted because their main text has the words.
    """
    target = _forget_stated(c, target, by)
    alive = frozenset(row[0] for row in database.rows("SELECT id FROM records"))
    texts = f"SELECT DISTINCT text FROM observations WHERE {target.repeated.condition(['text'])}"
    repeating = {text for (text,) in _with(c.execute(texts), 0, target.repeated)}
    repeating = {text for text in repeating if not target.asked.is_in(text)}
    target = replace(target, alive=alive - target.ids, kept=frozenset(repeating))
    of_type = f"SELECT id, type FROM relations WHERE {target.asked.condition(['type'])}"
    relations = list(_with(c.execute(of_type), 1, target.asked))
    aliases = c.execute("SELECT entity, key, alias FROM aliases").fetchall()
    changed = _scrub_operations(c, target)
    for record, seen in records.find(c, "1", (), limit=-1) if target.names or target.sought else ():
        whole = {"record": records.as_object(record)}
        payload = scrub_log.without("remember", whole, target)
        if payload is not None and payload != whole:
            records.put(c, records.from_object(payload["record"]), seen)
            changed += 1
    changed += sum(len(rows.remove_aliases(c, e, [k])) for e, k, a in aliases if target.is_name(a))
    changed += _delete(c, "relations", "id", (row[0] for row in relations))
    changed += _scrub_ledger(c, target) + _scrub_ingests(c, target) + _scrub_turns(c, target)
    for what in ("tasks", "prompts"):
        changed += _delete(c, what, TEXTS[what][1], holding(c, target, what))
    changed += purge_team.scrub(c, target) + _scrub_cells(c, target)
    purge_team.clear_due(c, target)
    return changed, target


def stated(c: Connection, target: PurgeTarget) -> dict[str, list[Any]]:
    """Return a `forget` payload for all memories in the database whose main text has the words, and
    for records with purged ids, which are copies if projects were linked.
    """
    named = f"SELECT name FROM entities WHERE {target.asked.condition(['name'])}"
    names = [name for (name,) in _with(c.execute(named), 0, target.asked)]
    every = ((r.id, records.as_object(r)) for r, _ in records.find(c, "1", (), limit=-1))
    record_ids = [id_ for id_, r in every if id_ in target.ids or target.is_stated_by(r)]
    observations = c.execute(f"{_OBSERVATIONS} WHERE {target.asked.condition(['o.text'])}")
    with_words = _with(observations, 1, target.asked)
    said = ((n, text) for n, text, r in with_words if n not in names and r not in record_ids)
    deletions = [{"entityName": name, "observations": [text]} for name, text in said]
    return {"ids": record_ids, "entityNames": names, "deletions": deletions}


def said_in(payload: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the observations in the payload of a `forget` operation, as (entity's name, text)."""
    return [(d["entityName"], text) for d in payload["deletions"] for text in d["observations"]]


def holding(c: Connection, target: PurgeTarget, what: str) -> list[Any]:
    """Return the keys of TEXTS[what] rows that have purged text, or are turns to be purged."""
    table, key, *columns = TEXTS[what]
    own = "uuid" if what == "turns" else "NULL"
    where = "1" if target.turns else target.sought.condition(columns)
    rows = c.execute(f"SELECT {key}, {own}, {', '.join(columns)} FROM {table} WHERE {where}")
    return [n for n, uuid, *texts in rows if uuid in target.turns or any(map(target.is_in, texts))]


def count_inside(database: Database, target: PurgeTarget) -> int:
    """Count the texts in which the words occur inside longer words."""
    wide = target.asked.anywhere()
    cells = _with(_cells(database.connection, wide), 2, wide)
    return sum(len(wide.spans(text)) > len(target.asked.spans(text)) for _, _, text, _ in cells)


def compact(database: Database, progress: Progress | None = None) -> None:
    """Rebuild the indexes, remove free pages and the write-ahead log. Raises StoreUnavailable."""
    connection = database.connection
    try:
        with database.transaction() as c:
            for number, table in enumerate(repair.FULL_TEXT):
                c.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
                if progress is not None:
                    progress(number + 1, len(repair.FULL_TEXT))
        connection.execute("VACUUM")
        give_up = time.monotonic() + CHECKPOINT_S
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > give_up:
                problem = "Another process is reading this memory; its log still holds old pages."
                remedy = "Close other sessions, then repeat the command."
                raise StoreUnavailable(database.path, problem, remedy=remedy)
            time.sleep(0.05)
    except sqlite3.Error as error:
        raise translated(database.path, error) from error


def bytes_held(database: Database, sought: Sought) -> int:
    """Return the total size of all matches in a database's tables, in bytes; ignore its indexes."""
    cells = _with(_cells(database.connection, sought), 2, sought)
    return sum(sought.bytes_in(text) for _, _, text, _ in cells)


def is_only_in_indexes(path: str, sought: Sought) -> bool:
    """Return True if a database file contains the text only in search indexes. These store word
    stems, and letters without accents, which may match by chance; tables are searched separately.
    """
    try:
        with closing(sqlite3.connect(":memory:")) as c:
            with closing(sqlite3.connect(f"file:{as_address(path)}?mode=ro", uri=True)) as source:
                source.backup(c)
            c.execute("PRAGMA secure_delete = ON")
            for table in repair.FULL_TEXT:
                c.execute(f"DROP TABLE IF EXISTS {table}")
            triggers = c.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for (trigger,) in triggers.fetchall():
                c.execute(f"DROP TRIGGER {trigger}")
            c.execute("DELETE FROM aliases")
            for table in ("entities", "records", "observations", "episodes"):
                key = "key = '', " if (table, "key") in DERIVED else ""
                c.execute(f"UPDATE {table} SET {key}extra = ''")
            c.commit()
            c.execute("VACUUM")
            return not sought.is_in(c.serialize())
    except sqlite3.Error:
        return False


def shared_texts(database: Database, target: PurgeTarget) -> list[str]:
    """Return the purged texts that remain because other memories in this database contain them."""
    shared = []
    every = frozenset(id_ for (id_,) in database.rows("SELECT id FROM records"))
    target = replace(target, alive=every - target.ids)
    of_records = records.find(database.connection, "1", (), limit=-1) if target.texts else ()
    wholes = ({"record": records.as_object(r)} for r, _ in of_records if r.id in target.alive)
    left = (scrub_log.without("remember", whole, target) for whole in wholes)
    kept = [json.dumps(whole, ensure_ascii=False) for whole in left if whole]
    for text in target.texts:
        sought, living = Sought((Needle(text),)), [*kept]
        for table, column in _NAMES:
            where = sought.condition([column])
            named = database.rows(f"SELECT {column} FROM {table} WHERE {where}")
            living += [name for (name,) in named if not target.is_name(name)]
        where = sought.condition(["o.text"])
        for name, said, record in database.rows(f"{_OBSERVATIONS} WHERE {where}"):
            if not (record in target.ids or name in target.names or (name, said) in target.said):
                living.append(said)
        shared += [text] if any(map(sought.is_in, living)) else []
    return shared


def log_tombstones(c: Connection, target: PurgeTarget, by: Provenance) -> None:
    """Log all purged memories' tombstones as one operation; a purge keeps it, as it has no text."""
    of_id = "SELECT * FROM tombstones WHERE id = ?"
    ids_buried = sorted(target.tombstone_ids())
    if buried := [list(row) for id_ in ids_buried for row in c.execute(of_id, (id_,))]:
        payload = {"add": buried, "remove": []}
        write.apply_within(c, Operation(ids.new_id(), "tombstones", payload, by, ""))


def _forget_stated(c: Connection, target: PurgeTarget, by: Provenance) -> PurgeTarget:
    payload = stated(c, target)
    if not any(payload.values()):
        return target
    write.apply_within(c, Operation(ids.new_id(), "forget", payload, by, ""))
    names, said = target.names | {*payload["entityNames"]}, target.said | {*said_in(payload)}
    target = replace(target, ids=target.ids | {*payload["ids"]}, names=names, said=said)
    log_tombstones(c, target, by)
    return target


def _scrub_operations(c: Connection, target: PurgeTarget) -> int:
    changed = 0
    for number in c.execute("SELECT seq FROM operations ORDER BY seq").fetchall():
        row_of = "SELECT kind, payload, inverse FROM operations WHERE seq = ?"
        kind, text, inverse_text = c.execute(row_of, number).fetchone()
        if not (target.may_concern(text) or target.may_concern(inverse_text)):
            continue
        payload = json.loads(text)
        inverse = kinds.read_inverse(kind, payload, inverse_text)
        new = scrub_log.without(kind, payload, target)
        back = scrub_log.without_steps(inverse, target)
        if new is payload and back == inverse:
            continue
        if new is None:
            kind, new, back = "purged", {}, []
        texts = json.dumps(new, ensure_ascii=False), kinds.stored_inverse(kind, new, back)
        update = "UPDATE operations SET kind = ?, payload = ?, inverse = ? WHERE seq = ?"
        changed += c.execute(update, (kind, *texts, *number)).rowcount
    return changed


def _scrub_turns(c: Connection, target: PurgeTarget) -> int:
    numbers = holding(c, target, "turns")
    for number in numbers:
        row = c.execute("SELECT * FROM episodes WHERE id = ?", (number,))
        columns = [description[0] for description in row.description]
        values = dict(zip(columns, row.fetchone(), strict=True))
        text = MARK if values["uuid"] in target.turns else target.sought.without(values["text"])
        values |= {"text": text, "extra": index_extra(text)}
        # Only inserts and deletes, not updates, change the full-text index.
        c.execute("DELETE FROM episodes WHERE id = ?", (number,))
        bound = f"({', '.join(columns)}) VALUES ({marks(columns)})"
        c.execute(f"INSERT INTO episodes {bound}", list(values.values()))
    return len(numbers)


def _scrub_ingests(c: Connection, target: PurgeTarget) -> int:
    """Empty ingests with purged text. Their idempotency keys stay, so a repetition is detected."""
    numbers = holding(c, target, "ingests")
    for number in numbers:
        (text,) = c.execute("SELECT body FROM intake WHERE id = ?", (number,)).fetchone()
        body = json.loads(text)
        new_body = {name: body[name] for name in _KEPT_OF_INGEST if name in body}
        emptied = json.dumps(new_body | {"session_summary": ""}, ensure_ascii=False)
        ended = "result = '', error = ?, state = 'done', worker = '', leased_until = ''"
        c.execute(f"UPDATE intake SET body = ?, {ended} WHERE id = ?", (emptied, PURGED, number))
    return len(numbers)


def _scrub_ledger(c: Connection, target: PurgeTarget) -> int:
    deleted = _delete(c, "promoted", "record", sorted(target.ids))
    keys = [prefix + id_ for prefix in KEYS_OF_RECORD for id_ in target.ids]
    keys += [prefix + uuid for prefix in KEYS_OF_TURN for uuid in target.turns]
    names = [prefix + name for prefix in KEYS_OF_NAME for name in target.given]
    for table in ("injections", "told"):
        for key in (*keys, *names):
            deleted += c.execute(f"DELETE FROM {table} WHERE memory = ?", (key,)).rowcount
        for start in (f"{name}#" for name in names):
            rows_of = f"DELETE FROM {table} WHERE substr(memory, 1, ?) = ?"
            deleted += c.execute(rows_of, (len(start), start)).rowcount
    return deleted


def _scrub_cells(c: Connection, target: PurgeTarget) -> int:
    cells = [(*cell, target.asked) for cell in _with(_cells(c, target.asked), 2, target.asked)]
    for what in ("blocks", "checkpoints"):
        table, key, column = TEXTS[what]
        for id_ in holding(c, target, what):
            row = c.execute(f"SELECT {column} FROM {table} WHERE {key} = ?", (id_,)).fetchone()
            cells.append((table, column, row[0], (id_,), target.sought))
    for table, column, text, key_values, sought in cells:
        names = _key_columns(c, table)
        row_is = " AND ".join(f"{name} = ?" for name in names)
        try:
            if column in names:
                raise sqlite3.IntegrityError("a key")
            new = scrub_log.marked_json(text, sought)
            c.execute(f"UPDATE {table} SET {column} = ? WHERE {row_is}", (new, *key_values))
        except sqlite3.IntegrityError:
            c.execute(f"DELETE FROM {table} WHERE {row_is}", key_values)
    return len(cells)


def _cells(c: Connection, sought: Sought) -> Iterator[tuple[str, str, str, tuple[Any, ...]]]:
    """Yield (table, column, text, row key) of texts that may match; skip derived columns."""
    own = "type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND substr(name, 1, 7) <> 'sqlite_'"
    own += " AND instr(name, '_fts_') = 0 AND instr(name, '_trigrams_') = 0"
    for (table,) in c.execute(f"SELECT name FROM sqlite_master WHERE {own}").fetchall():
        columns = [row[1] for row in c.execute(f"PRAGMA table_info({table})")]
        columns = [name for name in columns if (table, name) not in DERIVED]
        key = _key_columns(c, table)
        where = sought.condition(columns) if columns else "0"
        for row in c.execute(f"SELECT {', '.join((*key, *columns))} FROM {table} WHERE {where}"):
            for name, value in zip(columns, row[len(key) :], strict=True):
                if isinstance(value, str) and value:
                    yield table, name, value, row[: len(key)]


def _key_columns(c: Connection, table: str) -> list[str]:
    (sql,) = c.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if "WITHOUT ROWID" not in sql:
        return ["rowid"]
    parts = [(row[5], row[1]) for row in c.execute(f"PRAGMA table_info({table})") if row[5]]
    return [name for _, name in sorted(parts)]


def _with(rows: Iterable[Row], column: int, sought: Sought) -> Iterator[Row]:
    """Yield the rows with a match in this column; for speed, search whole batches of rows first."""
    some: list[Row] = []
    chars = 0
    for row in chain(rows, (None,)):
        if row is None or len(some) == TEXTS_AT_ONCE or chars > CHARS_AT_ONCE:
            if sought.is_in("\n".join(collected[column] for collected in some)):
                yield from (row for row in some if sought.is_in(row[column]))
            some, chars = [], 0
        if row is not None:
            some.append(row)
            chars += len(row[column])


def _delete(c: Connection, table: str, column: str, values: Iterable[Any]) -> int:
    rows = [(value,) for value in values]
    c.executemany(f"DELETE FROM {table} WHERE {column} = ?", rows)
    return len(rows)

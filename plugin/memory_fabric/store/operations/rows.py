"""Functions that find, insert, change and delete rows of the graph tables."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from sqlite3 import Connection
from typing import Any

from memory_fabric.models import OTHERS, Payload, Provenance
from memory_fabric.store.queries.conditions import chunks, insert, marks
from memory_fabric.store.schema import IS_ORPHAN
from memory_fabric.text import index_extra, name_key

Row = dict[str, Any]
Rows = dict[str, list[Row]]
# The source, type and target of a relation; entities are given by row number.
Edge = tuple[int, str, int]

# Old builds of SQLite allow at most 999 bound values in one statement.
MAX_VALUES = 999
CHUNK = 900
# A large table is read in portions, so that it is never in memory as a whole.
ROWS_AT_ONCE = 5_000
# The type of an entity about which nothing is known except a relation.
UNKNOWN_TYPE = "unknown"

_STATED = "record trust source session agent domain created_at"
# For each table, a pair: a map from field to SQL column, and the SQL that follows FROM.
_TABLES: dict[str, tuple[dict[str, str], str]] = {
    "entities": (
        {n: f"e.{n}" for n in "id name type domain record said_by created_at updated_at".split()},
        "entities AS e",
    ),
    "observations": (
        {"id": "o.id", "entity": "e.name", "text": "o.text"}
        | {name: f"o.{name}" for name in _STATED.split()},
        "observations AS o JOIN entities AS e ON e.id = o.entity",
    ),
    "relations": (
        {"id": "r.id", "from": "s.name", "relationType": "r.type", "to": "t.name"}
        | {name: f"r.{name}" for name in ("record", "said_by", "domain", "created_at")},
        "relations AS r JOIN entities AS s ON s.id = r.source "
        "JOIN entities AS t ON t.id = r.target",
    ),
}
# For each table, the SQL condition that selects this user's own rows.
_OWN = dict.fromkeys(("entities", "relations"), "said_by = ''")
_OWN |= {"observations": f"source <> '{OTHERS}'"}


def nothing() -> Rows:
    """Return an empty result: a dictionary with an empty list of rows for each graph table."""
    return {"entities": [], "observations": [], "relations": []}


def type_of_end(name: str) -> str:
    """Return the type of a new entity at a relation's end: from the vocabulary, or `unknown`."""
    from memory_fabric.language.vocabulary import entity_type  # imported late: rarely needed

    return entity_type(name) or UNKNOWN_TYPE


def entity_id(c: Connection, name: str) -> int | None:
    """Return the row number of the entity with exactly this name; None if it does not exist."""
    row = c.execute("SELECT id FROM entities WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def entity_ids(c: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the row numbers of the entities with exactly these names, by name."""
    return dict(among(c, "SELECT name, id FROM entities WHERE name IN ({})", names))


def existing_relations(c: Connection, edges: Iterable[Edge]) -> set[Edge]:
    """Return the given relations that exist in the database."""
    existing: set[Edge] = set()
    for some in chunks(edges, CHUNK // 3):
        listed = ", ".join(["(?, ?, ?)"] * len(some))
        same = (
            f"WITH wanted (source, type, target) AS (VALUES {listed}) "
            "SELECT r.source, r.type, r.target FROM wanted AS w CROSS JOIN relations AS r "
            "ON r.source = w.source AND r.type = w.type AND r.target = w.target"
        )
        existing.update(c.execute(same, [value for edge in some for value in edge]))
    return existing


def variant_id(c: Connection, name: str) -> int | None:
    """Return the row number of an entity by name, else by alias, else by name key; or None."""
    query = (
        "SELECT coalesce((SELECT id FROM entities WHERE name = ?1), (SELECT entity FROM aliases "
        "WHERE key = ?2), (SELECT min(id) FROM entities WHERE key = ?2))"
    )
    (row,) = c.execute(query, (name, name_key(name))).fetchone()
    return None if row is None else int(row)


def text_id(c: Connection, entity: int, text: str, domain: str = "") -> int | None:
    """Return the row number of the entity's observation with this text, in `domain` if given."""
    same = "entity = ?1 AND substr(text, 1, 48) = substr(?2, 1, 48) AND text = ?2"
    query = f"SELECT id FROM observations WHERE {same} AND (?3 = '' OR domain = ?3)"
    row = c.execute(query, (entity, text, domain)).fetchone()
    return int(row[0]) if row else None


def relation_id(c: Connection, source: int, kind: str, target: int) -> int | None:
    """Return the row number of exactly this relation; None if it does not exist."""
    same = "SELECT id FROM relations WHERE source = ? AND type = ? AND target = ?"
    row = c.execute(same, (source, kind, target)).fetchone()
    return int(row[0]) if row else None


def _find(table: str, c: Connection, where: str, values: Sequence[Any]) -> list[Row]:
    """Return matching rows; entities have `aliases`, others `claims` (ids of their records)."""
    columns, source = _TABLES[table]
    query = f"SELECT {', '.join(columns.values())} FROM {source} WHERE {where}"
    fetched = c.execute(f"{query} ORDER BY {table[0]}.id", values).fetchall()
    rows = [dict(zip(columns, row, strict=True)) for row in fetched]
    if table == "entities":
        return [row | {"aliases": aliases_of(c, row["id"])} for row in rows]
    by_row: dict[int, list[str]] = {}
    joined = "json_each(?) AS j CROSS JOIN claims AS c ON c.kind = ? AND c.row = j.value"
    numbers = f"[{','.join(str(row['id']) for row in rows)}]"
    claims = c.execute(f"SELECT c.row, c.record FROM {joined} ORDER BY c.record", (numbers, table))
    for number, record in claims:
        by_row.setdefault(number, []).append(record)
    return [row | {"claims": by_row.get(row["id"], [])} for row in rows]


# Functions of (connection, condition, values) that return rows. In the condition, use `e` for an
# entity, `o` for an observation of `e`, and `r` for a relation between the entities `s` and `t`.
entities, observations, relations = (partial(_find, table) for table in _TABLES)


def own(c: Connection, table: str) -> Iterator[Row]:
    """Yield this user's own rows of a table, oldest first; they are read in large portions."""
    (most,) = c.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()
    for first in range(1, most + 1, ROWS_AT_ONCE):
        where = f"{table[0]}.{_OWN[table]} AND {table[0]}.id BETWEEN ? AND ?"
        yield from _find(table, c, where, (first, first + ROWS_AT_ONCE - 1))


def count_own(c: Connection) -> tuple[int, int, int]:
    """Return the counts of this user's own entities, relations and observations."""
    counts = ", ".join(f"(SELECT count(*) FROM {table} WHERE {_OWN[table]})" for table in _OWN)
    entities, relations, observations = c.execute(f"SELECT {counts}").fetchone()
    return entities, relations, observations


def by_number(c: Connection, table: str, id_: int | None) -> list[Row]:
    """Return a list with the table's row of this number; empty if the row does not exist."""
    return _find(table, c, f"{table[0]}.id = ?", (id_,))


def relation_of(c: Connection, item: Payload) -> list[Row]:
    """Return a list with the row of a relation between names; empty if it does not exist."""
    same = "s.name = ? AND r.type = ? AND t.name = ?"
    return relations(c, same, (item["from"], item["relationType"], item["to"]))


def aliases_of(c: Connection, entity: int) -> list[list[str]]:
    """Return the aliases of the entity, each as [key, alias]."""
    pairs = c.execute("SELECT key, alias FROM aliases WHERE entity = ? ORDER BY key", (entity,))
    return [list(pair) for pair in pairs]


def orphans(c: Connection, names: Iterable[str]) -> list[Row]:
    """Return rows of entities with these names that have neither observations nor relations."""
    where = f"e.name = ? AND {IS_ORPHAN}"
    return [row for name in dict.fromkeys(names) for row in entities(c, where, (name,))]


def users_of(c: Connection, entity: int) -> list[str]:
    """Return the source that keeps an entity: a list with the id of the oldest record about it,
    [''] if there are only direct statements, or [] if nothing refers to it.
    """
    oldest = (
        "SELECT record FROM (SELECT record, id FROM observations WHERE entity = ?1 UNION ALL "
        "SELECT record, id FROM relations WHERE source = ?1 OR target = ?1) "
        "ORDER BY record = '', id LIMIT 1"
    )
    return [row[0] for row in c.execute(oldest, (entity,))]


def claimed(c: Connection, record: str) -> Rows:
    """Return the observations and relations that a record states, and the entities it created."""
    mine = "IN (SELECT row FROM claims WHERE record = ? AND kind = "
    tables = ("observations", "relations")
    listed = {t: _find(t, c, f"{t[0]}.id {mine} '{t}')", (record,)) for t in tables}
    return {"entities": entities(c, "e.record = ?", (record,))} | listed


def add_entity(c: Connection, name: str, kind: str, by: Provenance, record: str = "") -> int:
    """Add an entity, attributed to `record` if given; return its row number."""
    row = {"name": name, "type": kind, "domain": by.domain, "record": record}
    return insert_entity(c, None, row | {"created_at": by.at, "updated_at": by.at})


def add_texts(
    c: Connection, entity: int, texts: Iterable[str], by: Provenance, record: str = ""
) -> list[str]:
    """Add the observations that the entity lacks, each once and in order; return their texts."""
    added = new_texts(c, entity, texts, by)
    for text in added:
        row = by._asdict() | {"created_at": by.at, "record": record, "text": text}
        insert_observation(c, None, entity, row)
    return added


def add_relation(
    c: Connection, source: int, kind: str, target: int, by: Provenance, record: str = ""
) -> bool:
    """Add the relation unless it exists. Return True if it was added."""
    row = {"relationType": kind, "record": record, "domain": by.domain, "created_at": by.at}
    return insert_relation(c, None, source, target, row)


def new_texts(
    c: Connection, entity: int, texts: Iterable[str], by: Provenance, *, apart: bool = False
) -> list[str]:
    """Return, in order, the texts that an entity lacks; with `apart`, those that it lacks in the
    caller's domain. A row that only other team members stated is deleted and counts as missing.
    """
    theirs = "DELETE FROM observations WHERE id = ? AND source = ?"
    new = []
    for text in dict.fromkeys(texts):
        id_ = text_id(c, entity, text, by.domain if apart else "")
        if id_ is None or (by.source != OTHERS and c.execute(theirs, (id_, OTHERS)).rowcount > 0):
            new.append(text)
    if new:
        c.execute("UPDATE entities SET updated_at = ? WHERE id = ?", (by.at, entity))
    return new


def insert_entity(c: Connection, id_: int | None, row: Payload) -> int:
    """Insert an entity's row and aliases; return its row number, which is `id_` if given."""
    copied = ("name", "type", "domain", "record", "created_at", "updated_at")
    values = {"id": id_, "said_by": row.get("said_by", "")} | {name: row[name] for name in copied}
    values |= {"key": name_key(row["name"]), "extra": index_extra(row["name"])}
    insert(c, "entities", values)
    [(entity,)] = c.execute("SELECT last_insert_rowid()")
    add_aliases(c, entity, row.get("aliases") or ())
    return int(entity)


def insert_observation(c: Connection, id_: int | None, entity: int, row: Payload) -> None:
    """Insert an observation's row, with the row number `id_` if given."""
    copied = ("text", "record", "trust", "source", "session", "agent", "domain", "created_at")
    values = {"id": id_, "entity": entity} | {name: row[name] for name in copied}
    extra = index_extra(f"{name_of(c, entity)} {row['text']}")
    insert(c, "observations", values | {"extra": extra})


def insert_relation(c: Connection, id_: int | None, source: int, target: int, row: Payload) -> bool:
    """Insert a relation, or take over another user's as this user's own; return True if changed."""
    said_by = row.get("said_by", "")
    values = {name: row[name] for name in ("record", "domain", "created_at")}
    edge = {"id": id_, "source": source, "type": row["relationType"], "target": target}
    if insert(c, "relations", edge | values | {"said_by": said_by}, "INSERT OR IGNORE"):
        return True
    own = (
        "UPDATE relations SET said_by = '', record = :record, domain = :domain, "
        "created_at = :created_at WHERE source = :source AND type = :type AND target = :target "
        "AND said_by <> ''"
    )
    return not said_by and c.execute(own, edge | values).rowcount > 0


def name_of(c: Connection, entity: int) -> str:
    """Return the name of the entity with this row number."""
    (name,) = c.execute("SELECT name FROM entities WHERE id = ?", (entity,)).fetchone()
    return str(name)


class NewRows:
    """Collects new entities and observations of an operation; `insert` stores many per SQL
    statement. A statement per row would cost four times as much as one per hundred rows, since FTS5
    writes its buffer each time. `pending` has the row numbers of entities with rows to insert.
    """

    def __init__(self, c: Connection, by: Provenance) -> None:
        self._c, self._by = c, by
        self._last = int(c.execute("SELECT coalesce(max(id), 0) FROM entities").fetchone()[0])
        self._entities: list[tuple[Any, ...]] = []
        self._observations: list[tuple[Any, ...]] = []
        self.pending: set[int] = set()

    def add_entity(self, name: str, kind: str) -> int:
        """Queue a new entity, whose name must not exist; return its future row number."""
        self._last += 1
        self._entities.append((self._last, name, name_key(name), kind, index_extra(name)))
        self.pending.add(self._last)
        return self._last

    def add_texts(self, entity: int, name: str, texts: Iterable[str]) -> None:
        """Queue new observations of the entity with this row number and name."""
        for text in texts:
            self._observations.append((entity, text, index_extra(f"{name} {text}")))
            self.pending.add(entity)

    def insert(self) -> None:
        """Insert all rows queued since the last call."""
        by = self._by
        common = {"record": "", "domain": by.domain, "created_at": by.at}
        of_entity = common | {"said_by": "", "updated_at": by.at}
        stated = common | {n: getattr(by, n) for n in ("trust", "source", "session", "agent")}
        self._insert("entities", of_entity, "id name key type extra".split(), self._entities)
        self._insert("observations", stated, ["entity", "text", "extra"], self._observations)
        self.pending.clear()

    def _insert(self, table: str, common: Payload, columns: list[str], rows: list[Any]) -> None:
        # All rows share their first values, so numbered placeholders bind each of these only once.
        shared = ", ".join(f"?{number}" for number in range(1, len(common) + 1))
        row_marks = f"({shared}, {marks(columns)})"
        for some in chunks(rows, (MAX_VALUES - len(common)) // len(columns)):
            values = [*common.values(), *(value for row in some for value in row)]
            inserted = f"INSERT INTO {table} ({', '.join((*common, *columns))}) VALUES "
            self._c.execute(inserted + ", ".join([row_marks] * len(some)), values)
        rows.clear()


def add_aliases(c: Connection, entity: int, pairs: Iterable[Sequence[str]]) -> list[list[str]]:
    """Add and index pairs (key, alias), except keys that are in use; return the added pairs."""
    free = "INSERT OR IGNORE INTO aliases VALUES (?, ?, ?)"
    if added := [list(pair) for pair in pairs if c.execute(free, (*pair, entity)).rowcount > 0]:
        _index_names(c, entity)
    return added


def remove_aliases(c: Connection, entity: int, keys: Iterable[str]) -> list[list[str]]:
    """Remove the aliases with these keys from an entity; return the removed pairs [key, alias]."""
    removed: list[Any] = []
    for key in keys:
        mine = (key, entity)
        removed += c.execute("SELECT key, alias FROM aliases WHERE key = ? AND entity = ?", mine)
        c.execute("DELETE FROM aliases WHERE key = ? AND entity = ?", mine)
    if removed:
        _index_names(c, entity)
    return [list(pair) for pair in removed]


def remove(c: Connection, rows: Rows) -> None:
    """Delete these rows. No other row may refer to an entity among them."""
    for table in ("observations", "relations", "entities"):
        c.executemany(f"DELETE FROM {table} WHERE id = ?", [(row["id"],) for row in rows[table]])


def hand_to(c: Connection, rows: Rows, record: str, domain: str = "") -> None:
    """Set the rows' record ('' for none), and their domain: `domain`, else the record's, if any."""
    of_record = "coalesce(nullif(?2, ''), (SELECT domain FROM records WHERE id = ?1), domain)"
    for table, some in rows.items():
        update = f"UPDATE {table} SET record = ?1, domain = {of_record} WHERE id = ?3"
        c.executemany(update, [(record, domain, row["id"]) for row in some])


def claim(c: Connection, table: str, id_: int, record: str) -> None:
    """Save that this record states the content of the row, even if another record added the row."""
    c.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", (record, table, id_))


def _index_names(c: Connection, entity: int) -> None:
    """Update the full-text index so that a search for an alias also finds the entity."""
    aliases = [pair[1] for pair in aliases_of(c, entity)]
    extra = index_extra(" ".join([name_of(c, entity), *aliases]))
    extra = " ".join(filter(None, [extra, *aliases]))
    c.execute("UPDATE entities SET extra = ? WHERE id = ? AND extra <> ?", (extra, entity, extra))


def among(c: Connection, query: str, values: Iterable[Any]) -> Iterator[Any]:
    """Run `query` for chunks of `values` (its `{}` becomes their placeholders); yield all rows."""
    for some in chunks(dict.fromkeys(values), CHUNK):
        yield from c.execute(query.format(marks(some)), some)

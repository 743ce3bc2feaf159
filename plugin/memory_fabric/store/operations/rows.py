"""Rows of the graph tables: find, add, change and remove them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memory_fabric.models import OTHERS, Provenance
from memory_fabric.store.conditions import marks
from memory_fabric.text import index_extra, name_key

Rows = dict[str, list[dict[str, Any]]]
# Source, type and target of a relation, as its row has them.
Edge = tuple[int, str, int]

# The oldest builds of SQLite allow 999 bound values.
CHUNK = 900
# The type of an entity that is known only as the end of a relation.
UNKNOWN_TYPE = "unknown"

_ENTITY = "id name type domain record said_by created_at updated_at".split()
_OBSERVATION = "id entity text record trust source session agent domain created_at".split()
_RELATION = "id from relationType to record said_by domain created_at".split()
_IS_ORPHAN = (
    "NOT EXISTS (SELECT 1 FROM observations AS o WHERE o.entity = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.source = e.id) "
    "AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.target = e.id)"
)


def type_of_end(name: str) -> str:
    """Return the type of a relation's end that no entity has yet, by the vocabulary."""
    from memory_fabric.language.vocabulary import entity_type  # late: few ends are missing

    return entity_type(name) or UNKNOWN_TYPE


def nothing() -> Rows:
    """Return an empty set of rows."""
    return {"entities": [], "observations": [], "relations": []}


def entity_id(c: sqlite3.Connection, name: str) -> int | None:
    """Return the row number of the entity with exactly this name."""
    row = c.execute("SELECT id FROM entities WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


def entity_ids(c: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the row numbers of the entities with exactly these names, by name."""
    found: dict[str, int] = {}
    for some in _chunks(dict.fromkeys(names), CHUNK):
        found.update(
            c.execute(f"SELECT name, id FROM entities WHERE name IN ({marks(some)})", some)
        )
    return found


def names_by_key(c: sqlite3.Connection, keys: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of entities, the oldest first, by each of these name keys that has any."""
    found: dict[str, list[str]] = {}
    for some in _chunks(dict.fromkeys(keys), CHUNK):
        known = f"SELECT key, name FROM entities WHERE key IN ({marks(some)}) ORDER BY id"
        for key, name in c.execute(known, some):
            found.setdefault(key, []).append(name)
    return found


def brought_by_records(c: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Return those of these entities (row numbers) that a record brought."""
    found: list[int] = []
    for some in _chunks(ids, CHUNK):
        known = f"SELECT id FROM entities WHERE record <> '' AND id IN ({marks(some)})"
        found += [row[0] for row in c.execute(known, some)]
    return found


def existing_relations(c: sqlite3.Connection, edges: Iterable[Edge]) -> set[Edge]:
    """Return those of these relations that exist."""
    found: set[Edge] = set()
    for some in _chunks(edges, CHUNK // 3):
        listed = ", ".join(["(?, ?, ?)"] * len(some))
        same = (
            f"WITH wanted (source, type, target) AS (VALUES {listed}) "
            "SELECT r.source, r.type, r.target FROM wanted AS w CROSS JOIN relations AS r "
            "ON r.source = w.source AND r.type = w.type AND r.target = w.target"
        )
        found.update(c.execute(same, [value for edge in some for value in edge]))
    return found


def variant_id(c: sqlite3.Connection, name: str) -> int | None:
    """Return the row number of the entity that a name means: exact name, else alias, else
    name key.
    """
    exact = entity_id(c, name)
    if exact is not None:
        return exact
    key = name_key(name)
    row = c.execute("SELECT entity FROM aliases WHERE key = ?", (key,)).fetchone()
    row = row or c.execute("SELECT min(id) FROM entities WHERE key = ?", (key,)).fetchone()
    return int(row[0]) if row and row[0] is not None else None


def text_id(c: sqlite3.Connection, entity: int, text: str, domain: str = "") -> int | None:
    """Return the row number of exactly this observation of an entity, if given in this domain."""
    row = c.execute(
        "SELECT id FROM observations WHERE entity = ?1 AND substr(text, 1, 48) = substr(?2, 1, 48) "
        "AND text = ?2 AND (?3 = '' OR domain = ?3)",
        (entity, text, domain),
    ).fetchone()
    return int(row[0]) if row else None


def relation_id(c: sqlite3.Connection, source: int, kind: str, target: int) -> int | None:
    """Return the row number of exactly this relation."""
    row = c.execute(
        "SELECT id FROM relations WHERE source = ? AND type = ? AND target = ?",
        (source, kind, target),
    ).fetchone()
    return int(row[0]) if row else None


def add_entity(
    c: sqlite3.Connection, name: str, kind: str, by: Provenance, record: str = ""
) -> int:
    """Add an entity and return its row number; `record` is the id of the record that brings it, if
    any.
    """
    row = {"name": name, "type": kind, "domain": by.domain, "record": record}
    return insert_entity(c, None, row | {"created_at": by.at, "updated_at": by.at})


def new_texts(
    c: sqlite3.Connection,
    entity: int,
    texts: Iterable[str],
    by: Provenance,
    *,
    apart: bool = False,
) -> list[str]:
    """Return the texts that the entity lacks, each once and in order; the caller inserts them.

    With `apart` only the caller's own domain counts: a text of another domain is no repeat. Neither
    is one that only other members of a team state: their rows are removed.
    """
    where = by.domain if apart else ""
    new = [text for text in dict.fromkeys(texts) if _is_new(c, entity, text, where, by)]
    if new:
        c.execute("UPDATE entities SET updated_at = ? WHERE id = ?", (by.at, entity))
    return new


def add_texts(
    c: sqlite3.Connection, entity: int, texts: Iterable[str], by: Provenance, record: str = ""
) -> list[str]:
    """Add the texts that the entity lacks, each once and in order, and return them."""
    added = new_texts(c, entity, texts, by)
    said = {"trust": by.trust, "source": by.source, "session": by.session, "agent": by.agent}
    said |= {"domain": by.domain, "created_at": by.at, "record": record}
    for text in added:
        insert_observation(c, None, entity, said | {"text": text})
    return added


def _is_new(c: sqlite3.Connection, entity: int, text: str, domain: str, by: Provenance) -> bool:
    """True if the text is to be added; the row of another member who states it is removed."""
    id_ = text_id(c, entity, text, domain)
    if id_ is None:
        return True
    if by.source == OTHERS:
        return False
    theirs = "DELETE FROM observations WHERE id = ? AND source = ?"
    return c.execute(theirs, (id_, OTHERS)).rowcount > 0


def take_over(c: sqlite3.Connection, entity: int, kind: str, by: Provenance) -> None:
    """Make an entity this user's own that only other members of a team stated so far."""
    c.execute(
        "UPDATE entities SET said_by = '', type = ?, domain = ?, created_at = ? "
        "WHERE id = ? AND said_by <> ''",
        (kind, by.domain, by.at, entity),
    )


def add_relation(
    c: sqlite3.Connection, source: int, kind: str, target: int, by: Provenance, record: str = ""
) -> bool:
    """Add the relation if it does not exist; return True if it is new."""
    row = {"relationType": kind, "record": record, "domain": by.domain, "created_at": by.at}
    return insert_relation(c, None, source, target, row)


def add_relations(c: sqlite3.Connection, edges: Iterable[Edge], by: Provenance) -> None:
    """Add relations that do not exist."""
    c.executemany(
        "INSERT INTO relations (source, type, target, domain, created_at) VALUES (?, ?, ?, ?, ?)",
        [(*edge, by.domain, by.at) for edge in edges],
    )


def entities(c: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return whole entity rows (alias `e`) that meet the condition, with their aliases."""
    found = c.execute(
        f"SELECT {', '.join('e.' + n for n in _ENTITY)} FROM entities AS e WHERE {where} "
        "ORDER BY e.id",
        values,
    ).fetchall()
    rows = [dict(zip(_ENTITY, row, strict=True)) for row in found]
    for row in rows:
        row["aliases"] = aliases_of(c, row["id"])
    return rows


def aliases_of(c: sqlite3.Connection, entity: int) -> list[list[str]]:
    """Return other names of the entity, each as [key, alias]."""
    known = c.execute("SELECT key, alias FROM aliases WHERE entity = ? ORDER BY key", (entity,))
    return [list(pair) for pair in known]


def orphans(c: sqlite3.Connection, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the named entities that have neither observations nor relations, as whole rows."""
    found = []
    for name in dict.fromkeys(names):
        found += entities(c, f"e.name = ? AND {_IS_ORPHAN}", (name,))
    return found


def observations(c: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return whole observation rows (alias `o`, entity `e`) that meet the condition."""
    columns = ["e.name" if n == "entity" else "o." + n for n in _OBSERVATION]
    found = c.execute(
        f"SELECT {', '.join(columns)} FROM observations AS o JOIN entities AS e "
        f"ON e.id = o.entity WHERE {where} ORDER BY o.id",
        values,
    ).fetchall()
    return _with_claims(c, "observations", [dict(zip(_OBSERVATION, r, strict=True)) for r in found])


def relations(c: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return whole relation rows (alias `r`, ends `s` and `t`) that meet the condition."""
    found = c.execute(
        "SELECT r.id, s.name, r.type, t.name, r.record, r.said_by, r.domain, r.created_at "
        "FROM relations AS r JOIN entities AS s ON s.id = r.source "
        f"JOIN entities AS t ON t.id = r.target WHERE {where} ORDER BY r.id",
        values,
    ).fetchall()
    return _with_claims(c, "relations", [dict(zip(_RELATION, row, strict=True)) for row in found])


def users_of(c: sqlite3.Connection, entity: int) -> list[str]:
    """Return the source of the oldest statement about an entity: a record's id in a list, "" for a
    direct statement. Records come first; the list is empty if there is no statement.
    """
    found = c.execute(
        "SELECT record FROM (SELECT record, id FROM observations WHERE entity = ?1 "
        "UNION ALL SELECT record, id FROM relations WHERE source = ?1 "
        "UNION ALL SELECT record, id FROM relations WHERE target = ?1) "
        "ORDER BY record = '', id LIMIT 1",
        (entity,),
    )
    return [row[0] for row in found]


def remove(c: sqlite3.Connection, rows: Rows) -> None:
    """Delete these rows. The remaining rows of a deleted entity must be gone already or be
    included.
    """
    for table in ("observations", "relations", "entities"):
        c.executemany(f"DELETE FROM {table} WHERE id = ?", [(row["id"],) for row in rows[table]])


def hand_to(c: sqlite3.Connection, rows: Rows, record: str, domain: str = "") -> None:
    """Attribute these rows to a record, and to its domain or the given one; an empty `record`
    detaches them from any record.
    """
    for table, some in rows.items():
        c.executemany(
            f"UPDATE {table} SET record = ?1, domain = coalesce(nullif(?2, ''), "
            "(SELECT domain FROM records WHERE id = ?1), domain) WHERE id = ?3",
            [(record, domain, row["id"]) for row in some],
        )


def claim(c: sqlite3.Connection, table: str, id_: int, record: str) -> None:
    """Note that this record states the content of the row, whichever record brought it."""
    c.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", (record, table, id_))


def claimed(c: sqlite3.Connection, record: str) -> Rows:
    """Return whole rows that this record states, and the entities that it brought."""
    mine = "IN (SELECT row FROM claims WHERE record = ? AND kind = "
    return {
        "entities": entities(c, "e.record = ?", (record,)),
        "observations": observations(c, f"o.id {mine} 'observations')", (record,)),
        "relations": relations(c, f"r.id {mine} 'relations')", (record,)),
    }


def unclaim(c: sqlite3.Connection, record: str) -> None:
    """Remove all claims of this record."""
    c.execute("DELETE FROM claims WHERE record = ?", (record,))


def insert_entity(c: sqlite3.Connection, id_: int | None, row: Mapping[str, Any]) -> int:
    """Insert an entity's row with its aliases, under the given number if any; return its number."""
    cursor = c.execute(
        "INSERT INTO entities (id, name, key, type, extra, domain, record, said_by, created_at, "
        "updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id_,
            row["name"],
            name_key(row["name"]),
            row["type"],
            index_extra(row["name"]),
            row["domain"],
            row["record"],
            row.get("said_by", ""),
            row["created_at"],
            row["updated_at"],
        ),
    )
    entity = int(cursor.lastrowid or 0)
    add_aliases(c, entity, row.get("aliases") or ())
    return entity


def add_aliases(
    c: sqlite3.Connection, entity: int, pairs: Iterable[Sequence[str]]
) -> list[list[str]]:
    """Add the pairs (key, alias) that are still free and index them; return those that were
    added.
    """
    added = []
    for key, alias in pairs:
        free = "INSERT OR IGNORE INTO aliases VALUES (?, ?, ?)"
        if c.execute(free, (key, alias, entity)).rowcount > 0:
            added.append([key, alias])
    if added:
        _index_names(c, entity)
    return added


def remove_aliases(c: sqlite3.Connection, entity: int, keys: Iterable[str]) -> list[list[str]]:
    """Remove these aliases of the entity; return the removed pairs (key, alias)."""
    removed: list[Any] = []
    for key in keys:
        mine = (key, entity)
        removed += c.execute("SELECT key, alias FROM aliases WHERE key = ? AND entity = ?", mine)
        c.execute("DELETE FROM aliases WHERE key = ? AND entity = ?", mine)
    if removed:
        _index_names(c, entity)
    return [list(pair) for pair in removed]


def _index_names(c: sqlite3.Connection, entity: int) -> None:
    """Update the full-text index so that it finds the entity by its aliases, too."""
    name = c.execute("SELECT name FROM entities WHERE id = ?", (entity,)).fetchone()[0]
    aliases = [pair[1] for pair in aliases_of(c, entity)]
    extra = " ".join(filter(None, [index_extra(" ".join([name, *aliases])), *aliases]))
    c.execute("UPDATE entities SET extra = ? WHERE id = ? AND extra <> ?", (extra, entity, extra))


def insert_observation(
    c: sqlite3.Connection, id_: int | None, entity: int, row: Mapping[str, Any]
) -> None:
    """Insert an observation's row, under the given number if any."""
    name = c.execute("SELECT name FROM entities WHERE id = ?", (entity,)).fetchone()[0]
    c.execute(
        "INSERT INTO observations (id, entity, text, extra, record, trust, source, session, agent, "
        "domain, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id_,
            entity,
            row["text"],
            index_extra(f"{name} {row['text']}"),
            row["record"],
            row["trust"],
            row["source"],
            row["session"],
            row["agent"],
            row["domain"],
            row["created_at"],
        ),
    )


def insert_relation(
    c: sqlite3.Connection, id_: int | None, source: int, target: int, row: Mapping[str, Any]
) -> bool:
    """Insert a relation's row, under the given number if any; return True if it was added.

    One that only other members of a team stated becomes this user's own.
    """
    said_by, stated = row.get("said_by", ""), (row["record"], row["domain"], row["created_at"])
    cursor = c.execute(
        "INSERT OR IGNORE INTO relations (id, source, type, target, said_by, record, domain, "
        "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (id_, source, row["relationType"], target, said_by, *stated),
    )
    if cursor.rowcount > 0 or said_by:
        return cursor.rowcount > 0
    cursor = c.execute(
        "UPDATE relations SET said_by = '', record = ?, domain = ?, created_at = ? "
        "WHERE source = ? AND type = ? AND target = ? AND said_by <> ''",
        (*stated, source, row["relationType"], target),
    )
    return cursor.rowcount > 0


def _with_claims(
    c: sqlite3.Connection, table: str, some: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Add to each row the ids of the records that state it."""
    by_row: dict[int, list[str]] = {}
    for number, record in c.execute(
        "SELECT c.row, c.record FROM json_each(?) AS j CROSS JOIN claims AS c "
        "ON c.kind = ? AND c.row = j.value ORDER BY c.record",
        (f"[{','.join(str(row['id']) for row in some)}]", table),
    ):
        by_row.setdefault(number, []).append(record)
    return [row | {"claims": by_row.get(row["id"], [])} for row in some]


def _chunks(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]

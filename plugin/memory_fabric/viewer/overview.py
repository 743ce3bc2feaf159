"""Everything that is remembered at once, for somebody who looks at it: the same few queries for a
small memory and for a large one.

Entities of one name in both databases are one. What is over a limit is left out and counted: the
most connected entities stay, and the newest of the rest.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_fabric.models import Record
from memory_fabric.store.database import Database
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.history.changes import Change
from memory_fabric.store.memory import Memory

# A browser still draws and searches so much at once.
MAX_ENTITIES, MAX_OBSERVATIONS, MAX_RELATIONS = 20_000, 100_000, 100_000
MAX_RECORDS, MAX_CHANGES = 10_000, 500
# Of one change, which may be the import of a whole graph.
MAX_TOUCHED = 100
# A drawing shows an entity's neighbours within so many steps at most.
MAX_STEPS = 3
NOT_A_CANDIDATE = "status <> 'candidate'"

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Remark:
    """One observation: what is said, by whom, and in which database (`store`) it lies."""

    text: str
    at: str
    trust: str
    source: str
    session: str
    agent: str
    domain: str
    record: str
    store: str


@dataclass(frozen=True, slots=True)
class Node:
    """An entity; `stores` are the databases that know it, remarks stand as they came."""

    name: str
    type: str
    domain: str
    created_at: str
    stores: tuple[str, ...]
    aliases: tuple[str, ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between the entities of these numbers in the list of nodes."""

    source: int
    target: int
    type: str
    at: str
    domain: str
    record: str


@dataclass(frozen=True, slots=True)
class Step:
    """A change in a phrase, with the numbers of entities and the ids of records it speaks of."""

    change: Change
    what: str
    nodes: tuple[int, ...]
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole memory: nodes as they were created, records and steps newest first.

    `about` has for a record's id the numbers of its entities, `left_out` how many of each are not
    here.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    records: tuple[Record, ...]
    about: Mapping[str, tuple[int, ...]]
    steps: tuple[Step, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Row:
    """An entity as the databases have it: the first one's type, and its numbers in each."""

    name: str
    type: str
    domain: str
    created_at: str
    degree: int
    keys: tuple[Key, ...]


def overview(memory: Memory, *, name: str = "", only_graph: bool = False) -> Overview:
    """Everything in the databases that can be read; others are named in the memory's `failures`.

    The entity of this name and those near it are among the nodes in any case. With `only_graph`
    there are neither remarks nor records nor steps. Raises StoreUnavailable and DeadlinePassed.
    """
    databases = memory.databases()
    counted = [_counts(db) for db in databases]
    rows, twice = _entities(databases, _near(memory, databases, name) if name else frozenset())
    numbers = {key: number for number, row in enumerate(rows) for key in row.keys}
    remarks = {} if only_graph else _remarks(databases, numbers)
    edges, repeated = _edges(databases, numbers)
    nodes = _nodes(databases, rows, numbers, remarks)
    found = [] if only_graph else memory.find_records(NOT_A_CANDIDATE, limit=MAX_RECORDS)
    records = tuple(found)
    known = _numbers_by_name(nodes)
    steps = () if only_graph else _steps(memory, known, {record.id for record in records})
    by_node = {
        "entities": len(nodes) + twice,
        "observations": sum(len(node.remarks) for node in nodes),
        "relations": len(edges) + repeated,
        "records": len(records),
        "changes": len(steps),
    }
    left_out = {name: max(0, sum(c[name] for c in counted) - by_node[name]) for name in by_node}
    about = _about(databases, records, known, numbers)
    return Overview(nodes, edges, records, about, steps, left_out)


def _counts(db: Database) -> dict[str, int]:
    names = ("entities", "observations", "relations", "records", "changes")
    row = db.row(
        "SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM observations), "
        "(SELECT count(*) FROM relations), "
        f"(SELECT count(*) FROM records WHERE {NOT_A_CANDIDATE}), "
        "(SELECT count(*) FROM operations)"
    )
    return dict(zip(names, row or (0,) * len(names), strict=True))


def _near(memory: Memory, databases: Sequence[Database], name: str) -> frozenset[Key]:
    """The entity that a name means, and what lies within MAX_STEPS of it."""
    entities = resolve.entities_meant(memory, name)
    keys: set[Key] = set()
    for db in databases:
        names = [entity_name for store, entity_name in entities if store == db.kind]
        marks = ", ".join("?" * len(names))
        rows = db.rows(f"SELECT id FROM entities WHERE name IN ({marks})", names)
        ids = edge = {row[0] for row in rows}
        for _ in range(MAX_STEPS):
            around = db.rows(
                "SELECT r.target FROM json_each(?1) AS j JOIN relations AS r ON r.source = j.value "
                "UNION "
                "SELECT r.source FROM json_each(?1) AS j JOIN relations AS r ON r.target = j.value",
                (json.dumps(sorted(edge)),),
            )
            edge = {row[0] for row in around} - ids
            if len(ids) + len(edge) > MAX_ENTITIES:
                break
            ids = ids | edge
        keys |= {(db.kind, id_) for id_ in ids}
    return frozenset(keys)


def _entities(databases: Sequence[Database], near: frozenset[Key]) -> tuple[list[_Row], int]:
    """The entities to be shown, as they were created, and how many of them live in two places.

    Those that are `near` come before more connected ones.
    """
    by_id: dict[str, _Row] = {}
    for db in databases:
        mine = json.dumps(sorted(id_ for store, id_ in near if store == db.kind))
        for id_, name, kind, domain, at, degree in db.rows(
            "SELECT e.id, e.name, e.type, e.domain, e.created_at, "
            "(SELECT count(*) FROM relations WHERE source = e.id) + "
            "(SELECT count(*) FROM relations WHERE target = e.id) AS degree "
            "FROM entities AS e "
            "ORDER BY e.id IN (SELECT value FROM json_each(?)) DESC, degree DESC, e.id LIMIT ?",
            (mine, MAX_ENTITIES),
        ):
            row = _Row(name, kind, domain, at, degree, ((db.kind, id_),))
            by_id[name] = _joined(by_id.get(name), row)
    rows = sorted(by_id.values(), key=lambda row: (near.isdisjoint(row.keys), -row.degree))
    rows = rows[:MAX_ENTITIES]
    rows.sort(key=lambda row: (row.created_at, row.keys))
    return rows, sum(len(row.keys) - 1 for row in rows)


def _joined(first: _Row | None, row: _Row) -> _Row:
    if first is None:
        return row
    created = min(first.created_at, row.created_at)
    keys = (*first.keys, *row.keys)
    return _Row(first.name, first.type, first.domain, created, first.degree + row.degree, keys)


def _remarks(
    databases: Sequence[Database], numbers: Mapping[Key, int]
) -> dict[int, tuple[Remark, ...]]:
    """The newest observations by the number of their entity, in the order in which they came."""
    found: list[tuple[int, Remark]] = []
    for db in databases:
        rows = db.rows(
            "SELECT entity, text, created_at, trust, source, session, agent, domain, record, "
            "? FROM observations ORDER BY id DESC LIMIT ?",
            (db.kind, MAX_OBSERVATIONS),
        )
        for entity, *fields in reversed(rows):
            number = numbers.get((db.kind, entity))
            if number is not None:
                found.append((number, Remark(*fields)))
    if len(found) > MAX_OBSERVATIONS:
        newest = sorted(range(len(found)), key=lambda place: found[place][1].at, reverse=True)
        found = [found[place] for place in sorted(newest[:MAX_OBSERVATIONS])]
    by_node: dict[int, list[Remark]] = {}
    for number, remark in found:
        by_node.setdefault(number, []).append(remark)
    return {number: tuple(remarks) for number, remarks in by_node.items()}


def _edges(
    databases: Sequence[Database], numbers: Mapping[Key, int]
) -> tuple[tuple[Edge, ...], int]:
    """The newest relations between these entities, oldest first, and how many were in both."""
    found: dict[tuple[int, str, int], Edge] = {}
    repeated = 0
    for db in databases:
        for source, target, *fields in db.rows(
            "SELECT source, target, type, created_at, domain, record FROM relations ORDER BY id"
        ):
            ends = numbers.get((db.kind, source)), numbers.get((db.kind, target))
            if ends[0] is None or ends[1] is None:
                continue
            edge = Edge(ends[0], ends[1], *fields)
            key = (edge.source, edge.type, edge.target)
            repeated += key in found
            found.setdefault(key, edge)
    edges = sorted(found.values(), key=lambda edge: edge.at)
    return tuple(edges[-MAX_RELATIONS:]), repeated


def _nodes(
    databases: Sequence[Database],
    rows: Sequence[_Row],
    numbers: Mapping[Key, int],
    remarks: Mapping[int, tuple[Remark, ...]],
) -> tuple[Node, ...]:
    aliases: dict[int, list[str]] = {}
    for db in databases:
        for entity, alias in db.rows("SELECT entity, alias FROM aliases ORDER BY key"):
            number = numbers.get((db.kind, entity))
            if number is not None and alias not in aliases.setdefault(number, []):
                aliases[number].append(alias)
    return tuple(
        Node(
            *(row.name, row.type, row.domain, row.created_at),
            stores=tuple(store for store, _ in row.keys),
            aliases=tuple(aliases.get(number, ())),
            remarks=remarks.get(number, ()),
        )
        for number, row in enumerate(rows)
    )


def _numbers_by_name(nodes: Sequence[Node]) -> dict[str, int]:
    """The numbers of entities by their names, and by other names that no entity bears itself."""
    numbers = {alias: number for number, node in enumerate(nodes) for alias in node.aliases}
    return numbers | {node.name: number for number, node in enumerate(nodes)}


def _about(
    databases: Sequence[Database],
    records: Sequence[Record],
    known: Mapping[str, int],
    numbers: Mapping[Key, int],
) -> dict[str, tuple[int, ...]]:
    """The entities of each record: those that it names, and those of which it says something."""
    numbers_by_record = {
        record.id: _known(known, (e.name for e in record.entities)) for record in records
    }
    for db in databases:
        for record_id, entity in db.rows(
            "SELECT DISTINCT c.record, o.entity FROM claims AS c "
            "JOIN observations AS o ON o.id = c.row WHERE c.kind = 'observations'"
        ):
            number = numbers.get((db.kind, entity))
            if number is not None and record_id in numbers_by_record:
                numbers_by_record[record_id][number] = None
    return {record_id: tuple(some) for record_id, some in numbers_by_record.items()}


def _known(known: Mapping[str, int], names: Iterable[str]) -> dict[int, None]:
    return dict.fromkeys(known[name] for name in names if name in known)


def _steps(memory: Memory, known: Mapping[str, int], record_ids: set[str]) -> tuple[Step, ...]:
    changes_read = changes.read_all(memory, limit=MAX_CHANGES)
    by_id = {change.id: change for change in changes_read}

    def told(change: Change) -> str:
        def find(id_: str) -> Change | None:
            return by_id.get(id_) or changes.find(memory, change.store, id_)

        return changes.summary(change, find)

    return tuple(
        Step(
            change,
            told(change),
            tuple(_known(known, changes.entity_names(change)))[:MAX_TOUCHED],
            _kept(record_ids, changes.record_ids(change)),
        )
        for change in changes_read
    )


def _kept(known: set[str], wanted: Sequence[str]) -> tuple[Any, ...]:
    return tuple(id_ for id_ in wanted if id_ in known)[:MAX_TOUCHED]

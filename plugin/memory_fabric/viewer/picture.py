"""The data of the page as one JSON object: the graph, the records, the changes, and the tiers.

Lists refer to entities by their number in `entities`. Every text passes today's rules of redaction
on its way out: a row may be older than a rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from memory_fabric import __version__
from memory_fabric.clients.table import name_in
from memory_fabric.health import tiers as status
from memory_fabric.ids import short_id, timestamp
from memory_fabric.language.times import days_between, parsed
from memory_fabric.models import BEFORE, PROMPT, TRUST_ORDER, WHEN, Record, worded
from memory_fabric.recall.render import is_stale
from memory_fabric.recall.review import CANDIDATE, KINDS, due
from memory_fabric.redaction import redact
from memory_fabric.store import counts, file_states
from memory_fabric.store.database import Database
from memory_fabric.store.history import candidates, changes, resolve
from memory_fabric.store.history.changes import Change, who
from memory_fabric.store.history.resolve import version_of
from memory_fabric.store.memory import Memory
from memory_fabric.text import neutralised

# Of each kind; the totals count all.
MAX_DUE = 200
# Newest records among which near duplicates are looked for: comparing takes time, and the page is
# read again after each change.
MAX_COMPARED = 500

# The weeks of which the page shows what came of memory, with this one.
WORTH_S = 8 * counts.WEEK_S
# The scope of what lies in a database, as the page shows it.
PAGE_SCOPES = {"project": "team", "user": "user"}
BOTH = "both"
RELATION_FIELDS = ("from", "to", "type", "at", "domain", "record")
RECORD_FIELDS = (
    "id short_id type what worded why alternatives outcome category scope domain trust author "
    "source client session agent confidence status pinned at valid_from valid_to superseded_by "
    "generalizable stale days entities"
).split()
CANDIDATE_FIELDS = (
    "id short_id type what why scope domain trust source session confidence at again prompt before"
).split()


def graph(memory: Memory, now: str, name: str = "") -> dict[str, Any]:
    """The parts of a picture for a drawing: entities and relations only. Raises as `picture`."""
    contents = overview(memory, name=name, only_graph=True)
    parts = {
        "entities": [_entity(node, now) for node in contents.nodes],
        "relations": [_relation(edge) for edge in contents.edges],
        "records": [],
        "left_out": dict(contents.left_out),
    }
    return presentable(parts)


def picture(memory: Memory, now: str, name: str = "") -> dict[str, Any]:
    """Everything that is remembered here, at `now` (ISO 8601), as JSON can hold it; the entity of
    this name in any case.

    Raises StoreUnavailable and DeadlinePassed.
    """
    contents, changed = overview(memory, name=name), file_states.all_changed(memory)
    project, moment = memory.project, parsed(now)
    now_s = moment.timestamp() if moment else 0.0
    whole = {
        "version": __version__,
        "made_at": now,
        "live": False,
        "project": {"name": project.name, "id": project.id} if project else None,
        "entities": [_entity(node, now) for node in contents.nodes],
        "relations": [_relation(edge) for edge in contents.edges],
        "records": [
            _record(record, contents, now) | {"changed_files": changed.get(record.id, {})}
            for record in contents.records
        ],
        "changes": [_change(step) for step in contents.steps],
        "review": review(memory, now),
        "tiers": [status.as_json(tier) for tier in status.tiers(memory, now_s)],
        "worth": {
            "weeks": [
                counts.worth_as_json(week)
                for week in counts.worth_by_week(memory, timestamp(now_s - WORTH_S))
            ],
            "figures": counts.FIGURES,
            "limits": counts.LIMITS,
        },
        "left_out": dict(contents.left_out),
    }
    return presentable(whole)


def presentable(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts without secrets, and every text in them made fit to be shown."""
    cleaned: dict[str, Any] = _shown(redact.all_without_secrets(parts, {}))
    return cleaned


def _shown(value: Any) -> Any:
    """Return the value with every text in it made fit to be shown."""
    if isinstance(value, str):
        return neutralised(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value


def _entity(node: Node, now: str) -> dict[str, Any]:
    at = max((remark.at for remark in node.remarks), default="") or node.created_at
    trust = max((r.trust for r in node.remarks), key=lambda t: TRUST_ORDER.get(t, -1), default="")
    return {
        "name": node.name,
        "type": node.type,
        "domain": node.domain,
        "scope": BOTH if len(node.stores) > 1 else PAGE_SCOPES[node.stores[0]],
        "trust": trust,
        "at": at,
        **_age(node.type, at, now),
        "aliases": list(node.aliases),
        "observations": [remark._asdict() for remark in node.remarks],
    }


def _relation(edge: Edge) -> dict[str, Any]:
    return dict(zip(RELATION_FIELDS, edge, strict=True))


def _record(record: Record, seen: Overview, now: str) -> dict[str, Any]:
    age = _age(record.type, record.created_at, now)
    computed = {
        "worded": worded(record),
        "client": name_in(record.evidence),
        "stale": age["stale"] and not record.pinned,
        "days": age["days"],
        "entities": seen.about.get(record.id, ()),
    }
    return _with_fields(record, RECORD_FIELDS, computed)


def _with_fields(
    record: Record, names: Sequence[str], computed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return these fields in their order, of which some are computed, and what changes name."""
    values = {
        **record._asdict(),
        "short_id": short_id(record.id),
        "at": record.created_at,
        **computed,
    }
    fields = {name: values[name] for name in names}
    when = str(record.evidence.get(WHEN) or "")
    return fields | {"when": when, "version": version_of(record)}


def _change(step: Step) -> dict[str, Any]:
    return {
        "id": step.change.id,
        "short_id": short_id(step.change.id),
        "at": step.change.at,
        "by": who(step.change.by),
        "what": step.what,
        "undone": step.change.undone,
        "entities": list(step.nodes),
        "records": list(step.records),
    }


def _age(kind: str, at: str, now: str) -> dict[str, Any]:
    days = days_between(at, now)
    return {"stale": is_stale(kind, days), "days": None if days is None else int(days)}


def review(memory: Memory, now: str) -> dict[str, Any]:
    """Return what is due at `now`, in the order of the command `review`, and how much of each kind.

    Raises StoreUnavailable and DeadlinePassed.
    """
    due_items = due(memory, now, MAX_COMPARED)
    total = {kind: sum(item.kind == kind for item in due_items) for kind in KINDS}
    items = [item for kind in KINDS for item in [o for o in due_items if o.kind == kind][:MAX_DUE]]
    return {
        "total": total,
        "due": [
            {
                "kind": item.kind,
                "record": item.record.id,
                "others": [record.id for record in item.others],
                "days": item.days,
            }
            for item in items
        ],
        "candidates": [candidate(item.record) for item in items if item.kind == CANDIDATE],
    }


def candidate(record: Record) -> dict[str, Any]:
    """Return a candidate with the words around it and what a change of it must name."""
    computed = {
        "again": candidates.said_again(record),
        "prompt": str(record.evidence.get(PROMPT) or ""),
        "before": str(record.evidence.get(BEFORE) or ""),
    }
    return _with_fields(record, CANDIDATE_FIELDS, computed)


# A browser can still draw and search at most this many at once.
MAX_ENTITIES, MAX_OBSERVATIONS, MAX_RELATIONS = 20_000, 100_000, 100_000
MAX_RECORDS, MAX_CHANGES = 10_000, 500
# Items shown of one change, which may be the import of a whole graph.
MAX_TOUCHED = 100
# A drawing around an entity shows neighbours at most this many relations away.
MAX_STEPS = 3
NOT_A_CANDIDATE = "status <> 'candidate'"

Key = tuple[str, int]


class Remark(NamedTuple):
    """One observation: what is said and by whom, in the form of the page."""

    text: str
    at: str
    trust: str
    source: str
    session: str
    agent: str
    domain: str
    scope: str
    record: str


class Node(NamedTuple):
    """An entity; `stores` are the databases that know it, remarks stand as they came."""

    name: str
    type: str
    domain: str
    created_at: str
    stores: tuple[str, ...]
    aliases: tuple[str, ...]
    remarks: tuple[Remark, ...]


class Edge(NamedTuple):
    """A relation between the entities of these numbers in the list of nodes."""

    source: int
    target: int
    type: str
    at: str
    domain: str
    record: str


class Step(NamedTuple):
    """A change in a phrase, with the numbers of entities and the ids of records it speaks of."""

    change: Change
    what: str
    nodes: tuple[int, ...]
    records: tuple[str, ...]


class Overview(NamedTuple):
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


class _Row(NamedTuple):
    """An entity as the databases have it: the first one's type, and its numbers in each."""

    name: str
    type: str
    domain: str
    created_at: str
    degree: int
    keys: tuple[Key, ...]

    def joined(self, row: _Row) -> _Row:
        """Return this row with another database's row of the same name."""
        return self._replace(
            created_at=min(self.created_at, row.created_at),
            degree=self.degree + row.degree,
            keys=(*self.keys, *row.keys),
        )


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
    # Entities by their names, and by other names that no entity bears itself.
    known = {alias: number for number, node in enumerate(nodes) for alias in node.aliases}
    known |= {node.name: number for number, node in enumerate(nodes)}
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
    """Return the entity that a name means, and the entities within MAX_STEPS of it."""
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
            first = by_id.get(name)
            by_id[name] = row if first is None else first.joined(row)
    rows = sorted(by_id.values(), key=lambda row: (near.isdisjoint(row.keys), -row.degree))
    rows = rows[:MAX_ENTITIES]
    rows.sort(key=lambda row: (row.created_at, row.keys))
    return rows, sum(len(row.keys) - 1 for row in rows)


def _remarks(
    databases: Sequence[Database], numbers: Mapping[Key, int]
) -> dict[int, tuple[Remark, ...]]:
    """The newest observations by the number of their entity, in the order in which they came."""
    found: list[tuple[int, Remark]] = []
    for db in databases:
        rows = db.rows(
            "SELECT entity, text, created_at, trust, source, session, agent, domain, ?, record "
            "FROM observations ORDER BY id DESC LIMIT ?",
            (PAGE_SCOPES[db.kind], MAX_OBSERVATIONS),
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


def _about(
    databases: Sequence[Database],
    records: Sequence[Record],
    known: Mapping[str, int],
    numbers: Mapping[Key, int],
) -> dict[str, tuple[int, ...]]:
    """Return the entities of each record: named in it, or with an observation of it."""
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

    def find(change: Change, id_: str) -> Change | None:
        return by_id.get(id_) or changes.find(memory, change.store, id_)

    return tuple(
        Step(
            change,
            changes.summary(change, partial(find, change)),
            tuple(_known(known, changes.entity_names(change)))[:MAX_TOUCHED],
            tuple(id_ for id_ in changes.record_ids(change) if id_ in record_ids)[:MAX_TOUCHED],
        )
        for change in changes_read
    )

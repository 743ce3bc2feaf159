"""The page's data as JSON: graph, records, changes, and states of graph, journal and MEMORY.md.

Lists refer to an entity by its index in `entities`. All texts are redacted again for output,
because a row may have been stored before a redaction rule existed.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from memory_fabric import __version__, models, text
from memory_fabric.clients.table import name_in
from memory_fabric.health import tiers as status
from memory_fabric.ids import short_id, timestamp
from memory_fabric.language.times import days_between, parsed
from memory_fabric.models import Json, Payload, Record
from memory_fabric.recall.render import is_stale
from memory_fabric.recall.review import CANDIDATE, KINDS, SHARED, UNCONFIRMED, due
from memory_fabric.redaction import redact
from memory_fabric.store.database import Database
from memory_fabric.store.history import candidates, changes, resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import file_states
from memory_fabric.store.queries import counts

# Limits of what is included, because a browser must draw and search all of it.
MAX_ENTITIES, MAX_OBSERVATIONS, MAX_RELATIONS = 20_000, 100_000, 100_000
MAX_RECORDS, MAX_CHANGES = 10_000, 500
# Maximum number of entities, and of records, listed for a change such as the import of a graph.
MAX_TOUCHED = 100
# A drawing around an entity shows the entities that are at most this many relations away.
MAX_STEPS = 3
# Maximum number of items listed for review, for each kind; the totals count all items.
MAX_DUE = 200
# How many of the newest records are checked for near duplicates; the check slows each page load.
MAX_COMPARED = 500
# The period (seconds) for which the page shows the weekly figures of the command `worth`.
WORTH_S = 8 * counts.WEEK_S
# The scope of rows without a record, by the kind of their database.
PAGE_SCOPES = {"project": "team", "user": "user"}
BOTH = "both"
OBSERVATION_FIELDS = "text at trust source session agent domain scope record".split()
RELATION_FIELDS = "from to type at domain record".split()
RECORD_FIELDS = (
    "id short_id type what worded why alternatives outcome category scope domain trust author "
    "source client imported session agent confidence status pinned at valid_from valid_to "
    "superseded_by stale days entities"
).split()
CANDIDATE_FIELDS = (
    "id short_id type what why scope domain trust source session confidence at again prompt before"
).split()
NOT_A_CANDIDATE = "status <> 'candidate'"
SIZES = ("entities", "observations", "relations", "records", "changes")
COUNTED = (
    "SELECT (SELECT count(*) FROM entities), (SELECT count(*) FROM observations), "
    "(SELECT count(*) FROM relations), "
    f"(SELECT count(*) FROM records WHERE {NOT_A_CANDIDATE}), "
    "(SELECT count(*) FROM operations)"
)
# The kind of a database, and the row id of an entity in it.
Key = tuple[str, int]
# Maps to an entity's index in the page's list `entities`: from its Key, and from its name or alias.
Numbers = Mapping[Key, int]
Names = Mapping[str, int]


def picture(memory: Memory, now: str, name: str = "") -> Json:
    """Return all memories of this project and the user as JSON; `now` is an ISO 8601 time. The
    entity called `name` and its neighbours are always included. Databases that cannot be read are
    listed in `memory.failures`. Raises StoreUnavailable and DeadlinePassed.
    """
    project, moment = memory.project, parsed(now)
    now_s = moment.timestamp() if moment else 0.0
    weeks = counts.worth_by_week(memory, timestamp(now_s - WORTH_S))
    worth: Json = {"weeks": [counts.worth_as_json(week) for week in weeks]}
    worth |= {"figures": counts.FIGURES, "limits": counts.LIMITS}
    place = {"name": project.name, "id": project.id} if project else None
    whole: Json = {"version": __version__, "made_at": now, "live": False, "project": place}
    whole |= overview(memory, now, name) | {"review": review(memory, now)}
    whole |= {"tiers": [status.as_json(tier) for tier in status.tiers(memory, now_s)]}
    return presentable(whole | {"worth": worth})


def graph(memory: Memory, now: str, name: str = "") -> Json:
    """Return entities and relations only, for a drawing. Raises the same errors as `picture`."""
    return presentable(overview(memory, now, name, only_graph=True))


def presentable(parts: Payload) -> Json:
    """Return the value with secrets redacted, and each text made safe by `text.neutralised`."""
    cleaned: Json = text.each_text(redact.all_without_secrets(parts, {}), text.neutralised)
    return cleaned


def overview(memory: Memory, now: str, name: str = "", *, only_graph: bool = False) -> Json:
    """Return entities in creation order and relations; unless `only_graph`, also observations, and
    records and changes (newest first). `left_out` has the numbers of items beyond the limits. The
    texts are not redacted yet. Raises the same errors as `picture`.
    """
    databases = memory.databases()
    counted = [db.rows(COUNTED)[0] for db in databases]
    rows, twice = _rows(databases, _near(memory, databases, name) if name else frozenset())
    numbers = {key: number for number, row in enumerate(rows) for key in row.keys}
    entities = _entities(databases, rows, numbers, only_graph)
    for entity in entities:
        entity |= age_of(entity["type"], entity["at"], now)
    relations, repeated = _relations(databases, numbers)
    # Map names and aliases to indexes in `entities`; a name has priority over an equal alias.
    named = {alias: number for number, entity in enumerate(entities) for alias in entity["aliases"]}
    named |= {entity["name"]: number for number, entity in enumerate(entities)}
    records = [] if only_graph else _records(memory, databases, named, numbers, now)
    steps = [] if only_graph else _changes(memory, named, {record["id"] for record in records})
    remarks = sum(len(entity["observations"]) for entity in entities)
    sums = (len(entities) + twice, remarks, len(relations) + repeated, len(records), len(steps))
    left_out = {
        what: max(0, sum(column) - count)
        for what, count, *column in zip(SIZES, sums, *counted, strict=True)
    }
    parts = {"entities": entities, "relations": relations, "records": records, "changes": steps}
    return {**parts, "left_out": left_out}


def _with_fields(record: Record, names: Sequence[str], computed: Payload) -> Json:
    """Return the named fields of a record; `computed` values override. Add `when` and `version`."""
    basic = {"short_id": short_id(record.id), "at": record.created_at}
    values = {**record._asdict(), **basic, **computed}
    fields = {name: values[name] for name in names}
    when = str(record.evidence.get(models.WHEN) or "")
    return fields | {"when": when, "version": resolve.version_of(record)}


def age_of(kind: str, at: str, now: str) -> Json:
    """Return the age of a memory in `days` (or None); `stale` is True if too old for its `kind`."""
    days = days_between(at, now)
    return {"stale": is_stale(kind, days), "days": None if days is None else int(days)}


def review(memory: Memory, now: str) -> Json:
    """Return the items of `memory-fabric review` with totals. Raises the errors of `picture`."""
    due_items = due(memory, now, MAX_COMPARED)
    total = {kind: sum(item.kind == kind for item in due_items) for kind in KINDS}
    brought = Counter(o.source for o in due_items if o.kind in (UNCONFIRMED, SHARED))
    items = [item for kind in KINDS for item in [o for o in due_items if o.kind == kind][:MAX_DUE]]
    rows: list[Json] = []
    for item in items:
        row: Json = {"kind": item.kind, "record": item.record.id, "days": item.days}
        rows.append(row | {"from": item.source, "others": [r.id for r in item.others]})
    by_source = [{"from": name, "count": count} for name, count in brought.items()]
    proposed = [candidate(item.record) for item in items if item.kind == CANDIDATE]
    return {"total": total, "due": rows, "brought": by_source, "candidates": proposed}


def candidate(record: Record) -> Json:
    """Return a candidate record as JSON, with its prompt, the preceding answer, and its version."""
    around = {"prompt": models.PROMPT, "before": models.BEFORE}
    computed: Json = {n: str(record.evidence.get(key) or "") for n, key in around.items()}
    computed["again"] = candidates.said_again(record)
    return _with_fields(record, CANDIDATE_FIELDS, computed)


class _Row(NamedTuple):
    """An entity; `keys` has a (kind of database, row id) for each database that contains it."""

    name: str
    type: str
    domain: str
    created_at: str
    degree: int
    keys: tuple[Key, ...]


def _near(memory: Memory, databases: Sequence[Database], name: str) -> frozenset[Key]:
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


def _rows(databases: Sequence[Database], near: frozenset[Key]) -> tuple[list[_Row], int]:
    """Return `near` and the most connected entities, oldest first, and the count of merged rows."""
    by_name: dict[str, _Row] = {}
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
            first = by_name.get(name, _Row(name, kind, domain, at, 0, ()))
            kind = kind if first.type == "unknown" else first.type
            keys = (*first.keys, (db.kind, id_))
            degree, at = degree + first.degree, min(first.created_at, at)
            by_name[name] = _Row(name, kind, first.domain, at, degree, keys)
    rows = sorted(by_name.values(), key=lambda row: (near.isdisjoint(row.keys), -row.degree))
    rows = rows[:MAX_ENTITIES]
    rows.sort(key=lambda row: (row.created_at, row.keys))
    return rows, sum(len(row.keys) - 1 for row in rows)


def _entities(
    databases: Sequence[Database], rows: Sequence[_Row], numbers: Numbers, only_graph: bool
) -> list[Json]:
    said = {} if only_graph else _said(databases, numbers)
    aliases: dict[int, list[str]] = {}
    for db in databases:
        for key, alias in db.rows("SELECT entity, alias FROM aliases ORDER BY key"):
            number = numbers.get((db.kind, key))
            if number is not None and alias not in aliases.setdefault(number, []):
                aliases[number].append(alias)
    entities = []
    for number, row in enumerate(rows):
        remarks = said.get(number, [])
        trusts = [remark["trust"] for remark in remarks]
        trust = max(trusts, key=lambda name: models.TRUST_ORDER.get(name, -1), default="")
        scope = BOTH if len(row.keys) > 1 else PAGE_SCOPES[row.keys[0][0]]
        at = max((remark["at"] for remark in remarks), default="") or row.created_at
        entity: Json = {"name": row.name, "type": row.type, "domain": row.domain, "scope": scope}
        entity |= {"trust": trust, "at": at, "aliases": aliases.get(number, [])}
        entities.append(entity | {"observations": remarks})
    return entities


def _said(databases: Sequence[Database], numbers: Mapping[Key, int]) -> dict[int, list[Json]]:
    """Map entity indexes to observations, oldest first; only the newest MAX_OBSERVATIONS of all."""
    found: list[tuple[int, Json]] = []
    for db in databases:
        rows = db.rows(
            "SELECT entity, text, created_at, trust, source, session, agent, domain, ?, record "
            "FROM observations ORDER BY id DESC LIMIT ?",
            (PAGE_SCOPES[db.kind], MAX_OBSERVATIONS),
        )
        for entity, *fields in reversed(rows):
            number = numbers.get((db.kind, entity))
            if number is not None:
                found.append((number, dict(zip(OBSERVATION_FIELDS, fields, strict=True))))
    if len(found) > MAX_OBSERVATIONS:
        newest = sorted(range(len(found)), key=lambda place: found[place][1]["at"], reverse=True)
        found = [found[place] for place in sorted(newest[:MAX_OBSERVATIONS])]
    by_entity: dict[int, list[Json]] = {}
    for number, observation in found:
        by_entity.setdefault(number, []).append(observation)
    return by_entity


def _relations(databases: Sequence[Database], numbers: Mapping[Key, int]) -> tuple[list[Json], int]:
    """Return the MAX_RELATIONS newest relations in time order, and the number of duplicate rows."""
    by_key: dict[tuple[int, int, str], Json] = {}
    repeated = 0
    for db in databases:
        for source, target, kind, *fields in db.rows(
            "SELECT source, target, type, created_at, domain, record FROM relations ORDER BY id"
        ):
            ends = numbers.get((db.kind, source)), numbers.get((db.kind, target))
            if ends[0] is None or ends[1] is None:
                continue
            key = (ends[0], ends[1], kind)
            repeated += key in by_key
            by_key.setdefault(key, dict(zip(RELATION_FIELDS, (*key, *fields), strict=True)))
    return sorted(by_key.values(), key=lambda row: row["at"])[-MAX_RELATIONS:], repeated


def _records(
    memory: Memory, databases: Sequence[Database], named: Names, numbers: Numbers, now: str
) -> list[Json]:
    records = memory.find_records(NOT_A_CANDIDATE, limit=MAX_RECORDS)
    about = {record.id: _known(named, (e.name for e in record.entities)) for record in records}
    for db in databases:
        for record_id, entity in db.rows(
            "SELECT DISTINCT c.record, o.entity FROM claims AS c "
            "JOIN observations AS o ON o.id = c.row WHERE c.kind = 'observations'"
        ):
            number = numbers.get((db.kind, entity))
            if number is not None and record_id in about:
                about[record_id][number] = None
    changed, listed = file_states.all_changed(memory), []
    for record in records:
        age = age_of(record.type, record.created_at, now)
        computed: Json = {"worded": models.worded(record), "client": name_in(record.evidence)}
        computed["imported"] = str(record.evidence.get(models.IMPORTED) or "")
        computed |= {"stale": age["stale"] and not record.pinned, "days": age["days"]}
        computed["entities"] = list(about[record.id])
        fields = _with_fields(record, RECORD_FIELDS, computed)
        listed.append(fields | {"changed_files": changed.get(record.id, {})})
    return listed


def _known(named: Mapping[str, int], names: Iterable[str]) -> dict[int, None]:
    return dict.fromkeys(named[name] for name in names if name in named)


def _changes(memory: Memory, named: Mapping[str, int], record_ids: set[str]) -> list[Json]:
    changes_read = changes.read_all(memory, limit=MAX_CHANGES)
    by_id = {change.id: change for change in changes_read}

    def find(change: changes.Change, id_: str) -> changes.Change | None:
        return by_id.get(id_) or changes.find(memory, change.store, id_)

    steps: list[Json] = []
    for change in changes_read:
        step: Json = {"id": change.id, "short_id": short_id(change.id), "at": change.at}
        step["by"] = changes.who(change.by)
        step["what"] = changes.summary(change, partial(find, change))
        touched = [id_ for id_ in changes.record_ids(change) if id_ in record_ids]
        entities = list(_known(named, changes.entity_names(change)))
        step |= {"undone": change.undone, "entities": entities[:MAX_TOUCHED]}
        steps.append(step | {"records": touched[:MAX_TOUCHED]})
    return steps

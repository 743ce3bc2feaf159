"""One change in a phrase for people: the action, its object, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_fabric.ids import short_id
from memory_fabric.store.history.changes import Change
from memory_fabric.text import cut, first_of, many, one_line

MAX_CHARS = 200
MAX_NAMES = 4
# The parts of a record that people change; the others follow from them.
_FIELDS = ("type", "scope", "why", "status")
Find = Callable[[str], Change | None]


def summary(change: Change, find: Find) -> str:
    """Describe a change, e.g. `added 2 observations to Redis`. `find` returns the change of
    an id.
    """
    if change.kind == "undo":
        target = find(str(change.payload.get("operation", "")))
        text = f"undid: {summary(target, find)}" if target else "undid a change"
    else:
        describe = _DESCRIBE.get(change.kind)
        text = describe(change.payload, change.inverse) if describe else change.kind
    return cut(one_line(text), MAX_CHARS)


def who(by: Mapping[str, Any]) -> str:
    """Return author, agent and source of a change from its provenance."""
    return " ".join(str(by[name]) for name in ("author", "agent", "source") if by.get(name))


Payload = Mapping[str, Any]
Inverse = Sequence[Mapping[str, Any]]


def _created(payload: Payload, inverse: Inverse) -> str:
    new = set(_field(inverse, "remove_orphans", "entityNames"))
    added = _counts(_field(inverse, "delete_observations", "deletions"))
    parts = [
        f"created {e['name']} ({e['entityType']}){_with(added.get(e['name'], 0))}"
        for e in payload["entities"]
        if e["name"] in new
    ]
    parts += [_added(name, number) for name, number in added.items() if name not in new and number]
    return _joined(parts) or f"nothing new about {_names(e['name'] for e in payload['entities'])}"


def _related(payload: Payload, inverse: Inverse) -> str:
    return "related " + _joined([_edge(r) for r in payload["relations"]])


def _observed(payload: Payload, inverse: Inverse) -> str:
    added = _counts(_field(inverse, "delete_observations", "deletions"))
    parts = [_added(name, number) for name, number in added.items() if number]
    about = _names(item["entityName"] for item in payload["observations"])
    return _joined(parts) or f"nothing new about {about}"


def _deleted(payload: Payload, inverse: Inverse) -> str:
    rows = _put_back(inverse)
    said = _names(payload["entityNames"])
    return f"deleted {said}{_with(len(rows['observations']), len(rows['relations']))}"


def _deleted_texts(payload: Payload, inverse: Inverse) -> str:
    counts: dict[str, int] = {}
    for row in _put_back(inverse)["observations"]:
        counts[row["entity"]] = counts.get(row["entity"], 0) + 1
    parts = [f"deleted {many(n, 'observation')} of {name}" for name, n in counts.items()]
    return _joined(parts) or "deleted nothing"


def _deleted_edges(payload: Payload, inverse: Inverse) -> str:
    return "deleted the relation " + _joined([_edge(r) for r in payload["relations"]])


def _restored(payload: Payload, inverse: Inverse) -> str:
    names = [row["name"] for row in payload["entities"]]
    names += [row["entity"] for row in payload["observations"]]
    return f"put back {_names(dict.fromkeys(names))}"


def _orphans(payload: Payload, inverse: Inverse) -> str:
    removed = [row["name"] for row in _put_back(inverse)["entities"]]
    return f"removed entities without observations and relations: {_names(removed)}"


def _remembered(payload: Payload, inverse: Inverse) -> str:
    known = [step["payload"]["record"]["id"] for step in inverse if step["kind"] == "put_record"]
    closed = [short_id(link["id"]) for link in _field(inverse, "supersede", "links")]
    replaced = f", in place of {_names(closed)}" if closed else ""
    if not known:
        return f"remembered {_record(payload['record'])}{replaced}"
    # A repeat is no record of its own: it is shown under the id of the first.
    return f"strengthened {_record({**payload['record'], 'id': known[0]})}{replaced}"


def _changed(payload: Payload, inverse: Inverse) -> str:
    new = payload["record"]
    old = next((s["payload"]["record"] for s in inverse if s["kind"] == "put_record"), None)
    if old is None:
        moved = payload.get("moved_from")
        moved = f"moved from scope {moved} to {new['scope']}: " if moved else "stored "
        return f"{moved}{_record(new)}"
    if new.get("what") != old.get("what"):
        return f"reworded {_record(new)}; before: {old['what']}"
    if bool(old.get("pinned")) != bool(new.get("pinned")):
        return f"{'pinned' if new.get('pinned') else 'unpinned'} {_record(new)}"
    if new.get("superseded_by") and not old.get("superseded_by"):
        return f"superseded {_record(new)} by {short_id(new['superseded_by'])}"
    named = [name for name in new if name in _FIELDS and new.get(name) != old.get(name)]
    fields = named or [name for name in new if new.get(name) != old.get(name)]
    return f"changed {', '.join(fields) or 'nothing'} of {_record(new)}"


def _forgot(payload: Payload, inverse: Inverse) -> str:
    known = {s["payload"]["record"]["id"]: s for s in inverse if s["kind"] == "put_record"}
    parts = [
        _record(known[id_]["payload"]["record"]) if id_ in known else short_id(id_)
        for id_ in payload["ids"]
    ]
    parts += payload.get("entityNames") or ()
    for item in payload.get("deletions") or ():
        parts.append(f"{many(len(item['observations']), 'observation')} of {item['entityName']}")
    if payload.get("moved_to"):
        return f"moved to scope {payload['moved_to']}: {_joined(parts)}"
    turns = payload.get("turns") or ()
    parts += [many(len(turns), "turn")] if turns else []
    return f"forgot {_joined(parts) or 'nothing'}"


def _linked(payload: Payload, inverse: Inverse) -> str:
    opened = [short_id(link["id"]) for link in payload["links"] if not link["at"]]
    closed = [short_id(link["id"]) for link in payload["links"] if link["at"]]
    parts = [f"opened {_names(opened)} again"] if opened else []
    return _joined(parts + ([f"closed {_names(closed)}"] if closed else []))


def _named(payload: Payload, inverse: Inverse) -> str:
    return f"{payload['entity']} is also called {_names(payload['aliases'])}"


def _unnamed(payload: Payload, inverse: Inverse) -> str:
    return f"{payload['entity']} is no longer called {_names(payload['aliases'])}"


def _merged(payload: Payload, inverse: Inverse) -> str:
    return f"merged {_names(payload['names'])} into {payload['into']}"


def _split_or_merged(payload: Payload, inverse: Inverse) -> str:
    return "split or merged entities again"


def _tombstones_set(payload: Payload, inverse: Inverse) -> str:
    return f"set {many(len(payload['add']), 'tombstone')}"


def _ingested(payload: Payload, inverse: Inverse) -> str:
    ingest = payload["ingest"]
    sender = ingest.get("source_model") or "another program"
    return f"ingested a text of {sender}: {ingest['session_summary'] or _names(_decisions(ingest))}"


def _processed(payload: Payload, inverse: Inverse) -> str:
    number = len(payload["outcome"].get("records", ()))
    return f"processed the text {short_id(payload['id'])}: {many(number, 'record')}"


def _dropped(payload: Payload, inverse: Inverse) -> str:
    return f"dropped {many(len(inverse), 'ingested text')}"


def _began_to_learn(payload: Payload, inverse: Inverse) -> str:
    return "read past sessions in"


def _unlearned(payload: Payload, inverse: Inverse) -> str:
    return "deleted the turns of past sessions"


def _decisions(ingest: Mapping[str, Any]) -> Sequence[str]:
    return ingest.get("key_decisions") or ()


def _erased(payload: Payload, inverse: Inverse) -> str:
    return "a change that was purged"


_DESCRIBE: dict[str, Callable[[Payload, Inverse], str]] = {
    "create_entities": _created,
    "create_relations": _related,
    "add_observations": _observed,
    "delete_entities": _deleted,
    "delete_observations": _deleted_texts,
    "delete_relations": _deleted_edges,
    "restore": _restored,
    "remove_orphans": _orphans,
    "remember": _remembered,
    "put_record": _changed,
    "forget": _forgot,
    "supersede": _linked,
    "tombstones": _tombstones_set,
    "alias": _named,
    "put_aliases": _named,
    "unalias": _unnamed,
    "merge": _merged,
    "replace_rows": _split_or_merged,
    "ingest": _ingested,
    "ingested": _processed,
    "drop_ingests": _dropped,
    "learn": _began_to_learn,
    "unlearn": _unlearned,
    "purged": _erased,
}


def _field(inverse: Inverse, kind: str, field: str) -> list[Any]:
    return [item for step in inverse if step["kind"] == kind for item in step["payload"][field]]


def _put_back(inverse: Inverse) -> dict[str, list[Any]]:
    tables = ("entities", "observations", "relations")
    return {table: _field(inverse, "restore", table) for table in tables}


def _counts(deletions: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in deletions:
        name = item["entityName"]
        counts[name] = counts.get(name, 0) + len(item["observations"])
    return counts


def _record(record: Mapping[str, Any]) -> str:
    return f"{record['type']} {short_id(str(record.get('id', '')))}: {record['what']}"


def _edge(relation: Mapping[str, str]) -> str:
    return f"{relation['from']} {relation['relationType']} {relation['to']}"


def _added(name: str, number: int) -> str:
    return f"added {many(number, 'observation')} to {name}"


def _with(observations: int, relations: int = 0) -> str:
    parts = [
        many(number, what)
        for number, what in ((observations, "observation"), (relations, "relation"))
        if number
    ]
    return f" with {' and '.join(parts)}" if parts else ""


def _names(names: Any) -> str:
    return _joined(list(names), ", ") or "nothing"


def _joined(parts: Sequence[str], by: str = "; ") -> str:
    return first_of(parts, MAX_NAMES, by)

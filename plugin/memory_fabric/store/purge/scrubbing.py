"""Operations without what was purged: just that is taken out, so that a replay brings the rest.

Names are compared as names; texts also where they stand inside others, unless these still live.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_fabric.store.operations import tombstones
from memory_fabric.text import one_line

# Shorter texts, and single words, say too little to be sought inside others.
MIN_SOUGHT_CHARS = 12


@dataclass(frozen=True, slots=True)
class Gone:
    """What was purged from one database: ids of records, names, observations, and their texts.

    `alive` are the ids of records and `kept` the texts of observations that stay; `given` are names
    under which sessions were given any of it.
    """

    ids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    said: frozenset[tuple[str, str]] = frozenset()
    texts: tuple[str, ...] = ()
    alive: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    _folded: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_folded", tuple(map(folded, self.texts)))

    def is_in(self, text: str) -> bool:
        """Whether one of the texts stands in this one, whatever its case and white space."""
        if not self._folded:
            return False
        whole = folded(text)
        return any(part in whole for part in self._folded)

    def is_said(self, name: str, text: str) -> bool:
        """Whether this observation was purged, or only repeats what was."""
        if name in self.names or (name, text) in self.said:
            return True
        return text not in self.kept and self.is_in(text)

    def is_record(self, record: Mapping[str, Any]) -> bool:
        """Whether this record was purged, or only repeats what was."""
        id_ = record.get("id")
        if id_ in self.ids:
            return True
        own = (str(record.get("what", "")), str(record.get("why", "")))
        return id_ not in self.alive and any(map(self.is_in, own))

    def graves(self) -> frozenset[str]:
        """The ids of tombstones that keep all of this away."""
        names = map(tombstones.of_entity, self.names)
        return self.ids | {*names} | {tombstones.of_observation(*pair) for pair in self.said}


def folded(text: str) -> str:
    """The text as it is compared: case and white space do not count."""
    return one_line(text).casefold()


def is_telling(text: str) -> bool:
    """Whether a text is long enough to be sought inside others."""
    return len(folded(text)) >= MIN_SOUGHT_CHARS and " " in folded(text)


def without(kind: str, payload: Mapping[str, Any], gone: Gone) -> Mapping[str, Any] | None:
    """The payload without what is gone: the same object if nothing was, None if nothing is left."""
    new: dict[str, Any] = {}
    for name, value in payload.items():
        take = _FIELDS.get(name)
        new[name] = take(value, gone) if take and value is not None else value
        if new[name] is _ALL:
            return None
    if new == payload:
        return payload
    left = [new.get(name) for name in _CONTENT]
    return new if any(left) else None


def without_steps(steps: Sequence[Mapping[str, Any]], gone: Gone) -> list[Mapping[str, Any]]:
    """Operations (kind, payload) without what is gone; those with nothing left are left out."""
    found = []
    for step in steps:
        payload = without(step["kind"], step["payload"], gone)
        if payload is not None:
            found.append(step if payload is step["payload"] else {**step, "payload": payload})
    return found


def line_without(value: Mapping[str, Any], gone: Gone) -> Mapping[str, Any]:
    """A line of queue or journal; one with nothing left is an operation that does nothing."""
    if not isinstance(value.get("payload"), dict) or not isinstance(value.get("kind"), str):
        return value
    payload = without(value["kind"], value["payload"], gone)
    if payload is value["payload"]:
        return value
    if payload is None:
        return {**value, "kind": "purged", "payload": {}}
    return {**value, "payload": payload}


def forms(text: str) -> list[bytes]:
    """The bytes by which a text may stand in a file: plain, and as JSON writes it."""
    found = [text, one_line(text)]
    found += [json.dumps(t, ensure_ascii=ascii_)[1:-1] for t in found for ascii_ in (True, False)]
    return list(dict.fromkeys(form.encode("utf-8", "replace") for form in found if form))


class _All:
    """In the place of a field: with it the whole payload is gone."""


_ALL = _All()


def _entities(items: Any, gone: Gone) -> list[Any]:
    found = []
    for item in items:
        name = item["name"]
        if name in gone.names:
            continue
        new = dict(item)
        if item.get("observations"):
            new["observations"] = [t for t in item["observations"] if not gone.is_said(name, t)]
        if item.get("aliases"):
            new["aliases"] = _pairs(item["aliases"], gone)
        found.append(new)
    return found


def _observations(items: Any, gone: Gone) -> list[Any]:
    """Of both forms: `{entityName, contents}` as stated, and whole rows `{entity, text, …}`."""
    found = []
    for item in items:
        if "entity" in item:
            if not gone.is_said(item["entity"], item["text"]):
                found.append(item)
            continue
        texts = [t for t in item["contents"] if not gone.is_said(item["entityName"], t)]
        if texts or (not item["contents"] and item["entityName"] not in gone.names):
            found.append({**item, "contents": texts})
    return found


def _deletions(items: Any, gone: Gone) -> list[Any]:
    found = []
    for item in items:
        name = item["entityName"]
        texts = [text for text in item["observations"] if not gone.is_said(name, text)]
        if texts or (not item["observations"] and name not in gone.names):
            found.append({**item, "observations": texts})
    return found


def _relations(items: Any, gone: Gone) -> list[Any]:
    return [r for r in items if r["from"] not in gone.names and r["to"] not in gone.names]


def _record(record: Any, gone: Gone) -> Any:
    if gone.is_record(record):
        return _ALL
    new = dict(record)
    # Entities are [name, type], relations [from, type, to].
    for name, ends in (("entities", (0,)), ("relations", (0, 2))):
        if isinstance(record.get(name), list):
            new[name] = [part for part in record[name] if not {part[i] for i in ends} & gone.names]
    return new


def _rows(rows: Any, gone: Gone) -> dict[str, Any]:
    return {
        name: _FIELDS[name](some, gone) if name in _FIELDS else some for name, some in rows.items()
    }


def _groups(groups: Any, gone: Gone) -> list[Any]:
    found = [{side: _rows(rows, gone) for side, rows in group.items()} for group in groups]
    return [g for g in found if any(some for rows in g.values() for some in rows.values())]


def _names(names: Any, gone: Gone) -> list[str]:
    return [name for name in names if name not in gone.names]


def _ingest(came: Any, gone: Gone) -> Any:
    """A text that other programs sent goes as a whole: what is left of it may tell the rest."""
    said = [part for part in came.values() if isinstance(part, str)]
    said += [part for part in came.get("key_decisions") or () if isinstance(part, str)]
    return _ALL if any(map(gone.is_in, said)) else came


def _ids(ids: Any, gone: Gone) -> list[str]:
    return [id_ for id_ in ids if id_ not in gone.ids]


def _name(name: Any, gone: Gone) -> Any:
    return _ALL if name in gone.names else name


def _aliases(aliases: Any, gone: Gone) -> list[Any]:
    return _names(aliases, gone)


def _pairs(pairs: Any, gone: Gone) -> list[Any]:
    return [pair for pair in pairs if pair[1] not in gone.names]


def _links(links: Any, gone: Gone) -> list[Any]:
    return [link for link in links if not {link["id"], link["by"], link["was"]["by"]} & gone.ids]


def _lifted(rows: Any, gone: Gone) -> list[Any]:
    graves = gone.graves()
    return [row for row in rows if row[0] not in graves]


# What stands in which field of a payload. Tombstones that are set hold no words and stay.
_FIELDS: dict[str, Callable[[Any, Gone], Any]] = {
    "entities": _entities,
    "observations": _observations,
    "relations": _relations,
    "deletions": _deletions,
    "entityNames": _names,
    "names": _names,
    "aliases": _aliases,
    "entity": _name,
    "into": _name,
    "record": _record,
    "rows": _rows,
    "groups": _groups,
    "steps": without_steps,
    "ids": _ids,
    "supersedes": _ids,
    "links": _links,
    "remove": _lifted,
    "ingest": _ingest,
}
_CONTENT = (
    *("entities", "observations", "relations", "deletions", "entityNames", "names", "aliases"),
    *("record", "groups", "steps", "ids", "links", "add", "remove", "ingest"),
)

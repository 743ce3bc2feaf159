"""Removal of purged content from logged operations, so that a replay does not restore it. Names
must match entirely; texts are also found inside longer texts, except in memories that remain.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from memory_fabric.models import WHEN, Payload
from memory_fabric.store.forget.spellings import MARK, Needle, Sought
from memory_fabric.store.operations import tombstones
from memory_fabric.text import one_line

# A session record covers many topics, so it is not deleted; only the purged words are replaced.
SESSION = "session"
# Main fields: a record with the words in one of them is deleted; elsewhere, a marker replaces them.
_STATED = ("what", "why", "alternatives", "constraints", "tradeoffs")
# With more texts to search for, parsing every operation is faster than searching its JSON first.
MAX_CONCERNING = 100
# Shorter texts and single words are too common to be searched for inside other texts.
MIN_SOUGHT_CHARS = 12


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """The content purged from one database: `ids` of records, `names` of entities, observations
    (`said`), other `texts`, and ids of `turns`. `words` are the request's words: `exact` makes them
    case-sensitive, `inside` also finds them in longer words. Records whose ids are in `alive`, and
    observations whose texts are in `kept`, stay although they contain a purged text. The names in
    `given` are deleted from the list of memories that sessions received.
    """

    ids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    said: frozenset[tuple[str, str]] = frozenset()
    texts: tuple[str, ...] = ()
    alive: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    exact: bool = False
    inside: bool = False
    turns: frozenset[str] = frozenset()
    # Three searches: for the request's words, for purged texts, and for both.
    asked: Sought = field(default_factory=Sought, init=False, compare=False)
    repeated: Sought = field(default_factory=Sought, init=False, compare=False)
    sought: Sought = field(default_factory=Sought, init=False, compare=False)
    # A search for these texts, names and ids: operations and lines without a match are skipped.
    concerning: Sought = field(default_factory=Sought, init=False, compare=False)

    def __post_init__(self) -> None:
        words = [Needle(word, not self.inside, self.exact) for word in self.words]
        texts = list(map(Needle, self.texts))
        for name, needles in (("asked", words), ("repeated", texts), ("sought", words + texts)):
            object.__setattr__(self, name, Sought(needles))
        named = (*self.ids, *self.names, *(text for _, text in self.said), *self.tombstone_ids())
        anywhere = [needle._replace(whole=False) for needle in words + texts]
        object.__setattr__(self, "concerning", Sought((*map(Needle, named), *anywhere)))

    def may_concern(self, text: str) -> bool:
        """Return False if this JSON cannot contain purged content and so need not be parsed."""
        return len(self.concerning) > MAX_CONCERNING or self.concerning.is_in(text)

    def is_in(self, text: str | bytes) -> bool:
        """Return True if the text contains any of the purged texts or of the request's words."""
        return self.sought.is_in(text)

    def is_name(self, name: str) -> bool:
        """Return True if the entity with this name was purged."""
        return name in self.names or self.asked.is_in(name)

    def is_said(self, name: str, text: str) -> bool:
        """Return True if this observation was purged, or has purged text and is not in `kept`."""
        if self.is_name(name) or (name, text) in self.said:
            return True
        return text not in self.kept and self.is_in(text)

    def is_stated_by(self, record: Mapping[str, Any]) -> bool:
        """Return True if a main field has the words, so that the whole record is removed."""
        if not self.asked or record.get("type") == SESSION:
            return False
        return any(marked(record.get(name), self.asked) != record.get(name) for name in _STATED)

    def is_record(self, record: Mapping[str, Any]) -> bool:
        """Return True if this record was purged, or has purged text and is not in `alive`."""
        id_ = record.get("id")
        if id_ in self.ids or self.is_stated_by(record):
            return True
        own = (str(record.get("what", "")), str(record.get("why", "")))
        return id_ not in self.alive and any(map(self.repeated.is_in, own))

    def tombstone_ids(self) -> frozenset[str]:
        """Return the ids of the tombstones that keep purged memories from being restored."""
        names = map(tombstones.of_entity, self.names)
        return self.ids | {*names} | {tombstones.of_observation(*pair) for pair in self.said}


def is_specific(text: str) -> bool:
    """Return True if a text is long enough to be searched for inside other texts."""
    folded = one_line(text).casefold()
    return len(folded) >= MIN_SOUGHT_CHARS and " " in folded


def without(kind: str, payload: Mapping[str, Any], target: PurgeTarget) -> Mapping[str, Any] | None:
    """Return the payload without purged content; the same object if unchanged, None if empty."""
    new: dict[str, Any] = {}
    for name, value in payload.items():
        take = _FIELDS.get(name)
        new[name] = take(value, target) if take and value is not None else value
        if new[name] is _ALL:
            return None
    new = marked(new, target.asked)
    if new == payload:
        return payload
    return new if any(new.get(name) for name in _CONTENT) else None


def without_steps(steps: Sequence[Payload], target: PurgeTarget) -> list[Payload]:
    """Remove purged content from operations (kind, payload); drop operations that become empty."""
    pairs = ((step, without(step["kind"], step["payload"], target)) for step in steps)
    return [s if p is s["payload"] else {**s, "payload": p} for s, p in pairs if p is not None]


def line_without(value: Mapping[str, Any], target: PurgeTarget) -> Mapping[str, Any]:
    """Remove purged content from a line of a queue or journal; an emptied line becomes a no-op."""
    new: Mapping[str, Any] = value
    if isinstance(value.get("payload"), dict) and isinstance(value.get("kind"), str):
        if (payload := without(value["kind"], value["payload"], target)) is None:
            new = {**value, "kind": "purged", "payload": {}}
        elif payload is not value["payload"]:
            new = {**value, "payload": payload}
    return cast("Mapping[str, Any]", marked(new, target.asked))


def marked(value: Any, sought: Sought) -> Any:
    """Replace matches in a JSON value, even across items of a list; return `value` if none."""
    if isinstance(value, str):
        return sought.without(value)
    if isinstance(value, Mapping):
        new = {sought.without(str(k)): marked(v, sought) for k, v in value.items()}
        return new if new != value else value
    if isinstance(value, list | tuple):
        parts = [marked(part, sought) for part in value]
        if sought and len(parts) > 1 and all(isinstance(part, str) for part in parts):
            encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
            spans, start = sought.spans(b" ".join(encoded)), 0
            for number, data in enumerate(encoded):
                end = start + len(data)
                if any(a < end and start < b for a, b in spans):
                    parts[number] = MARK
                start = end + 1
        return parts if parts != list(value) else value
    return value


def marked_json(text: str, sought: Sought) -> str:
    """Replace matches in text or JSON. If matches across values remain, return `{}` or `[]`."""
    if not sought.is_in(text):
        return text
    if text[:1] not in ("{", "["):
        return sought.without(text)
    try:
        new = json.dumps(marked(json.loads(text), sought), ensure_ascii=False)
    except (ValueError, RecursionError):
        return sought.without(text)
    return new if not sought.is_in(new) else "{}" if text[0] == "{" else "[]"


# A filter in _FIELDS returns this value if the whole payload must be removed, not only the field.
_ALL = object()


def _entities(items: Any, target: PurgeTarget) -> list[Any]:
    items_left = []
    for item in items:
        name, new = item["name"], dict(item)
        if target.is_name(name):
            continue
        if item.get("observations"):
            new["observations"] = [t for t in item["observations"] if not target.is_said(name, t)]
        if item.get("aliases"):
            new["aliases"] = [pair for pair in item["aliases"] if not target.is_name(pair[1])]
        items_left.append(new)
    return items_left


def _statements(items: Any, target: PurgeTarget) -> list[Any]:
    """Remove purged observations: items {entity, text}, and texts in other items' lists."""
    items_left = []
    for item in items:
        if "entity" in item:
            items_left += [] if target.is_said(item["entity"], item["text"]) else [item]
            continue
        name, field_ = item["entityName"], "contents" if "contents" in item else "observations"
        texts = [text for text in item[field_] if not target.is_said(name, text)]
        if texts or (not item[field_] and not target.is_name(name)):
            items_left.append({**item, field_: texts})
    return items_left


def _relations(items: Any, target: PurgeTarget) -> list[Any]:
    between = (r for r in items if not (target.is_name(r["from"]) or target.is_name(r["to"])))
    return [r for r in between if not target.asked.is_in(r.get("relationType", ""))]


def _record(record: Any, target: PurgeTarget) -> Any:
    if target.is_record(record):
        return _ALL
    new = {k: marked(v, target.repeated) if k in _STATED[2:] else v for k, v in record.items()}
    if isinstance(evidence := record.get("evidence"), dict):  # a rule without its condition is none
        sought = target.repeated
        new["evidence"] = {k: v if k == WHEN else marked(v, sought) for k, v in evidence.items()}
    # Entities are lists [name, type], and relations are lists [from, type, to].
    for name, ends in (("entities", (0,)), ("relations", (0, 2))):
        if isinstance(parts := record.get(name), list):
            new[name] = [p for p in parts if not any(target.is_name(str(p[i])) for i in ends)]
    return new


def _rows(rows: Any, target: PurgeTarget) -> dict[str, Any]:
    return {n: _FIELDS[n](some, target) if n in _FIELDS else some for n, some in rows.items()}


def _groups(groups: Any, target: PurgeTarget) -> list[Any]:
    groups_left = [{side: _rows(rows, target) for side, rows in group.items()} for group in groups]
    return [g for g in groups_left if any(some for rows in g.values() for some in rows.values())]


def _ingest(ingest: Any, target: PurgeTarget) -> Any:
    """Return _ALL to drop the ingest if any part is purged: the rest might reveal that part."""
    parts = (*ingest.values(), *(ingest.get("key_decisions") or ()))
    return _ALL if any(isinstance(p, str) and target.is_in(p) for p in parts) else ingest


def _names(names: Any, target: PurgeTarget) -> list[str]:
    return [name for name in names if not target.is_name(name)]


def _ids(ids: Any, target: PurgeTarget) -> list[str]:
    return [id_ for id_ in ids if id_ not in target.ids]


# Maps each field of a payload to its filter. The field `add` has none: tombstones contain no text.
_FIELDS: dict[str, Callable[[Any, PurgeTarget], Any]] = {
    "entities": _entities,
    "observations": _statements,
    "relations": _relations,
    "deletions": _statements,
    "entityNames": _names,
    "names": _names,
    "aliases": _names,
    "entity": lambda name, target: _ALL if target.is_name(name) else name,
    "into": lambda name, target: _ALL if target.is_name(name) else name,
    "record": _record,
    "rows": _rows,
    "groups": _groups,
    "steps": without_steps,
    "ids": _ids,
    "supersedes": _ids,
    "links": lambda links, target: [
        link for link in links if not {link["id"], link["by"], link["was"]["by"]} & target.ids
    ],
    "remove": lambda rows, target: [row for row in rows if row[0] not in target.tombstone_ids()],
    "ingest": _ingest,
}
_CONTENT = (
    *("entities", "observations", "relations", "deletions", "entityNames", "names", "aliases"),
    *("record", "groups", "steps", "ids", "links", "add", "remove", "ingest", "turns"),
)

"""The required shape of each operation's payload.

Queues and journals are files that anyone can edit, so a payload is checked before an effect uses
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def problem(kind: str, payload: Mapping[str, Any]) -> str:
    """Return the reason why a payload is invalid, or an empty string."""
    fields = SHAPES.get(kind)
    if fields is None:
        return f"{kind!r} is not a known kind of operation."
    for name, check in fields.items():
        if not check(payload.get(name)):
            return f"{kind}: {name!r} is missing or has the wrong type."
    return ""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return type(value) is int


def _texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _objects(**fields: Check) -> Check:
    def check(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(_is_object(v, fields) for v in value)

    return check


def _object(**fields: Check) -> Check:
    return lambda value: _is_object(value, fields)


def _is_object(value: Any, fields: Mapping[str, Check]) -> bool:
    return isinstance(value, dict) and all(check(value.get(n)) for n, check in fields.items())


def _tombs(value: Any) -> bool:
    """Check for tombstone rows: id, key, time."""
    return isinstance(value, list | tuple) and all(
        isinstance(row, list | tuple)
        and len(row) == 3
        and isinstance(row[0], str)
        and type(row[1]) is int
        and isinstance(row[2], str)
        for row in value
    )


def _steps(value: Any) -> bool:
    """Check for the operations of an inverse. An undo is not allowed among them: it would nest
    others.
    """
    return _objects(kind=_text, payload=_object())(value) and all(
        step["kind"] not in _NO_STEP and not problem(step["kind"], step["payload"])
        for step in value
    )


_NO_STEP = frozenset(("undo", "add_episodes", "take_in", "let_go"))
_RECORD = _object(type=_text, what=_text, id=_text)
_RELATION = {"from": _text, "relationType": _text, "to": _text}
_INGEST = _object(
    session_summary=_text,
    key_decisions=_optional(_texts),
    domain=_optional(_text),
    source_model=_optional(_text),
    project=_optional(_text),
    session_id=_optional(_text),
    idempotency_key=_optional(_text),
    created_at=_optional(_text),
)
_ROWS = {
    "entities": _objects(name=_text, type=_text),
    "observations": _objects(entity=_text, text=_text),
    "relations": _objects(**_RELATION),
}

SHAPES: dict[str, dict[str, Check]] = {
    "create_entities": {
        "entities": _objects(name=_text, entityType=_text, observations=_optional(_texts)),
        "apart": _optional(_flag),
    },
    "create_relations": {"relations": _objects(**_RELATION), "apart": _optional(_flag)},
    "add_observations": {
        "observations": _objects(entityName=_text, contents=_texts),
        "apart": _optional(_flag),
    },
    "delete_entities": {"entityNames": _texts, "only": _optional(_texts)},
    "delete_observations": {
        "deletions": _objects(entityName=_text, observations=_texts),
        "only": _optional(_texts),
    },
    "delete_relations": {"relations": _objects(**_RELATION), "only": _optional(_texts)},
    "remember": {
        "record": _RECORD,
        "supersedes": _optional(_texts),
        "echo": _optional(_flag),
        "past": _optional(_flag),
        "batch": _optional(_text),
    },
    "supersede": {"links": _objects(id=_text, by=_text, at=_text, was=_object(by=_text, at=_text))},
    "put_record": {
        "record": _RECORD,
        "seen_in": _texts,
        "rows": _optional(_object(**_ROWS)),
        "batch": _optional(_text),
        "told": _optional(_flag),
    },
    "forget": {
        "ids": _texts,
        "bury": _optional(_flag),
        "batch": _optional(_text),
        "entityNames": _optional(_texts),
        "deletions": _optional(_objects(entityName=_text, observations=_texts)),
        "turns": _optional(_texts),
        "only": _optional(_texts),
    },
    "tombstones": {"add": _tombs, "remove": _tombs},
    "alias": {"entity": _text, "aliases": _texts, "batch": _optional(_text)},
    "unalias": {"entity": _text, "aliases": _texts},
    "put_aliases": {"entity": _text, "aliases": _texts},
    "merge": {"into": _text, "names": _texts},
    "replace_rows": {"groups": _objects(**{"out": _object(**_ROWS), "in": _object(**_ROWS)})},
    "undo": {"operation": _text, "steps": _steps, "batch": _optional(_text)},
    "purged": {},
    "restore": {**_ROWS, "batch": _optional(_text)},
    "remove_orphans": {"entityNames": _texts},
    "add_episodes": {
        "episodes": _objects(id=_text, session=_text, role=_text, text=_text, created_at=_text),
        "batch": _optional(_text),
    },
    "take_in": {
        "place": _text,
        "project": _text,
        "stamp": _text,
        "records": _objects(type=_text, what=_text, id=_text),
        "forgotten": _texts,
        "here": _texts,
        "sums": _object(),
        "unreadable": _number,
    },
    "let_go": {},
    "ingest": {
        "id": _text,
        "ingest": _INGEST,
        "outcome": _optional(_object()),
        "batch": _optional(_text),
    },
    "ingested": {"id": _text, "outcome": _object()},
    "drop_ingests": {"ids": _texts},
    "learn": {"batch": _text},
    "unlearn": {"batch": _text},
}

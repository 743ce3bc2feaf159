"""The shape of each operation's payload: what a queue, a journal or a caller may hand to an effect.

Lines of files can have been edited by anyone; an effect relies on what stands here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Check = Callable[[Any], bool]


def problem(kind: str, payload: Mapping[str, Any]) -> str:
    """What is wrong with the payload of an operation; empty when nothing is."""
    fields = SHAPES.get(kind)
    if fields is None:
        return f"{kind!r} is no kind of operation."
    for name, check in fields.items():
        if not check(payload.get(name)):
            return f"{kind}: {name!r} is missing or of another shape."
    return ""


def _text(value: Any) -> bool:
    return isinstance(value, str)


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


_RECORD = _object(type=_text, what=_text, id=_text)
_RELATION = {"from": _text, "relationType": _text, "to": _text}
_ROWS = {
    "entities": _objects(name=_text, type=_text),
    "observations": _objects(entity=_text, text=_text),
    "relations": _objects(**_RELATION),
}

SHAPES: dict[str, dict[str, Check]] = {
    "create_entities": {
        "entities": _objects(name=_text, entityType=_text, observations=_optional(_texts))
    },
    "create_relations": {"relations": _objects(**_RELATION)},
    "add_observations": {"observations": _objects(entityName=_text, contents=_texts)},
    "delete_entities": {"entityNames": _texts},
    "delete_observations": {"deletions": _objects(entityName=_text, observations=_texts)},
    "delete_relations": {"relations": _objects(**_RELATION)},
    "remember": {"record": _RECORD},
    "put_record": {"record": _RECORD, "seen_in": _texts, "rows": _optional(_object(**_ROWS))},
    "forget": {"ids": _texts},
    "restore": _ROWS,
    "remove_orphans": {"entityNames": _texts},
    "add_episodes": {
        "episodes": _objects(id=_text, session=_text, role=_text, text=_text, created_at=_text)
    },
}

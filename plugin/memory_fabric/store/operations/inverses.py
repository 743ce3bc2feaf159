"""Inverses of operations as the log keeps them: one that follows from its payload takes no space.

What an import brings is new as a rule. Its inverse would repeat every text of its payload, and was
a sixth of a large database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Steps = list[dict[str, Any]]

# In place of an inverse that takes back all of its payload. It holds no letter that a purge erases.
FOLLOWS = "[[]]"


def stored(kind: str, payload: Mapping[str, Any], inverse: Sequence[Mapping[str, Any]]) -> str:
    """Return the inverse as JSON, or the mark that it follows from the payload."""
    if (derive := _DERIVED.get(kind)) and list(inverse) == derive(payload):
        return FOLLOWS
    return json.dumps(inverse, ensure_ascii=False)


def read(kind: str, payload: Mapping[str, Any], text: str) -> Steps:
    """Return the steps of a stored inverse."""
    if text == FOLLOWS:
        return _DERIVED[kind](payload)
    steps: Steps = json.loads(text)
    return steps


def _entities(payload: Mapping[str, Any]) -> Steps:
    items = payload["entities"]
    return [
        _removal((item["name"], item.get("observations") or ()) for item in items),
        _orphans([item["name"] for item in items]),
    ]


def _observations(payload: Mapping[str, Any]) -> Steps:
    return [_removal((item["entityName"], item["contents"]) for item in payload["observations"])]


def _relations(payload: Mapping[str, Any]) -> Steps:
    names = ("from", "to", "relationType")
    relations = [{name: item[name] for name in names} for item in payload["relations"]]
    return [{"kind": "delete_relations", "payload": {"relations": relations}}, _orphans([])]


def _removal(said: Any) -> dict[str, Any]:
    deletions = [
        {"entityName": name, "observations": list(dict.fromkeys(texts))} for name, texts in said
    ]
    return {"kind": "delete_observations", "payload": {"deletions": deletions}}


def _orphans(names: list[str]) -> dict[str, Any]:
    return {"kind": "remove_orphans", "payload": {"entityNames": names}}


_DERIVED: dict[str, Callable[[Mapping[str, Any]], Steps]] = {
    "create_entities": _entities,
    "add_observations": _observations,
    "create_relations": _relations,
}

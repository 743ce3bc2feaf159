"""Similarity of meaning between a question and hits, for reranking.

Vectors are centred on the mean of those at hand: what all hits share tells none of them apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memory_fabric.models import Hit
from memory_fabric.semantic import vectors
from memory_fabric.store.database import Database

# The last digits depend on the machine; the order of an answer must not.
DIGITS = 4
# The mean of a few texts is as much each of them as what they share; so many more that share
# nothing count with them.
UNHEARD_TEXTS = 10


def text_of(hit: Hit) -> str:
    """Return the text of a hit that is embedded; a record's reason belongs to it."""
    return f"{hit.text} {hit.metadata.get('why') or ''}".rstrip()


def stored(databases: Sequence[Database], hits: Sequence[Hit]) -> dict[str, Any]:
    """Return the stored vectors of hits by their ids."""
    by_id: dict[str, bytes] = {}
    for database in databases:
        mine = [hit.id for hit in hits if hit.metadata.get("store") == database.kind]
        for kind, keys in _by_kind(mine).items():
            vectors_by_key = vectors.of_ids(database, kind, keys)
            by_id |= {keys[key]: vector for key, vector in vectors_by_key.items()}
    return dict(zip(by_id, vectors.unpacked(list(by_id.values())), strict=True))


def similarities(question: Any, found: Mapping[str, Any]) -> dict[str, float]:
    """Return the nearness of each vector to a question's, −1 to 1, by the same keys."""
    if not found:
        return {}
    rows = np.stack(list(found.values()))
    mean = rows.sum(axis=0) / (len(rows) + UNHEARD_TEXTS)
    near = np.clip(_unit(rows - mean) @ _unit(question[None] - mean)[0], -1.0, 1.0)
    return {id_: round(float(value), DIGITS) for id_, value in zip(found, near, strict=True)}


def _by_kind(ids: Sequence[str]) -> dict[str, dict[Any, str]]:
    """Return, for each table, the ids of hits by the keys of their rows."""
    by_kind: dict[str, dict[Any, str]] = {}
    for id_ in ids:
        source, _, key = id_.partition(":")
        number = key.rpartition("#")[2]
        if source == "record":
            by_kind.setdefault(vectors.RECORDS, {})[key] = id_
        elif source == "episode":
            by_kind.setdefault(vectors.EPISODES, {})[key] = id_
        elif source == "graph" and "#" in key and number.isdecimal():
            by_kind.setdefault(vectors.OBSERVATIONS, {})[int(number)] = id_
    return by_kind


def _unit(rows: Any) -> Any:
    """The rows at length 1; those without a direction stay zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-6)

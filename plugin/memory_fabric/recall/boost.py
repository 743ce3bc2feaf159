"""Cross references: relations of the entities in a hit, which raise its relevance (BR-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory_fabric.models import Hit, Relation
from memory_fabric.text import name_key, words

DEFAULT_FACTOR = 1.2
MAX_RELATIONS, MAX_ENTITIES = 5, 8
MAX_NAME_WORDS = 2
# Shorter keys are words of every text.
MIN_KEY_CHARS = 2


def boost(
    hits: Sequence[Hit],
    relations_by_entity: Mapping[str, Sequence[Relation]],
    factor: float = DEFAULT_FACTOR,
) -> list[Hit]:
    """Raise the relevance of every hit that names an entity known from elsewhere, up to 1.0.

    A record names those of its text and its list, if the graph relates them by more than its own
    relations; an observation those of its text beside its own entity. A raised hit carries
    `cross_referenced` and the relations of the named entities; every hit carries those of its own
    entities. An entity without relations raises no hit (measured: names that occur everywhere cost
    2 points of recall). Order and length are kept; the next stage ranks.
    """
    names = {name_key(name): name for name, relations in relations_by_entity.items() if relations}
    return [_boosted(hit, names, relations_by_entity, factor) for hit in hits]


def keys_in(text: str) -> frozenset[str]:
    """Return the keys of possible names in a text: words, and pairs of neighbours."""
    found = words(text)
    keys = {word for word in found if len(word) >= MIN_KEY_CHARS}
    for count in range(2, MAX_NAME_WORDS + 1):
        keys.update("".join(found[i : i + count]) for i in range(len(found) - count + 1))
    return frozenset(keys)


def _boosted(
    hit: Hit,
    names: Mapping[str, str],
    relations_by_entity: Mapping[str, Sequence[Relation]],
    factor: float,
) -> Hit:
    own = dict.fromkeys(map(name_key, hit.entities))
    mine = [names[key] for key in own if key in names]
    named = sorted(names[key] for key in keys_in(hit.text) if key in names and key not in own)
    relations = _relations([*mine, *named], relations_by_entity)
    if hit.source == "records":
        stated = {tuple(relation) for relation in hit.metadata.get("relations") or ()}
        named = [name for name in mine if not stated.issuperset(relations_by_entity[name])] + named
    if not relations and not named:
        return hit
    ends = [end for r in relations for end in (r.source, r.target)] if mine else []
    metadata = {**hit.metadata, "cross_referenced": True} if named else hit.metadata
    return hit._replace(
        relevance=min(1.0, hit.relevance * factor) if named else hit.relevance,
        entities=_joined(hit.entities, [*named, *ends]),
        metadata=metadata,
        graph_relations=relations,
    )


def _relations(
    names: Sequence[str], relations_by_entity: Mapping[str, Sequence[Relation]]
) -> tuple[Relation, ...]:
    found = [relation for name in names for relation in relations_by_entity[name]]
    return tuple(dict.fromkeys(found))[:MAX_RELATIONS]


def _joined(own: tuple[str, ...], more: Sequence[str]) -> tuple[str, ...]:
    keys = {name_key(name) for name in own}
    added = [name for name in dict.fromkeys(more) if name_key(name) not in keys]
    return own + tuple(added[: max(0, MAX_ENTITIES - len(own))])

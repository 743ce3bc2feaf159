"""The graph as the nine tools show it: project and user as one, whole, by name, by search."""

from __future__ import annotations

from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store import graph, search
from memory_fabric.text import camel_parts, cjk_pairs, stem, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

# Rows asked of each full-text index; more did not change the top.
CANDIDATES = 200


def whole(databases: Sequence[Database]) -> Graph:
    """Everything, the first database's part first."""
    return _merged(graph.read_graph(db) for db in databases)


def opened(databases: Sequence[Database], names: Sequence[str]) -> Graph:
    """The entities of exactly these names, and relations that touch one (MEM-07, MEM-08)."""
    return _merged(graph.open_nodes(db, names) for db in databases)


def found(databases: Sequence[Database], query: str, enough: int) -> Graph:
    """Entities for the query, best first, with every relation that touches one (MEM-07).

    In the result are all that hold the query as a substring (what the reference server finds) or
    hold all its words apart; while these are fewer than `enough`, also those with some of them.
    """
    everything = whole(databases)
    if not query:
        return everything
    asked = terms(query)
    scores = _scores(databases, asked)
    needle = query.lower()
    full, part = [], []
    for entity in everything.entities:
        score = scores.get(entity.name, 0.0)
        share = _share(entity, asked) if score else 0.0
        if share == 1.0 or _contains(entity, needle):
            full.append((-share, -score, entity))
        elif score:
            part.append((-share, -score, entity))
    best = sorted(full, key=_rank) + sorted(part, key=_rank)[: max(0, enough - len(full))]
    names = {entity.name for _, _, entity in best}
    touching = (r for r in everything.relations if r.source in names or r.target in names)
    return Graph(tuple(entity for _, _, entity in best), tuple(touching))


def as_object(view: Graph) -> dict[str, Any]:
    """The graph in the tools' form."""
    return {
        "entities": [entity_object(e) for e in view.entities],
        "relations": [relation_object(r) for r in view.relations],
    }


def entity_object(entity: Entity) -> dict[str, Any]:
    """The entity in the tools' form."""
    return {
        "name": entity.name,
        "entityType": entity.type,
        "observations": list(entity.observations),
    }


def relation_object(relation: Relation) -> dict[str, Any]:
    """The relation in the tools' form."""
    return {"from": relation.source, "to": relation.target, "relationType": relation.type}


def _merged(graphs: Iterable[Graph]) -> Graph:
    entities: dict[str, Entity] = {}
    relations: dict[Relation, None] = {}
    for part in graphs:
        for entity in part.entities:
            known = entities.get(entity.name)
            entities[entity.name] = _joined(known, entity) if known else entity
        relations.update(dict.fromkeys(part.relations))
    return Graph(tuple(entities.values()), tuple(relations))


def _joined(first: Entity, second: Entity) -> Entity:
    said = dict.fromkeys((*first.observations, *second.observations))
    return first._replace(observations=tuple(said))


def _scores(databases: Sequence[Database], asked: Sequence[str]) -> dict[str, float]:
    match = search.match_expression(asked, [])
    best: dict[str, float] = {}
    for db in databases if match else ():
        for hit in (
            *search.observations(db, match, CANDIDATES),
            *search.entities_named(db, match, CANDIDATES),
        ):
            best[hit.entity] = max(best.get(hit.entity, 0.0), hit.bm25)
    return best


def _contains(entity: Entity, needle: str) -> bool:
    return (
        needle in entity.name.lower()
        or needle in entity.type.lower()
        or any(needle in text.lower() for text in entity.observations)
    )


def _share(entity: Entity, asked: Sequence[str]) -> float:
    """The share of the asked words that stand anywhere in the entity."""
    texts = (entity.name, entity.type, *entity.observations)
    held = {stem(w) for text in texts for w in (*words(text), *camel_parts(text), *cjk_pairs(text))}
    return sum(stem(word) in held for word in asked) / len(asked)


def _rank(found: tuple[float, float, Entity]) -> tuple[float, float]:
    return found[:2]

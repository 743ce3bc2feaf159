"""The graph as the nine tools show it: project and user as one, whole, by name, by search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.servers.mcp.jsonrpc import quoted
from memory_fabric.servers.mcp.pagination import (
    CHUNK,
    Page,
    Start,
    chars,
    in_databases,
    in_memory,
    page,
)
from memory_fabric.store import entity_search, graph
from memory_fabric.store.database import Database
from memory_fabric.text import name_key


def read(databases: Sequence[Database], start: Start, max_chars: int) -> tuple[Page, str]:
    """A page of everything in creation order, and what was left out."""
    everything = graph.read_if_small(databases) if start == Start() else None
    # Places count an entity of two databases twice.
    if everything is not None and len(databases) == 1:
        if chars(everything) <= max_chars:
            return Page(everything), ""
        opener, names = in_memory(everything), enumerate(e.name for e in everything.entities)
        found = page(opener, names, start, max_chars=max_chars, outgoing=True)
    else:
        ordered = _in_order(databases, start.place)
        opener = in_databases(databases)
        found = page(opener, ordered, start, max_chars=max_chars, outgoing=True)
    if found.following is None:
        return found, ""
    counts = [graph.counts(db) for db in databases]
    entities, relations = (sum(column) for column in zip(*counts, strict=True))
    shown_count = f"{len(found.graph.entities)} of {entities} entities and "
    return found, f"{shown_count}{len(found.graph.relations)} of {relations} relations are shown"


def opened(
    databases: Sequence[Database], names: Sequence[str], start: Start, max_chars: int
) -> tuple[Page, str]:
    """The entities of exactly these names, and relations that touch one (MEM-07, MEM-08)."""
    existing_names = (name for db in databases for name in graph.existing_in_order(db, names))
    ordered = list(dict.fromkeys(existing_names))
    found = page(
        in_databases(databases),
        enumerate(ordered[start.place :], start.place),
        start,
        max_chars=max_chars,
        whole_first=True,
    )
    if found.following is None:
        return found, ""
    not_shown = len(ordered) - found.following.place
    return (
        found,
        f"{not_shown} of the {len(ordered)} entities are not shown, or not with all relations",
    )


def found(
    databases: Sequence[Database], query: str, enough: int, start: Start, max_chars: int
) -> tuple[Page, str]:
    """A page of entities for the query, best first, with every relation that touches one (MEM-07).

    Found are all that hold the query as a substring (what the reference server finds) or hold all
    its words apart; while these are fewer than `enough`, also those with some of them. An entity
    that the query names by another of its usual names (k8s, Kubernetes) comes first.
    """
    if not query:
        return read(databases, start, max_chars)
    best, is_cut = _best(databases, query, enough)
    everything = graph.read_if_small(databases)
    opener = in_databases(databases) if everything is None else in_memory(everything)
    names = _best_then_others(databases, query, best, is_cut)
    ordered = islice(enumerate(names), start.place, None)
    result = page(opener, ordered, start, max_chars=max_chars)
    if result.following is None:
        return result, ""
    last = result.following.place
    more = len(best) - last
    count_text = f"at least {more}" if is_cut and more > 0 else str(more) if more > 0 else "some"
    return result, f"the best {last} are shown, {count_text} more match"


def as_object(view: Graph) -> dict[str, Any]:
    """The graph in the tools' form."""
    return {
        "entities": [
            {"name": name, "entityType": kind, "observations": list(texts)}
            for name, kind, texts in view.entities
        ],
        "relations": [
            {"from": source, "to": target, "relationType": kind}
            for source, kind, target in view.relations
        ],
    }


def as_text(view: Graph, **more: str) -> str:
    """The graph in the tools' form as JSON of several lines, as `result.as_json` writes it.

    `more` are further fields. A text of its own, since most of an answer's time was its JSON.
    """
    parts = {"entities": map(_entity_text, view.entities)}
    parts["relations"] = map(_relation_text, view.relations)
    fields = [f'\n  "{name}": {_list_text(items, "  ")}' for name, items in parts.items()]
    fields += [f'\n  "{name}": {quoted(text)}' for name, text in more.items()]
    return f"{{{','.join(fields)}\n}}"


def _entity_text(entity: Entity) -> str:
    name, kind, texts = entity
    observations = _list_text([f"\n        {quoted(text)}" for text in texts], "      ")
    return (
        f'\n    {{\n      "name": {quoted(name)},\n      "entityType": {quoted(kind)},'
        f'\n      "observations": {observations}\n    }}'
    )


def _relation_text(relation: Relation) -> str:
    source, kind, target = relation
    return (
        f'\n    {{\n      "from": {quoted(source)},\n      "to": {quoted(target)},'
        f'\n      "relationType": {quoted(kind)}\n    }}'
    )


def _list_text(items: Iterable[str], margin: str) -> str:
    joined = ",".join(items)
    return f"[{joined}\n{margin}]" if joined else "[]"


def _in_order(databases: Sequence[Database], place: int) -> Iterator[tuple[int, str]]:
    """Places and names of all entities from a place on, one that lives in two databases once."""
    before = 0
    for number, db in enumerate(databases):
        while names := graph.names_from(db, max(0, place - before), CHUNK):
            earlier_names = set()
            for earlier in databases[:number]:
                earlier_names |= graph.existing(earlier, names)
            for name in names:
                if name not in earlier_names:
                    yield place, name
                place += 1
        before += graph.counts(db)[0]


def _best(databases: Sequence[Database], query: str, enough: int) -> tuple[list[str], bool]:
    """The ranked matches of all databases by name, and whether more than these match."""
    other_names = _other_names(query)
    pools = [entity_search.find(db, query, other_names) for db in databases]
    matches = sorted(match for pool in pools for match in pool.best)
    full = [name for rank, name in matches if rank[1] == entity_search.ALL_WORDS]
    part = [name for rank, name in matches if rank[1] != entity_search.ALL_WORDS]
    names = dict.fromkeys([*full, *part[: max(0, enough - len(full))]])
    return list(names), any(pool.is_cut for pool in pools)


def _other_names(query: str) -> list[str]:
    """The other usual names of the technology or pattern that the whole query is, if it is one."""
    from memory_fabric.language.vocabulary import (
        PATTERNS,
        TECHNOLOGIES,
    )  # large, and for this alone

    key = name_key(query)
    for names_by_key in (TECHNOLOGIES, PATTERNS):
        if key in names_by_key:
            return [
                other
                for other, name in names_by_key.items()
                if name == names_by_key[key] and other != key
            ]
    return []


def _best_then_others(
    databases: Sequence[Database], query: str, best: Sequence[str], is_cut: bool
) -> Iterator[str]:
    yield from best
    best_names = set(best)
    for db in databases if is_cut else ():
        for name in entity_search.all_matching(db, query):
            if name not in best_names:
                best_names.add(name)
                yield name

"""Walks through the graph from named entities: bounded, cycle-safe, shortest paths first (BR-8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from memory_fabric.models import DEFAULT_DEPTH, Relation
from memory_fabric.text import name_key, stem, words

Path = tuple[Relation, ...]
Edges = Callable[[Sequence[str]], Iterable[Relation]]

MAX_DEPTH = 3
# The most nodes of a walk: a hub of a grown graph has thousands, of little use in an answer.
MAX_NODES = 200
MAX_PATHS = 20
# With these words a question asks what depends on a thing.
_AFFECTED = frozenset(map(stem, "break breaking affect affected impact impacted".split()))


def walk(
    starts: Sequence[str],
    edges_of: Edges,
    *,
    depth: int = DEFAULT_DEPTH,
    max_nodes: int = MAX_NODES,
) -> tuple[Path, ...]:
    """Return paths from each start to the nodes within `depth` steps, in either direction.

    A node is reached by a shortest path; an edge back to a reached node ends its path. No path is
    the beginning of another. `edges_of` returns the relations at either end of the names; it is
    called once per level.
    """
    depth = max(0, min(depth, MAX_DEPTH))
    paths: list[Path] = []
    known: dict[str, list[Relation]] = {}
    for start in dict.fromkeys(starts):
        paths += _from(start, edges_of, depth, max_nodes, known)
    return tuple(dict.fromkeys(paths))


def most_relevant(paths: Iterable[Path], asked: Iterable[str]) -> tuple[Path, ...]:
    """Return at most twenty paths: those that name most of the question first, then longer ones."""
    wanted = {word for text in asked for word in words(text)}

    def by_relevance(path: Path) -> tuple[int, int]:
        named = {w for r in path for text in (r.source, r.type, r.target) for w in words(text)}
        return -len(named & wanted), -len(path)

    return tuple(sorted(paths, key=by_relevance)[:MAX_PATHS])


def answering(paths: Iterable[Path], text: str, names: frozenset[str]) -> list[Path]:
    """Return the paths of several relations that a question asks for: it names each relation, or
    two things on the way, or asks what a change of the first one affects. Those that name the most
    things leave the others out.

    `names` are the keys of all possible names in the question.
    """
    asked = frozenset(map(stem, words(text)))
    found: list[tuple[int, Path]] = []
    for path in paths:
        named = len({name_key(node) for r in path for node in (r.source, r.target)} & names)
        if len(path) < 2 or not named:
            continue
        says_each = all(asked.intersection(map(stem, words(r.type))) for r in path)
        leads_here = all(a.source == b.target for a, b in pairwise(path))
        if says_each or named > 1 or (leads_here and asked & _AFFECTED):
            found.append((named, path))
    most = max((named for named, _ in found), default=0)
    return [path for named, path in found if named == most]


def _from(
    start: str, edges_of: Edges, depth: int, max_nodes: int, known: dict[str, list[Relation]]
) -> list[Path]:
    reached: dict[str, Path] = {start: ()}
    closing: list[Path] = []
    used: set[Relation] = set()
    frontier = [start]
    for _ in range(depth):
        _fetch(frontier, edges_of, known)
        following: list[str] = []
        for node in frontier:
            for relation in known.get(node, ()):
                other = relation.target if relation.source == node else relation.source
                path = (*reached[node], relation)
                if other == node or relation in used:
                    continue
                if other in reached:
                    closing.append(path)
                elif len(reached) < max_nodes:
                    reached[other] = path
                    following.append(other)
                else:
                    continue
                used.add(relation)
        frontier = following
    paths = [*(path for path in reached.values() if path), *closing[:max_nodes]]
    begun = {path[:-1] for path in paths}
    return [path for path in paths if path not in begun]


def _fetch(names: Sequence[str], edges_of: Edges, known: dict[str, list[Relation]]) -> None:
    missing = [name for name in names if name not in known]
    if not missing:
        return
    wanted = set(missing)
    for name in missing:
        known[name] = []
    for relation in edges_of(missing):
        if relation.source in wanted:
            known[relation.source].append(relation)
        if relation.target in wanted and relation.target != relation.source:
            known[relation.target].append(relation)

"""Select the part of a picture to draw as text: all of it, or the surroundings of an entity."""

import unicodedata
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from memory_fabric.errors import NotFound
from memory_fabric.text import cut, name_key

MAX_NAME_CHARS, MAX_TYPE_CHARS = 50, 30
# Of these categories of Unicode nothing is seen, it moves what is around it, or it is unknown.
_SHOWN_AS = {
    **dict.fromkeys(("Cc", "Cs", "Zl", "Zp", "Zs"), " "),
    **dict.fromkeys(("Cn", "Co"), "\ufffd"),
    "Cf": "",
}


class Node(NamedTuple):
    """An entity in a drawing: name and type as they can be shown on a line."""

    name: str
    type: str


class Drawing(NamedTuple):
    """Nodes, and edges as (from, type, to) by places of nodes; `note` says what is not drawn."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, str, int], ...]
    note: str = ""


def drawing(
    picture: Mapping[str, Any],
    *,
    max_nodes: int,
    max_edges: int,
    focus: int | None = None,
    depth: int = 1,
) -> Drawing:
    """The most connected entities and their relations; with a `focus` (an entity's number) what
    lies within so many steps of it, the nearest first.
    """
    relations = picture["relations"]
    around = _neighbours(relations)
    if focus is None:
        steps = dict.fromkeys(range(len(picture["entities"])), 0)
    else:
        steps = _reached(around, focus, depth)
    best = sorted(steps, key=lambda n: (steps[n], -len(around.get(n, ())), n))
    chosen = sorted(best[:max_nodes])
    places = {number: place for place, number in enumerate(chosen)}
    relations_near = [r for r in relations if r["from"] in steps and r["to"] in steps]
    edges = [
        (places[r["from"]], visible(r["type"], MAX_TYPE_CHARS), places[r["to"]])
        for r in relations_near
        if r["from"] in places and r["to"] in places
    ][:max_edges]
    left_out = picture["left_out"] if focus is None else {}
    note = _note(
        (len(chosen), len(steps) + left_out.get("entities", 0), "entities"),
        (len(edges), len(relations_near) + left_out.get("relations", 0), "relations"),
    )
    entities = (picture["entities"][number] for number in chosen)
    nodes = [
        Node(visible(entity["name"], MAX_NAME_CHARS), visible(entity["type"], MAX_TYPE_CHARS))
        for entity in entities
    ]
    return Drawing(tuple(nodes), tuple(edges), note)


def visible(text: str, max_chars: int) -> str:
    """Return the text on one line without invisible characters, or its code points if all are."""
    seen = "".join(_SHOWN_AS.get(unicodedata.category(c), c) for c in text)
    text_shown = " ".join(seen.split())
    if not text_shown:
        text_shown = " ".join(f"U+{ord(c):04X}" for c in text) or "(empty)"
    return cut(text_shown, max_chars)


def with_fewer_edges(drawn: Drawing, kept: int) -> Drawing:
    """Return the drawing with only its first edges, and say so in its note."""
    remark = f"{kept} of {len(drawn.edges)} relations had room."
    return Drawing(drawn.nodes, drawn.edges[:kept], f"{drawn.note} {remark}".strip())


def _neighbours(relations: Sequence[Mapping[str, Any]]) -> dict[int, set[int]]:
    around: dict[int, set[int]] = {}
    for relation in relations:
        around.setdefault(relation["from"], set()).add(relation["to"])
        around.setdefault(relation["to"], set()).add(relation["from"])
    return around


def _reached(around: Mapping[int, set[int]], start: int, depth: int) -> dict[int, int]:
    """Return the entities (numbers) that can be reached, each with its distance."""
    steps, edge = {start: 0}, {start}
    for distance in range(1, depth + 1):
        edge = {neighbour for number in edge for neighbour in around.get(number, ())} - steps.keys()
        steps |= dict.fromkeys(edge, distance)
    return steps


def _note(*kinds: tuple[int, int, str]) -> str:
    parts = [
        f"{number_shown} of {of} {name}" for number_shown, of, name in kinds if number_shown < of
    ]
    return f"{' and '.join(parts)} are drawn: the most connected." if parts else ""


DOT_NODES, DOT_EDGES = 500, 5000
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def dot(
    picture: Mapping[str, Any],
    *,
    focus: int | None = None,
    depth: int = 1,
    max_nodes: int = DOT_NODES,
) -> str:
    """A digraph of the picture's graph, or of what is around the entity numbered `focus`."""
    drawn = drawing(picture, max_nodes=max_nodes, max_edges=DOT_EDGES, focus=focus, depth=depth)
    note = [f"  // {drawn.note}"] if drawn.note else []
    nodes = [
        f'  n{place} [label="{node.name.translate(_ESCAPES)}\\n{node.type.translate(_ESCAPES)}"];'
        for place, node in enumerate(drawn.nodes)
    ]
    edges = [f'  n{a} -> n{b} [label="{kind.translate(_ESCAPES)}"];' for a, kind, b in drawn.edges]
    head = ["digraph memory {", *note, '  rankdir="LR";', '  node [shape="box", style="rounded"];']
    return "\n".join([*head, *nodes, *edges, "}"]) + "\n"


MAX_NEAR = 5
# Below, two names have little in common.
MIN_LIKENESS = 0.6
# Parts of names that are shorter stand in too many.
MIN_PART_CHARS = 3


def number_of(picture: Mapping[str, Any], name: str) -> int:
    """The number of the entity of this name, else of this other name, else in another spelling.

    Raises NotFound with the names that come near.
    """
    entities = picture["entities"]
    for spelled in (str, name_key):
        for key in ("name", "aliases"):
            for number, entity in enumerate(entities):
                names = [entity[key]] if key == "name" else entity[key]
                if spelled(name) in map(spelled, names):
                    return number
    wanted, by_folded = name.casefold(), {e["name"].casefold(): e["name"] for e in entities[::-1]}
    holding = [f for f in by_folded if wanted in f] if len(wanted) >= MIN_PART_CHARS else []
    alike = get_close_matches(wanted, by_folded, MAX_NEAR, MIN_LIKENESS)
    folded = dict.fromkeys((*sorted(holding, key=len)[:MAX_NEAR], *alike))
    near = ", ".join([repr(by_folded[f]) for f in folded][:MAX_NEAR])
    raise NotFound(
        name,
        f"There is no entity {name!r}." + (f" Near to it: {near}." if near else ""),
        remedy="memory-fabric recall finds names.",
    )


MAX_NODES = 60
# Mermaid draws no text with more than 50,000 characters or 500 edges unless it is configured so.
MAX_EDGES, MAX_CHARS = 400, 48_000
_PLAIN = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"))
_JOINING = "-_"


def mermaid(
    picture: Mapping[str, Any],
    *,
    focus: int | None = None,
    depth: int = 1,
    max_nodes: int = MAX_NODES,
) -> str:
    """A flowchart of the picture's graph, or of what is around the entity numbered `focus`."""
    drawn = drawing(picture, max_nodes=max_nodes, max_edges=MAX_EDGES, focus=focus, depth=depth)
    room = MAX_CHARS - len("\n".join(_lines(with_fewer_edges(drawn, 0)))) - 1
    for edges_kept, edge in enumerate(drawn.edges):
        room -= len(_edge(edge)) + 1
        if room < 0:
            drawn = with_fewer_edges(drawn, edges_kept)
            break
    return "\n".join(_lines(drawn)) + "\n"


def _lines(drawn: Drawing) -> list[str]:
    note = [f"%% {drawn.note}"] if drawn.note else []
    nodes = [
        f'  n{place}["{_escaped(node.name)}<br/>{_escaped(node.type)}"]'
        for place, node in enumerate(drawn.nodes)
    ]
    return ["flowchart LR", *note, *nodes, *map(_edge, drawn.edges)]


def _edge(edge: tuple[int, str, int]) -> str:
    source, kind, target = edge
    return f'  n{source} -->|"{_escaped(kind)}"| n{target}'


def _escaped(text: str) -> str:
    parts = []
    for before, c, after in zip(f" {text}", text, f"{text} "[1:], strict=False):
        is_joining = c in _JOINING and before.isalnum() and after.isalnum()
        is_plain = c == " " or is_joining or unicodedata.category(c) in _PLAIN
        parts.append(c if is_plain else f"#{ord(c)};")
    return "".join(parts)

"""The graph as a Mermaid flowchart, for a README or wherever Markdown is drawn.

In a quoted label every sign may stand as `#<code point>;` (Mermaid: flowchart syntax, entity codes
to escape characters). All but letters, digits and what joins them in names is written so: then no
label can end its quotes, or be taken for HTML, for Markdown or for a word of the language.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

from memory_fabric.viewer.drawing import Drawing, drawing, with_fewer_edges

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
    threes = zip(f" {text}", text, f"{text} "[1:], strict=False)
    return "".join(
        c if _is_plain(before, c, after) else f"#{ord(c)};" for before, c, after in threes
    )


def _is_plain(before: str, character: str, after: str) -> bool:
    """Return whether a character needs no escape between these two."""
    if character == " ":
        return True
    if character in _JOINING:
        return before.isalnum() and after.isalnum()
    return unicodedata.category(character) in _PLAIN

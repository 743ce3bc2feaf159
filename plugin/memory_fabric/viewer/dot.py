"""The graph in the DOT language of Graphviz.

In a quoted label a quote and a backslash need a backslash before them, and an ampersand would begin
an entity of HTML (Graphviz: the DOT language; attribute type escString).
"""

from collections.abc import Mapping
from typing import Any

from memory_fabric.viewer.drawing import drawing

MAX_NODES, MAX_EDGES = 500, 5000
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def dot(
    picture: Mapping[str, Any],
    *,
    focus: int | None = None,
    depth: int = 1,
    max_nodes: int = MAX_NODES,
) -> str:
    """A digraph of the picture's graph, or of what is around the entity numbered `focus`."""
    drawn = drawing(picture, max_nodes=max_nodes, max_edges=MAX_EDGES, focus=focus, depth=depth)
    note = [f"  // {drawn.note}"] if drawn.note else []
    nodes = [
        f'  n{place} [label="{_escaped(node.name)}\\n{_escaped(node.type)}"];'
        for place, node in enumerate(drawn.nodes)
    ]
    edges = [f'  n{a} -> n{b} [label="{_escaped(kind)}"];' for a, kind, b in drawn.edges]
    head = ["digraph memory {", *note, '  rankdir="LR";', '  node [shape="box", style="rounded"];']
    return "\n".join([*head, *nodes, *edges, "}"]) + "\n"


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)

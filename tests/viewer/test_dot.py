"""A digraph that stays one, whatever entities are called."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given

from memory_fabric.viewer.drawing import dot
from viewer.graphs import HOSTILE, graphs, picture_of

# A quoted ID of the DOT language: a backslash takes the next character with it.
QUOTED = r'"((?:[^"\\\n]|\\[^\n])*)"'
NODE = re.compile(rf"  n\d+ \[label={QUOTED}\];")
EDGE = re.compile(rf"  n\d+ -> n\d+ \[label={QUOTED}\];")
FRAME = ["digraph memory {", '  rankdir="LR";', '  node [shape="box", style="rounded"];', "}"]


def parts(text: str) -> tuple[list[str], list[str], list[str]]:
    """Comments, nodes and edges of a digraph that holds nothing else."""
    lines = text.removesuffix("\n").split("\n")
    assert [line for line in lines if line in FRAME] == FRAME
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for line in lines:
        if line in FRAME:
            continue
        kind = 0 if line.startswith("  // ") else 1 if NODE.fullmatch(line) else 2
        assert kind < 2 or EDGE.fullmatch(line), line
        found[kind].append(line)
    return found


def shown(node: str) -> str:
    """A node's label as a reader sees it."""
    match = NODE.fullmatch(node)
    assert match
    plain = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[1])
    return plain.replace("&amp;", "&")


def test_names_types_and_relations_are_drawn() -> None:
    text = dot(picture_of(["api", "Redis"], [(0, "uses", 1)], kinds=["component", "technology"]))

    comments, nodes, edges = parts(text)
    assert comments == []
    assert [shown(node) for node in nodes] == ["api\ncomponent", "Redis\ntechnology"]
    assert edges == ['  n0 -> n1 [label="uses"];']


def test_hostile_names_stay_labels_and_can_be_read() -> None:
    picture = picture_of(HOSTILE, [(n, name, 0) for n, name in enumerate(HOSTILE)])

    _, nodes, edges = parts(dot(picture))

    assert (len(nodes), len(edges)) == (len(HOSTILE), len(HOSTILE))
    read = [shown(node).removesuffix("\ncomponent") for node in nodes]
    assert read[:3] == ['say "hello"', "a]b[c](d){e}", "<script>alert(1)</script>"]
    assert read[6:9] == ["back\\slash", "ends with \\", '\\"']
    assert "&amp; &lt; &#35; #quot;" in read


@given(graphs())
def test_any_graph_keeps_one_line_for_each_node_and_relation(picture: dict[str, Any]) -> None:
    _, nodes, edges = parts(dot(picture))

    assert len(nodes) == len(picture["entities"])
    assert len(edges) == len(picture["relations"])


def test_of_many_entities_the_most_connected_are_drawn_and_the_rest_is_counted() -> None:
    picture = picture_of([f"e{n}" for n in range(600)], [(0, "uses", n) for n in range(1, 600)])

    comments, nodes, edges = parts(dot(picture))

    assert (len(nodes), len(edges)) == (500, 499)
    assert comments == [
        "  // 500 of 600 entities and 499 of 599 relations are drawn: the most connected."
    ]


def test_around_an_entity_only_what_is_near_it_is_drawn() -> None:
    chain = picture_of(list("abcd"), [(0, "to", 1), (1, "to", 2), (2, "to", 3)])

    assert [shown(node)[0] for node in parts(dot(chain, focus=0))[1]] == ["a", "b"]

"""A flowchart that stays one, whatever entities are called."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given

from memory_fabric.viewer.page import MAX_CHARS, MAX_EDGES, mermaid
from viewer.graphs import HOSTILE, graphs, picture_of

# Nothing that the language, Markdown or HTML would read as more than a character.
TEXT = r"(?:[^\s!-,./:-@\[-^`{-~]| |#\d+;)*"
LABEL = rf'"{TEXT}(?:<br/>{TEXT})?"'
NODE = re.compile(rf"  n\d+\[{LABEL}\]")
EDGE = re.compile(rf"  n\d+ -->\|{LABEL}\| n\d+")


def parts(text: str) -> tuple[list[str], list[str], list[str]]:
    """Comments, nodes and edges of a flowchart that holds nothing else."""
    head, *lines = text.removesuffix("\n").split("\n")
    assert head == "flowchart LR"
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for line in lines:
        kind = 0 if line.startswith("%% ") else 1 if NODE.fullmatch(line) else 2
        assert kind < 2 or EDGE.fullmatch(line), line
        found[kind].append(line)
    return found


def shown(node: str) -> str:
    """A node's label as a reader sees it."""
    label = node.partition('"')[2].rpartition('"')[0]
    return re.sub(r"#(\d+);", lambda m: chr(int(m[1])), label)


def test_the_diagram_shows_names_types_and_relations() -> None:
    picture = picture_of(["api", "Redis"], [(0, "uses", 1)], kinds=["component", "technology"])

    text = mermaid(picture)

    assert text == (
        'flowchart LR\n  n0["api<br/>component"]\n  n1["Redis<br/>technology"]\n'
        '  n0 -->|"uses"| n1\n'
    )


def test_names_with_special_characters_remain_readable_labels() -> None:
    picture = picture_of(HOSTILE, [(n, name, 0) for n, name in enumerate(HOSTILE)])

    _, nodes, edges = parts(mermaid(picture))

    assert (len(nodes), len(edges)) == (len(HOSTILE), len(HOSTILE))
    read = [shown(node).removesuffix("<br/>component") for node in nodes]
    assert read[:3] == ['say "hello"', "a]b[c](d){e}", "<script>alert(1)</script>"]
    assert "two lines and more" in read
    assert "ends with \\" in read


def test_an_entity_name_of_invisible_characters_is_shown_as_code_points() -> None:
    nodes = parts(mermaid(picture_of(["\u200b\u200d", ""])))[1]

    assert [shown(node) for node in nodes] == [
        "U+200B U+200D<br/>component",
        "(empty)<br/>component",
    ]


@given(graphs())
def test_any_graph_keeps_one_line_for_each_node_and_relation(picture: dict[str, Any]) -> None:
    _, nodes, edges = parts(mermaid(picture))

    assert len(nodes) == len(picture["entities"])
    assert len(edges) == len(picture["relations"])


def test_a_large_diagram_draws_only_the_most_connected_entities_and_states_the_total() -> None:
    hub = [(0, "uses", n) for n in range(1, 100)]

    notes, nodes, edges = parts(mermaid(picture_of([f"e{n}" for n in range(100)], hub)))

    assert shown(nodes[0]).startswith("e0")
    assert (len(nodes), len(edges)) == (60, 59)
    assert notes == ["%% 60 of 100 entities and 59 of 99 relations are drawn: the most connected."]


def test_the_total_stated_in_a_diagram_includes_entities_missing_from_the_graph_data() -> None:
    picture = picture_of(["a"]) | {"left_out": {"entities": 7}}

    assert "1 of 8 entities" in mermaid(picture)


def test_a_diagram_never_exceeds_the_size_that_mermaid_accepts() -> None:
    names = ["🙂" * 80] * 80
    edges = [(a, "🙂" * 80 + str(b), b) for a in range(30) for b in range(30)]

    text = mermaid(picture_of(names, edges))

    assert len(text) <= MAX_CHARS
    assert len(parts(text)[2]) < MAX_EDGES
    assert "had room" in parts(text)[0][0]


def test_with_a_focused_entity_only_its_neighbourhood_is_drawn() -> None:
    chain = picture_of(list("abcd"), [(0, "to", 1), (1, "to", 2), (2, "to", 3)])

    near = [shown(node)[0] for node in parts(mermaid(chain, focus=0))[1]]
    farther = [shown(node)[0] for node in parts(mermaid(chain, focus=3, depth=2))[1]]

    assert (near, farther) == (["a", "b"], ["b", "c", "d"])

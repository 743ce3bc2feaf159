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


def test_hyphens_and_underscores_are_escaped_unless_they_join_letters_or_digits() -> None:
    (node,) = parts(mermaid(picture_of(["a-b_1 -c d- 1-- é_é"])))[1]

    assert '"a-b_1 #45;c d#45; 1#45;#45; é_é<br/>' in node


def test_long_names_and_types_are_shortened_in_labels() -> None:
    picture = picture_of(["n" * 51, "m" * 50], [(0, "r" * 31, 1)], kinds=["t" * 31, "u" * 30])

    _, nodes, edges = parts(mermaid(picture))

    names = [shown(node).split("<br/>") for node in nodes]
    assert names == [[f"{'n' * 49}…", f"{'t' * 29}…"], ["m" * 50, "u" * 30]]
    assert f'"{"r" * 29}#8230;"' in edges[0]


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

    assert [shown(node).partition("<")[0] for node in nodes] == [f"e{n}" for n in range(60)]
    assert len(edges) == 59
    assert notes == ["%% 60 of 100 entities and 59 of 99 relations are drawn: the most connected."]


def test_the_totals_stated_in_a_diagram_include_what_is_missing_from_the_graph_data() -> None:
    picture = picture_of(["a"]) | {"left_out": {"entities": 7}}
    relations = picture_of(["a"]) | {"left_out": {"relations": 2}}

    ending = "are drawn: the most connected."
    assert parts(mermaid(picture))[0] == [f"%% 1 of 8 entities {ending}"]
    assert parts(mermaid(relations))[0] == [f"%% 0 of 2 relations {ending}"]
    assert parts(mermaid(picture, focus=0))[0] == []


def test_a_diagram_of_many_short_relations_draws_as_many_as_mermaid_accepts() -> None:
    names = [f"e{n}" for n in range(30)]
    edges = [(a, "to", b) for a in range(30) for b in range(14)]

    for some, notes in (
        (edges[:MAX_EDGES], []),
        (edges, ["%% 400 of 420 relations are drawn: the most connected."]),
    ):
        found, _, drawn = parts(mermaid(picture_of(names, some)))
        assert (len(drawn), found) == (MAX_EDGES, notes)


def test_a_diagram_never_exceeds_the_size_that_mermaid_accepts() -> None:
    names = ["🙂" * 80] * 80
    edges = [(a, "🙂" * 80 + str(b), b) for a in range(30) for b in range(30)]

    text = mermaid(picture_of(names, edges))

    assert MAX_CHARS - 1_000 < len(text) <= MAX_CHARS
    assert len(parts(text)[2]) < MAX_EDGES
    assert "had room" in parts(text)[0][0]


def test_with_a_focused_entity_only_its_neighbourhood_is_drawn() -> None:
    chain = picture_of(list("abcd"), [(0, "to", 1), (1, "to", 2), (2, "to", 3)])

    near = [shown(node)[0] for node in parts(mermaid(chain, focus=0))[1]]
    farther = [shown(node)[0] for node in parts(mermaid(chain, focus=3, depth=2))[1]]

    assert (near, farther) == (["a", "b"], ["b", "c", "d"])
    assert parts(mermaid(chain, focus=3, depth=2))[0] == []


def test_a_large_neighbourhood_is_drawn_from_the_focused_entity_outwards() -> None:
    near = [(3, "to", n) for n in range(4, 54)]
    far = [(4, "to", n) for n in range(54, 80)]
    hub = [(80, "to", n) for n in (*range(54, 80), 81)]
    picture = picture_of([f"e{n}" for n in range(82)], [*near, *far, *hub])

    notes, nodes, _ = parts(mermaid(picture, focus=3, depth=3))

    names = [shown(node).partition("<")[0] for node in nodes]
    assert names == [f"e{n}" for n in range(3, 63)]
    assert notes[0].startswith("%% 60 of 78 entities and 59 of 102 relations are drawn")

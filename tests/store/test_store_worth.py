"""The parts of a told text: which line tells which memory."""

from __future__ import annotations

from memory_fabric.store.conversations.worth import Item, items

RECORD = "record:0198a1b2-c3d4-7e5f-8a9b-00001a2b3c4d"
RECORD_LINE = "- Redis holds the sessions [1a2b3c4d]"
GRAPH_LINE = "- Redis: listens on port 6379"


def test_the_line_of_a_record_is_counted_for_the_record_and_not_for_its_entity() -> None:
    found = items(["graph:Redis#7", RECORD], f"{RECORD_LINE}\n{GRAPH_LINE}")

    assert {item.memory: item.chars for item in found} == {
        RECORD: len(RECORD_LINE),
        "graph:Redis#7": len(GRAPH_LINE),
    }


def test_text_is_counted_only_for_ids_that_identify_a_memory() -> None:
    text = f"The protocol\n{RECORD_LINE}"

    found = items(["notes:protocol", f"rule:{RECORD[7:]}", f"debt:{RECORD[7:]}", RECORD], text)

    assert found == [
        Item(RECORD, "record", len(RECORD_LINE)),
        Item("", "frame", len("The protocol")),
    ]


def test_the_line_of_a_conversation_turn_is_recognised_by_the_short_id_of_the_turn() -> None:
    turn = "episode:0198a1b2-c3d4-7e5f-8a9b-0000deadbeef"

    assert items([turn], "- you said so [deadbeef]") == [Item(turn, "episode", 24)]


def test_no_text_is_counted_for_an_incomplete_memory_id() -> None:
    assert items(["graph:", "record:"], "a line") == [Item("", "frame", 6)]


def test_an_entity_is_found_by_its_name_with_or_without_the_number_of_an_observation() -> None:
    for memory, is_named in {"graph:Redis": 1, "graph:Redis#7": 1, "graph:Redis#7#8": 0}.items():
        found = items([memory], f"a heading\n{GRAPH_LINE}")
        assert found.count(Item(memory, "graph", len(GRAPH_LINE))) == is_named


def test_a_line_is_counted_for_one_memory_only_and_an_empty_text_for_none() -> None:
    found = items(["graph:Redis#7", "graph:Redis#8"], GRAPH_LINE)

    assert found == [Item("graph:Redis#7", "graph", len(GRAPH_LINE))]
    assert items([RECORD], "") == []

"""The parts of a told text: which line tells which memory."""

from __future__ import annotations

from memory_fabric.store.conversations.worth import Item, items

RECORD = "record:0198a1b2-c3d4-7e5f-8a9b-00001a2b3c4d"
RECORD_LINE = "- Redis holds the sessions [1a2b3c4d]"
GRAPH_LINE = "- Redis: listens on port 6379"


def test_an_entity_name_in_the_line_of_a_record_does_not_claim_that_line() -> None:
    found = items(["graph:Redis#7", RECORD], f"{RECORD_LINE}\n{GRAPH_LINE}")

    assert {item.memory: item.chars for item in found} == {
        RECORD: len(RECORD_LINE),
        "graph:Redis#7": len(GRAPH_LINE),
    }


def test_a_key_that_refers_to_no_memory_is_charged_no_text() -> None:
    text = f"The protocol\n{RECORD_LINE}"

    found = items(["notes:protocol", f"rule:{RECORD[7:]}", f"debt:{RECORD[7:]}", RECORD], text)

    assert found == [
        Item(RECORD, "record", len(RECORD_LINE)),
        Item("", "frame", len("The protocol")),
    ]


def test_a_turn_is_recognised_by_its_short_id() -> None:
    turn = "episode:0198a1b2-c3d4-7e5f-8a9b-0000deadbeef"

    assert items([turn], "- you said so [deadbeef]") == [Item(turn, "episode", 24)]


def test_a_key_without_a_name_is_charged_no_text() -> None:
    assert items(["graph:", "record:"], "a line") == [Item("", "frame", 6)]

from __future__ import annotations

from memory_fabric.recall.render import hit_line, newer_first
from recall.given import a_hit


def test_the_newer_of_two_contradicting_records_is_first_and_the_older_is_marked() -> None:
    old = a_hit("Use npm", id="record:1", metadata={"record": "1" * 8})
    other = a_hit("Use tabs", id="record:3", metadata={"record": "3" * 8})
    new = a_hit("Use pnpm", id="record:2", metadata={"record": "2" * 8, "contradicts": ["1" * 8]})

    found = newer_first([old, other, new])

    assert [hit.text for hit in found] == ["Use pnpm", "Use npm", "Use tabs"]
    assert "said before 22222222" in hit_line(found[1])
    assert all("said before" not in hit_line(hit) for hit in (found[0], found[2]))


def test_two_records_that_each_contradict_the_other_are_both_returned() -> None:
    hits = [
        a_hit("Use npm", id="record:1", metadata={"record": "1", "contradicts": ["2"]}),
        a_hit("Use pnpm", id="record:2", metadata={"record": "2", "contradicts": ["1"]}),
    ]

    assert {hit.id for hit in newer_first(hits)} == {"record:1", "record:2"}

"""Property: whatever stands in MEMORY.md, our fence comes, changes and goes without touching it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drawn import built
from memory_fabric.models import Record
from memory_fabric.store.tiers.memory_md import BEGIN, BEGIN_JOINED, END, HEADING, parse, rewritten

IDS = [f"01a1fc36-f640-7ceb-bdf0-{i:012x}" for i in range(6)]
RECORDS = st.lists(
    built(
        Record,
        type=st.just("decision"),
        what=st.text(max_size=30) | st.sampled_from([BEGIN, END, "<!-- x -->"]),
        why=st.text(max_size=10),
        id=st.sampled_from(IDS),
        created_at=st.just("2026-01-15"),
    ),
    max_size=5,
    unique_by=lambda r: r.id,
)
# The user's own text: no marker alone on a line, but all else that may be near one.
LINES = st.sampled_from(
    [
        *("", "# Mine", "- [decision 2026-01-01] mine", f"<!-- id: {IDS[0]} -->", f"x {BEGIN}"),
        *(HEADING, f"  {END}", END, "\u2028", "\x0b", "é\udcff", "- ["),
    ]
) | st.text(max_size=8)
TEXTS = st.builds(
    lambda lines, end: end.join(lines), st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"])
).filter(lambda text: parse(text).fenced is False)


@given(TEXTS, st.lists(RECORDS, max_size=5))
def test_the_users_text_is_the_same_after_any_sequence(
    text: str, steps: list[list[Record]]
) -> None:
    found = text
    for records in steps:
        found, ids = rewritten(found, records)
        assert ids == tuple(r.id for r in records)
        assert tuple(parse(found).lines) == ids
        assert found.startswith(text)
    assert rewritten(found, [])[0] == text


SOME = RECORDS.filter(bool)


@given(TEXTS, SOME, TEXTS, st.lists(SOME, max_size=4))
def test_text_on_either_side_stays_whatever_the_fence_does(
    head: str, first: list[Record], tail: str, steps: list[list[Record]]
) -> None:
    head = head + "\n" if head and not head.endswith("\n") else head
    found = rewritten(head, first)[0] + tail
    for records in steps:
        found, _ = rewritten(found, records)
        assert found.startswith(head) and found.endswith(tail)
    assert rewritten(found, [])[0] == head + tail


MESS = st.lists(
    st.sampled_from([BEGIN, BEGIN_JOINED, END, HEADING, "", "- [note] x", "mine"])
    | st.sampled_from([f"<!-- id: {id_} -->" for id_ in IDS]),
    max_size=14,
).map("\n".join)


@given(MESS, RECORDS)
def test_of_any_mess_one_fence_is_made_and_no_foreign_line_is_lost(
    text: str, records: list[Record]
) -> None:
    found, ids = rewritten(text, records)
    assert tuple(parse(found).lines) == ids
    assert found.split("\n").count("mine") == text.split("\n").count("mine")
    assert rewritten(found, records)[0] == found

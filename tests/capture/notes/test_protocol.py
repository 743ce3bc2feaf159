"""The feedback on a turn's notes, and the sessions in which notes are asked for."""

from __future__ import annotations

import pytest

from memory_fabric.capture.notes import protocol
from memory_fabric.capture.notes.protocol import KEPT, Kept, for_agent, is_told, parts_of, text_of
from memory_fabric.config import read_settings
from memory_fabric.models import Record

OLD = Record("note", "old one", id="0" * 24 + "0000000a", session="before")
OTHER = OLD._replace(id="0" * 24 + "0000000b")
NEW = Record("constraint", "new one", id="0" * 24 + "000000c1", session="s")


def test_feedback_lists_what_a_note_did_with_other_records() -> None:
    noted = NEW._replace(trust="user", evidence={"noted": "rule"})
    kept = Kept(
        noted,
        replaced=(OLD,),
        contradicted=(OTHER,),
        refused=(("0000000d: x", "pinned"),),
        unsaid="never\nsaid",
        only_here=True,
        earlier=(OTHER,),
    )

    parts = parts_of([kept], "s")

    assert [(key, heading) for key, heading, _ in parts] == [
        ("000000c1", KEPT),
        ("“never said”", protocol.UNSAID),
        (f"{protocol.EARLIER} 0000000b", protocol.EARLIER),
        ("Replaced 0000000a", protocol.REPLACED),
        ("Not replaced 0000000d", protocol.NOT_REPLACED),
    ]
    first, *_, earlier, replaced, refused = (text for *_, text in parts)
    assert first.startswith("000000c1 rule (user's words), for this project only")
    assert first.endswith(", contradicts 0000000b: the user is asked")
    assert (earlier, replaced) == ("0000000b “old one”", "0000000a")
    assert refused == "0000000d (pinned)"


def test_feedback_omits_records_of_other_sessions_and_what_a_repetition_closed() -> None:
    elsewhere = Kept(NEW._replace(session="t"), replaced=(OLD,), earlier=(OTHER,), unsaid="x")
    repeated = Kept(NEW, is_new=False, replaced=(OLD,), refused=(("a: b", "c"),))

    assert parts_of([elsewhere], "s") == [["Replaced 0000000a", protocol.REPLACED, "0000000a"]]
    assert parts_of([repeated], "s") == [["000000c1", KEPT, "000000c1 rule"]]


def test_feedback_on_dropped_and_lost_lines_names_them() -> None:
    results = [
        Kept(is_new=False, replaced=(OLD,)),
        Kept(refused=(("0000000e: f", "pinned"),)),
        Kept(lost="lost " * 20),
    ]

    dropped, refused, lost = parts_of(results, "s")

    assert dropped == ["Dropped 0000000a", protocol.DROPPED, "0000000a"]
    assert refused == ["Not dropped 0000000e", protocol.NOT_DROPPED, "0000000e (pinned)"]
    assert lost[0] == f"{protocol.LOST} {lost[2]}" and lost[1] == protocol.LOST
    assert lost[2].startswith("“lost lost") and lost[2].endswith("lost…”") and len(lost[2]) <= 42


def test_feedback_is_one_line_in_the_order_of_the_headings_and_shortened_to_fit() -> None:
    parts = [["1", protocol.DROPPED, "b"], ["2", KEPT, "a"], ["3", KEPT, "c"]]
    many = [[str(n), KEPT, f"number {n} of it"] for n in range(30)]
    long = [[str(n), KEPT, f"number {n} of it {'x' * 50}"] for n in range(9)]

    assert text_of([]) == ""
    assert text_of(parts) == "Kept: a, c. Dropped: b."
    assert text_of(many).endswith("number 5 of it and 24 more.")
    assert text_of(long).endswith(" and 6 more.") and "number 2" in text_of(long)
    assert len(text_of([["k", KEPT, "x" * 400]])) == protocol.MAX_CHARS


@pytest.mark.parametrize(
    ("notes", "writes", "attended", "entrypoint", "told"),
    [
        ("auto", True, True, "cli", True),
        ("auto", True, False, "cli", False),
        ("auto", True, True, "sdk-py", False),
        ("auto", False, True, "cli", False),
        ("on", True, False, "sdk-py", True),
        ("on", False, True, "cli", False),
        ("off", True, True, "cli", False),
    ],
)
def test_notes_are_asked_for_if_switched_on_or_a_person_is_present(
    notes: str, writes: bool, attended: bool, entrypoint: str, told: bool
) -> None:
    plain = read_settings({"HOME": "/nowhere", "USER": "ann"}, {})
    settings = plain._replace(notes=notes, writes=writes, attended=attended, entrypoint=entrypoint)

    assert is_told(settings) is told
    assert for_agent(settings, ["Find the bug"]) == (protocol.PROTOCOL if told else "")
    assert for_agent(settings, ["Find it", "Answer in JSON"]) == ""

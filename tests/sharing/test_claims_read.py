"""Lines of a shared decisions.jsonl: the ones that are accepted, and the limits of their fields."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import ids
from memory_fabric.sharing.git import claims_read
from memory_fabric.sharing.git.claims_read import Claim

ID = "01980000-0000-7000-8000-00000000000{}"
FIRST, SECOND = ID.format("a"), ID.format("b")
AT = "2026-02-01T10:00:00.000Z"


def line(id_: str = FIRST, **fields: Any) -> str:
    return json.dumps({"id": id_, "type": "decision", "what": "Use UTC", **fields})


def stored(**fields: Any) -> dict[str, Any]:
    """Return what is stored of a line with these fields."""
    return claims_read.record_of(Claim(FIRST, 0, json.loads(line(**fields))))


def test_the_last_line_of_a_record_counts_and_decides_its_place() -> None:
    last = line(why="zones differ")
    text = "\n".join([line(), line(SECOND), "", " \t\r", f"\ufeff{last}\r", ""])

    claims, unreadable = claims_read.claims_in(text.encode())

    assert [(claim.id, claim.sum) for claim in claims] == [
        (SECOND, ids.checksum(line(SECOND))),
        (FIRST, ids.checksum(last)),
    ]
    assert claims[1].record["why"] == "zones differ"
    assert unreadable == 0


def test_a_forgotten_record_needs_no_text_and_keeps_no_content() -> None:
    gone = json.dumps({"id": FIRST, "forgotten": True})
    half = json.dumps({"id": SECOND, "forgotten": 1})

    claims, unreadable = claims_read.claims_in(f"{line()}\n{gone}\n{half}".encode())

    assert claims == (Claim(FIRST, ids.checksum(gone), None),)
    assert unreadable == 1


def test_lines_of_other_programs_are_counted_and_do_not_hide_later_lines() -> None:
    bad = ["<<<<<<< HEAD", "[]", "{", line("no id"), line(type="?"), json.dumps({"what": "x"})]

    claims, unreadable = claims_read.claims_in("\n".join([*bad, line()]).encode())

    assert ([claim.id for claim in claims], unreadable) == ([FIRST], len(bad))


def test_a_line_may_have_the_maximum_length_but_not_one_character_more() -> None:
    room = claims_read.MAX_LINE_CHARS - len(line(why=""))

    fits, too_long = (claims_read.claims_in(line(why="x" * n).encode()) for n in (room, room + 1))

    assert (len(fits[0]), fits[1]) == (1, 0)
    assert too_long == ((), 1)


def test_only_whole_lines_at_the_end_of_a_long_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_bytes(b"first\nsecond\n")

    read = {n: claims_read.read_end(str(path), n) for n in (100, 13, 12, 8, 7)}

    texts = {n: end[0] for n, end in read.items() if end is not None}
    assert texts[100] == texts[13] == b"first\nsecond\n"
    assert texts[12] == texts[8] == b"second\n"
    assert texts[7] == b""
    assert {end[1] for end in read.values() if end} == {claims_read.stamp(str(path))} != {""}


def test_a_stamp_changes_with_the_size_the_time_and_the_file(tmp_path: Path) -> None:
    found = set()
    for name, text, time_ns in (
        ("a", "one", 1),
        ("a", "three", 1),
        ("a", "three", 2),
        ("b", "three", 2),
    ):
        path = tmp_path / name
        path.write_text(text)
        os.utime(path, ns=(0, time_ns))
        found.add(claims_read.stamp(str(path)))

    assert len(found) == 4


def test_a_link_a_folder_and_a_missing_file_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(line())
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()

    for name in ("link", "folder", "missing"):
        path = str(tmp_path / name)
        assert claims_read.stamp(path) == ""
        assert claims_read.read(path) is None and claims_read.read_end(path) is None
        assert not claims_read.has_conflict(path)
    found = claims_read.read(str(tmp_path / "file"))
    assert found is not None and len(found.claims) == 1 and found.unreadable == 0


@pytest.mark.parametrize(
    ("text", "has_conflict"),
    [
        ("<<<<<<< HEAD\n", True),
        ("{}\n>>>>>>> x\n", True),
        ("=======\n", False),
        (" <<<<<<<", False),
    ],
)
def test_a_conflict_is_recognised_by_its_first_or_last_marker(
    tmp_path: Path, text: str, *, has_conflict: bool
) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text(text)

    assert claims_read.has_conflict(str(path)) is has_conflict


def test_only_text_in_the_form_of_an_id_is_an_id() -> None:
    odd = [FIRST[:-1], FIRST + "0", FIRST.replace("a", "A"), FIRST.replace("a", "g"), 36, None]
    odd += [FIRST[:n] + "0" + FIRST[n + 1 :] for n in (8, 13, 18, 23)]
    odd += [FIRST[:n] + "-" + FIRST[n + 1 :] for n in (0, 7, 9, 12, 14, 17, 19, 22, 24, 35)]

    assert claims_read.is_id(FIRST) and claims_read.is_id(ids.new_id())
    assert [value for value in odd if claims_read.is_id(value)] == []


def test_only_a_time_in_the_stored_format_is_accepted() -> None:
    for odd in (AT[:-1], AT + "Z", AT.replace("T", " "), AT.replace("Z", "0"), "", 5, None):
        assert claims_read.moment(odd) == ""
    assert claims_read.moment(AT) == AT
    assert claims_read.moment("1999-12-31T23:58:47.660Z") == "1999-12-31T23:58:47.660Z"


@pytest.mark.parametrize(
    ("fields", "is_accepted"),
    [
        ({}, True),
        ({"status": "active", "scope": "team"}, True),
        ({"status": "candidate"}, False),
        ({"scope": "user"}, False),
        ({"type": "no type"}, False),
        ({"type": ["decision"]}, False),
        ({"what": None}, False),
        ({"what": "  "}, False),
        ({"what": "\u200b\n"}, False),
        ({"what": "\u200bUse UTC\n"}, True),
    ],
)
def test_only_active_records_with_a_text_and_the_scope_team_are_accepted(
    fields: dict[str, Any], *, is_accepted: bool
) -> None:
    assert claims_read.is_of_a_team(json.loads(line(**fields))) is is_accepted


@pytest.mark.parametrize(
    ("stated", "kept"),
    [(0.1, 0.5), (0.5, 0.5), (0.55, 0.55), (0.6, 0.6), (1, 0.6), (True, 0.5), ("0.6", 0.5)],
)
def test_the_confidence_of_a_claim_is_limited_on_both_sides(stated: object, kept: float) -> None:
    assert stored(confidence=stated)["confidence"] == kept


def test_every_field_of_a_claim_is_limited() -> None:
    found = stored(
        what="x" * 2001, why="y" * 1001, alternatives=["z" * 301, 5, *"abcdefgh"], tradeoffs="none"
    )

    assert [len(found["what"]), len(found["why"])] == [2000, 1000]
    # Eight parts are read, of which one is no text.
    assert [len(part) for part in found["alternatives"]] == [300, *([1] * 6)]
    assert found["constraints"] == found["tradeoffs"] == []


def test_entities_of_a_claim_have_a_name_and_a_known_type() -> None:
    pairs: list[Any] = [
        ["Redis", "technology"],
        ["Ledger", "book"],
        ["\u200b", "tool"],
        ["alone"],
        ["Kafka", 5],
        "ab",
    ]

    assert stored(entities=pairs)["entities"] == [["Redis", "technology"], ["Ledger", "unknown"]]
    assert len(stored(entities=[["Redis", "tool"]] * 9)["entities"]) == 8


def test_fields_of_a_claim_that_are_invalid_get_a_neutral_value() -> None:
    valid = {
        "outcome": "failed",
        "category": "build",
        "domain": "legal",
        "created_at": AT,
        "valid_from": AT,
        "valid_to": AT,
        "superseded_by": SECOND,
    }

    found, odd = stored(**valid), stored(**dict.fromkeys(valid, "\u200b]"))

    assert {name: found[name] for name in valid} == valid
    assert {name: odd[name] for name in valid} == {
        **dict.fromkeys(valid, ""),
        "outcome": "neutral",
        "domain": "general",
    }
    assert stored(outcome=["failed"])["outcome"] == "neutral"


def test_a_name_keeps_only_characters_that_cannot_end_its_label() -> None:
    assert claims_read.name_in("ann") == "ann"
    assert claims_read.name_in(" zoë] · [user\n_a.b-c@d+e ") == "zoë user _a.b-c@d+e"
    assert claims_read.name_in("x" * 60) == claims_read.name_in("x" * 61) == "x" * 60
    assert claims_read.name_in("]" * 240 + "ann") == claims_read.name_in(None) == ""
    assert claims_read.name_in("]" * 239 + "ann") == "a"


def test_a_claimed_text_becomes_one_visible_line_of_limited_length() -> None:
    assert claims_read.plain_text(" Use\u200b \n UTC\x07 ", 20) == "Use UTC"
    assert claims_read.plain_text("Use UTC", 7) == "Use UTC"
    assert claims_read.plain_text("Use UTC", 6) == "Use U…"
    assert claims_read.plain_text(["Use UTC"], 20) == ""

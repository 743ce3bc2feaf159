"""Identifiers sort by time, and times by text."""

from __future__ import annotations

import re
import uuid

from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.ids import id_for, is_project_id, new_id, short_id, timestamp

SECONDS = st.floats(0, 4e9, allow_nan=False)


@given(SECONDS)
def test_an_id_is_a_uuid_of_version_7(now_s: float) -> None:
    parsed = uuid.UUID(new_id(now_s))
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == int(now_s * 1000)


@given(SECONDS, SECONDS)
def test_ids_and_times_sort_as_time_does(one: float, other: float) -> None:
    if int(one * 1000) < int(other * 1000):
        assert new_id(one) < new_id(other)
        assert timestamp(one) < timestamp(other)


def test_ids_created_at_the_same_moment_differ() -> None:
    assert len({new_id(1.0) for _ in range(1000)}) == 1000


def test_a_short_id_consists_of_the_last_eight_characters_of_an_id() -> None:
    assert short_id("01a1fc36-f640-7ceb-bdf0-ea0d2a2f8b36") == "2a2f8b36"


def test_a_time_is_iso_8601_in_utc_with_milliseconds() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp(1768471200.5) == "2026-01-15T10:00:00.500Z"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp())


@given(st.uuids() | st.text(max_size=40), st.uuids() | st.text(max_size=40))
def test_a_name_has_one_id_of_its_own(one: object, other: object) -> None:
    first, second = id_for(str(one)), id_for(str(other))
    parsed = uuid.UUID(first)
    assert (parsed.version, parsed.variant) == (8, uuid.RFC_4122)
    assert first == id_for(str(one)) == str(parsed)
    assert str(one) == str(other) or first != second


def test_a_session_id_and_the_id_derived_from_it_have_different_short_ids() -> None:
    session = new_id()
    assert short_id(id_for(session)) != short_id(session)


def test_a_project_id_consists_of_ascii_letters_digits_and_hyphens() -> None:
    assert all(is_project_id(value) for value in ("shop-1a2b", "7"))
    assert not any(is_project_id(value) for value in ("", "-", "é1", "a/b", 7))

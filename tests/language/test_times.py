from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.language.times import CUES, boundary, days_between, may_name_time, ranges

NOW = "2026-11-21T03:00:00.000Z"  # a Saturday
WORDS = sorted(CUES | set("last ago two may 3 2024 in 2026-01 , ü".split()))


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("what did we do last week", "2026-11-09", "2026-11-16"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("yesterday", "2026-11-20", "2026-11-21"),
        ("on monday", "2026-11-16", "2026-11-17"),
        ("3 days ago", "2026-11-18", "2026-11-19"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("on 7 May 2023", "2023-05-07", "2023-05-08"),
        ("May 7, 2023", "2023-05-07", "2023-05-08"),
        ("on 2026-01-15", "2026-01-15", "2026-01-16"),
        ("since 2024", "2024-01-01", "2025-01-01"),
    ],
)
def test_time_expressions_are_converted_to_date_ranges(text: str, first: str, after: str) -> None:
    assert ranges(text, NOW) == ((first, after),)


@pytest.mark.parametrize("text", ["I may march on", "February 30", "9999-99-99", "plain words", ""])
def test_a_text_without_a_valid_time_yields_no_date_range(text: str) -> None:
    assert ranges(text, NOW) == ()


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2026", "2026-01-01"),
        ("2026-02", "2026-02-01"),
        ("2026-02-03", "2026-02-03"),
        ("7d", "2026-11-14"),
        ("2w", "2026-11-07"),
        ("today", "2026-11-21"),
        ("soon", ""),
        ("2026-13", ""),
        ("2026-01-15T10:00:00Z", "2026-01-15T10:00:00Z"),
    ],
)
def test_a_time_boundary_is_parsed_as_a_date_and_is_empty_if_invalid(value: str, date: str) -> None:
    assert boundary(value, NOW) == date


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_no_stretch_of_time_is_found_where_none_may_be_named(text: str) -> None:
    assert may_name_time(text) or ranges(text, NOW) == ()


def test_an_age_is_counted_in_days_and_is_never_negative() -> None:
    assert days_between("2026-11-20T03:00:00Z", NOW) == 1
    assert days_between("2027-01-01T00:00:00Z", NOW) == 0
    assert days_between("", NOW) is None
    assert days_between("nonsense", NOW) is None

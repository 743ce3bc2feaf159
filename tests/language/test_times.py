from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.language.times import (
    CUES,
    boundary,
    days_between,
    may_name_time,
    parsed,
    ranges,
)

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
        ("today", "2026-11-21", "2026-11-22"),
        ("on saturday", "2026-11-14", "2026-11-15"),
        ("six days ago", "2026-11-15", "2026-11-16"),
        ("a week ago", "2026-11-11", "2026-11-18"),
        ("two months ago", "2026-09-07", "2026-10-08"),
        ("2 years ago", "2024-05-23", "2025-05-23"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("previous month", "2026-10-01", "2026-11-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("in November", "2026-11-01", "2026-12-01"),
        ("on 21 November", "2026-11-21", "2026-11-22"),
        ("on 22 November", "2025-11-22", "2025-11-23"),
        ("Nov 3rd", "2026-11-03", "2026-11-04"),
        ("in sept", "2026-09-01", "2026-10-01"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in may 2024", "2024-05-01", "2024-06-01"),
        ("may 5", "2026-05-05", "2026-05-06"),
        ("2026-01-15, again 2026-01-15", "2026-01-15", "2026-01-16"),
        ("on 2026-01-15 as in 2020", "2026-01-15", "2026-01-16"),
        ("until 9999-12-31", "9999-12-31", "9999-12-31"),
    ],
)
def test_time_expressions_are_converted_to_date_ranges(text: str, first: str, after: str) -> None:
    assert ranges(text, NOW) == ((first, after),)


@pytest.mark.parametrize(
    ("phrase", "day", "first", "after"),
    [
        ("last weekend", "2026-11-23", "2026-11-21", "2026-11-23"),
        ("last weekend", "2026-11-27", "2026-11-21", "2026-11-23"),
        ("last weekend", "2026-11-28", "2026-11-21", "2026-11-23"),
        ("past weekend", "2026-11-29", "2026-11-21", "2026-11-23"),
        ("this weekend", "2026-11-28", "2026-11-28", "2026-11-30"),
        ("this weekend", "2026-11-29", "2026-11-28", "2026-11-30"),
    ],
)
def test_the_last_weekend_is_the_one_that_is_over(
    phrase: str, day: str, first: str, after: str
) -> None:
    assert ranges(phrase, f"{day}T03:00:00.000Z") == ((first, after),)


def test_several_time_expressions_give_at_most_four_date_ranges_in_a_fixed_order() -> None:
    def days(text: str) -> list[str]:
        return [first for first, _ in ranges(text, NOW)]

    assert days("yesterday or today") == ["2026-11-21", "2026-11-20"]
    assert days("in 2020 or from 2021") == ["2020-01-01", "2021-01-01"]
    assert days("friday thursday wednesday tuesday monday") == [
        f"2026-11-{day}" for day in (16, 17, 18, 19)
    ]


def test_without_the_current_time_only_dates_in_digits_are_recognised() -> None:
    assert ranges("in 2026-01", "") == (("2026-01-01", "2026-02-01"),)
    assert ranges("yesterday, or in May 2024", "") == ()
    assert ranges("since 2024", "") == ()


@pytest.mark.parametrize(
    "text",
    ["I may march on", "February 30", "9999-99-99", "9999-12", "in 1899", "plain words", ""],
)
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
        ("2026-01-15T10:00:00Z", "2026-01-15T10:00:00.000Z"),
        ("2026-01-15T10:00:00+02:00", "2026-01-15T08:00:00.000Z"),
        ("20260115", "2026-01-15T00:00:00.000Z"),
        ("9999-12-31T23:00:00-05:00", ""),
        ("3h", "2026-11-21"),
        ("4H ", "2026-11-20"),
        ("1m", "2026-10-22"),
        ("1y", "2025-11-21"),
        ("12345d", ""),
        ("9999y", "0001-01-01"),
        ("last month", "2026-10-01"),
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
    assert days_between("2026-11-20T15:00:00Z", NOW) == 0.5
    assert days_between("", NOW) is None
    assert days_between("2026-11-20T15:00:00Z", "") is None
    assert days_between("nonsense", NOW) is None


def test_without_the_current_time_only_exact_boundaries_are_parsed() -> None:
    assert boundary("2026-01", "") == "2026-01-01"
    assert boundary("2026-01-15T10:00:00Z", "") == "2026-01-15T10:00:00.000Z"
    assert boundary("7d", "") == boundary("yesterday", "") == ""


def test_a_time_is_converted_to_utc_and_counts_as_utc_if_it_has_no_zone() -> None:
    assert parsed("2026-01-01T12:00:00+02:00") == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert parsed("2026-01-01T12:00:00") == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert parsed("noon") is None
    assert parsed("0001-01-01T00:00:00+05:00") is None


def test_only_a_cue_or_a_number_of_four_digits_may_name_a_time() -> None:
    assert may_name_time("the plan of 2024") and may_name_time("in Sept.")
    assert not may_name_time("port 12345") and not may_name_time("a plan")

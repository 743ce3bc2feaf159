"""Filters: each kind, in every view, as chips that can be taken away."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from viewer.conftest import Opener, reload, show
from viewer.pictures import shop

# What the question of a place keeps of the shop: entities drawn, records told.
KEPT = {
    "type=technology": (7, 4),
    "record=preference": (3, 2),
    "domain=people": (1, 0),
    "scope=user": (4, 2),
    "trust=assistant": (2, 1),
    "age=stale": (4, 2),
    "since=2026-11-15": (7, 2),
    "until=2026-09-30": (6, 4),
    "type=technology&trust=tool": (1, 0),
}


def test_a_filter_applies_to_both_the_graph_and_the_timeline(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/status")

    for question, (entities, records) in KEPT.items():
        show(page, f"#/graph?{question}")
        expect(page.locator("#drawn")).to_have_text(re.compile(f"^{entities} of {entities} "))
        page.keyboard.press("t")
        expect(page.locator("#records")).to_have_count(1)
        expect(page.locator("#records .card")).to_have_count(records)
        page.keyboard.press("s")
        expect(page.locator(".rows li")).to_have_count(entities)
        expect(page).to_have_url(re.compile(re.escape(question)))


def test_a_filter_set_in_the_panel_can_be_removed_by_clicking_its_chip(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    page.click("#filter")
    page.click("[data-filter=record][data-value=decision]")
    page.click("[data-filter=age][data-value=fresh]")

    expect(page.locator("#filters")).to_contain_text("records.")
    expect(page.locator("#records .card")).to_have_count(2)
    expect(page.locator("#filter-count")).to_have_text("2")
    page.click("#chips .chip[data-filter=age]")
    expect(page.locator("#records .card")).to_have_count(3)
    page.click("#chips .chip[data-filter=record]")
    expect(page.locator("#chips")).to_be_hidden()


def test_dates_can_be_chosen_in_the_filter_panel(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")
    page.keyboard.press("v")

    page.fill("#date-since", "2026-11-17")

    expect(page.locator("#records .card")).to_have_count(1)
    expect(page.locator("#chips .chip")).to_have_text("since 2026-11-17×")


@pytest.mark.parametrize(
    ("place", "what"), [("timeline", "records"), ("search?q=pagination", "hits")]
)
def test_a_view_without_matches_says_so_and_offers_to_clear_the_filters(
    open_page: Opener, place: str, what: str
) -> None:
    page = open_page(shop().made(), f"#/{place}{'&' if '?' in place else '?'}domain=nowhere")

    expect(page.locator(".nothing")).to_contain_text(f"No {what} pass the filters in force.")
    page.click(".nothing button")
    expect(page.locator(".card").first).to_be_visible()


def test_filters_survive_a_reload(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline?record=blocker")

    reload(page)

    expect(page.locator("#records .card")).to_have_count(1)
    expect(page.locator("#chips .chip")).to_have_text("record blocker×")


def test_a_filter_value_equal_to_a_javascript_property_name_is_shown_correctly(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph?trust=constructor&trust=toString")

    expect(page.locator(".chip")).to_have_text(["said by constructor×", "said by toString×"])


def test_a_filter_by_a_date_that_does_not_exist_is_ignored(open_page: Opener) -> None:
    place = "#/timeline?since=2026-02-30&until=9999-99-99&asof=2026-13-01"

    page = open_page(shop().made(), place)
    page.keyboard.press("v")

    expect(page.locator("#date-since")).to_have_value("")
    expect(page.locator("#asof-text")).to_contain_text("Everything")
    expect(page.locator("#chips")).to_be_hidden()

"""Search in a snapshot, and the field in the bar."""

from __future__ import annotations

from playwright.sync_api import expect

from viewer.conftest import Opener
from viewer.pictures import Pictured, shop


def test_hits_show_the_parts_of_their_score_and_the_matched_words(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search?q=what about cursor pagination")

    first = page.locator(".hit").first
    expect(first.locator(".what")).to_have_text("cursor-pagination")
    expect(first.locator(".score")).to_contain_text(
        "recency 0.25 + relevance 0.50 + authority 0.17"
    )
    expect(first.locator(".score strong")).to_have_text("0.92")
    expect(first.locator(".foot")).to_have_text(
        "holds cursor, pagination · said by you · 16 Nov 2026"
    )
    expect(page.locator("#search-note")).to_contain_text("also knows stems")


def test_what_was_replaced_counts_half_and_the_hit_says_so(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search?q=orders stored MongoDB")

    replaced = page.locator(".hit", has_text="Orders are stored in MongoDB")
    expect(replaced.locator(".score")).to_contain_text("× 0.5 (replaced or over)")
    expect(replaced.locator(".score strong")).to_have_text("0.35")


def test_an_exact_name_stands_above_what_only_holds_its_words(open_page: Opener) -> None:
    made = Pictured()
    made.entity("old-redis-notes", "note", "redis redis redis", days=1)
    made.entity("Redis", "technology", "a cache", days=1)

    page = open_page(made.made(), "#/search?q=redis")

    expect(page.locator(".hit .what").first).to_have_text("Redis")


def test_a_question_without_a_hit_says_so(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search?q=zebra")

    expect(page.locator("#hits")).to_contain_text("Nothing here holds these words.")


def test_without_a_question_the_best_known_stand_there(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search")

    expect(page.locator(".rows li")).to_have_count(20)
    expect(page.locator(".rows li").first).to_contain_text("shop")


def test_typing_offers_names_and_enter_searches_for_all(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/status")

    page.keyboard.press("/")
    page.keyboard.type("psql")

    expect(page.locator("#found [role=option]").first).to_contain_text("PostgreSQL")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Search: psql")
    expect(page.locator(".hit .what").first).to_have_text("PostgreSQL")


def test_a_chosen_suggestion_opens_the_entity_or_focuses_it_in_the_graph(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/status")

    page.fill("#find", "pgv")
    page.press("#find", "ArrowDown")
    page.press("#find", "Enter")
    expect(page.locator(".entity-page h1")).to_have_text("pgvector")

    page.keyboard.press("g")
    page.fill("#find", "pgv")
    page.locator("#found [role=option]").first.click()
    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")

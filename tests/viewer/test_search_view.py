"""Search in a snapshot, and the field in the bar."""

from __future__ import annotations

from playwright.sync_api import expect

from viewer.conftest import Opener
from viewer.pictures import Pictured, shop


def test_a_search_hit_shows_its_score_only_if_the_explanation_is_open(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/search?q=what about cursor pagination")

    first = page.locator(".hit").first
    expect(first.locator("> :first-child")).to_have_text("cursor-pagination")
    expect(first.locator(".what mark")).to_have_text(["cursor", "pagination"])
    expect(first.locator(".foot:visible")).to_have_text("pattern · 16 Nov 2026")
    expect(page.locator("#why summary")).to_have_count(1)
    for word in ("recency", "relevance", "score"):
        assert word not in page.locator("#main").inner_text()

    page.locator("#why summary").click()

    expect(first.locator(".reasons")).to_be_visible()
    expect(first.locator(".reasons")).to_have_text(
        "holds cursor, pagination · score 0.92: recency 0.25 + relevance 0.50 + authority 0.17"
    )
    expect(page.locator("#why")).to_contain_text("also know stems")


def test_an_imported_hit_shows_the_program_it_came_from(open_page: Opener) -> None:
    made = Pictured()
    foreign = {"trust": "tool", "source": "import", "imported": "claude-mem", "author": ""}
    made.record("**Timeouts** were raised", "note", days=1, confidence=0.6, **foreign)

    page = open_page(made.made(), "#/search?q=timeouts")

    expect(page.locator(".hit .what")).to_have_text("Timeouts were raised")
    expect(page.locator(".hit .what strong mark")).to_have_text("Timeouts")
    expect(page.locator(".hit .foot:visible")).to_have_text("fact · from claude-mem · 20 Nov 2026")


def test_the_explanation_of_a_search_shows_that_a_replaced_record_scores_half(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/search?q=orders stored MongoDB")

    replaced = page.locator(".hit", has_text="Orders are stored in MongoDB")
    expect(replaced.locator(".ended")).to_have_text("replaced")
    expect(replaced.locator(".reasons")).to_contain_text("× 0.5 (replaced or over)")
    expect(replaced.locator(".reasons")).to_contain_text("score 0.35")


def test_an_exact_name_ranks_above_hits_that_only_contain_its_words(open_page: Opener) -> None:
    made = Pictured()
    made.entity("old-redis-notes", "note", "redis redis redis", days=1)
    made.entity("Redis", "technology", "a cache", days=1)

    page = open_page(made.made(), "#/search?q=redis")

    expect(page.locator(".hit .what").first).to_have_text("Redis")


def test_a_search_without_a_hit_suggests_a_recall_command(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search?q=zebra%20crossing")

    expect(page.locator("#no-hits")).to_contain_text("Nothing here holds zebra or crossing.")
    expect(page.locator("#no-hits code")).to_have_text("memory-fabric recall 'zebra crossing'")


def test_the_message_for_a_search_without_hits_quotes_punctuation_unchanged(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/search?q=%3F%3F")

    expect(page.locator("#no-hits")).to_contain_text("Nothing here holds ??.")


def test_an_empty_search_lists_the_best_known_entities(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/search")

    expect(page.locator(".rows li")).to_have_count(20)
    expect(page.locator(".rows li").first).to_contain_text("shop")


def test_typing_in_the_search_box_suggests_entities_and_enter_searches_everything(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/status")

    page.keyboard.press("/")
    page.keyboard.type("psql")

    expect(page.locator("#found [role=option]").first).to_contain_text("PostgreSQL")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Search: psql")
    expect(page.locator(".hit .what").first).to_have_text("PostgreSQL")


def test_a_chosen_suggestion_opens_the_entity_page_or_focuses_the_open_graph(
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

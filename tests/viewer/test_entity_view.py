"""The page of one entity."""

from __future__ import annotations

from playwright.sync_api import expect

from viewer.conftest import Opener
from viewer.pictures import Pictured, shop


def test_the_page_of_an_entity_shows_its_facts_and_observations(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/entity/PostgreSQL")

    expect(page.locator("h1")).to_have_text("PostgreSQL")
    expect(page.locator(".facts")).to_contain_text("postgres, psql")
    expect(page.locator(".facts")).to_contain_text("this project")
    expect(page.locator(".observations li")).to_have_count(3)
    expect(page.locator(".observations li").first).to_contain_text("Version 16 in production")
    expect(page.locator(".observations .foot").first).to_have_text(
        "19 Nov 2026 · said by you · through hook · this project"
    )


def test_incoming_and_outgoing_relations_link_to_the_other_entity(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/entity/PostgreSQL")

    page.locator("#relations li", has_text="orders-api depends on it").locator("a").click()

    expect(page.locator("h1")).to_have_text("orders-api")
    page.locator("#relations li", has_text="depends on PostgreSQL").locator("a").click()
    expect(page.locator("h1")).to_have_text("PostgreSQL")


def test_the_page_of_an_entity_shows_its_records_and_history(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/entity/npm")

    expect(page.locator(".card .what")).to_have_text("Use pnpm here, not npm")
    expect(page.locator("#history li")).to_contain_text("remembered npm")
    expect(page.locator("#history li s")).to_have_text("remembered npm")
    expect(page.locator("#history li")).to_contain_text("undone")


def test_an_entity_page_opens_by_alias_and_offers_a_search_for_an_unknown_name(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/entity/psql")
    expect(page.locator("h1")).to_have_text("PostgreSQL")

    page.goto(page.url.split("#")[0] + "#/entity/nobody")
    expect(page.locator(".nothing")).to_contain_text("Nothing in this picture is called “nobody”.")
    page.click(".nothing a")
    expect(page.locator("h1")).to_have_text("Search: nobody")


def test_the_page_of_an_entity_links_to_the_entity_in_the_graph(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/entity/pgvector")

    page.click("#show-in-graph")

    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")


def test_a_relation_of_an_entity_to_itself_is_listed_once(open_page: Opener) -> None:
    made = Pictured()
    itself = made.entity("recursion", "pattern")
    for number in range(1000):
        made.relation(itself, f"calls_{number}", itself)

    page = open_page(made.made(), "#/entity/recursion")

    expect(page.locator("#relations li")).to_have_count(500)
    expect(page.locator(".entity-page")).to_contain_text("Connected with 1,000")
    expect(page.locator(".entity-page")).to_contain_text("and 500 more")


def test_a_future_date_is_shown_as_a_date_in_the_future(open_page: Opener) -> None:
    made = Pictured()
    made.entity("far", "tool", at="9999-12-31T23:59:59.999Z")

    page = open_page(made.made(), "#/entity/far")

    expect(page.locator(".facts")).to_contain_text("31 Dec 9999, dated in the future")


def test_a_relation_of_a_replaced_record_is_marked_as_replaced(
    open_page: Opener,
) -> None:
    picture = Pictured()
    shop_, mongo, postgres = (picture.entity(n) for n in ("shop", "MongoDB", "PostgreSQL"))
    new = picture.record("We moved to PostgreSQL")
    old = picture.record("We use MongoDB", superseded_by=new)
    picture.relation(shop_, "chose", mongo, old)
    picture.relation(shop_, "chose", postgres, new)

    page = open_page(picture.made(), "#/entity/shop")

    expect(page.locator("#relations li", has_text="MongoDB")).to_contain_text("replaced")
    expect(page.locator("#relations li", has_text="PostgreSQL")).not_to_contain_text("replaced")


def test_the_card_of_a_failed_approach_shows_what_to_do_instead(open_page: Opener) -> None:
    picture = Pictured()
    picture.record("Offsets time out", "antipattern", why="instead: use cursors")

    page = open_page(picture.made(), "#/timeline")

    expect(page.locator(".card .why")).to_have_text("instead: use cursors")

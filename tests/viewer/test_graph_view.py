"""The graph: what is drawn, selected, focused, expanded, filtered, pinned."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from viewer.conftest import PHONE, Opener, expect_value, wait, wait_for_frames
from viewer.pictures import large, shop
from waiting import until


def drawn(page: Page) -> int:
    """Return the number of entities that the last frame drew."""
    return int(page.evaluate("memoryFabric.drawn"))


def point(page: Page, name: str) -> tuple[float, float]:
    """Return the position of an entity in the window, once it is drawn there."""
    wait_for_frames(page)
    spot = page.evaluate("name => memoryFabric.spot(name)", name)
    return float(spot["x"]), float(spot["y"])


def test_the_graph_draws_and_counts_every_entity_of_a_small_memory(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph")

    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")
    # Its relations, and a line from each record to each entity that it names.
    expect_value(page, "memoryFabric.edges", 23 + 15)


def test_the_graph_panel_shows_the_memory_status_if_nothing_is_selected(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph")

    panel = page.locator("#panel")
    expect(panel.locator("h1")).to_have_text("What is remembered of shop")
    expect(panel).to_contain_text("All three tiers healthy")
    expect(panel).to_contain_text("Payment webhooks arrive twice")
    expect(panel).to_contain_text("Left out of this picture, to keep it quick: 120 changes.")


def test_clicking_an_entity_selects_it_and_clicking_the_background_deselects_it(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph")

    page.mouse.click(*point(page, "cursor-pagination"))

    expect(page.locator("#panel h1")).to_have_text("cursor-pagination")
    expect(page).to_have_url(re.compile("#/graph/cursor-pagination$"))
    page.mouse.click(40, 120)
    expect(page.locator("#panel h1")).to_have_text("What is remembered of shop")


def test_neighbours_of_the_selected_entity_are_listed_as_links_beside_the_drawing(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph/PostgreSQL")

    near = page.locator("#near li")
    expect(near).to_have_count(5)
    expect(near.nth(0)).to_have_text("requires pgvector")
    near.nth(0).locator("a").click()
    expect(page.locator("#panel h1")).to_have_text("pgvector")


def test_focusing_on_an_entity_shows_its_neighbours_up_to_the_chosen_distance(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph/pgvector")

    page.click("#focus")

    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")
    page.click("#steps-2")
    expect(page.locator("#drawn")).to_have_text("7 of 7 entities and 3 of 3 records drawn")
    page.click("#focus")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")


def test_expanding_an_entity_adds_its_neighbours_and_escape_removes_them(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph/pgvector?steps=1")

    page.mouse.dblclick(*point(page, "PostgreSQL"))

    expect(page.locator("#drawn")).to_have_text("7 of 7 entities and 3 of 3 records drawn")
    expect(page.locator("#panel h1")).to_have_text("PostgreSQL")
    page.keyboard.press("Escape")
    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")
    page.keyboard.press("Escape")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")


def test_a_type_chosen_in_the_legend_shows_only_its_entities_and_their_records(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph")
    drawn_text = page.locator("#drawn")

    page.click("#legend [data-type=technology]")

    expect(drawn_text).to_have_text("7 of 7 entities and 3 of 3 records drawn")
    expect(page.locator("#legend [data-type=technology]")).to_be_focused()
    page.click("#legend [data-type=pattern]")
    expect(drawn_text).to_have_text("9 of 9 entities and 4 of 4 records drawn")
    page.click("#chips [aria-label='Remove filter: entity technology']")
    expect(drawn_text).to_have_text("2 of 2 entities and 2 of 2 records drawn")


def test_a_dragged_entity_stays_where_it_was_dropped(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph")
    x, y = point(page, "Redis")

    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 40, steps=5)
    page.mouse.up()

    page.click("#fit")
    page.keyboard.press("Escape")
    moved = point(page, "Redis")
    assert abs(moved[0] - x) + abs(moved[1] - y) > 20
    expect(page.locator("#panel h1")).to_have_text("What is remembered of shop")


def test_dragging_the_background_moves_the_drawing_and_fit_recentres_it(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph")
    before = point(page, "shop")

    page.mouse.move(40, 120)
    page.mouse.down()
    page.mouse.move(140, 170, steps=5)
    page.mouse.up()

    moved = point(page, "shop")
    assert (round(moved[0] - before[0]), round(moved[1] - before[1])) == (100, 50)
    page.click("#fit")
    after = point(page, "shop")
    assert (round(after[0]), round(after[1])) == (round(before[0]), round(before[1]))
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")


def test_a_touch_on_a_phone_selects_an_entity(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph", **PHONE)
    x, y = point(page, "PostgreSQL")

    page.touchscreen.tap(x + 6, y + 6)

    expect(page.locator("#panel h1")).to_have_text("PostgreSQL")


def test_a_graph_of_ten_thousand_entities_first_draws_only_the_best_known(
    open_page: Opener,
) -> None:
    page = open_page(large().made(), "#/graph")

    expect(page.locator("#drawn")).to_have_text(
        "900 of 10,000 entities drawn · zoom in for more", timeout=30_000
    )
    page.fill("#find", "decision-9992")
    page.press("#find", "ArrowDown")
    page.press("#find", "Enter")
    expect(page.locator("#panel h1")).to_have_text("decision-9992")
    wait(page)
    expect(page.locator("#drawn")).not_to_contain_text("10,000")
    expect(page.locator("#drawn")).to_contain_text("entities drawn")
    assert 1 < drawn(page) <= 300


def test_neighbours_of_an_expanded_entity_are_drawn_even_when_zoomed_out(open_page: Opener) -> None:
    made = large(3000, 4500).made()
    hub = max(range(3000), key=lambda n: sum(r["to"] == n for r in made["relations"]))
    page = open_page(made, f"#/graph/{made['entities'][hub]['name']}")
    wait_for_frames(page)
    before = drawn(page)

    page.keyboard.press("e")
    page.click("#fit")

    until(lambda: drawn(page) > max(before, 900))
    expect(page.locator("#drawn")).not_to_contain_text("900 of")
    page.keyboard.press("Escape")
    expect(page.locator("#drawn")).to_contain_text("900 of 3,000 entities drawn")


def test_zooming_in_draws_entities_left_out_of_the_overview(open_page: Opener) -> None:
    page = open_page(large(3000, 4500).made(), "#/graph")
    expect(page.locator("#drawn")).to_contain_text("900 of 3,000 entities drawn")

    for _ in range(6):
        page.click("#zoom-in")

    expect(page.locator("#drawn")).to_contain_text("the rest is outside the view")


def test_a_graph_without_matches_says_so_and_offers_to_clear_the_filters(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph?type=agent&scope=user")

    expect(page.locator("#stage-note")).to_contain_text("No entities pass the filters in force.")
    page.click("#stage-note button")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")


def test_a_page_saved_with_a_focused_entity_opens_with_that_entity(open_page: Opener) -> None:
    made = shop()
    made.focus = "pgvector"

    page = open_page(made.made())

    expect(page.locator("#panel h1")).to_have_text("pgvector")
    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")

"""Records in the graph, groups that hang together, and the same as a list and by keyboard."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from viewer.conftest import Opener, expect_place, expect_value, reload, wait_for_frames
from viewer.pictures import Pictured, shop


def islands(alone: int = 40) -> Pictured:
    """Two groups, of which the larger is known less, a pair, and much that nothing connects."""
    made = Pictured()
    large = [made.entity(f"part-{n}", "component", days=50) for n in range(12)]
    for other in large[1:]:
        made.relation(large[0], "contains", other)
    small = [made.entity(f"core-{n}", "technology", *["said"] * 9, days=1) for n in range(4)]
    for other in small[1:]:
        made.relation(small[0], "uses", other)
    told = made.entity("vault", "tool", days=3)
    made.record("Keys lie in the vault", "constraint", days=3, entities=[told])
    for n in range(alone):
        made.entity(f"stray-{n}", "technology", *["said"] * 12, days=1)
    made.record("Nothing is named here", "note", days=1)
    return made


def spots(page: Page, *more: str) -> Any:
    """Return the place of each entity of the groups, and of more, in the window."""
    names = [*(f"part-{n}" for n in range(12)), *(f"core-{n}" for n in range(4)), "vault", *more]
    wait_for_frames(page)
    return page.evaluate(
        "names => Object.fromEntries(names.map(n => [n, memoryFabric.spot(n)]))", names
    )


def spot(page: Page, name: str) -> Any:
    """Return the place of an entity in the window, once it is drawn there."""
    wait_for_frames(page)
    return page.evaluate("name => memoryFabric.spot(name)", name)


def test_the_graph_draws_connected_groups_apart_and_hides_unconnected_entities(
    open_page: Opener,
) -> None:
    page = open_page(islands().made(), "#/graph")

    expect(page.locator("#drawn")).to_have_text("17 of 17 entities and 1 of 1 record drawn")
    found = spots(page)
    large = [place for name, place in found.items() if name.startswith("part")]
    others = [place for name, place in found.items() if not name.startswith("part")]
    middle = {axis: sum(one[axis] for one in large) / len(large) for axis in "xy"}
    reach = max(abs(one["x"] - middle["x"]) for one in large)
    apart = [abs(one["x"] - middle["x"]) + abs(one["y"] - middle["y"]) for one in others]
    assert min(apart) > reach / 2
    assert reach > 60  # the window is theirs

    expect(page.locator("#show-alone")).to_have_text("Show 41 without connections")
    page.focus("#show-alone")
    page.keyboard.press("Enter")

    expect(page.locator("#drawn")).to_have_text("57 of 57 entities and 2 of 2 records drawn")
    expect(page.locator("#show-alone")).to_be_focused()
    found = spots(page, "stray-3")
    stray = found.pop("stray-3")
    assert stray["y"] > max(one["y"] for one in found.values())
    reload(page)
    expect(page.locator("#drawn")).to_contain_text("57 of 57 entities")


def test_entities_are_drawn_even_if_there_are_no_relations(open_page: Opener) -> None:
    made = Pictured()
    for n in range(3):
        made.entity(f"stray-{n}")

    page = open_page(made.made(), "#/graph")

    expect(page.locator("#drawn")).to_have_text("3 of 3 entities drawn")
    expect(page.locator("#show-alone")).to_have_count(0)


def test_a_link_to_an_unconnected_entity_draws_that_entity_in_the_graph(open_page: Opener) -> None:
    page = open_page(islands(2).made(), "#/graph/stray-1")

    expect(page.locator("#panel h1")).to_have_text("stray-1")
    expect(page.locator("#drawn")).to_contain_text("18 of 18 entities")


def test_a_record_in_the_graph_links_to_its_entities_and_to_the_timeline(
    open_page: Opener,
) -> None:
    made = shop().made()
    record = next(one for one in made["records"] if one["what"].startswith("We use PostgreSQL"))
    page = open_page(made, f"#/graph/~record-{record['short_id']}")

    panel = page.locator("#panel")
    expect(panel.locator("h1")).to_have_text(record["what"])
    expect(panel).to_contain_text("because one database to back up")
    expect(panel.locator(".foot")).to_contain_text("said by you · by ann")
    expect(panel.locator("#near a")).to_have_text(["shop", "PostgreSQL"])
    page.click("#focus")
    expect(page.locator("#drawn")).to_have_text("2 of 2 entities and 1 of 1 record drawn")
    panel.locator("a", has_text="Open").click()

    expect(page.locator(".card.wanted .what")).to_have_text(record["what"])


def test_records_can_be_filtered_by_kind_or_hidden(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph")

    page.click("#legend [data-record=blocker]")
    expect(page.locator("#drawn")).to_have_text("2 of 2 entities and 1 of 1 record drawn")
    page.click("#legend [data-record=blocker]")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")
    page.click("#show-records")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities drawn")
    expect_value(page, "memoryFabric.edges", 23)
    expect(page.locator("#show-records")).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("t")
    expect(page.locator("#records .card").first).to_be_visible()
    page.keyboard.press("g")

    expect_place(page, "#/graph?records=off")
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities drawn")


def test_the_list_view_of_the_graph_shows_connected_groups_with_the_largest_first(
    open_page: Opener,
) -> None:
    page = open_page(islands(2).made(), "#/graph")

    page.keyboard.press("l")

    expect(page.locator("#canvas")).to_be_hidden()
    expect(page.locator("#graph-list h2")).to_have_text(
        [
            "Group 1: part-0 12 entities",
            "Group 2: core-0 4 entities",
            "Group 3: vault 1 entity, 1 record",
        ],
        use_inner_text=True,
    )
    rows = page.locator("#graph-list li")
    expect(rows.nth(0)).to_have_text(re.compile("part-0 component *contains part-1, contains"))
    expect(rows.nth(12)).to_contain_text("uses core-1, uses core-2, uses core-3")
    expect(page.locator("#graph-list li", has_text="Keys lie")).to_contain_text("about vault")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("part-1")
    expect(page.locator("#graph-list [aria-current]")).to_have_text("part-1")
    expect(page.locator("#graph-list [aria-current]")).to_be_focused()
    reload(page)
    expect(page.locator("#graph-list h2").first).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator("#canvas")).to_be_visible()
    expect(page.locator("#panel h1")).to_have_text("part-1")


def test_a_node_can_be_selected_by_keyboard_and_is_announced(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph")
    expect(page.locator("#canvas")).to_have_attribute(
        "aria-label", re.compile(r"^Drawing of the graph: 1 group\..*list")
    )
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")

    page.locator("#canvas").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("shop")
    before = spot(page, "shop")
    page.keyboard.press("ArrowRight")

    expect(page.locator("#panel h1")).not_to_have_text("shop")
    name = page.locator("#panel h1").inner_text()
    expect(page.locator("#said")).to_contain_text(name[:20])
    expect(page.locator("#canvas")).to_be_focused()
    selected = spot(page, name)
    assert selected["x"] > before["x"]
    page.keyboard.press("Shift+ArrowRight")
    assert spot(page, name)["x"] < selected["x"]

"""The page on a phone: what fits, and what a thumb can hit."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from viewer.conftest import PHONE, Opener, show, wait_for_frames
from viewer.pictures import Pictured, shop

# Each of another view than the one before.
PLACES = (
    "#/timeline",
    "#/knowledge",
    "#/timeline/00000003",
    "#/search?q=pagination",
    "#/graph",
    "#/search?q=zebra",
    "#/entity/PostgreSQL",
    "#/search",
    "#/graph/PostgreSQL",
    "#/status",
)
# Controls of which one side is below 44 px. Links within a sentence or a line of facts are exempt
# (WCAG 2.5.8), as is the link to the content, which no finger uses.
SMALL = """() => [...document.querySelectorAll(
    "button, summary, select, input, nav a, a.plain-button, .what > a, .rows > li > a, .near a")]
    .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.closest("#keys"))
    .map((one) => [one, one.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.height < 43.5 || box.width < 43.5))
    .map(([one, box]) => `${one.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`)"""


def test_every_control_is_large_enough_to_touch(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/status", **PHONE)
    small = {}

    for place in PLACES:
        show(page, place)
        wait_for_frames(page)
        small[place] = page.evaluate(SMALL)

    assert not any(small.values()), small


def test_filter_controls_are_large_enough_to_touch(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline?record=decision&trust=user", **PHONE)
    page.tap("#filter")
    expect(page.locator("#filters [data-filter=record]").first).to_be_visible()

    wait_for_frames(page)
    assert page.evaluate(SMALL) == []


@pytest.mark.parametrize("name", ["shop", "a-project-with-quite-a-long-name-for-a-phone"])
def test_the_search_box_has_its_own_row_on_a_phone(open_page: Opener, name: str) -> None:
    page = open_page({**shop().made(), "project": {"name": name, "id": "x"}}, **PHONE)

    box = page.locator("#find").bounding_box()

    assert box and box["width"] >= 350 and box["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_search_box_has_its_own_row_on_a_tablet(open_page: Opener) -> None:
    page = open_page(shop().made(), viewport={"width": 768, "height": 1024})

    box = page.locator("#find").bounding_box()

    assert box and box["width"] > 700


def test_a_long_word_or_a_wide_code_block_does_not_widen_the_page(open_page: Opener) -> None:
    made = Pictured()
    x = made.entity("x" * 300, "tool", "y" * 600, days=1)
    made.record(f"```\n{'z' * 400}\n```\n- **{'w' * 400}**\n- `{'v' * 300}`", "note", entities=[x])

    for place in ("#/timeline", "#/timeline/00000001", "#/knowledge", "#/search?q=zz"):
        page = open_page(made.made(), place, **PHONE)
        wait_for_frames(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_card_buttons_are_always_visible_only_on_touch_screens(
    open_page: Opener,
) -> None:
    made = {**shop().made(), "live": True, "takes_changes": True}
    opacity = "node => getComputedStyle(node).opacity"

    page = open_page(made, "#/timeline", **PHONE)
    assert page.locator("#records .actions").first.evaluate(opacity) == "1"

    page = open_page(made, "#/timeline", has_touch=False)
    buttons = page.locator("#records .actions")
    assert [buttons.nth(n).evaluate(opacity) for n in (0, 1)] == ["0", "0"]
    page.locator("#records .card").nth(0).hover()
    assert [buttons.nth(n).evaluate(opacity) for n in (0, 1)] == ["1", "0"]
    page.mouse.move(0, 0)
    buttons.nth(1).locator("button").first.focus()
    assert [buttons.nth(n).evaluate(opacity) for n in (0, 1)] == ["0", "1"]

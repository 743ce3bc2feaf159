"""The page as a whole: keys, themes, sizes, hostile texts, nothing to show, links from outside."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from viewer.conftest import (
    PHONE,
    Opener,
    expect_place,
    expect_value,
    reload,
    show,
    wait,
    wait_for_frames,
)
from viewer.pictures import Pictured, shop, tier

PLACES = (
    "#/knowledge",
    "#/graph",
    "#/graph/PostgreSQL?steps=2",
    "#/timeline",
    "#/search?q=pagination",
    "#/entity/PostgreSQL",
    "#/status",
)
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    '" onmouseover="alert(4)',
    "{{constructor.constructor('alert(5)')()}}",
    "__proto__",
    "constructor",
    "~3",
    "a/b?c#d&e=%E0%A4%A",
    "javascript:alert(6)",
    "🧑‍🚒 crew",
    "שלום",
)


def test_every_view_has_a_url_and_is_restored_after_a_reload(open_page: Opener) -> None:
    made = shop().made()
    for place in PLACES:
        page = open_page(made, place)
        before = page.locator("#main h1").first.inner_text()

        reload(page)

        expect(page.locator("#main h1").first).to_have_text(before)
        expect_place(page, place)


def test_every_view_can_be_reached_by_keyboard(open_page: Opener) -> None:
    page = open_page(shop().made())
    heading = page.locator("#main h1").first

    expect(heading).to_have_text("What is remembered of shop")
    for key, words in (("s", "Search"), ("i", "Status"), ("t", "What is remembered of shop")):
        page.keyboard.press(key)
        expect(heading).to_have_text(words)
    page.keyboard.press("t")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".card.wanted .what")).to_contain_text("Payment webhooks")
    page.keyboard.press("Escape")
    expect(page.locator(".card.wanted")).to_have_count(0)


def test_a_shortcut_pressed_right_after_changing_the_view_acts_on_the_new_view(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/graph")

    # In one task: the browser tells nothing between two keys.
    found = page.evaluate("""() => {
        for (const key of ["t", "j"])
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        return [document.activeElement.matches("[data-row], [data-row] *"), location.hash];
    }""")

    assert found == [True, "#/timeline"]
    page.go_back()
    expect(page.locator("#drawn")).to_have_text("20 of 20 entities and 8 of 8 records drawn")


def test_the_graph_can_be_operated_by_keyboard(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph/pgvector")

    page.keyboard.press("f")
    expect(page.locator("#drawn")).to_have_text("3 of 3 entities and 1 of 1 record drawn")
    page.keyboard.press("2")
    expect(page.locator("#drawn")).to_have_text("7 of 7 entities and 3 of 3 records drawn")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h1")).to_have_text("RAG")
    page.keyboard.press("g")
    expect(page.locator("#panel h1")).to_have_text("What is remembered of shop")
    wait(page)
    fitted = zoom(page)
    page.keyboard.press("+")
    assert zoom(page) == pytest.approx(1.5 * fitted)
    page.keyboard.press("0")
    assert zoom(page) == pytest.approx(fitted)


def zoom(page: Page) -> float:
    """Return the zoom of the graph, once it is drawn so."""
    wait_for_frames(page)
    return float(page.evaluate("memoryFabric.zoom"))


def test_the_help_lists_the_keys_and_escape_closes_it(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    page.keyboard.press("?")

    expect(page.locator("#keys")).to_be_visible()
    expect(page.locator("#keys")).to_contain_text("previous in a list")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    expect(page.locator("#main h1")).to_have_text("What is remembered of shop")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_uses_the_light_or_dark_theme_of_the_system(
    open_page: Opener, scheme: str
) -> None:
    page = open_page(shop().made(), color_scheme=scheme)

    expect(page.locator("html")).to_have_attribute("data-theme", scheme)


def test_a_chosen_theme_is_remembered(open_page: Opener) -> None:
    page = open_page(shop().made(), color_scheme="light")

    page.click("#theme")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    reload(page)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_no_view_scrolls_sideways_on_a_phone(open_page: Opener) -> None:
    page = open_page(hostile().made(), "#/timeline", **PHONE)
    assert fits(page)

    page = open_page(shop().made(), "#/timeline", **PHONE)
    for place in ("#/knowledge", *PLACES[3:], "#/graph", "#/status", "#/graph/PostgreSQL?steps=2"):
        show(page, place)
        assert fits(page), place


def test_the_view_tabs_are_at_the_bottom_of_the_screen_on_a_phone(open_page: Opener) -> None:
    page = open_page(shop().made(), **PHONE)

    page.tap("#tab-timeline")
    expect(page.locator("#said")).to_have_text("Timeline · shop · memory")
    expect(page.locator("#main h1")).to_have_text("What is remembered of shop")
    page.tap("#filter")
    page.tap("[data-filter=record][data-value=blocker]")
    expect(page.locator("#records .card")).to_have_count(1)
    wait_for_frames(page)
    box = page.locator("#tab-status").bounding_box()
    assert box and box["height"] >= 44 and box["y"] > 700


def test_every_text_has_sufficient_contrast_with_its_background(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/status")
    faint = {}
    themes: tuple[Literal["dark", "light"], ...] = ("dark", "light")

    for place in (
        *("#/graph/PostgreSQL", "#/timeline/00000003", "#/knowledge", "#/search?q=pagination"),
    ):
        show(page, place)
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            expect(page.locator("html")).to_have_attribute("data-theme", theme)
            wait_for_frames(page)
            faint[place, theme] = page.evaluate(FAINT)

    assert not any(faint.values()), faint


def test_every_control_has_an_accessible_name(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/graph/PostgreSQL?steps=1")
    page.keyboard.press("v")

    expect(page.locator("#filters [data-filter=record]").first).to_be_visible()
    for control in page.locator("button, a, input, summary").all():
        if control.is_visible():
            snapshot = control.aria_snapshot()
            assert re.search(r'"[^"]+"|: \S', snapshot), control.evaluate("x => x.outerHTML")


def hostile() -> Pictured:
    """A memory whose names, types and texts try to be more than that."""
    made = Pictured("<b>shop</b>")
    for name in HOSTILE:
        number = made.entity(name, name, name, f"<b>{name}</b>", days=1, domain=name)
        made.record(
            f"{name} was decided", name, entities=[number], why=name, alternatives=[name], days=1
        )
        made.change(name, number)
    made.entity("x" * 10_240, "technology", "y" * 10_240, days=1)
    made.entity("nul\x00bell\x07 rtl\u202egnp.exe zero\u200bwidth half\ud800", "tool", days=1)
    for number in range(1, len(made.entities)):
        made.relation(0, HOSTILE[number % len(HOSTILE)], number)
    made.tiers = [tier("graph", "constructor", ("<i>broken</i>", "<u>mend</u>"))]
    return made


def test_an_entity_name_that_contains_markup_is_shown_as_text_in_every_view(
    open_page: Opener,
) -> None:
    page = open_page(hostile().made(), "#/status")

    for name in HOSTILE:
        show(page, "#/search")
        page.locator("[data-row]", has_text=re.compile(f"^{re.escape(name)}$")).click()

        expect(page.locator(".entity-page h1")).to_have_text(name)
        expect(page.locator(".observations li").nth(1)).to_contain_text(f"<b>{name}</b>")
        assert only_ours(page), name
        reload(page)
        expect(page.locator(".entity-page h1")).to_have_text(name)
        page.click("#show-in-graph")
        expect(page.locator("#panel h1")).to_have_text(name)
        wait(page)
        assert only_ours(page), name


def test_texts_that_contain_markup_add_no_element(open_page: Opener) -> None:
    page = open_page(hostile().made(), "#/knowledge")

    for place in ("#/graph", "#/timeline", "#/search?q=alert", "#/status"):
        show(page, place)
        assert only_ours(page), place


def test_invisible_characters_are_shown_as_visible_markers(open_page: Opener) -> None:
    page = open_page(hostile().made(), "#/search?q=bell")

    expect(page.locator(".hit .what")).to_have_text(
        "nul␀bell␇ rtl⟨202E⟩gnp.exe zero⟨200B⟩width half⟨D800⟩"
    )


def test_an_entity_name_of_ten_thousand_letters_does_not_widen_the_page(open_page: Opener) -> None:
    page = open_page(hostile().made(), "#/search?q=" + "x" * 300)
    page.goto(page.url.split("#")[0] + f"#/entity/~{len(HOSTILE)}")

    expect(page.locator("h1")).to_have_text("x" * 10_240)
    assert fits(page)


def test_the_page_of_an_empty_memory_explains_how_to_fill_the_memory(open_page: Opener) -> None:
    empty = Pictured("").made()

    page = open_page(empty)

    for key, place in (("", "#records"), ("g", "#panel")):
        if key:
            page.keyboard.press(key)
        shown = page.locator(f"{place} .nothing")
        expect(shown.locator("h1")).to_have_text("Nothing is remembered yet")
        expect(shown).to_contain_text("memory-fabric remember")
        expect(shown).to_contain_text("memory-fabric learn")
    page.keyboard.press("s")
    expect(page.locator(".nothing")).to_contain_text("Nothing to search in yet.")


def test_a_project_with_only_expired_records_is_not_shown_as_empty(open_page: Opener) -> None:
    made = Pictured()
    for number in range(25):
        made.record(f"Fact {number}", "note", valid_to="2026-01-01T00:00:00.000Z", days=300)

    page = open_page(made.made(), "#/graph")

    expect(page.locator("#panel .nothing h1")).to_have_text("Nothing stands now")
    expect(page.locator("#panel .nothing")).to_contain_text("25 records of shop")
    page.click("#panel .nothing a")
    expect(page.locator("#records .card")).to_have_count(25)


def test_a_single_entity_without_observations_or_relations_is_shown(open_page: Opener) -> None:
    made = Pictured()
    made.entity("", "", days=1)

    page = open_page(made.made())

    expect(page.locator(".nothing h1")).to_have_text("No records of shop yet")
    page.keyboard.press("g")

    expect(page.locator("#drawn")).to_have_text("1 of 1 entity drawn")


def test_the_status_view_explains_a_degraded_storage_tier_and_shows_the_remedy(
    open_page: Opener,
) -> None:
    made = shop()
    made.tiers[1] = tier("local", "degraded", ("2 lines unreadable, line 7.", "Look at line 7."))

    page = open_page(made.made(), "#/status")

    card = page.locator(".tier", has_text="local")
    expect(card.locator("h2")).to_contain_text("degraded")
    expect(card).to_contain_text("2 lines unreadable, line 7.")
    expect(card.locator(".remedy")).to_have_text("→ Look at line 7.")
    expect(page.locator(".tier").first).to_contain_text("2 hours old, sound")
    expect(page.locator("#left-out")).to_have_text("Left out, to keep it quick: 120 changes.")
    page.keyboard.press("g")
    expect(page.locator("#panel")).to_contain_text("local degraded")


def test_without_javascript_the_page_shows_an_explanation(open_page: Opener) -> None:
    address = open_page(shop().made()).url

    page = open_page.browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)

    expect(page.locator("noscript p")).to_be_visible()
    page.context.close()


def fits(page: Page) -> bool:
    """True if the page, as it is drawn, is not wider than its window."""
    wait_for_frames(page)
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def only_ours(page: Page) -> bool:
    """True if the page has no element and no attribute that only a text of memory could make."""
    wait_for_frames(page)
    found: Any = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((node) =>
            ["IMG", "B", "I", "U", "IFRAME", "OBJECT"].includes(node.tagName)
            || [...node.attributes].some((a) => a.name.startsWith("on"))
            || /^javascript:/i.test(node.getAttribute("href") ?? "")).length
            + document.querySelectorAll("script").length"""
    )
    return bool(found == 3)


# Texts whose contrast with the ground behind them is below 4.5, by the formula of WCAG 2.
FAINT = """() => {
  const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const rgba = (text) => {
    const found = text.match(/[\\d.]+/g).map(Number);
    return text.startsWith("color(") ? [...found.slice(0, 3).map((c) => c * 255), found[3] ?? 1]
      : [...found.slice(0, 3), found[3] ?? 1];
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0.5) return colour;
    }
    return [255, 255, 255, 1];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const silent = !walker.currentNode.data.trim() || node.closest("noscript, script");
    if (silent || !node.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.push(`${walker.currentNode.data.slice(0, 30)} ${contrast.toFixed(2)}`);
  }
  return bad;
}"""


def test_escape_goes_back_to_the_previous_view_but_never_leaves_the_page(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")
    page.keyboard.press("s")
    page.wait_for_url("**#/search")

    page.keyboard.press("Escape")
    page.wait_for_url("**#/timeline")
    expect(page.locator("#records .card").first).to_be_visible()

    for _ in range(2):
        page.evaluate("document.querySelector('#main > *').id = 'before'")
        page.keyboard.press("Escape")
        expect(page.locator("#before")).to_have_count(0)
        expect(page.locator("#records .card").first).to_be_visible()


def test_escape_pressed_immediately_after_opening_a_view_returns_to_the_previous_view(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/timeline")

    # In one task, so that the browser could not tell of the step before the key came.
    page.evaluate("""() => {
        window.arrivals = [];
        addEventListener("hashchange", (event) => arrivals.push(new URL(event.newURL).hash));
        location.hash = "#/status";
        document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
    }""")

    expect_value(page, "arrivals", ["#/status", "#/timeline"])
    expect_place(page, "#/timeline")
    expect(page.locator("#records .card").first).to_be_visible()


def test_escape_still_goes_back_to_the_previous_view_after_a_reload(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")
    page.keyboard.press("s")
    page.wait_for_url("**#/search")
    reload(page)

    page.keyboard.press("Escape")

    page.wait_for_url("**#/timeline")

"""The view of all that a project knows: its chapters, and how it is printed."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from viewer.conftest import PHONE, Opener, wait_for_frames
from viewer.pictures import Pictured, shop

HIDDEN = ("#bar", "#tabs", "#print", ".contents", ".skip")


def handbook() -> Pictured:
    """A memory with a record of each kind, and one that no longer holds."""
    made = Pictured()
    newer = made.record("We use **Postgres**", days=3, why="it has windows")
    made.record("We use MongoDB", days=200, superseded_by=newer, valid_to="2026-01-01")
    made.record("We use Redis", days=1)
    made.record("Never push to main", "constraint", days=4)
    made.record("Answer in metric units", "preference", days=5, scope="user")
    foreign = {"trust": "tool", "imported": "claude-mem", "author": ""}
    made.record("The table has a million rows", "note", days=6, **foreign)
    made.record("A pool mended it", "solution", days=7, trust="assistant")
    made.record("Offset pagination timed out", "antipattern", days=7)
    made.record("Should it move?", "question", days=8)
    made.record("It says what was done", "session", days=1)
    made.record("A kind of a later release", "hunch", days=9)
    return made


def chapters(page: Page) -> dict[str, list[str]]:
    """The words under each heading, in their order."""
    found: dict[str, list[str]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll(".knowledge section")].map(
            (one) => [one.querySelector("h2").textContent,
                [...one.querySelectorAll(".words")].map((words) => words.textContent)]))"""
    )
    return found


def test_the_knowledge_view_lists_current_records_by_kind_with_the_newest_first(
    open_page: Opener,
) -> None:
    page = open_page(handbook().made(), "#/knowledge")

    expect(page.locator("#main h1")).to_have_text("What shop knows")
    assert list(chapters(page).items()) == [
        ("Decisions", ["We use Redis", "We use Postgresbecause it has windows"]),
        ("Rules", ["Never push to main"]),
        ("Preferences", ["Answer in metric units"]),
        ("Facts", ["The table has a million rows"]),
        ("Fixes", ["A pool mended it"]),
        ("What failed", ["Offset pagination timed out"]),
        ("Open points", ["Should it move?"]),
        ("Others", ["A kind of a later release"]),
    ]
    expect(page.locator("#chapter-facts + ul .foot")).to_have_text("15 Nov 2026from claude-mem")
    expect(page.locator("#chapter-rules + ul .foot")).to_have_text("17 Nov 2026ann")
    expect(page.locator("#chapter-fixes + ul .foot")).to_have_text("14 Nov 2026the assistant")


def test_each_date_in_the_knowledge_view_links_to_its_record(
    open_page: Opener,
) -> None:
    page = open_page(handbook().made())

    page.click("#tab-knowledge")
    expect(page.locator("#main h1")).to_have_text("What shop knows")
    page.click("#chapter-rules + ul .foot a")

    expect(page.locator(".card.wanted .what")).to_have_text("Never push to main")


def test_a_url_opens_a_chapter_of_the_knowledge_view_with_filters_applied(
    open_page: Opener,
) -> None:
    page = open_page(handbook().made(), "#/knowledge/open?record=question")

    expect(page.locator("#chapter-open")).to_be_in_viewport()
    assert list(chapters(page)) == ["Open points"]


def test_the_print_version_is_black_on_white_without_the_controls_of_the_page(
    open_page: Opener,
) -> None:
    page = open_page(handbook().made(), "#/knowledge", color_scheme="dark")
    expect(page.locator("#print")).to_be_visible()

    page.emulate_media(media="print", color_scheme="dark")

    wait_for_frames(page)
    for part in HIDDEN:
        expect(page.locator(part).first).to_be_hidden()
    colours = "node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]"
    assert page.locator("html").evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert page.locator(".known .words").first.evaluate(colours)[0] == "rgb(0, 0, 0)"


def test_all_items_are_printed_and_none_is_split_across_sheets(open_page: Opener) -> None:
    made = Pictured()
    for number in range(300):
        made.record(f"Decision {number}: " + "words " * 30, days=number / 10)
    page = open_page(made.made(), "#/knowledge")
    expect(page.locator(".known > li")).to_have_count(300)

    page.emulate_media(media="print")

    wait_for_frames(page)
    rules = page.locator(".known > li").evaluate_all(
        """items => [...new Set(items.map((item) => {
            const { breakInside, contentVisibility, overflow } = getComputedStyle(item);
            return `${breakInside} ${contentVisibility} ${overflow}`; }))]"""
    )
    assert rules == ["avoid visible visible"]
    heights = page.locator(".known > li").evaluate_all("all => all.map((li) => li.offsetHeight)")
    assert len(heights) == 300 and min(heights) > 20
    assert len(page.pdf(format="A4")) > 20_000


def test_a_long_list_is_rendered_in_part_at_first_and_completely_for_printing(
    open_page: Opener,
) -> None:
    made = Pictured()
    for number in range(300):
        made.record(f"Decision {number}", days=number / 10)
        made.record(f"Rule {number}", "constraint", days=number / 10)
    page = open_page(made.made(), "#/timeline")

    counts = page.evaluate(
        """() => {
            const lists = document.getElementsByClassName("known");
            const rows = () => [...lists].map((list) => list.childElementCount);
            location.hash = "#/knowledge";
            dispatchEvent(new Event("hashchange"));
            const first = rows();
            dispatchEvent(new Event("beforeprint"));
            return [first, rows()];
        }"""
    )

    assert counts == [[40, 40], [300, 300]]


def test_the_rest_of_a_long_knowledge_list_loads_automatically_in_order_of_date(
    open_page: Opener,
) -> None:
    made = Pictured()
    for number in range(300):
        made.record(f"Decision {number}", days=number / 10)

    page = open_page(made.made(), "#/knowledge")

    expect(page.locator(".known > li")).to_have_count(300)
    assert chapters(page)["Decisions"] == [f"Decision {number}" for number in range(300)]
    assert page.locator(".known").evaluate("list => list.style.minHeight") == ""


def test_an_empty_knowledge_view_says_that_nothing_is_remembered_yet(open_page: Opener) -> None:
    page = open_page(Pictured().made(), "#/knowledge")

    expect(page.locator(".nothing h1")).to_have_text("Nothing is remembered of shop yet")
    expect(page.locator("#print")).to_have_count(0)


def test_the_knowledge_view_fits_the_width_of_a_phone(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/knowledge", **PHONE)

    wait_for_frames(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

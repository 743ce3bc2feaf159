"""Records through time: order, what replaced what, what held on a day, thousands of them."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from viewer.conftest import Opener, reload, wait_for_frames
from viewer.pictures import Pictured, large, shop


def told(page: Page) -> Locator:
    """Return the texts of the records in the page, in their order."""
    return page.locator("#records .what")


def expect_told(page: Page, texts: list[str]) -> None:
    """Until the page has these records and no other, in this order."""
    expect(told(page)).to_have_text(texts, use_inner_text=True)


def test_records_are_listed_newest_first_under_headings_of_month_and_day(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    expect(told(page).nth(0)).to_have_text("Payment webhooks arrive twice and charge twice")
    expect(told(page).nth(1)).to_have_text("Use cursor-based pagination for all list endpoints")
    expect(page.locator(".month").nth(0)).to_have_text("November 2026")
    expect(page.locator(".month").nth(1)).to_have_text("September 2026")
    expect(page.locator(".day").first).to_have_text("19 Nov 2026 2 days ago")


def test_a_card_shows_its_text_first_and_all_details_when_opened(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    card = page.locator(".card", has_text="Use cursor-based pagination for all")
    expect(card.locator("> :first-child")).to_have_class("what")
    expect(card).to_contain_text("because offset pagination timed out at 1M rows")
    expect(card).to_contain_text("instead of offset pagination")
    expect(card.locator(".foot")).to_have_text(
        "decision · 10:00 UTC · cursor-pagination, list-endpoints"
    )
    expect(page.locator(".card", has_text="everything that is stored").first).to_contain_text(
        "pinned"
    )

    card.locator(".what a").click()

    expect(page.locator(".card.wanted .foot.more")).to_have_text(
        "said by you · by ann · session session- · this project · 95 % sure · 00000003"
    )
    expect(page.locator(".foot.more")).to_have_count(1)


def test_a_reason_already_contained_in_the_text_of_a_record_is_not_shown_again(
    open_page: Opener,
) -> None:
    made = Pictured()
    made.record("Split the table because Old rows are seldom read.", why="old rows are seldom read")

    page = open_page(made.made(), "#/timeline")

    expect_told(page, ["Split the table because Old rows are seldom read."])
    expect(page.locator(".card .why")).to_have_count(0)


def test_the_text_of_a_card_is_larger_and_bolder_than_its_footer(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    style = "node => [getComputedStyle(node).fontSize, getComputedStyle(node).fontWeight]"
    what, foot = (
        [float(value.removesuffix("px")) for value in page.locator(part).first.evaluate(style)]
        for part in ("#records .what", "#records .foot")
    )

    assert what[0] > 1.2 * foot[0] and what[1] > foot[1]


def test_a_card_omits_details_that_are_the_same_for_all_records(
    open_page: Opener,
) -> None:
    page = open_page(large(50, 60, 60).made(), "#/timeline")

    expect(page.locator("#records .card").nth(30)).to_be_attached()
    for word in ("Commands", "sure", "said by you", "session", "team", "by ann"):
        expect(page.locator("#records").get_by_text(word)).to_have_count(0)
    expect(page.get_by_text("the commands that change it")).to_have_count(1)

    page.locator("#records .what a").first.click()

    expect(page.locator("#records .act")).to_have_text(["Commands"])


def test_an_imported_record_shows_the_program_it_came_from(open_page: Opener) -> None:
    made = Pictured()
    foreign = {"trust": "tool", "source": "import", "imported": "claude-mem", "author": ""}
    made.record("Timeouts were raised", "note", days=1, confidence=0.6, **foreign)
    made.record("The tool said it", "note", days=2, trust="tool", author="")

    page = open_page(made.made(), "#/timeline")

    feet = page.locator("#records .foot")
    expect(feet).to_have_text(
        [
            "fact · from claude-mem · 10:00 UTC",
            "fact · reported by a tool · 10:00 UTC",
        ]
    )


def test_a_replaced_record_is_struck_through_and_linked_with_its_replacement(
    open_page: Opener,
) -> None:
    page = open_page(shop().made(), "#/timeline")
    old = page.locator("article", has=page.locator(".what s"))
    expect(old.locator(".what s")).to_have_text("Orders are stored in MongoDB")

    old.locator(".chain a").click()

    new = page.locator(".card.wanted")
    expect(new.locator(".what")).to_have_text("We use PostgreSQL for everything that is stored")
    new.locator(".chain a").click()
    expect(page.locator(".card.wanted .what")).to_have_text("Orders are stored in MongoDB")


def test_the_timeline_shows_the_records_that_were_valid_on_a_chosen_date(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    page.click("#asof summary")
    page.fill("#asof-date", "2026-06-01")

    expect(page.locator("#asof-text")).to_have_text("What held on 1 Jun 2026: 2 records")
    expect_told(
        page, ["Offset pagination caused timeouts at 1M rows", "Orders are stored in MongoDB"]
    )
    expect(page.locator(".what s")).to_have_count(0)
    reload(page)
    expect(page.locator("#asof-text")).to_contain_text("What held on 1 Jun 2026")
    page.click("#asof-now")
    expect(page.locator("#asof-text")).to_contain_text("Everything")


def test_the_arrow_keys_move_the_date_slider_by_one_day(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline")

    page.click("#asof summary")
    page.focus("#asof-slider")
    for day in (20, 19, 18):
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#asof-text")).to_contain_text(f"What held on {day} Nov 2026")
        expect(page.locator("#asof-slider")).to_be_focused()

    expect(page.locator("#asof-text")).to_have_text("What held on 18 Nov 2026: 7 records")


def test_a_long_timeline_renders_only_the_records_near_the_visible_part(
    open_page: Opener,
) -> None:
    page = open_page(large(50, 60, 4000).made(), "#/timeline")
    expect(page.locator(".card", has_text="Record number 0 ")).to_be_visible()
    wait_for_frames(page)
    assert page.locator("#records .card").count() < 300

    page.evaluate("scrollTo(0, document.body.scrollHeight)")

    expect(page.locator(".card", has_text="Record number 3999 ")).to_be_visible()
    expect(page.locator(".card", has_text="Record number 0 ")).to_have_count(0)
    wait_for_frames(page)
    assert page.locator("#records .card").count() < 300


def test_a_link_to_one_of_thousands_of_records_scrolls_to_that_record(open_page: Opener) -> None:
    made = large(50, 60, 4000).made()

    page = open_page(made, f"#/timeline/{made['records'][3000]['short_id']}")

    expect(page.locator(".card.wanted")).to_be_in_viewport()
    expect(page.locator(".card.wanted")).to_contain_text("Record number 3000 ")


def test_a_link_to_a_missing_record_shows_that_the_record_does_not_exist(open_page: Opener) -> None:
    page = open_page(shop().made(), "#/timeline/ffffffff")

    expect(page.locator(".notice")).to_contain_text("There is no record ffffffff here.")


def test_the_date_slider_is_hidden_if_all_records_have_the_same_date(open_page: Opener) -> None:
    made = Pictured()
    made.record("We use Typer", days=0)

    page = open_page(made.made(), "#/timeline")

    expect_told(page, ["We use Typer"])
    expect(page.locator("#asof-slider")).to_have_count(0)


def test_a_record_card_lists_files_that_were_changed_or_deleted_since_the_record(
    open_page: Opener,
) -> None:
    picture = Pictured()
    picture.record("Cursors page through api.py", changed_files={"api.py": "changed"})
    picture.record("Deploys run deploy.sh", changed_files={"deploy.sh": "gone"})
    picture.record("Tests run in parallel")

    page = open_page(picture.made(), "#/timeline")

    expect(page.locator(".files")).to_have_text(
        ["api.py has changed since", "deploy.sh is gone"], use_inner_text=True
    )


def test_a_card_links_to_all_records_of_the_same_session(open_page: Opener) -> None:
    made = Pictured()
    made.record("We use Typer", days=0, session="aaaa1111-2", client="Codex")
    made.record("Never push to main", "constraint", days=1, session="aaaa1111-2", client="Codex")
    made.record("We use tabs", "preference", days=1, session="bbbb")
    page = open_page(made.made())
    expect(page.locator(".day").first).to_have_text("21 Nov 2026 today")
    page.locator("#records .what a").first.click()
    expect(page.locator(".foot.more")).to_contain_text(
        "said by you · by ann · in Codex · session aaaa1111 · this project"
    )

    page.locator(".session").click()

    expect_told(page, ["We use Typer", "Never push to main"])
    expect(page.locator(".notice")).to_contain_text("2 records of session aaaa1111-2 in Codex.")
    reload(page)
    expect_told(page, ["We use Typer", "Never push to main"])
    page.click("#all-sessions")
    expect(told(page)).to_have_count(3)


def test_filtering_by_kind_with_the_keyboard_keeps_the_focus_on_the_button(
    open_page: Opener,
) -> None:
    page = open_page(shop().made())

    page.focus("#kind-blocker")
    page.keyboard.press("Enter")

    expect_told(page, ["Payment webhooks arrive twice and charge twice"])
    expect(page.locator("#kind-blocker")).to_be_focused()
    expect(page.locator("#kind-blocker")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(told(page)).to_have_count(9)


def test_the_timeline_says_if_nothing_is_remembered_about_the_project_itself(
    open_page: Opener,
) -> None:
    made = Pictured()
    made.record("Write the failing test first", "preference", scope="user")

    page = open_page(made.made())

    expect(page.locator(".notice")).to_contain_text("Nothing is remembered of shop itself yet.")
    expect(page.locator(".notice")).to_contain_text("memory-fabric learn")

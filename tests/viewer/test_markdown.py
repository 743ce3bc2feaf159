"""Markdown of records: shown as what it means, and never as markup of the page."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Locator, Page, expect

from viewer.conftest import Opener, show, wait_for_frames
from viewer.pictures import Pictured

HOSTILE = (
    "**<img src=x onerror=alert(1)>**",
    "`</script><script>alert(2)</script>`",
    "```\n<iframe src=javascript:alert(3)></iframe>\n```",
    "[click](javascript:alert`4`)",
    "[click](https://evil.example)",
    '![x](data:text/html,<script>alert(5)</script>) " onmouseover="alert(6)',
    "- <svg/onload=alert(7)>\n- [a]: javascript:alert(8)",
    "# <b onclick=alert(9)>title</b>",
    "<https://evil.example> https://evil.example",
)
# Elements that a view is made of; nothing else may come from a text.
FOREIGN = "img, iframe, object, embed, form, b, i, style, script, [onclick], [onload], [onerror]"


def words_of(page: Page) -> Locator:
    """The words of the records in the timeline."""
    return page.locator("#records .what > a")


def shown(open_page: Opener, text: str, **more: str) -> Page:
    """The timeline of a memory with one record of these words."""
    made = Pictured()
    made.record(text, "note", days=1, **more)
    return open_page(made.made(), "#/timeline")


def test_bold_code_emphasis_and_lists_are_rendered(open_page: Opener) -> None:
    text = "# Timeouts\n**Raised** `statement_timeout` *twice*:\n\n- on staging\n  and locally\n"
    text += "- live"

    page = shown(open_page, text, why="the **auditors** ask")

    words = words_of(page)
    expect(words.locator("strong")).to_have_text(["Timeouts", "Raised"])
    expect(words.locator("code")).to_have_text("statement_timeout")
    expect(words.locator("em")).to_have_text("twice")
    expect(words.locator("ul li")).to_have_text(["on staging and locally", "live"])
    expect(page.locator(".why strong")).to_have_text("auditors")
    assert "*" not in words.inner_text() and "#" not in words.inner_text()


def test_numbered_lists_and_code_blocks_are_rendered_as_such(open_page: Opener) -> None:
    page = shown(open_page, "Deploy:\n1. build\n2. push\n```sh\nmake **all**\n  deploy\n```")

    expect(words_of(page).locator("ol li")).to_have_text(["build", "push"])
    code = words_of(page).locator("pre")
    expect(code).to_have_text("make **all**\n  deploy", use_inner_text=True)


def test_a_numbered_list_starts_with_the_number_in_the_text(open_page: Opener) -> None:
    page = shown(open_page, "1. build\n\n2. push\n\nLater:\n7) tag")

    numbers = words_of(page).locator("ol").evaluate_all("all => all.map((ol) => ol.start)")
    assert numbers == [1, 2, 7]


def test_a_hash_sign_at_the_end_of_a_heading_is_kept(open_page: Opener) -> None:
    page = shown(open_page, "# Port it to C#\nby June")

    expect(words_of(page).locator("strong")).to_have_text("Port it to C#")


LIKE_MARKDOWN = (
    "> 90 % of the lines are covered",
    ">= 3.11 is the least Python",
    "Run src/**/*.py and tests/**/*.py",
    "__init__ and snake_case_names stay",
    "2 * 3 * 4 is 24",
    "an open ** mark, an open ` too",
    "We use C# and F#",
    "1.5 is the factor",
    "* ",
)


def test_text_that_resembles_markdown_is_shown_unchanged(open_page: Opener) -> None:
    made = Pictured()
    for days, text in enumerate(LIKE_MARKDOWN):
        made.record(text, "note", days=days)

    page = open_page(made.made(), "#/timeline")

    expect(words_of(page)).to_have_text([text.strip() for text in LIKE_MARKDOWN])
    expect(words_of(page).locator("strong, em, code, ul, ol")).to_have_count(0)


def test_a_link_is_rendered_as_its_text_followed_by_its_address(open_page: Opener) -> None:
    page = shown(open_page, "See [the runbook](https://wiki.example/runbook) first")

    expect(words_of(page)).to_have_text("See the runbook (https://wiki.example/runbook) first")
    expect(page.locator("a[href^=http]")).to_have_count(0)


@pytest.mark.parametrize("text", HOSTILE)
def test_malicious_markdown_creates_no_active_element_or_external_link(
    open_page: Opener, text: str
) -> None:
    made = Pictured()
    x = made.entity("x", "tool", text, days=1)
    made.record(f"{text} x", "note", why=text, days=1, entities=[x])

    page = open_page(made.made(), "#/status")

    for place in ("#/timeline", "#/knowledge", "#/search?q=x", "#/entity/x"):
        show(page, place)
        wait_for_frames(page)
        expect(page.locator("#main")).to_contain_text(
            "javascript" if "javascript" in text else "alert" if "alert" in text else "evil.example"
        )
        expect(page.locator("#main").locator(FOREIGN)).to_have_count(0)
        leads = "[...document.links].every((a) => a.hash && a.pathname === location.pathname)"
        assert page.evaluate(leads), place


def test_a_long_text_of_markdown_characters_is_rendered_quickly(open_page: Opener) -> None:
    begun = time.monotonic()

    page = shown(open_page, "**`[*" * 25_000)

    expect(words_of(page)).to_be_attached()
    assert time.monotonic() - begun < 20

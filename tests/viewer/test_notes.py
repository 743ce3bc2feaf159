"""The note that says what was done: how long it stays, and that it stands in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from cli.shell import Shell
from servers.http.http_server import serving
from viewer.conftest import PHONE, wait, wait_for_frames

FIRST, SECOND = "Use cursor-pagination for the orders-api", "Always use UTC in the audit-log"
Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The address of a server of a memory with many records."""
    shell = Shell(tmp_path_factory.mktemp("notes"))
    for number in range(12):
        shell.remember(f"Keep export number{number} for {number} days")
    shell.remember(FIRST)
    shell.remember(SECOND)
    with serving(shell) as server:
        yield server.address


@pytest.fixture
def visit(browser: Browser, address: str) -> Any:
    """Opens a page with a clock that goes as the test says; a record was pinned in it."""
    opened: list[Page] = []

    def open_page(**context: Any) -> Page:
        page = browser.new_context(**{"reduced_motion": "reduce"} | context).new_page()
        opened.append(page)
        page.clock.install()
        page.goto(address)
        wait(page)
        pin(page)
        return page

    yield open_page
    for page in opened:
        page.context.close()


def pin(page: Page) -> None:
    """Pin a record, or unpin it, so that a note says that."""
    page.locator("#said").evaluate("said => said.replaceChildren()")
    page.get_by_role("button", name=f"in: {FIRST}").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#outcome")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("inned: ")


def test_a_notice_disappears_after_six_seconds(visit: Visit) -> None:
    page = visit()
    expect(page.get_by_role("status").filter(has_text="cursor-pagination").last).to_be_visible()

    page.clock.run_for(5_000)
    expect(page.locator("#outcome")).to_be_visible()
    page.clock.run_for(1_100)

    expect(page.locator("#outcome")).to_have_count(0)


def test_a_notice_stays_while_the_pointer_or_the_focus_is_on_it(visit: Visit) -> None:
    page = visit()
    stays: list[Callable[[], None]] = [
        lambda: page.locator("#outcome").hover(),
        lambda: page.locator("#outcome-undo").focus(),
    ]
    for stay in stays:
        stay()

        page.clock.run_for(60_000)
        expect(page.locator("#outcome")).to_be_visible()
        page.mouse.move(0, 0)
        page.locator("#main h1").evaluate("node => { node.tabIndex = -1; node.focus(); }")
        page.clock.run_for(6_100)

        expect(page.locator("#outcome")).to_have_count(0)
        pin(page)


def test_a_notice_disappears_when_the_user_leaves_its_view(visit: Visit) -> None:
    page = visit()
    for leave in (
        lambda: page.click("#tab-status"),
        lambda: page.keyboard.press("g"),
        lambda: page.evaluate("location.hash = '#/search'"),
    ):
        leave()

        expect(page.locator("#outcome")).to_have_count(0)
        page.click("#tab-timeline")
        pin(page)


def test_a_notice_on_a_phone_covers_only_the_tab_bar(visit: Visit) -> None:
    page = visit(**PHONE)

    wait_for_frames(page)
    tabs, note = page.locator("#tabs").bounding_box(), page.locator("#outcome").bounding_box()

    assert tabs and note
    assert note["y"] >= tabs["y"] - 1 and note["height"] <= tabs["height"] + 1
    assert (note["x"], note["width"]) == (0, 390)
    for button in ("#outcome-undo", "#outcome .close"):
        box = page.locator(button).bounding_box()
        assert box and min(box["width"], box["height"]) >= 44


def test_a_notice_about_a_problem_stays_until_it_is_closed(visit: Visit) -> None:
    page = visit()
    page.route("**/api/changes", lambda route: route.abort())
    page.get_by_role("button", name=f"in: {SECOND}").first.click()
    expect(page.get_by_role("alert")).to_contain_text("Start it again with memory-fabric serve")

    page.clock.run_for(60_000)
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_role("button", name="Close this note").click()

    expect(page.locator("#outcome")).to_have_count(0)

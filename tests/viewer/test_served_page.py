"""The page in a browser as people get it: from `serve`, with its key, and from `viz`, as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cli.shell import Shell
from command_line import run_here
from servers.http.http_server import Serving, serving
from viewer.conftest import Opener, reload


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a project of which something is remembered."""
    shell = Shell(tmp_path_factory.mktemp("served"))
    shell.remember("--why", "offsets are slow", "Use cursor-pagination for the orders-api")
    shell.remember("Always use UTC in the audit-log")
    return shell


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory."""
    with serving(shell) as found:
        yield found


@pytest.fixture
def page(open_page: Opener, server: Serving) -> Page:
    """The page behind the printed address; nothing may go wrong in it."""
    return open_page.visit(server.address)


def test_the_printed_address_opens_the_page_and_its_key_is_removed_from_the_url(
    page: Page, server: Serving
) -> None:
    expect(page).to_have_url(f"http://127.0.0.1:{server.port}/")
    expect(page.locator("#records .card")).to_have_count(2)
    assert page.evaluate("document.cookie") == ""

    reload(page)

    expect(page.locator("#records .card")).to_have_count(2)


def test_the_search_of_the_page_finds_the_same_as_the_recall_command(page: Page) -> None:
    page.fill("#find", "paginating orders")
    page.press("#find", "Enter")

    first = page.locator(".hit").first
    expect(first).to_contain_text("Use cursor-pagination for the orders-api")
    expect(first).to_contain_text("relevance:")


def test_the_page_of_an_entity_shows_its_history(page: Page, server: Serving) -> None:
    page.goto(f"http://127.0.0.1:{server.port}/#/entity/cursor-pagination")

    expect(page.locator("#history li").first).to_contain_text("remembered decision")


def test_selecting_another_project_shows_its_graph_and_search_results(
    page: Page, shell: Shell
) -> None:
    folder = shell.project.parent / "billing"
    (folder / ".git").mkdir(parents=True)
    words = ("remember", "Use Stripe for the invoices")
    assert run_here(words, shell.environ, folder, "").status == 0

    reload(page)
    page.click("#project")
    page.click("#projects a:has-text('billing')")

    expect(page.locator("#records .what")).to_have_text(["Use Stripe for the invoices"])
    page.click("#records [data-act$=Pin]")
    expect(page.locator("#records .pin")).to_be_visible()
    changed = run_here(("history", "--limit", "1"), shell.environ, folder, "").out
    assert "pinned" in changed and "Stripe" in changed
    assert "pinned" not in shell.run("history", "--limit", "1").out
    page.click("#project")
    page.click("#projects a:has-text('shop')")
    expect(page.locator("#records .card")).to_have_count(2)
    expect(page.locator("#outcome")).to_have_count(0)
    page.go_back()
    expect(page.locator("#records .what")).to_have_text(["Use Stripe for the invoices"])
    page.fill("#find", "invoicing")
    page.press("#find", "Enter")
    expect(page.locator(".hit").first).to_contain_text("Use Stripe for the invoices")
    page.keyboard.press("i")
    expect(page.locator(".tier").first).to_contain_text("billing-")
    page.keyboard.press("g")
    expect(page.locator("#panel")).to_contain_text("Stripe")


def test_the_file_written_by_viz_opens_with_the_entity_given_to_the_command(
    shell: Shell, open_page: Opener, tmp_path: Path
) -> None:
    target = tmp_path / "memory.html"
    shell.run("viz", "cursor-pagination", "--out", str(target), "--no-open")

    page = open_page.visit(target.as_uri())

    expect(page.locator("body")).to_contain_text("offsets are slow")

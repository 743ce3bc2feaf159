"""A real browser, and pages opened in it that must stay silent: no error, no request, no dialog."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from memory_fabric.viewer.page import page as page_of
from waiting import until

# What a phone of these days is to a page.
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 3,
}
# What is expected comes at once, or late on a loaded machine.
expect.set_options(timeout=30_000)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


# A module's, not the session's: while it lives, nothing else can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert path, "No chromium is here; scripts/prepare browser gets it."
    # chromium has no sandbox for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="module")
def lasting_page(browser: Browser) -> Page:
    """The page into which tests of files load theirs: a context for each costs four times that."""
    return browser.new_context(reduced_motion="reduce").new_page()


class Opener:
    """Opens pages and notes what a page of ours never does."""

    def __init__(self, browser: Browser, folder: Path, lasting_page: Page) -> None:
        self.browser = browser
        self.folder = folder
        self.complaints: list[str] = []
        self._lasting_page = lasting_page
        self._listening: list[tuple[Page, str, Callable[[Any], None]]] = []

    def __call__(self, picture: Mapping[str, Any], place: str = "", **context: Any) -> Page:
        """A page with this picture at this place, ready to be used."""
        path = self.folder / "memory.html"
        path.write_text(page_of(picture), "utf-8")
        address = path.as_uri() + place
        if context or self._listening:  # another one, or a second beside the first
            return self.visit(address, **context)
        return self._load(self._lasting_page, address)

    def visit(self, address: str, **context: Any) -> Page:
        """The page at an address, ready to be used; it moves nothing smoothly."""
        page = self.browser.new_context(**{"reduced_motion": "reduce"} | context).new_page()
        return self._load(page, address)

    def _load(self, page: Page, address: str) -> Page:
        origin = address.split("#")[0]
        self._listen(page, "console", lambda said: self.note("console", said.type, said.text))
        self._listen(page, "pageerror", lambda error: self.note("error", str(error)))
        self._listen(page, "dialog", lambda dialog: self.note("dialog", dialog.message))
        self._listen(page, "request", lambda asked: self.watch(asked.url, origin))
        page.goto(address)
        wait(page)
        return page

    def _listen(self, page: Page, event: Any, listener: Callable[[Any], None]) -> None:
        page.on(event, listener)
        self._listening.append((page, event, listener))

    def close(self) -> None:
        """Close all pages but the lasting one, in which nothing is left of this test."""
        for context in self.browser.contexts:
            if context is not self._lasting_page.context:
                context.close()
        for page, event, listener in self._listening:
            page.remove_listener(event, listener)
        if any(page is self._lasting_page for page, _, _ in self._listening):
            self._lasting_page.evaluate("localStorage.clear()")
            self._lasting_page.mouse.move(-1, -1)
            # A file, as the next page is: from there the browser needs no other process.
            nothing = self.folder / "nothing.html"
            nothing.touch()
            self._lasting_page.goto(nothing.as_uri())

    def note(self, *what: str) -> None:
        """Keep a complaint."""
        self.complaints.append(" ".join(what))

    def watch(self, url: str, origin: str) -> None:
        """A request beside the page itself, its own server and what stands in it."""
        same_server = origin.startswith("http") and url.startswith(origin)
        if not (same_server or url.split("#")[0] == origin or url.startswith("data:")):
            self.note("request", url)


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path, lasting_page: Page) -> Iterator[Opener]:
    """Opens pages; when the test is over, nothing may have gone wrong in any of them."""
    opener = Opener(browser, tmp_path, lasting_page)
    yield opener
    opener.close()
    assert opener.complaints == []


def wait(page: Page) -> None:
    """Until the view of the page stands and the forces of its graph rest.

    After a click on a link or another change of the address, first expect a part of the new view:
    the browser tells of the change later, and until then the view before it is ready.
    """
    page.locator("body[data-ready]").wait_for(state="attached", timeout=120_000)


def reload(page: Page) -> None:
    """Load the page anew, until it can be used."""
    page.reload()
    wait(page)


def wait_for_frames(page: Page) -> None:
    """Until the page as it is now was drawn and its observers of sizes and places were told."""
    page.evaluate("""() => new Promise((done) => {
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
    })""")


def expect_value(page: Page, expression: str, wanted: object) -> None:
    """Until an expression of the page has a value; for what no locator can tell.

    The page's policy forbids page.wait_for_function as soon as that has to ask twice.
    """
    until(lambda: page.evaluate(expression) == wanted, f"{expression} is {wanted}")


def expect_place(page: Page, place: str) -> None:
    """Until the address ends with this place."""
    expect(page).to_have_url(re.compile(re.escape(place) + "$"))

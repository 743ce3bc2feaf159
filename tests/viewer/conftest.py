"""A real browser, and pages opened in it that must stay silent: no error, no request, no dialog."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from memory_fabric.viewer.page import page as page_of

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


class Opener:
    """Opens pages and notes what a page of ours never does."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder
        self.complaints: list[str] = []

    def __call__(self, picture: Mapping[str, Any], place: str = "", **context: Any) -> Page:
        """A page with this picture at this place, ready to be used."""
        path = self.folder / "memory.html"
        path.write_text(page_of(picture), "utf-8")
        return self.visit(path.as_uri() + place, **context)

    def visit(self, address: str, **context: Any) -> Page:
        """The page at an address, ready to be used; it moves nothing smoothly."""
        page = self.browser.new_context(**{"reduced_motion": "reduce"} | context).new_page()
        origin = address.split("#")[0]
        page.on("console", lambda said: self.note("console", said.type, said.text))
        page.on("pageerror", lambda error: self.note("error", str(error)))
        page.on("dialog", lambda dialog: self.note("dialog", dialog.message))
        page.on("request", lambda asked: self.watch(asked.url, origin))
        page.goto(address)
        wait(page)
        return page

    def note(self, *what: str) -> None:
        """Keep a complaint."""
        self.complaints.append(" ".join(what))

    def watch(self, url: str, origin: str) -> None:
        """A request beside the page itself, its own server and what stands in it."""
        same_server = origin.startswith("http") and url.startswith(origin)
        if not (same_server or url.split("#")[0] == origin or url.startswith("data:")):
            self.note("request", url)


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens pages; when the test is over, nothing may have gone wrong in any of them."""
    opener = Opener(browser, tmp_path)
    yield opener
    for context in browser.contexts:
        context.close()
    assert opener.complaints == []


def wait(page: Page) -> None:
    """Until the view of the page stands and the forces of its graph rest."""
    page.locator("body[data-ready]").wait_for(state="attached", timeout=120_000)

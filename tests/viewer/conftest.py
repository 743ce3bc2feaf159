"""A real browser, and pages opened in it that must stay silent: no error, no request, no dialog."""

from __future__ import annotations

import json
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
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# By what they show, and the options of their contexts in JSON.
LastingPages = dict[tuple[str, str], Page]


# Of these tests, not of the session: while it lives, nothing else can run an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's chromium: without windows, if it is there, since that takes a third less time."""
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    assert path, "No chromium is here; scripts/prepare browser gets it."
    # chromium has no sandbox for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()


@pytest.fixture(scope="package")
def lasting_pages() -> LastingPages:
    """The pages into which tests of files load theirs, by the options of their contexts.

    A context for each test costs four times that.
    """
    return {}


class Opener:
    """Opens pages and notes what a page of ours never does."""

    def __init__(self, browser: Browser, folder: Path, lasting_pages: LastingPages) -> None:
        self.browser = browser
        self.folder = folder
        self.complaints: list[str] = []
        self.ignored: set[str] = set()
        self._lasting_pages = lasting_pages
        self._listeners: dict[Page, list[tuple[Any, Callable[[Any], None]]]] = {}

    def __call__(self, picture: Mapping[str, Any], place: str = "", **context: Any) -> Page:
        """The page with this picture at this place, ready to be used.

        Called again with the same options of a context, it loads the other picture into that page.
        """
        # Another name, since a change of the fragment alone would load nothing.
        path = self.folder / f"memory{len(list(self.folder.glob('*.html')))}.html"
        path.write_text(page_of(picture), "utf-8")
        return self._load(self._lasting("", context), path.as_uri() + place)

    def visit(self, address: str, *, init_script: str = "", **context: Any) -> Page:
        """The page of a server, ready to be used; tests with the same options share it."""
        kind = f"served {init_script}" if address.startswith("http") else ""
        return self._load(self._lasting(kind, context, init_script), address)

    def apart(self, address: str, **context: Any) -> Page:
        """A page that is this test's alone, ready to be used; it moves nothing smoothly."""
        return self._load(self._new(context), address)

    def _lasting(self, kind: str, context: Mapping[str, Any], init_script: str = "") -> Page:
        key = kind, json.dumps(context, sort_keys=True)
        if key not in self._lasting_pages:
            self._lasting_pages[key] = self._new(context)
            self._lasting_pages[key].add_init_script(init_script)
        return self._lasting_pages[key]

    def _new(self, context: Mapping[str, Any]) -> Page:
        return self.browser.new_context(**{"reduced_motion": "reduce", **context}).new_page()

    def _load(self, page: Page, address: str) -> Page:
        server = re.match(r"https?://[^/]*/", address)
        origin = server[0] if server else address.split("#")[0]
        self._stop_listening(page)
        self._listen(page, "console", lambda said: self.note("console", said.type, said.text))
        self._listen(page, "pageerror", lambda error: self.note("error", str(error)))
        self._listen(page, "dialog", lambda dialog: self.note("dialog", dialog.message))
        self._listen(page, "request", lambda asked: self.watch(asked.url, origin))
        page.goto(address)
        wait(page)
        return page

    def _listen(self, page: Page, event: Any, listener: Callable[[Any], None]) -> None:
        page.on(event, listener)
        self._listeners.setdefault(page, []).append((event, listener))

    def _stop_listening(self, page: Page) -> None:
        for event, listener in self._listeners.pop(page, []):
            page.remove_listener(event, listener)

    def close(self) -> None:
        """Close all pages but the lasting ones, in which nothing is left of this test."""
        options = {page: json.loads(key) for (_, key), page in self._lasting_pages.items()}
        # A file, as the next page is: from there the browser needs no other process.
        nothing = self.folder / "nothing.html"
        nothing.touch()
        for page in list(self._listeners):
            self._stop_listening(page)
            if page not in options:
                page.context.close()
                continue
            page.unroute_all(behavior="ignoreErrors")
            page.evaluate("localStorage.clear()")
            page.mouse.move(-1, -1)
            scheme = options[page].get("color_scheme", "light")
            page.emulate_media(media="null", color_scheme=scheme)
            page.context.clear_cookies()
            page.goto("about:blank" if page.url.startswith("http") else nothing.as_uri())

    def note(self, *what: str) -> None:
        """Keep a complaint, unless it is of a kind that the test expects."""
        if what[0] not in self.ignored:
            self.complaints.append(" ".join(what))

    def watch(self, url: str, origin: str) -> None:
        """A request beside the page itself, its own server and what stands in it."""
        same_server = origin.startswith("http") and url.startswith(origin)
        if not (same_server or url.split("#")[0] == origin or url.startswith("data:")):
            self.note("request", url)


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path, lasting_pages: LastingPages) -> Iterator[Opener]:
    """Opens pages; when the test is over, nothing may have gone wrong in any of them."""
    opener = Opener(browser, tmp_path, lasting_pages)
    yield opener
    opener.close()
    assert opener.complaints == []


def wait(page: Page) -> None:
    """Until the view of the page stands and the forces of its graph rest.

    After a click on a link or another change of the address, first expect a part of the new view:
    the browser tells of the change later, and until then the view before it is ready.
    """
    page.locator("body[data-ready]").wait_for(state="attached", timeout=120_000)


def show(page: Page, place: str) -> None:
    """Go to a place of another view by its address, and wait until its view stands."""
    view = place.split("/")[1].partition("?")[0]
    expect(page.locator(f"body[data-view='{view}']")).to_have_count(0)
    page.evaluate("place => { location.hash = place; }", place)
    expect(page.locator(f"body[data-view='{view}']")).to_be_visible()
    wait(page)


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

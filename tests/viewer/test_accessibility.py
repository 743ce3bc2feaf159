"""The served page is usable without sight, colour or a mouse: axe-core, and a walk by Tab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from cli.shell import Shell
from servers.http.http_server import Serving, serving
from viewer import waits
from viewer.conftest import PHONE, Opener, wait, wait_for_frames

AXE = Path(__file__).parents[1] / "e2e/node_modules/axe-core/axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
VIEWS = {
    "timeline": "#/timeline",
    "knowledge": "#/knowledge",
    "review": "#/review",
    "graph": "#/graph",
    "an entity in the graph": "#/graph/orders-api?steps=1",
    "list": "#/graph?as=list",
    "search": "#/search?q=pagination",
    "entity": "#/entity/orders-api",
    "status": "#/status",
}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server of a memory in which one of everything waits."""
    shell = Shell(tmp_path_factory.mktemp("accessible"))
    waits.fill(shell)
    with serving(shell) as found:
        yield found


def go(page: Page, place: str) -> None:
    """Go to a place by its address, and wait until its view stands, with the answer."""
    page.evaluate("place => { location.hash = place; }", place)
    view = place.split("/")[1].partition("?")[0]
    expect(page.locator(f"body[data-view='{view}']")).to_be_visible()
    wait(page)
    if view == "search":
        expect(page.locator(".hit").first).to_be_visible()


def violations(page: Page) -> list[str]:
    """Violations that axe finds against WCAG 2.1, levels A and AA, in what the page shows now.

    In the light theme all its rules are asked, in the dark one those about colours.
    """
    found: list[str] = []
    themes: list[tuple[Literal["dark", "light"], list[str]]]
    themes = [("dark", COLOURS), ("light", LEVELS)]
    for theme, rules in themes:
        page.emulate_media(color_scheme=theme)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        wait_for_frames(page)
        found += page.evaluate(
            """async (runOnly) => {
                const run = await axe.run(document, { runOnly, resultTypes: ["violations"] });
                return run.violations.flatMap(({ id, nodes }) => nodes.map((node) =>
                    `${id}: ${node.target.join(" ")}: ${node.failureSummary}`));
            }""",
            rules,
        )
    return found


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
def test_axe_finds_no_accessibility_violation_in_any_view(
    open_page: Opener, server: Serving, size: dict[str, Any]
) -> None:
    page = open_page.visit(server.address, **size)
    page.evaluate(AXE.read_text("utf-8"))
    faults = {}

    for name, place in VIEWS.items():
        go(page, place)
        faults[name] = violations(page)

    assert not any(faults.values()), faults


# What can be shown over a view: where, and what opens it by keyboard.
OPENED = {
    "filters": ("#/timeline", "button#filter"),
    "projects": ("#/timeline", "button#project"),
    "keys": ("#/status", "button#help"),
    "edit": ("#/review", ".due [data-key=e]"),
    "a bulk decision": ("#/review", ".bulk .act"),
    "forget": ("#/entity/orders-api", ".acts .act:has-text('Forget')"),
    "merge": ("#/entity/orders-api", ".acts .act:has-text('Merge')"),
    "undo": ("#/status", "button#undo"),
}
OVER = "dialog[open], #filters:not([hidden]), #projects:not([hidden])"


def test_axe_finds_no_violation_in_overlays_and_closing_them_restores_the_focus(
    open_page: Opener, server: Serving
) -> None:
    page = open_page.visit(server.address, **WIDE)
    page.evaluate(AXE.read_text("utf-8"))
    faults = {}

    for name, (place, opener) in OPENED.items():
        go(page, place)
        button = page.locator(opener).first
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(OVER).first).to_be_visible()
        expect(page.get_by_text("Looking up")).to_have_count(0)
        faults[name] = violations(page)
        page.keyboard.press("Escape")
        expect(page.locator(OVER)).to_have_count(0)
        expect(button).to_be_focused()

    go(page, "#/timeline")
    page.get_by_role("button", name=re.compile("^(Pin|Unpin): ")).first.click()
    expect(page.locator("#outcome")).to_be_visible()
    faults["what was done"] = violations(page)
    assert not any(faults.values()), faults


# Marks what Tab can reach and is seen, and says how much that is.
CONTROLS = """() => {
    const wanted = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    const seen = [...document.querySelectorAll(wanted)].filter((node) => !node.disabled
        && node.checkVisibility({ visibilityProperty: true }) && node.getClientRects().length);
    seen.forEach((node, n) => { node.dataset.control = n; });
    document.activeElement.blur();
    return seen.length;
}"""
FOCUSED = """() => {
    const node = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(node);
    const box = node.getBoundingClientRect();
    const inside = box.bottom > 0 && box.top < innerHeight && box.width > 0;
    const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1 && inside;
    return [node.dataset.control ?? "", isSeen, node.outerHTML.slice(0, 120)];
}"""


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "390"])
def test_tab_reaches_every_control_of_every_view_with_a_visible_focus(
    open_page: Opener, server: Serving, size: dict[str, Any]
) -> None:
    page = open_page.visit(server.address, **size)
    faults = {}

    for name, place in VIEWS.items():
        go(page, place)
        wait_for_frames(page)
        number = page.evaluate(CONTROLS)
        reached = set()
        unseen = []
        for _ in range(number + 5):
            page.keyboard.press("Tab")
            control, is_seen, html = page.evaluate(FOCUSED)
            if control in reached:
                break
            if control:
                reached.add(control)
                unseen += [] if is_seen else [html]
        missed = {str(n) for n in range(number)} - reached
        faults[name] = unseen + [
            page.locator(f"[data-control='{n}']").evaluate("node => node.outerHTML.slice(0, 120)")
            for n in sorted(missed)
        ]
        assert number > 10

    assert not any(faults.values()), faults

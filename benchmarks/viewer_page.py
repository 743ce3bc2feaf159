"""The cost of the memory's page for a browser: size, time to usable, frames while one moves.

    .venv/bin/python benchmarks/viewer_page.py [--entities 10000] [--relations 15000] [--check]

A page with so many entities in Debian's chromium, headless, drawn in software, 1280 x 800.
*Usable*: from opening the file until the forces rest and everything can be clicked. A frame is the
time between two callbacks for animation frames while a mouse pans, wheels and points along a fixed
path; 16.7 ms is the least there is. --check fails above 50 ms at the median of any path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "plugin"), str(ROOT / "tests")]

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from memory_fabric.viewer.page import page as page_of  # noqa: E402
from viewer.pictures import large  # noqa: E402

MOST_MEDIAN_MS = 50.0
WATCH_FRAMES = """() => {
  window.frames_ms = [];
  const watch = (before) => requestAnimationFrame((now) => {
    if (before) frames_ms.push(now - before);
    watch(now);
  });
  watch(0);
}"""
STEPS = 80
FRAME_MS = 17


def main() -> int:
    """Print the table; 1 when --check finds a path too slow."""
    options = arguments()
    html = page_of(large(options.entities, options.relations, options.records).made())
    print(f"{options.entities:,} entities, {options.relations:,} relations, ", end="")
    print(f"{options.records:,} records: a page of {len(html.encode()) / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.html"
        path.write_text(html, "utf-8")
        slowest = max(measured(f"{path.as_uri()}#/graph"))
    return 1 if options.check and slowest > MOST_MEDIAN_MS else 0


def arguments() -> argparse.Namespace:
    """Return the command's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--relations", type=int, default=15_000)
    parser.add_argument("--records", type=int, default=3_000)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def measured(address: str) -> Iterator[float]:
    """The median of each path, printed as it is measured."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)))
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begun = time.monotonic()
        page.goto(address)
        page.locator("body[data-ready]").wait_for(state="attached", timeout=120_000)
        print(f"usable after {time.monotonic() - begun:.1f} s\n")
        page.evaluate(WATCH_FRAMES)
        print("| path | frames | median | p95 | slowest | drawn |\n|---|---|---|---|---|---|")
        for name, move in PATHS.items():
            yield frames(page, name, move)
        browser.close()


def frames(page: Page, name: str, move: Callable[[Page], None]) -> float:
    """The median frame while something moves, in ms."""
    page.evaluate("frames_ms.length = 0")
    move(page)
    times = sorted(page.evaluate("frames_ms"))
    median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
    drawn = page.evaluate("`${memoryFabric.drawn} + ${memoryFabric.edges}`")
    print(
        f"| {name} | {len(times)} | {median:.1f} ms | {p95:.1f} ms | {times[-1]:.1f} ms | {drawn} |"
    )
    return float(median)


def pan(page: Page) -> None:
    """Drag the ground to and fro."""
    page.mouse.move(60, 100)
    page.mouse.down()
    for step in range(STEPS):
        there = step if step < STEPS / 2 else STEPS - step
        page.mouse.move(60 + there * 6, 100 + there * 3)
    page.mouse.move(60, 100)
    page.mouse.up()


def wheel(page: Page) -> None:
    """Zoom in on the middle, and out again."""
    page.mouse.move(465, 400)
    for _ in range(STEPS // 2):
        page.mouse.wheel(0, -60)
    for _ in range(STEPS // 2):
        page.mouse.wheel(0, 60)


def near(page: Page) -> None:
    """Go so near that the most is drawn, and pan there."""
    page.keyboard.press("0")
    for _ in range(3):
        page.keyboard.press("+")
        page.wait_for_timeout(250)
    page.evaluate("frames_ms.length = 0")
    page.locator("#canvas").focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"):
        for _ in range(STEPS // 4):
            page.keyboard.press(key)
            page.wait_for_timeout(FRAME_MS)


def point(page: Page) -> None:
    """Move the mouse over what is drawn."""
    page.keyboard.press("0")
    page.wait_for_timeout(300)
    page.evaluate("frames_ms.length = 0")
    for step in range(STEPS):
        page.mouse.move(180 + step * 7, 200 + step * 4)


def focus(page: Page) -> None:
    """Focus on a hub with hundreds of neighbours, and take a second step."""
    page.fill("#find", "pattern-1")
    page.press("#find", "ArrowDown")
    page.press("#find", "Enter")
    page.locator("#steps-2").click()
    page.locator("body[data-ready]").wait_for(state="attached")
    page.keyboard.press("g")


PATHS: dict[str, Callable[[Page], None]] = {
    "pan": pan,
    "zoom": wheel,
    "pan, zoomed in": near,
    "point": point,
    "focus on a hub": focus,
}

if __name__ == "__main__":
    sys.exit(main())

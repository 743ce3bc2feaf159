"""Photograph the memory's page in a browser: sizes of windows, light and dark, small and large.

    .venv/bin/python benchmarks/page_pictures.py --to FOLDER [--records 25 300 10000]
        [--widths 390 768 1280 1920] [--themes light dark] [--views timeline search ...]

Each picture is RECORDS-VIEW-WIDTH-THEME.png, of Debian's chromium, headless. The memory is made by
number: what a project decided, forbade and found out, notes of another program in Markdown among
it. Printed for each: milliseconds until the view can be used, and how many pixels of the page lie
beyond the right edge, which should be none; a page that is wider than its window ends with 1.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "plugin"), str(ROOT / "tests")]

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from memory_fabric.viewer.page import page as page_of  # noqa: E402
from viewer.pictures import Pictured, shop  # noqa: E402

HEIGHTS = {390: 844, 768: 1024, 1280: 800, 1920: 1080}
VIEWS = {
    "timeline": "#/timeline",
    "search": "#/search?q=orders pagination",
    "nothing": "#/search?q=zebra crossing",
    "knowledge": "#/knowledge",
    "entity": "#/entity/orders-api",
    "status": "#/status",
}
PARTS = "orders invoices sessions exports webhooks search stock refunds carts mails".split()
TOOLS = "Postgres Redis Celery FastAPI Stripe Kafka Docker pgvector Typer pnpm".split()
# Kind, words, reason; {p} is a part of the project, {t} a tool, {n} a number.
SAID = (
    ("decision", "The {p} service uses {t}", "its types document what it answers"),
    ("decision", "Keep {n} days of {p} in {t}", "the auditors ask for it"),
    ("constraint", "Never restart {t} while {p} are written", ""),
    ("constraint", "Every change of {p} comes with a test that fails without it", ""),
    ("preference", "Answer questions on {p} in two sentences", ""),
    ("note", "The {p} table has {n} million rows", ""),
    ("solution", "{t} lost {p} after {n} s: a pool with a heartbeat mended it", "idle sockets die"),
    ("question", "Should {p} move out of {t}?", ""),
    ("problem", "{p} arrive twice when {t} restarts", ""),
    ("pattern", "{p} are read in pages of {n}", "offsets time out at a million rows"),
)
IMPORTED = (
    "**{t} timeouts in {p}**: raised `statement_timeout` to {n} s\n\n"
    "- seen on *staging* first\n- `{p}/worker.py` retries {n} times\n- details in "
    "[the runbook](https://example.com/runbook)",
    "Session summary: refactored **{p}** and moved its settings into `{p}.toml`",
    "```sh\n{t} --limit {n} --only {p}\n```\nis how the {p} are replayed",
)


def main() -> int:
    """Make the pictures; 1 if a page is wider than its window."""
    options = arguments()
    options.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        pages = {n: written(Path(folder), n) for n in options.records}
        beyond = sum(photographed(pages, options))
    return int(beyond > 0)


def arguments() -> argparse.Namespace:
    """Return the command's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--records", type=int, nargs="+", default=[25, 300, 10_000])
    parser.add_argument("--widths", type=int, nargs="+", default=list(HEIGHTS), choices=HEIGHTS)
    parser.add_argument("--themes", nargs="+", default=["light", "dark"])
    parser.add_argument("--views", nargs="+", default=list(VIEWS), choices=VIEWS)
    return parser.parse_args()


def written(folder: Path, records: int) -> Path:
    """The page of a memory with so many records, as a file."""
    path = folder / f"{records}.html"
    path.write_text(page_of(grown(records).made()), "utf-8")
    return path


def grown(records: int) -> Pictured:
    """The shop's memory, grown to so many records; the same on every call."""
    dice, made = random.Random(11), shop()
    names = {entity["name"]: number for number, entity in enumerate(made.entities)}
    for number in range(records - len(made.records)):
        part, tool = dice.choice(PARTS), dice.choice(TOOLS)
        imported = number % 3 == 2
        kind, text, why = ("note", dice.choice(IMPORTED), "") if imported else dice.choice(SAID)
        words = text.format(p=part, t=tool, n=dice.randint(2, 90))
        more: dict[str, Any] = {"why": why, "session": f"session-{number // 7}"}
        if imported:
            more |= {"trust": "tool", "confidence": 0.6, "source": "import", "author": ""}
            more |= {"imported": "claude-mem", "session": ""}
        elif number % 5 == 0:
            more |= {"trust": "assistant", "confidence": 0.7}
        about = [names[name] for name in (tool, "orders-api") if name in names and not imported]
        made.record(words[:1].upper() + words[1:], kind, days=number / 6, entities=about, **more)
    return made


def photographed(pages: dict[int, Path], options: argparse.Namespace) -> Iterator[int]:
    """How many pixels of each page lie beyond its window, printed as it is photographed."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser")
    path = next(filter(None, map(shutil.which, names)))
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        print("| records | view | width | colours | usable after | beyond the edge |")
        print("|---|---|---|---|---|---|")
        for n, view, width, theme in product(
            options.records, options.views, options.widths, options.themes
        ):
            target = options.to / f"{n}-{view}-{width}-{theme}.png"
            spent_ms, beyond = photograph(browser, pages[n].as_uri(), view, width, theme, target)
            print(f"| {n:,} | {view} | {width} | {theme} | {spent_ms} ms | {beyond} px |")
            yield beyond
        browser.close()


def photograph(
    browser: Browser, address: str, view: str, width: int, theme: Any, target: Path
) -> tuple[int, int]:
    """Make one picture; return the milliseconds until usable, and the pixels beyond the edge."""
    phone = width < 700
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHTS[width]},
        color_scheme=theme,
        reduced_motion="reduce",
        has_touch=phone,
        is_mobile=phone,
    )
    page = context.new_page()
    begun = time.monotonic()
    page.goto(address + VIEWS[view])
    page.locator("body[data-ready]").wait_for(state="attached", timeout=120_000)
    spent_ms = round((time.monotonic() - begun) * 1000)
    beyond = page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)")
    page.screenshot(path=target)
    context.close()
    return spent_ms, int(beyond)


if __name__ == "__main__":
    sys.exit(main())

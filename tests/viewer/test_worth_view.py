"""The weekly figures of `worth` on the page: a row for each week of real sessions."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import expect

from command_line import run_here
from memory_fabric.store.queries.counts import FIGURES, LIMITS
from replay.sessions import Replay
from replay.three_weeks import STORY
from replay.ways import in_process
from viewer.conftest import Opener
from viewer.pictures import shop


def test_a_table_shows_the_measured_benefit_of_memory_for_each_week(
    open_page: Opener, tmp_path: Path
) -> None:
    target = tmp_path / "written.html"
    with Replay(Path(os.path.realpath(tmp_path)), in_process) as replay:
        replay.play(STORY)
        words = ("viz", "--out", str(target), "--no-open")
        assert run_here(words, replay.hooks.environ, replay.hooks.project).status == 0

    page = open_page.visit(target.as_uri() + "#/status")

    rows = page.locator("#worth tbody tr")
    expect(rows.locator("th")).to_have_text(["2026-03-16", "2026-03-09", "2026-03-02"])
    figures = [row.locator("td").all_inner_texts()[2:] for row in rows.all()]
    assert figures == [
        ["0 of 1", "0 of 1", "0 of 1", "0 of 1", "1 of 1"],
        ["1 of 1", "1 of 1", "1 of 1", "1 of 1", "\u2013"],
        ["\u2013", "\u2013", "\u2013", "\u2013", "0 of 3"],
    ]
    columns = page.locator("#worth thead th").all_inner_texts()
    assert columns[3:] == [column for column, _ in FIGURES.values()]
    for _, counts in FIGURES.values():
        expect(page.locator("#worth")).to_contain_text(counts)
    expect(page.locator("#worth")).to_contain_text(LIMITS)


def test_no_table_of_benefits_is_shown_if_there_were_no_sessions(open_page: Opener) -> None:
    made = shop().made()
    for worth in ({"weeks": [], "figures": {}, "limits": ""}, None):
        page = open_page({**made, "worth": worth}, "#/status")

        expect(page.locator("#tiers")).to_be_visible()
        expect(page.locator("#worth")).to_have_count(0)

"""docs/shown.md is what the real hooks, skills and server show now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/shown.md").read_text("utf-8")


def test_the_page_of_injected_texts_matches_newly_generated_output() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/shown.py"], capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == PAGE, "run python3 benchmarks/shown.py --write"


def test_the_totals_in_the_token_table_equal_the_sums_of_their_parts() -> None:
    sections = PAGE.split("\n## ")[1:]
    table = dict(re.findall(r"^\| \**(.*?)\** \| (\d+) \|$", PAGE, re.MULTILINE))

    silent = [section.split("\n")[0] for section in sections if "\nNothing.\n" in section]
    assert silent == ["A prompt about which nothing is known"]
    empty = [int(number) for number in list(table.values())[:4]]
    assert abs(int(table["an installed, empty memory, each session"]) - sum(empty)) <= 2
    session = [int(number) for name, number in table.items() if "session below:" in name]
    whole = int(table["the session below, with skills and tools"])
    assert abs(whole - sum(empty[1:]) - sum(session)) <= 4


def test_the_constant_texts_of_a_session_cost_at_most_300_tokens() -> None:
    table = dict(re.findall(r"^\| \**(.*?)\** \| (\d+) \|$", PAGE, re.MULTILINE))
    counted = ("the request for notes, at", "instructions of the MCP server", "names of its")

    cost = [int(number) for name, number in table.items() if name.startswith(counted)]
    assert len(cost) == 3
    assert sum(cost) <= 300

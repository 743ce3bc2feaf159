"""The soak: a year of sessions, and whether what is told still holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import soak
from replay.fixed_clock import THOUSANDS, Clock
from workloads.year import USER, Statement, Year

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
HISTORIES = str(BENCHMARKS / "histories")
TIMEOUT_S = 600
TEXT = "The berth list listens on port 4010"
LINE = f"- [note · 1a2b3c4d] {TEXT}"


def statement(text: str = TEXT, ended: str = "") -> Statement:
    made = Statement("ines/boats", "fact", text, USER, 1.0)
    if ended:
        made.end(2.0, ended, 0)
    return made


def played(seed: int) -> Year:
    year = Year(HISTORIES, 200, 0.0, seed)
    for session in year.sessions():
        for _ in year.turns(session, [session.at_s]):
            continue
    return year


def test_a_small_soak_run_passes_and_writes_a_row_for_each_month(tmp_path: Path) -> None:
    out = tmp_path / "soak.json"
    words = ["--sessions", "15", "--probes", "0", "--out", str(out), "--keep", str(tmp_path / "m")]

    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "soak.py"), *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(out.read_text("utf-8"))
    months = found["months"]
    assert [row["month"] for row in months] == list(range(1, 13))
    assert months[-1]["sessions"] == 15 and found["events"] > 100
    told = sum(row["start lines"].get("true", 0) for row in months)
    assert told > 10 and months[-1]["records"]["active"] > 10
    # What an earlier version stored is told, too.
    assert "Reports are mailed on Mondays" in "".join(
        path.read_text("utf-8") for path in (tmp_path / "m").rglob("MEMORY.md")
    )
    assert sum(row["out of time"] for row in months) == 0
    assert list((tmp_path / "m").rglob("memory-fabric.log")) == []


@pytest.mark.parametrize(
    ("said", "line", "expected"),
    [
        (None, LINE, "unknown"),
        (statement(), LINE, "true"),
        (statement(ended="replaced"), LINE, "false"),
        (statement(ended="replaced"), f"- [note · stale · 1a2b3c4d] {TEXT}", "aged"),
        (statement(ended="replaced"), f"- [note · said before 5e6f7a8b] {TEXT}", "marked"),
    ],
)
def test_an_injected_line_is_false_if_it_shows_a_replaced_statement_as_current(
    said: Statement | None, line: str, expected: str
) -> None:
    assert soak.verdict(said, line) == expected


def test_an_injected_line_is_matched_to_the_longest_statement_it_contains() -> None:
    short, long = statement("The limit is 3"), statement("The limit is 30")
    quoted = Statement("ines/boats", "rule", "Ask first", USER, 1.0, quotation="Ask me before that")

    assert soak.statement_in("- [rule] The limit is 30", [short, long]) is long
    assert soak.statement_in("- [rule] “ask me before THAT”", [short, quoted]) is quoted
    assert soak.statement_in("- [rule] Something else", [short, quoted]) is None


def test_a_simulated_year_is_determined_by_its_seed() -> None:
    texts = [[s.text for s in played(seed).statements] for seed in (1, 1, 2)]

    assert texts[0] == texts[1] != texts[2]


def test_a_statement_is_replaced_by_a_later_statement_about_the_same_subject() -> None:
    statements = played(1).statements
    replaced = [s for s in statements if s.after]

    by_text = {s.text: s for s in statements}
    assert len(replaced) > 20
    for old in replaced:
        new = by_text[old.after]
        assert (new.frame, new.thing, new.value) == (old.frame, old.thing, old.value + 1)
        assert new.since_s == old.until_s and not old.holds


def test_generated_ids_differ_even_in_a_very_long_replay(tmp_path: Path) -> None:
    clock, drawn = Clock(str(tmp_path / "clock"), 0.0), []
    for _ in range(1000 * len(THOUSANDS) + 100):
        drawn += [clock.draw(4) for _ in range(2)]
        clock.advance(1)

    assert len(set(drawn)) == len(drawn)

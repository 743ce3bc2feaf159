from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import harm
from workloads.harm_sets import CASES

CASE = CASES[0]
NEW, OLD = CASE.statement(CASE.new), CASE.statement(CASE.old)


def test_the_harm_benchmark_has_forty_cases_on_different_subjects() -> None:
    named = [thing for case in CASES for thing in (case.thing, case.adjacent, case.absent)]

    assert len(CASES) == 40
    assert len(set(named)) == 120


@pytest.mark.parametrize(
    ("name", "known", "told", "judged"),
    [
        ("present", f"- [decision] {NEW}", "", (True, False)),
        ("present", "", "", (False, False)),
        ("absent", "", f"- [decision] {NEW}", (False, True)),
        ("adjacent", f"- [decision] {NEW}", "", (False, False)),
        ("superseded", f"- [decision] {NEW}", "", (True, False)),
        ("superseded", f"- [decision] {OLD}", "", (False, True)),
        ("superseded", f"- [decision · superseded by 1] {OLD}", "", (False, False)),
        ("contradictory", "", f"- [contradicts this prompt · decision] {NEW}", (True, False)),
        ("contradictory", "", f"- [decision] {NEW}", (False, False)),
    ],
)
def test_injected_text_is_judged_as_right_wrong_or_neither(
    name: str, known: str, told: str, judged: tuple[bool, bool]
) -> None:
    assert harm._judged(name, CASE, known, told) == judged


# The published figures of each set: the shares of prompts told rightly and wrongly.
@pytest.mark.usefixtures("answered_here")
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("present", 1.0, 0.0),
        ("absent", None, 0.0),
        ("adjacent", None, 0.0),
        ("superseded", 1.0, 0.0),
        ("contradictory", 1.0, 0.0),
    ],
)
def test_injected_text_does_no_more_harm_than_published(
    name: str, right: float | None, wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harm, "CASES", CASES[::4])

    row = harm.row(name, list(harm.run(name)))

    assert (row.prompts, row.right, row.wrong) == (10, right, wrong)

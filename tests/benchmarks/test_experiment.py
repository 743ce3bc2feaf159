from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import experiment
from coding_tasks import arms, scoring
from coding_tasks.scoring import Solve
from coding_tasks.sets import STRATA, Note, own

LEARN = [task for task in own() if task.half == "learn"]


def test_both_halves_of_the_experiment_have_tasks_of_each_category() -> None:
    halves = {(task.stratum, task.half) for task in own()}

    assert halves == {(stratum, half) for stratum in STRATA for half in ("learn", "held")}


@pytest.mark.parametrize("plan", [experiment.PILOT, experiment.HELD])
def test_each_task_runs_as_often_as_planned_and_never_twice_by_one_solver(
    plan: dict[str, int],
) -> None:
    tasks = own()

    solvers = list(experiment._square(tasks, plan, seed=3))

    cells = sorted((t.id, arm, number) for cells in solvers for t, arm, number in cells)
    columns = [(arm, number) for arm, count in plan.items() for number in range(count)]
    assert cells == sorted((task.id, *column) for task in tasks for column in columns)
    assert all(len({t.id for t, _, _ in cells}) == len(cells) for cells in solvers)
    assert all(len(cells) <= experiment.BATCH for cells in solvers)


def test_solvers_of_the_claude_md_arm_get_no_tasks_of_other_arms() -> None:
    solvers = list(experiment._square(own(), experiment.HELD, seed=3))

    mixed = [{arm for _, arm, _ in cells} for cells in solvers]
    assert {experiment.CLAUDE_MD} in mixed
    assert all(seen == {experiment.CLAUDE_MD} or experiment.CLAUDE_MD not in seen for seen in mixed)


def test_a_changed_fact_is_shown_without_the_fact_it_replaced(tmp_path: Path) -> None:
    task = next(task for task in LEARN if task.stratum == "changed")
    others = [Note("fact", "The office printer is on the second floor.")]

    hooks = arms.memory(str(tmp_path), task, others, is_linked=True)

    text = arms.ask(hooks, task.prompt)
    assert task.facts[0].text.rstrip(".") in text
    assert task.old[0].text.rstrip(".") not in text
    assert others[0].text.rstrip(".") in text


def test_the_placebo_text_has_the_requested_number_of_words() -> None:
    assert [len(arms.placebo(count).split()) for count in (1, 70, 500)] == [1, 70, 500]


def test_the_difference_is_one_if_one_arm_passes_all_tasks_and_the_other_none() -> None:
    solves = [
        Solve(f"task {number}", "present", arm, 0, arm == "memory")
        for number in range(6)
        for arm in ("memory", "placebo")
    ]

    row = scoring.contrast(solves, "memory", "placebo")

    assert row == scoring.Contrast(1.0, 1.0, 1.0, 6, 0, 6, 2 / 2**6)


def test_arms_with_equal_results_show_no_difference() -> None:
    solves = [
        Solve(f"task {number}", "absent", arm, 0, number % 2 == 0)
        for number in range(6)
        for arm in ("memory", "placebo")
    ]

    row = scoring.contrast(solves, "memory", "placebo")

    assert (row.difference, row.low, row.high, row.p) == (0.0, 0.0, 0.0, 1.0)


def test_arms_without_a_common_task_are_not_compared() -> None:
    solves = [Solve("a", "absent", "memory", 0, True), Solve("b", "absent", "placebo", 0, True)]

    with pytest.raises(ValueError, match="no task was solved both in memory and in placebo"):
        scoring.contrast(solves, "memory", "placebo")


def test_results_contain_the_patch_and_the_verdict_of_the_hidden_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = next(task for task in LEARN if task.stratum == "absent")
    monkeypatch.setattr(experiment, "own", lambda: [task])
    monkeypatch.setattr(experiment, "PILOT", {experiment.BARE: 1})
    monkeypatch.setattr(experiment, "_texts", lambda *_: [(experiment.BARE, "")])
    out, results = tmp_path / "out", tmp_path / "results.jsonl"
    options = {"tasks": "learn", "remem": None, "seed": 1, "out": str(out), "before": "x"}
    experiment.prepare(argparse.Namespace(**options))
    repo = out / "solvers" / "00" / "00" / "repo"
    (repo / "NOTE").write_text("solved\n", "utf-8")

    experiment.score(argparse.Namespace(remem=None, out=str(out), results=str(results)))

    row = json.loads(results.read_text("utf-8"))
    assert (row["task"], row["arm"], row["passed"]) == (task.id, experiment.BARE, False)
    assert "+solved" in row["patch"]
    assert "bare" in capsys.readouterr().out

"""Runs hidden tests on solved files, and compares arms.

Contrasts are means over tasks of the difference of two arms' success, with a bootstrap over tasks
(a task is the cluster of its solves) and, as a check, McNemar's exact test on paired solves.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coding_tasks.sets import Task

TIMEOUT_S, DRAWS, SEED = 60, 10_000, 12345


class Solve(NamedTuple):
    """A solved task: its stratum, the arm, the number of the replicate, and success."""

    task: str
    stratum: str
    arm: str
    replicate: int
    passed: bool


class Contrast(NamedTuple):
    """Two arms' difference with its 95 % interval, tasks better and worse, and McNemar's p."""

    difference: float
    low: float
    high: float
    better: int
    worse: int
    tasks: int
    p: float


def passes(task: Task, repo: str) -> bool:
    """Say whether the files pass the hidden tests, in a copy of them."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "repo")
        shutil.copytree(repo, copy, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        for path, text in task.hidden.items():
            os.makedirs(os.path.dirname(os.path.join(copy, path)) or copy, exist_ok=True)
            with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
                file.write(text)
        return all(_runs(command, copy) for command in task.commands)


def rate(solves: Sequence[Solve], arm: str) -> tuple[int, int]:
    """Return how many solves of an arm passed, and of how many."""
    results = [solve.passed for solve in solves if solve.arm == arm]
    return sum(results), len(results)


def contrast(solves: Sequence[Solve], arm: str, other: str) -> Contrast:
    """Compare two arms on the tasks that both have. Raises ValueError if there are none."""
    rates = {side: _rates([s for s in solves if s.arm == side]) for side in (arm, other)}
    tasks = sorted(rates[arm].keys() & rates[other].keys())
    if not tasks:
        raise ValueError(f"no task was solved both in {arm} and in {other}")
    differences = [rates[arm][task] - rates[other][task] for task in tasks]
    rng = random.Random(SEED)
    means = sorted(sum(rng.choice(differences) for _ in tasks) / len(tasks) for _ in range(DRAWS))
    return Contrast(
        sum(differences) / len(tasks),
        means[DRAWS * 25 // 1000],
        means[DRAWS * 975 // 1000 - 1],
        sum(d > 0 for d in differences),
        sum(d < 0 for d in differences),
        len(tasks),
        _mcnemar(solves, arm, other),
    )


def _rates(solves: Sequence[Solve]) -> Mapping[str, float]:
    by_task: dict[str, list[bool]] = {}
    for solve in solves:
        by_task.setdefault(solve.task, []).append(solve.passed)
    return {task: sum(results) / len(results) for task, results in by_task.items()}


def _mcnemar(solves: Sequence[Solve], arm: str, other: str) -> float:
    """Return the two-sided p of pairs of the same task and replicate in which one arm passed."""
    by_cell = {(s.task, s.replicate, s.arm): s.passed for s in solves}
    pairs = [
        (passed, by_cell[task, replicate, other])
        for (task, replicate, side), passed in by_cell.items()
        if side == arm and (task, replicate, other) in by_cell
    ]
    wins, losses = pairs.count((True, False)), pairs.count((False, True))
    n = wins + losses
    tail: float = sum(math.comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    return min(1.0, 2 * tail)


def _runs(command: Sequence[str], folder: str) -> bool:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0

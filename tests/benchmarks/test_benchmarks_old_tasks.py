"""Old tasks asked for again: figures by hand, and a run through the product."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[Any]:
    """The benchmark as a module, as its own folder's modules see it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("old_tasks")


def test_prompts_about_old_tasks_and_other_prompts_are_reported_separately(
    benchmark: Any,
) -> None:
    found = [
        benchmark.Told("a", "s1", "- line", "s1"),
        benchmark.Told("b", "s2", "- line", "s1"),
        benchmark.Told("c", "s3", "", ""),
        benchmark.Told("d", "", "", ""),
        benchmark.Told("e", "", "- line", "s1"),
    ]

    figures = benchmark.figures(found)

    assert (figures["prompts"], figures["lines"], figures["others"]) == (3, 2, 2)
    assert (figures["told"], figures["right"], figures["silent"]) == (2 / 3, 0.5, 0.5)
    assert figures["chars"] == len("- line")


def test_the_benchmark_asks_about_old_tasks_removed_tasks_and_unrelated_work(
    benchmark: Any,
) -> None:
    rows = [json.loads(line) for line in Path(benchmark.PATH).read_text("utf-8").splitlines()]
    labels = next(row for row in rows if row.get("file") == "labels/zebra.py")
    scales = next(row for row in rows if row.get("file") == "recipes/scale.py")
    other = next(row for row in rows if row["kind"] == "other")

    found = list(benchmark.ask([labels, scales, other], "crumb"))

    assert [one.prompt for one in found[:3]] == [labels["again"], scales["again"], other["prompt"]]
    assert [bool(one.own) for one in found] == [True, True, False, False, False]

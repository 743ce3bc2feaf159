"""The benchmark of large stores: rows for every command, and one small run of it."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.cli.registry import COMMANDS

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("large", "hooks", "processes", "workloads")
SOME = ("status", "recall, the newest", "forget ID")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module, as its own folder's modules see it."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield importlib.import_module("large")
    for name in MODULES:
        sys.modules.pop(name, None)


def test_every_command_is_either_timed_or_listed_as_excluded(large: Any, tmp_path: Path) -> None:
    commands = large.large_commands
    samples = commands.Samples(("r",) * 5, ("e",) * 5, "operation", "session")

    rows = {run.command for run in commands.runs(samples, str(tmp_path))}

    assert {command.name for command in COMMANDS} <= rows | set(commands.LEFT_OUT)


@pytest.mark.parametrize(
    ("small", "large_s", "more"), [(0.3, 0.3, None), (0.3, 20.2, 200), (0.2, 2.2, 100)]
)
def test_the_growth_of_a_commands_run_time_excludes_python_startup_time(
    large: Any, small: float, large_s: float, more: float | None
) -> None:
    found = large.growth(small, large_s, 0.2)

    assert found == (more if more is None else pytest.approx(more))


def test_a_store_changed_by_a_measurement_is_restored_afterwards(
    large: Any, tmp_path: Path
) -> None:
    store, kept = tmp_path / "store", tmp_path / "store.kept"
    store.mkdir()
    (store / "file").write_text("before")

    with large.put_back(str(store), needed=True):
        (store / "file").write_text("changed")
        kept_there = (kept / "file").read_text()

    assert ((store / "file").read_text(), kept_there) == ("before", "before")
    assert not kept.exists()


def test_a_store_left_changed_by_an_interrupted_run_is_restored_before_the_next_run(
    large: Any, tmp_path: Path
) -> None:
    for name, text in (("store", "changed"), ("store.kept", "before")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)

    with large.put_back(str(tmp_path / "store"), needed=True):
        measured = (tmp_path / "store" / "file").read_text()

    assert measured == "before"


def test_the_report_lists_the_parts_of_the_database_and_each_command() -> None:
    sizes = ("--size", "200", "--beside", "100", "--runs", "1", "--no-hooks")

    done = subprocess.run(
        [sys.executable, str(FOLDER / "large.py"), *sizes, "--json", "--only", *SOME],
        capture_output=True,
        check=True,
    )

    report = json.loads(done.stdout)
    assert {"operations", "observations"} <= {part["name"] for part in report["parts"]}
    assert [row["label"] for row in report["rows"]] == [row["label"] for row in report["beside"]]
    assert {row["label"] for row in report["rows"]} == set(SOME)

"""The benchmark of recall from an open memory, on a small store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import open_memory


def test_the_benchmark_measures_prompts_and_fails_if_a_budget_is_exceeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_memory, "USER", 50)
    monkeypatch.setattr(open_memory, "PROMPTS", 11)
    arguments = ["--sizes", "500", "--store", str(tmp_path / "store")]
    assert open_memory.main(arguments) == 0
    first = capsys.readouterr().out
    assert "500 observations" in first and "| questions |" in first and "| the mix |" in first

    told = [row.told for row in open_memory.measure(str(tmp_path / "store"), 500)]
    assert told[0] > 0.9 and 0.0 < told[1] < 1.0

    monkeypatch.setattr(open_memory, "BUDGETS", ((500, 0.0),))
    assert open_memory.main([*arguments, "--check"]) == 1
    assert "broken: questions at 500" in capsys.readouterr().out

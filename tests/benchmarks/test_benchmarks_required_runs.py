"""The benchmark of what has to pass first: its labels, and the decisions that it counts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import required_runs
from required_runs import Part, decide, sequences, write

RULE: Part = {"kind": "rule", "family": "pytest", "when": "commit, first pytest"}
CALL: Part = {"kind": "call", "family": "pytest", "command": "git commit -m x"}
RUN: Part = {"kind": "run", "family": "pytest", "command": "pytest", "output": "3 passed"}
PASSED: Part = {**RUN, "passed": True, "is_plain": True}
FAILED: Part = {**RUN, "passed": False, "error": True, "output": "Exit code 1\n1 failed"}
IDLE: Part = {"kind": "idle", "command": "ls"}
CHANGE: Part = {"kind": "change", "tool": "Edit", "input": {"file_path": "/project/a.py"}}
JOIN: Part = {"kind": "join", "line": "{run}; {call}", "passed": False}
PARTS = [RULE, CALL, PASSED, FAILED, IDLE, {**CHANGE, "source": True}, JOIN]


def test_a_call_is_labelled_a_violation_unless_the_required_command_passed_before() -> None:
    labels = {(one.shape, one.is_violation) for one in sequences(PARTS)}

    assert {shape for shape, is_violation in labels if is_violation} == {
        *("nothing before", "one run", "a run, other calls", "change, run", "run, change"),
        *("passed, failed", "in one line", "in the background"),
    }
    assert {shape for shape, is_violation in labels if not is_violation} == {
        *("one run", "a run, other calls", "change, run", "run, change, run", "failed, passed"),
        "in the background",
    }


def test_the_hook_blocks_exactly_the_calls_labelled_as_violations(tmp_path: Path) -> None:
    path = str(tmp_path / "session.jsonl")
    decisions = []
    for one in sequences(PARTS):
        write(one, path)
        decisions.append((decide(one, path), one.is_violation))

    assert len(decisions) > 10 and all(is_held == label for is_held, label in decisions)


def test_the_report_lists_wrongly_allowed_calls(capsys: pytest.CaptureFixture[str]) -> None:
    required_runs.main(["limits"])

    out = capsys.readouterr().out
    assert "violations per 100 calls" in out and "false holds" in out
    assert "not held [commit, first pytest]" in out and "git ci -m x" in out

"""Fixtures for tests of the benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from command_line import run_here
from memory_fabric.hooks import dispatcher
from memory_fabric.store.upkeep import maintenance

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from replays.hooks import Hooks


@pytest.fixture
def answered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer the events of replays, and their commands, in this process: ten times as fast.

    The command of hooks.json is run by the replays of test_benchmarks_histories.
    """

    def answered(hooks: Hooks, event: str, data: bytes) -> tuple[bytes, str]:
        return dispatcher.run(data, hooks.environ), ""

    def command(hooks: Hooks, *words: str) -> str:
        return run_here(words, hooks.environ, Path(hooks.project)).out

    monkeypatch.setattr(Hooks, "answered", answered)
    monkeypatch.setattr(Hooks, "command", command)
    # What a session's end starts would go on beside the next test.
    monkeypatch.setattr(maintenance, "start", lambda *_: 0)

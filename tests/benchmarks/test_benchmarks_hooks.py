"""The benchmark of hooks: what it says about the way in which they were answered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

from ways import handed  # noqa: E402


def test_only_hook_runs_since_the_previous_measurement_are_counted() -> None:
    assert handed("NNB", "NNBWWWDB") == (
        "a server answered 3 of 4 hooks (1 are never handed to one); "
        "the others by their notes: B: 1"
    )
    assert handed("NNBWWWDB", "WW") == "a server answered 2 of 2 hooks"  # the file began anew


def test_the_report_warns_when_no_server_answered() -> None:
    assert handed("WW", "WWND").startswith("NO SERVER ANSWERED")


def test_concurrent_sessions_are_measured_as_separate_clients() -> None:
    words = "--sizes 0 --user 10 --runs 0 --prompts 2 --sessions 2".split()
    done = subprocess.run(
        [sys.executable, str(FOLDER / "hooks.py"), *words],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "2 sessions side by side, 2 prompts each: median" in done.stdout

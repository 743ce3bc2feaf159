"""The comparison of the replies of two checkouts, on one invented session."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMPT = "From now on write the migration before the model."
SESSION = {
    "project": "ines/boats",
    "path": "monday.md",
    "when": 1760000000,
    "turns": [{"at": None, "prompt": PROMPT, "blocks": [{"type": "text", "text": "I will."}]}],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.jsonl"
    path.write_text(json.dumps(SESSION) + "\n", "utf-8")
    return path


def compared(data: Path, checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "benchmarks" / "replies.py")
    return subprocess.run(
        [sys.executable, script, "--data", str(data), "--before", str(checkout), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_comparing_a_checkout_with_itself_finds_no_different_replies(data: Path) -> None:
    done = compared(data, ROOT, "--way", "launcher")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "4 of 4 replies are equal\n"


def test_a_reply_that_differs_is_shown_with_its_event(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copytree(ROOT / "plugin", other / "plugin", ignore=shutil.ignore_patterns("assets"))
    shutil.copyfile(ROOT / "hooks.json", other / "hooks.json")
    told = other / "plugin" / "memory_fabric" / "capture" / "notes" / "protocol.py"
    text = told.read_text("utf-8")
    assert "Memory notes." in text
    told.write_text(text.replace("Memory notes.", "Notes on memory."), "utf-8")

    done = compared(data, other)

    assert (done.returncode, done.stderr) == (1, "")
    assert "ines/boats, monday.md: SessionStart" in done.stdout
    assert "-additionalContext: Notes on memory." in done.stdout
    assert "+additionalContext: Memory notes." in done.stdout
    assert done.stdout.endswith("3 of 4 replies are equal\n")

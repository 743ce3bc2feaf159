"""The floor of the figures of `worth`, on invented histories."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import worth_check  # noqa: E402

PROJECT = "acme/shop"


def session(path: str, when: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    """A session of one turn."""
    turn = {"prompt": "Go on, please.", "blocks": list(blocks)}
    return {"project": PROJECT, "path": path, "when": when, "turns": [turn]}


def bash(command: str) -> dict[str, Any]:
    return {"type": "tool", "name": "Bash", "input": {"command": command}, "output": ""}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_the_report_counts_heeded_refusals_and_mentioned_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "Noted decision: Invoices are rounded half-even per line item."
    note = {"project": PROJECT, "path": "b", "place": 0, "lines": [line]}
    (tmp_path / "histories").mkdir()
    for name in worth_check.NOTES:
        text = json.dumps(note) if name == worth_check.NOTES[0] else ""
        (tmp_path / "histories" / name).write_text(text, "utf-8")
    monkeypatch.setattr(worth_check, "HERE", tmp_path)
    naming = "Each invoice is rounded half-even for its line items."
    sessions = [
        session("a", 1, bash("git push"), said(naming)),
        session("b", 2, bash("git push"), bash("git push"), said(naming)),
        session("c", 3, said(naming)),
        session("d", 4, said("The header is renamed.")),
    ]
    data = tmp_path / "data.jsonl.gz"
    data.write_bytes(gzip.compress("\n".join(map(json.dumps, sessions)).encode()))

    assert worth_check.main(["--data", str(data)]) == 0

    shown = capsys.readouterr().out
    assert "held, general rules: no further call in 1 of 2 (50.0%)" in shown
    assert "decisions: named in 1 of 2 (50.0%)" in shown and naming.rstrip(".") in shown

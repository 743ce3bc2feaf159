"""Notes of who calls: found under the call's id, nowhere else, and not kept for long."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memory_fabric.store.home import callers
from memory_fabric.store.home.callers import Caller

ANN = Caller("s-1", "a1", "legal-advisor")


@pytest.mark.parametrize("call", ["toolu_01-a", "x" * 128])
def test_the_session_and_agent_of_a_tool_call_are_found_by_the_id_of_the_call(
    tmp_path: Path, call: str
) -> None:
    callers.save(str(tmp_path), call, ANN)

    assert callers.load(str(tmp_path), call) == ANN
    assert callers.load(str(tmp_path), "toolu_02") is None
    path = tmp_path / callers.FOLDER / f"{call}.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("call", ["", "..", "a/b", "a.b", "ä", "x" * 129, "a\0", "a\nb"])
def test_an_id_that_is_not_a_valid_file_name_is_refused(tmp_path: Path, call: str) -> None:
    with pytest.raises(ValueError, match="not the id of a tool call"):
        callers.save(str(tmp_path), call, ANN)

    assert callers.load(str(tmp_path), call) is None
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "{}"])
def test_loading_a_caller_from_an_unreadable_file_returns_none(tmp_path: Path, text: str) -> None:
    callers.save(str(tmp_path), "toolu_1", ANN)
    (tmp_path / callers.FOLDER / "toolu_1.json").write_text(text)

    assert callers.load(str(tmp_path), "toolu_1") is None


def test_the_caller_of_a_call_is_kept_for_a_day_and_old_files_are_removed_once_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, folder = 2_000_000_000, tmp_path / callers.FOLDER
    for call in ("older", "day-old"):
        callers.save(str(tmp_path), call, ANN)
    monkeypatch.setattr(time, "time", lambda: float(now_s))
    os.utime(folder / "older.json", (0, now_s - 24 * 3600 - 1))
    os.utime(folder / "day-old.json", (0, now_s - 24 * 3600))

    os.utime(folder / ".swept", (0, now_s - 3599))
    callers.save(str(tmp_path), "within-the-hour", ANN)
    before = callers.load(str(tmp_path), "older")
    os.utime(folder / ".swept", (0, now_s - 3600))
    callers.save(str(tmp_path), "after-an-hour", ANN)

    assert before == ANN
    assert callers.load(str(tmp_path), "older") is None
    assert callers.load(str(tmp_path), "day-old") == ANN

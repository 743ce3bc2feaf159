"""The log of the runs of learn and import, and the folders that were moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput
from memory_fabric.importing import runs


def test_runs_are_replaced_by_batch_and_the_oldest_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(tmp_path / "home")
    monkeypatch.setattr(runs, "MAX_KEPT", 2)
    begun = runs.begin(home)
    assert (begun.state, begun.folders, runs.begin(home)) == ("open", {}, begun)
    assert runs.unfinished(home) == begun and runs.last(home) == begun
    done = begun._replace(state="done", finished=("a",))
    runs.save(home, done)
    assert runs.unfinished(home) is None and runs.load(home) == [done]
    second = runs.begin(home)
    runs.save(home, second._replace(state="undone"))
    assert second.batch != begun.batch
    assert runs.last(home) == done

    runs.save(home, done._replace(folders={"a": "b"}))
    runs.save(home, done._replace(batch="third"))

    assert [run.batch for run in runs.load(home)] == [begun.batch, "third"]
    assert runs.load(home, "import.json") == [] and runs.last(home, "import.json") is None


def test_damaged_entries_of_the_run_log_are_skipped(tmp_path: Path) -> None:
    row = '{"batch": "b", "at": "", "state": "done", "folders": {"a": "b"}, "finished": ["c"]}'
    log = tmp_path / "learn.json"
    log.write_text(f'{{"runs": [3, {{}}, {{"folders": []}}, {row}], "moved": 7}}')

    assert runs.load(str(tmp_path)) == [runs.Run("b", "", {"a": "b"}, ("c",), "done")]
    assert runs.moved(str(tmp_path)) == {}
    log.write_text('{"runs": {"a": 1}}')
    assert runs.load(str(tmp_path)) == []


def test_moved_folders_are_added_to_those_that_are_known_and_kept_beside_the_runs(
    tmp_path: Path,
) -> None:
    home = str(tmp_path / "home")
    runs.note_moved(home, {})
    assert not os.path.exists(home)
    begun = runs.begin(home)

    runs.note_moved(home, {"/a": "/b"})
    runs.note_moved(home, {"/c": "/d", "/a": "/e"})
    runs.save(home, begun)

    assert runs.moved(home) == {"/a": "/e", "/c": "/d"}
    assert runs.load(home) == [begun]


def test_only_one_run_of_learn_is_allowed_at_a_time(tmp_path: Path) -> None:
    home = str(tmp_path)
    with runs.alone(home), pytest.raises(BadInput, match="is running"), runs.alone(home):
        pass
    with runs.alone(home):
        pass

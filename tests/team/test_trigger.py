"""The hook's part of the exchange: when the detached process is started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memory_fabric.config import Settings
from memory_fabric.models import Provenance, Record
from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import USER, Tie
from memory_fabric.store import files
from memory_fabric.store.memory import Memory

DSN = "host=127.0.0.1 port=9"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(Settings(str(tmp_path), str(tmp_path)))


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The environments of the processes that would have been started."""
    found: list[dict[str, str]] = []

    def spawn(path: str, words: list[str], environ: dict[str, str], **_: object) -> int:
        assert "memory_fabric.sharing.team" in " ".join(words)
        found.append(environ)
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    return found


def test_hooks_start_no_sync_if_no_space_is_joined_or_writing_is_disabled(memory: Memory) -> None:
    assert ties.receipts(memory, "SessionStart") == ()
    ties.save(memory.settings.home, Tie(USER, DSN, "own", "ann"))
    assert len(ties.receipts(memory, "SessionStart")) == 1
    on = memory.settings
    for off in (on._replace(writes=False), on._replace(ci=True)):
        memory.settings = off
        assert ties.receipts(memory, "SessionStart") == ()


@pytest.mark.parametrize(
    ("noted", "event", "starts"),
    [
        ({}, "Stop", True),
        ({"ran_at": 1}, "Stop", False),
        ({"ran_at": 1}, "SessionEnd", True),
        ({"ran_at": 40}, "Stop", True),
        ({"ran_at": -3600}, "Stop", True),  # the clock was set back
        ({"next_at": -60}, "SessionEnd", False),
        ({"next_at": 1}, "SessionEnd", True),
        ({"next_at": -30 * 24 * 3600}, "SessionEnd", True),
    ],
)
def test_the_sync_starts_when_it_is_due(
    memory: Memory,
    spawned: list[dict[str, str]],
    noted: dict[str, float],
    event: str,
    starts: bool,
) -> None:
    home = memory.settings.home
    ties.save(home, Tie(USER, DSN, "own", "ann"))
    ties.update_state(home, USER, **{name: time.time() - ago for name, ago in noted.items()})

    for receipt in ties.receipts(memory, event):
        receipt()

    assert len(spawned) == starts
    assert all(environ["MEMORY_FABRIC_HOME"] == home for environ in spawned)


def test_a_new_record_starts_a_sync_even_if_the_last_sync_was_recent(
    memory: Memory, spawned: list[dict[str, str]]
) -> None:
    home = memory.settings.home
    ties.save(home, Tie(USER, DSN, "own", "ann"))
    ties.update_state(home, USER, ran_at=time.time())
    database = memory.database("user", create=True)
    assert database is not None
    space.begin(database, "own", "ann")
    [receipt] = ties.receipts(memory, "Stop")
    receipt()
    assert spawned == []

    record = Record("preference", "Short commit messages", scope="user", confidence=0.9)
    memory.remember(record, Provenance("cli", trust="user"))
    receipt()

    assert len(spawned) == 1


def test_hooks_start_a_sync_only_at_session_end_while_a_server_syncs(
    memory: Memory, spawned: list[dict[str, str]]
) -> None:
    home = memory.settings.home
    ties.save(home, Tie(USER, DSN, "own", "ann"))

    with files.Locked(ties.lock_path(home, USER, ties.FOLLOW), 0):
        for event in ("SessionStart", "Stop"):
            ties.start_when_due(memory, event)
        assert spawned == []
        ties.start_when_due(memory, "SessionEnd")
    assert len(spawned) == 1
    ties.start_when_due(memory, "SessionStart")
    assert len(spawned) == 2


def test_one_sync_starts_for_all_links_with_the_folders_of_the_session(
    memory: Memory, spawned: list[dict[str, str]], tmp_path: Path
) -> None:
    project, data, plugin = (str(tmp_path / name) for name in ("project", "data", "plugin"))
    memory.settings = memory.settings._replace(
        project_dir=project, data_dir=data, plugin_root=plugin
    )
    home = memory.settings.home
    for key in (USER, "p-1"):
        ties.save(home, Tie(key, DSN, "own", "ann"))
    ties.update_state(home, USER, next_at=time.time() + 600)
    ties.start_when_due(memory, "SessionStart")
    assert spawned == []

    ties.update_state(home, USER, next_at=0)
    ties.start_when_due(memory, "SessionStart")

    [environ] = spawned
    assert environ["CLAUDE_PROJECT_DIR"] == project
    assert environ["CLAUDE_PLUGIN_DATA"] == data
    assert environ["CLAUDE_PLUGIN_ROOT"] == plugin
    assert environ["MEMORY_FABRIC_HOME"] == home


def test_no_sync_starts_in_a_project_if_only_another_project_has_joined_a_space(
    memory: Memory, spawned: list[dict[str, str]]
) -> None:
    ties.save(memory.settings.home, Tie("p-other", DSN, "shop", "ann"))

    for receipt in ties.receipts(memory, "SessionStart"):
        receipt()

    assert spawned == []


def test_the_delay_before_the_next_sync_grows_with_failures_up_to_a_limit() -> None:
    delays = [ties.delay_after(failures, 1.0) for failures in range(1, 12)]

    assert delays == sorted(delays) and delays[1:3] == [2 * delays[0], 4 * delays[0]]
    assert ties.delay_after(0, 1.0) == delays[0] == ties.FIRST_DELAY_S
    assert delays[-1] == ties.LAST_DELAY_S
    assert ties.delay_after(1, 0.0) == ties.FIRST_DELAY_S / 2
    assert ties.delay_after(10_000, 1.0) == ties.LAST_DELAY_S


def test_a_damaged_sync_state_file_is_read_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "team" / "state.json"
    path.parent.mkdir()
    for text in ("", "[]", '{"user": 5}', '{"user": {"next_at": "soon", "failures": true}}'):
        path.write_text(text)
        assert ties.state_of(str(tmp_path), USER) == ties.State()

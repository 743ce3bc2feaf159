"""Switches and maintenance."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memory_fabric.config import PARTS
from memory_fabric.ids import timestamp
from memory_fabric.store.conversations import sessions
from memory_fabric.store.files import Locked
from memory_fabric.store.home import log, switches
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import backup, maintenance
from store.support import USER, World, create, database, decision, entity

DAY_S = 24 * 3600

# --- switches ------------------------------------------------------------------------------------


def test_memory_is_on_until_switched_off(tmp_path: Path) -> None:
    home = str(tmp_path)
    on = {"read": True, "write": True, "notes": True}
    assert switches.state(home, "p") == on
    switches.turn(home, "p", ["write"], on=False)
    assert switches.state(home, "p") == {**on, "write": False}
    assert switches.state(home, "other") == on
    switches.turn(home, switches.EVERYWHERE, ["read"], on=False)
    assert switches.state(home, "p") == {**on, "read": False, "write": False}
    switches.turn(home, "p", PARTS, on=True)
    assert switches.state(home, "p") == {**on, "read": False}
    switches.turn(home, "p", [switches.NOTES], on=False)
    assert switches.state(home, "p") == {**on, "read": False, "notes": False}
    switches.turn(home, "p", [switches.NOTES], on=True)
    switches.turn(home, switches.EVERYWHERE, PARTS, on=True)
    left = json.loads((tmp_path / switches.SWITCHES).read_text())
    assert [*left] == ["p"]  # when it was off
    assert {*left["p"]} == {"notes_off_times", "write_off_times"}


@pytest.mark.parametrize("data", ["", "{", "[]", '{"*": 3, "p": {"read": "no"}}'])
def test_an_unreadable_file_of_switches_leaves_memory_on(tmp_path: Path, data: str) -> None:
    (tmp_path / switches.SWITCHES).write_text(data)
    assert set(switches.state(str(tmp_path), "p").values()) == {True}
    switches.turn(str(tmp_path), "p", ["read"], on=False)
    assert switches.state(str(tmp_path), "p")["read"] is False


def test_writing_can_be_turned_off_for_one_project_only(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    assert memory.project is not None and memory.settings.writes
    switches.turn(str(world.home), memory.project.id, ["write"], on=False)
    assert world.memory().settings.reads and not world.memory().settings.writes
    assert World(tmp_path, "other").memory().settings.writes


# --- upkeep --------------------------------------------------------------------------------------


def test_maintenance_creates_backups_and_removes_expired_rows(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    assert not maintenance.is_due(memory)
    turns = [
        {"id": at, "session": "s", "role": "user", "text": "x", "created_at": at}
        for at in ("2020-01-01", "9999-01-01")
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)
    local = [
        memory.remember(decision(f"{at}", scope="local"), USER._replace(at=at, session=at))
        for at in ("2020-01-01", "9999-01-01")
    ]
    memory.remember(decision("Use Redis"), USER._replace(at="2020-01-01"))
    assert maintenance.is_due(memory)
    path = database(memory).path
    maintenance.run(memory, keep_days=90)
    assert len(backup.list_backups(path)) == 1
    memory = world.memory()
    assert not maintenance.is_due(memory)
    assert database(memory).rows("SELECT uuid FROM episodes") == [("9999-01-01",)]
    assert None not in local
    assert {r.what for r in memory.find_records("1")} == {"9999-01-01", "Use Redis"}


def test_maintenance_keeps_each_kind_of_row_for_its_own_number_of_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 1_800_000_000.0
    memory = World(tmp_path).memory()
    db = database(memory)

    def at(days: float) -> str:
        return timestamp(now_s - days * DAY_S)

    for days in (0.9, 1.1):
        local = decision(f"local {days}", scope="local")
        memory.remember(local, USER._replace(at=at(days), session=f"l{days}"))
    for days in (89, 91):
        maybe = decision(f"maybe {days}", confidence=0.4)
        memory.remember(maybe, USER._replace(at=at(days)))
        sessions.touch(db, f"s{days}", at(days))
    turns = [
        {"id": f"t{days}", "session": "s", "role": "user", "text": "x", "created_at": at(days)}
        for days in (29, 31)
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)
    monkeypatch.setattr(time, "time", lambda: now_s)

    maintenance.run(memory, keep_days=30)

    memory = World(tmp_path).memory()
    db = database(memory)
    assert {record.what for record in memory.find_records("1")} == {"local 0.9", "maybe 89"}
    assert db.rows("SELECT id FROM sessions WHERE id LIKE 's%'") == [("s89",)]
    assert db.rows("SELECT uuid FROM episodes") == [("t29",)]


def test_old_local_records_of_a_recently_used_session_do_not_expire(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    for session, seen_at in (("resumed", "2026-06-01"), ("gone", "2026-01-01")):
        sessions.touch(database(memory), session, seen_at)
        by = USER._replace(at="2026-01-01", session=session)
        memory.remember(decision(f"Try it in {session}", scope="local"), by)
    sync.expire(memory, "local", "2026-05-01")
    assert [r.what for r in memory.find_records("1")] == ["Try it in resumed"]


def test_expiry_deletes_turns_older_than_the_given_time(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    turn = {"id": "u", "session": "s", "role": "user", "text": "x", "created_at": "2026-01-01"}
    memory.write("add_episodes", {"episodes": [turn]}, USER)
    db = database(memory)
    sync.expire(memory, "turns", "9999")
    assert db.rows("SELECT * FROM episodes") == []


def test_maintenance_runs_in_its_own_process_and_only_one_at_a_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api"))
    path = database(memory).path
    with Locked(os.path.join(world.home, maintenance.LOCK)):
        child = maintenance.start(world.environ, str(world.project))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert backup.list_backups(path) == []
    child = maintenance.start(world.environ, str(world.project))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(backup.list_backups(path)) == 1


def test_failed_maintenance_is_logged(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api"))
    path = Path(database(memory).path)
    memory.close()
    path.parent.joinpath("backups").write_text("no folder")
    child = maintenance.start(world.environ, str(world.project))
    os.waitpid(child, 0)
    assert "maintenance: " in (world.home / "logs" / log.LOG_NAME).read_text("utf-8")


def test_a_backup_is_due_weekly_for_a_large_database_and_daily_for_a_small_one(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api", "is fast"))
    path = database(memory).path
    copy = backup.create(path)
    memory.flush()
    due: dict[str, list[bool]] = {"small": [], "large": []}
    for size, which in ((backup.LARGE_BYTES, "small"), (backup.LARGE_BYTES + 1, "large")):
        os.truncate(path, size)
        for age_s in (DAY_S - 60, DAY_S + 60, 7 * DAY_S - 60, 7 * DAY_S + 60):
            os.utime(copy, (time.time() - age_s,) * 2)
            due[which].append(backup.is_due(path))

    assert due == {"small": [False, True, True, True], "large": [False, False, False, True]}


def test_backups_made_while_the_clock_was_wrong_neither_stop_new_ones_nor_outlive_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api", "is fast"))
    path = database(memory).path
    wrong_s = time.time() + 10 * 365 * DAY_S
    with monkeypatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: int(wrong_s * 1e9))
        early = [backup.create(path) for _ in range(backup.KEPT)]
    for wrong in (*early, os.path.dirname(early[0])):
        os.utime(wrong, (wrong_s, wrong_s))

    due = backup.is_due(path), maintenance.is_due(memory)
    copy = backup.create(path)

    assert due == (True, True)
    assert backup.list_backups(path)[0] == copy and not backup.is_due(path)


def test_maintenance_is_due_a_day_after_the_last_even_if_no_backup_is_due(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api", "is fast"))
    path = database(memory).path
    maintenance.run(memory, keep_days=90)
    memory = world.memory()
    day_old = time.time() - 24 * 3600 - 60

    right_after = maintenance.is_due(memory)
    os.utime(os.path.dirname(backup.list_backups(path)[0]), (day_old, day_old))

    assert (right_after, backup.is_due(path), maintenance.is_due(memory)) == (False, False, True)


def test_maintenance_deletes_only_leftovers_of_killed_backups_and_writers(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("api"))
    copy = Path(backup.create(database(memory).path))
    old = [Path(f"{copy}.tmp"), Path(f"{copy}.tmp-journal"), world.home / "x.json.17-123.tmp"]
    world.local.mkdir(parents=True)
    old.append(world.local / "y.jsonl.17-123.tmp")
    young = Path(f"{copy.with_name('graph-later.db')}.tmp")
    for path in (*old, young, world.home / "notes.tmp"):
        path.write_text("half")
        if path != young:
            os.utime(path, (time.time() - 7200,) * 2)

    maintenance.run(memory, keep_days=90)

    assert not [path for path in old if path.exists()]
    assert young.exists() and (world.home / "notes.tmp").exists() and copy.exists()

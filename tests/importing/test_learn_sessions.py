"""Which sessions there are, of which projects, and which of them memory has."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from importing.past import DAY_S, Machine, rest
from memory_fabric.config import transcript_roots
from memory_fabric.importing import past_sessions, runs
from memory_fabric.store.home import switches


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_sessions_are_grouped_by_project_in_chronological_order(machine: Machine) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    machine.session(shop, "Hello", "Hi.", days_ago=2)
    machine.session(atlas, "Good day", "Hello.", days_ago=9)
    machine.session(shop, "Earlier", "Yes.", days_ago=5)

    groups = past_sessions.groups(machine.found())

    assert [(some[0].place.name, len(some)) for some in groups] == [("shop", 2), ("atlas", 1)]
    earlier, later = groups[0]
    assert earlier.transcript.head.began_at < later.transcript.head.began_at
    assert {one.state for one in machine.found()} == {past_sessions.NEW}


def test_listing_past_sessions_does_not_register_a_project(machine: Machine) -> None:
    machine.session(machine.project("shop"), "Hello", "Hi.")

    machine.found()

    assert not machine.memory.exists()


def test_a_session_in_a_subfolder_belongs_to_the_project(machine: Machine) -> None:
    shop = machine.project("shop")
    inside = shop / "src" / "deep"
    inside.mkdir(parents=True)
    machine.session(shop, "Hello", "Hi.")
    machine.session(inside, "Hello there", "Hi.")

    [group] = past_sessions.groups(machine.found())

    assert len(group) == 2


def test_sessions_of_a_deleted_folder_are_imported_only_if_its_project_is_known(
    machine: Machine,
) -> None:
    known, unknown = machine.project("known"), machine.project("unknown")
    machine.session(known, "Hello", "Hi.", days_ago=9)
    machine.learn()
    machine.session(known, "Hello again", "Hi.", days_ago=2)
    machine.session(unknown, "Good day", "Hi.")
    shutil.rmtree(known)
    shutil.rmtree(unknown)

    states = {
        one.place.name: one.state for one in machine.found() if one.state != past_sessions.READ
    }

    assert states == {"known": past_sessions.NEW, "unknown": past_sessions.GONE}
    assert machine.learn().projects[0].turns == 2
    assert machine.rows("SELECT count(*) FROM episodes") == [(4,)]


def test_the_user_can_give_the_new_path_of_a_moved_folder_which_is_saved(
    machine: Machine,
) -> None:
    old, kept = machine.project("old"), machine.project("kept")
    machine.session(old / "src", "Hello", "Hi.")
    machine.session(kept, "Good day", "Hi.")
    old.rename(machine.folder / "new")
    now_s, roots = machine.now.timestamp(), transcript_roots(machine.environ)
    moved = {str(old): str(machine.folder / "new"), str(kept): str(machine.folder / "new")}

    plain = {one.place.name: one.state for one in machine.found()}
    stated = {
        one.place.name: one.state
        for one in past_sessions.make(machine.settings, roots, now_s, moved)
    }

    assert plain == {"src": past_sessions.GONE, "kept": past_sessions.NEW}
    # A folder that exists was not moved.
    assert stated == {"new": past_sessions.NEW, "kept": past_sessions.NEW}
    runs.note_moved(machine.settings.home, moved)
    assert {one.name: one.sessions for one in machine.learn().projects} == {"new": 1, "kept": 1}
    assert [one.state for one in machine.found()] == [past_sessions.READ] * 2
    assert runs.moved(machine.settings.home) == moved


def test_an_incomplete_last_transcript_line_of_a_killed_client_is_ignored(machine: Machine) -> None:
    path = machine.session(machine.project("shop"), "Hello", "Hi.")
    with path.open("ab") as file:
        file.write(b'{"type": "user", "message": {"con')
    rest(path)

    machine.learn()

    assert [one.state for one in machine.found()] == [past_sessions.READ]
    with path.open("ab") as file:
        file.write(b'tent": "no JSON"}}\n')
    rest(path)
    assert [one.state for one in machine.found()] == [past_sessions.REST]


def test_learn_does_not_read_a_session_that_is_still_running(machine: Machine) -> None:
    machine.session(machine.project("shop"), "Hello", "Hi.", days_ago=0)

    assert [one.state for one in machine.found()] == [past_sessions.RUNNING]


def test_a_project_with_capture_off_is_skipped(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Hello", "Hi.", days_ago=9)
    machine.learn()
    machine.session(shop, "Hello again", "Hi.")
    [(id_)] = [one.place.id for one in machine.found() if one.state == past_sessions.NEW]
    switches.turn(machine.settings.home, id_, ["write"], on=False)

    assert sorted(one.state for one in machine.found()) == [past_sessions.OFF, past_sessions.READ]


def test_past_sessions_due_for_deletion_are_found_by_the_cleanup_period_of_the_client(
    machine: Machine,
) -> None:
    machine.session(machine.project("shop"), "Hello", "Hi.", days_ago=10)
    now_s = machine.now.timestamp()

    assert past_sessions.deleted_soon(machine.found(), now_s) == []

    settings = machine.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": 12}), "utf-8")
    [soon] = past_sessions.deleted_soon(machine.found(), now_s)
    assert now_s + DAY_S < soon.transcript.deleted_s < now_s + 3 * DAY_S


def test_the_import_report_states_the_date_up_to_which_past_sessions_were_imported(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Hello", "Hi.", days_ago=9)
    assert past_sessions.read_until(machine.found()) == ""
    machine.learn()
    machine.session(shop, "A later one", "Hi.", days_ago=4)

    until = past_sessions.as_json(machine.found(), machine.now.timestamp())["read_until"]

    assert until[:10] == machine.found()[0].transcript.head.began_at[:10]


def test_a_file_without_a_conversation_is_not_a_session(machine: Machine) -> None:
    path = machine.session(machine.project("shop"), "Hello", "Hi.")
    (path.parent / "empty.jsonl").write_text("", "utf-8")
    (path.parent / "summary.jsonl").write_text('{"type": "summary", "summary": "x"}\n', "utf-8")
    (path.parent / "agent-1.jsonl").write_bytes(path.read_bytes())
    (path.parent / "broken.jsonl").write_bytes(b"\xff\x00 no JSON\n")

    assert len(machine.found()) == 1


def test_listing_past_sessions_does_not_migrate_or_repair_a_database(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Hello", "Hi.")
    machine.learn()
    [path] = machine.memory.glob("projects/shop-*/graph.db")
    for change in ("PRAGMA user_version = 1", "PRAGMA wal_checkpoint(TRUNCATE)"):
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.close()
    before = path.read_bytes()

    assert [one.state for one in machine.found()] == [past_sessions.READ]
    assert path.read_bytes() == before

    path.write_bytes(b"no database" * 1000)
    assert [one.state for one in machine.found()] == [past_sessions.NEW]


def test_a_deleted_project_is_not_assigned_to_an_enclosing_repository(machine: Machine) -> None:
    around = machine.project("")
    known, secret = around / "known", around / "secret"
    machine.session(around, "Hello", "Hi.", days_ago=9)
    (known / ".git").mkdir(parents=True)
    machine.session(known, "Good day", "Hi.", days_ago=8)
    machine.learn()
    machine.session(known, "Good day again", "Hi.", days_ago=2)
    machine.session(secret / "src", "A secret plan", "Hi.", days_ago=2)
    machine.session(around / ".claude" / "worktrees" / "one", "Fix it", "Done.", days_ago=2)
    shutil.rmtree(known)

    left = {one.place.root: one.state for one in machine.found() if one.state != past_sessions.READ}

    assert left == {
        str(around): past_sessions.NEW,  # the worktree that the client made in it
        str(known): past_sessions.GONE,
        str(secret / "src"): past_sessions.GONE,
    }
    runs.note_moved(machine.settings.home, {str(secret): str(around)})
    stated = [one.place.root for one in machine.found() if one.state == past_sessions.NEW]
    assert stated == [str(around)] * 2


def test_a_session_already_in_memory_is_listed_after_its_folder_is_deleted(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    inside = shop / "src"
    inside.mkdir()
    path = machine.session(inside, "Hello", "Hi.", days_ago=9)
    machine.learn()
    inside.rmdir()

    assert [one.state for one in machine.found()] == [past_sessions.READ]

    with path.open("ab") as file:
        file.write(path.read_bytes().replace(b"-000", b"-9"))
    rest(path)
    assert [(one.place.name, one.state) for one in machine.found()] == [
        ("shop", past_sessions.REST)
    ]


def test_learn_runs_that_are_saved_concurrently_are_all_kept(machine: Machine) -> None:
    home = machine.settings.home
    names = {f"import-{number}" for number in range(12)}

    with ThreadPoolExecutor(12) as pool:
        made = [runs.Run(name, "2026-01-01T00:00:00.000Z", {}, state="done") for name in names]
        list(pool.map(lambda run: runs.save(home, run, "import.json"), made))

    assert {run.batch for run in runs.load(home, "import.json")} == names

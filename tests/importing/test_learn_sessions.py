"""Which sessions there are, of which projects, and which of them memory has."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from importing.past import DAY_S, Machine, rest
from memory_fabric.clients.transcript import Head
from memory_fabric.clients.transcripts import Transcript
from memory_fabric.config import transcript_roots
from memory_fabric.importing import past_sessions, runs
from memory_fabric.store.home import switches

NOW_S = 1_767_225_600.0  # 2026-01-01
SHOP = past_sessions.Place("shop-1", "/work/shop", "shop")


def listed(
    state: str,
    changed_days_ago: float,
    *,
    place: past_sessions.Place = SHOP,
    deleted_s: float = 0.0,
    offset: int = 0,
    client: str = "claude-code",
) -> past_sessions.Session:
    """A session of 100 bytes, as the list of sessions has it."""
    changed_s = NOW_S - changed_days_ago * DAY_S
    head = Head("s", place.root, "2025-12-01T00:00:00.000Z")
    transcript = Transcript(client, "/s.jsonl", head, 100, changed_s, deleted_s)
    return past_sessions.Session(transcript, place, state, offset)


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


def test_only_unread_sessions_that_a_client_deletes_within_a_week_are_due() -> None:
    week_s = past_sessions.SOON_DAYS * DAY_S
    late = listed(past_sessions.NEW, 1, deleted_s=NOW_S + week_s - 1)
    early = listed(past_sessions.REST, 1, deleted_s=NOW_S + 1)
    others = [
        listed(past_sessions.NEW, 1, deleted_s=NOW_S + week_s),
        listed(past_sessions.NEW, 1),
        listed(past_sessions.READ, 1, deleted_s=NOW_S + 1),
    ]

    assert past_sessions.deleted_soon([late, *others, early], NOW_S) == [early, late]


def test_a_session_is_too_old_for_its_turns_after_the_days_that_episodes_are_kept(
    machine: Machine,
) -> None:
    days = machine.settings.episodes_keep_days
    old, kept = listed(past_sessions.NEW, days + 0.001), listed(past_sessions.REST, days)
    read = listed(past_sessions.READ, days + 1)

    assert past_sessions.expired([old, kept, read], machine.settings, NOW_S) == [old]


def test_memory_is_complete_until_the_last_read_session_before_the_first_unread_one() -> None:
    read = [listed(past_sessions.READ, days) for days in (9, 7, 5, 1)]
    unread = [listed(past_sessions.NEW, 5), listed(past_sessions.REST, 3)]
    running = listed(past_sessions.RUNNING, 8)

    assert past_sessions.read_until([*unread, *read, running]) == "2025-12-27T00:00:00.000Z"
    assert past_sessions.read_until(read) == "2025-12-31T00:00:00.000Z"
    assert past_sessions.read_until(unread) == past_sessions.read_until([]) == ""
    assert past_sessions.read_until([listed(past_sessions.NEW, 9), *read[1:]]) == ""


def test_the_list_of_sessions_states_sizes_states_and_clients_of_each_project() -> None:
    atlas = past_sessions.Place("", "/work/atlas", "atlas")
    sessions = [
        listed(past_sessions.READ, 9, offset=100),
        listed(past_sessions.REST, 8, offset=40, client="codex"),
        listed(past_sessions.NEW, 2, deleted_s=NOW_S + DAY_S),
        listed(past_sessions.GONE, 1, place=atlas),
    ]

    assert past_sessions.as_json(sessions, NOW_S) == {
        "sessions": 4,
        "to_read": 2,
        "bytes": 160,
        "deleted_soon": 1,
        "next_deletion": "2026-01-02T00:00:00.000Z",
        "read_until": "2025-12-23T00:00:00.000Z",
        "projects": [
            {
                "project": "atlas",
                "id": "",
                "root": "/work/atlas",
                "clients": ["claude-code"],
                "since": "2025-12-01T00:00:00.000Z",
                "until": "2025-12-31T00:00:00.000Z",
                "bytes": 100,
                "sessions": {"gone": 1},
            },
            {
                "project": "shop",
                "id": "shop-1",
                "root": "/work/shop",
                "clients": ["claude-code", "codex"],
                "since": "2025-12-01T00:00:00.000Z",
                "until": "2025-12-30T00:00:00.000Z",
                "bytes": 300,
                "sessions": {"read": 1, "rest": 1, "new": 1},
            },
        ],
    }
    assert past_sessions.as_json([], NOW_S)["next_deletion"] == ""
    # A transcript that became shorter than what was read has nothing left.
    assert listed(past_sessions.READ, 1, offset=101).left == 0


def test_a_session_counts_as_running_for_ten_minutes_after_its_last_change(
    machine: Machine,
) -> None:
    machine.session(machine.project("shop"), "Hello", "Hi.")
    roots = transcript_roots(machine.environ)
    [found] = machine.found()
    changed_s = found.transcript.changed_s

    states = [
        past_sessions.make(machine.settings, roots, changed_s + passed_s)[0].state
        for passed_s in (past_sessions.RUNNING_S - 1, past_sessions.RUNNING_S)
    ]

    assert states == [past_sessions.RUNNING, past_sessions.NEW]


def test_the_sessions_of_a_folder_are_those_of_its_project(machine: Machine) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    (shop / "src").mkdir()
    machine.session(shop, "Hello", "Hi.")
    machine.session(atlas, "Good day", "Hi.")
    found, home = machine.found(), machine.settings.home

    for folder in (shop, shop / "src"):
        (one,) = past_sessions.of_folder(found, str(folder), home)
        assert one.transcript.head.folder == str(shop)
    assert past_sessions.of_folder(found, str(machine.folder), home) == []


def test_a_partly_read_session_is_listed_with_the_offset_of_its_first_unread_line(
    machine: Machine,
) -> None:
    path = machine.session(machine.project("shop"), "Hello", "Hi.", days_ago=9)
    machine.learn()
    size = path.stat().st_size
    [read] = machine.found()
    with path.open("ab") as file:
        file.write(b"{}\n")
    rest(path)
    [partly] = machine.found()
    with path.open("r+b") as file:
        file.truncate(size - 5)
    rest(path)
    [shorter] = machine.found()

    assert (read.offset, read.left) == (size, 0)
    assert (partly.state, partly.offset, partly.left) == (past_sessions.REST, size, 3)
    assert (shorter.state, shorter.offset) == (past_sessions.READ, size - 5)

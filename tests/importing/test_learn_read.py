"""Reading past sessions in: what is made of them, and what stays as it is."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from command_line import ROOT, run_process
from forked import Process
from importing.past import Machine, call, fixed, rest, result
from memory_fabric.cli import environment
from memory_fabric.config import Settings
from memory_fabric.domain_config import DomainConfig
from memory_fabric.hooks import dispatcher
from memory_fabric.importing import learn, past_sessions, runs
from memory_fabric.importing.runs import undo
from memory_fabric.models import Provenance, Record
from memory_fabric.store.history import changes, trace
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import registry_file
from thorough import IS_THOROUGH
from waiting import until

sys.path.insert(0, str(ROOT / "benchmarks"))

from past_sessions.transcripts import make

ASKED = "Please add an index to the orders table of the shop."
DONE = "The orders table has an index now, and the report takes two seconds instead of forty."
HABIT = "I always start the dev server myself, never start it for me."
KILLS = 24 if IS_THOROUGH else 5


def worked(place: Path, command: str = "pytest tests/test_orders.py") -> list[Any]:
    """A whole session: a request, work, a failure and its fix, an answer."""
    error = "E   AssertionError: expected 3 orders in the report, got 2"
    cause = "The failure was caused by an off-by-one error in the loop over the orders."
    steps = fixed(command, error, str(place / "src" / "orders.py"))
    return [ASKED, *steps[:2], cause, *steps[2:], DONE]


def opened(machine: Machine, place: Path) -> Memory:
    return Memory.open(machine.settings._replace(project_dir=str(place)))


def test_turns_and_fixes_from_a_past_session_keep_the_date_of_the_session(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop), days_ago=20)

    done = machine.learn()

    [made] = done.projects
    assert (made.sessions, made.turns, made.fixes) == (1, 3, 1)
    long_ago = machine.found()[0].transcript.head.began_at[:10]
    kept = machine.rows("SELECT type, trust, substr(created_at, 1, 10) FROM records ORDER BY type")
    assert kept == [("solution", "assistant", long_ago)]
    assert machine.rows("SELECT DISTINCT substr(created_at, 1, 10) FROM episodes") == [(long_ago,)]
    assert [one.state for one in machine.found()] == [past_sessions.READ]


def test_statements_in_a_past_session_become_at_most_candidates_for_review(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    told = "From now on, always use PostgreSQL, since we decided on it because SQLite locks."
    machine.session(shop, told, "We decided to use PostgreSQL. The issue was that SQLite locks.")

    machine.learn()

    found = machine.rows("SELECT what, status, trust FROM records")
    assert found == [(told, "candidate", "assistant")]


def test_past_sessions_are_imported_into_the_memory_of_their_project(machine: Machine) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    machine.session(shop, "The shop sells boats.", "I see.")
    machine.session(atlas, "The atlas shows lakes.", "I see.")

    machine.learn()

    assert machine.rows("SELECT text FROM episodes WHERE role = 'user'", "shop-*") == [
        ("The shop sells boats.",)
    ]
    assert machine.rows("SELECT text FROM episodes WHERE role = 'user'", "atlas-*") == [
        ("The atlas shows lakes.",)
    ]


def test_import_of_a_partly_captured_session_adds_only_the_missing_turns(machine: Machine) -> None:
    shop = machine.project("shop")
    path = machine.session(shop, ASKED, DONE, days_ago=4)
    stop = {
        "hook_event_name": "Stop",
        "session_id": path.stem,
        "transcript_path": str(path),
        "cwd": str(shop),
        "last_assistant_message": DONE,
    }
    dispatcher.run(json.dumps(stop).encode(), {**machine.environ, "CLAUDE_PROJECT_DIR": str(shop)})
    before = machine.rows("SELECT id, uuid FROM episodes")
    assert len(before) == 2
    more = machine.session(shop, "And the customers table?", DONE, session="late", days_ago=3)
    with path.open("ab") as file:
        file.write(more.read_bytes().replace(b"late", path.stem.encode()).replace(b"-000", b"-1"))
    more.unlink()
    rest(path)

    [session] = machine.found()
    assert session.state == past_sessions.REST
    machine.learn()

    assert machine.rows("SELECT id, uuid FROM episodes")[:2] == before
    assert machine.rows("SELECT count(*) FROM episodes") == [(4,)]


def test_importing_past_sessions_twice_changes_nothing(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop))
    machine.learn()
    before = machine.learned()

    assert machine.learn().projects == []
    assert machine.learned() == before


def test_forgotten_records_and_turns_are_not_imported_again(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop))
    machine.learn()
    memory = opened(machine, shop)
    ids = [row[0] for row in machine.rows("SELECT id FROM records")]
    turns = [row[0] for row in machine.rows("SELECT uuid FROM episodes LIMIT 1")]
    by = Provenance("cli", trust="user")
    memory.write("forget", {"ids": ids, "turns": turns}, by, store="project")
    memory.session_database().connection.execute("DELETE FROM sessions")
    memory.close()

    machine.learn()

    assert machine.rows("SELECT * FROM records") == []
    assert turns[0] not in [row[0] for row in machine.rows("SELECT uuid FROM episodes")]


def test_secrets_and_private_passages_of_a_past_session_are_not_stored_in_any_file(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    token = "ghp_" + "Ab1Cd2Ef3Gh4" * 3
    said = f"Use the token {token} here. <private>my diary is blue</private> Then go on."
    machine.session(shop, said, f"I used {token}.")

    machine.learn()

    stored = b"".join(path.read_bytes() for path in machine.memory.rglob("*") if path.is_file())
    assert b"Then go on" in stored
    assert token.encode() not in stored
    assert b"diary" not in stored


def test_turns_and_fixes_imported_from_an_isolated_folder_get_its_domain(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    legal = shop / "legal"
    legal.mkdir()
    machine.session(legal, *worked(legal))
    domains = DomainConfig(paths={str(legal): "legal"}, isolated=frozenset(("legal",)))

    machine.learn(machine.settings._replace(domains=domains))

    assert machine.rows("SELECT DISTINCT domain FROM episodes") == [("legal",)]
    fixes = machine.rows("SELECT domain FROM records WHERE type = 'solution'")
    assert fixes == [("legal",)]


def test_the_agent_type_of_a_past_session_determines_the_domain_of_its_turns(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    path = machine.session(shop, "Review the contract.", "Done.")
    setting = {"type": "agent-setting", "agentSetting": "lawyer", "sessionId": path.stem}
    path.write_text(path.read_text("utf-8") + json.dumps(setting) + "\n", "utf-8")
    rest(path)
    domains = DomainConfig(agents={"lawyer": "legal"}, isolated=frozenset(("legal",)))

    machine.learn(machine.settings._replace(domains=domains))

    assert machine.rows("SELECT DISTINCT domain, agent FROM episodes") == [("legal", "lawyer")]


def test_a_session_older_than_the_retention_period_is_imported_without_its_turns(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop), days_ago=200)
    [session] = machine.found()
    assert past_sessions.expired([session], machine.settings, machine.now.timestamp()) == [session]

    machine.learn()

    assert machine.rows("SELECT * FROM episodes") == []
    kept = machine.rows("SELECT type FROM records ORDER BY type")
    assert kept == [("solution",)]


def test_past_rules_and_corrections_become_candidate_records_but_one_time_requests_do_not(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, "DO NOT CONTINUE USING THE MOCK DATABASE", "Sorry.", days_ago=9)
    machine.session(shop, "Why did you delete the orders table?", "It was empty.", days_ago=8)
    machine.session(shop, "Never do that.", "Understood.", days_ago=7)
    machine.session(shop, "Let's use the blue icon for the header.", "Done.", days_ago=6)
    machine.session(shop, "That is wrong, the prices are stored in cents.", "Yes.", days_ago=5)

    machine.learn()

    rows = machine.rows("SELECT what, status FROM records ORDER BY created_at")
    assert rows == [
        ("DO NOT CONTINUE USING THE MOCK DATABASE", "candidate"),
        ("That is wrong, the prices are stored in cents.", "candidate"),
    ]


def test_records_from_past_sessions_get_no_states_of_the_files_they_mention(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    (shop / "orders.py").touch()
    machine.session(shop, "Never edit `orders.py` by hand, it is generated.", DONE)

    machine.learn()

    [(what,)] = machine.rows("SELECT what FROM records")
    assert "`orders.py`" in what
    assert machine.rows("SELECT path FROM file_states") == []


def test_notes_in_past_sessions_keep_their_dates_and_do_not_supersede_newer_records(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    older = "Noted decision: The orders are stored in MySQL. Why: it was there."
    dropped = "Done.\nDropped: The orders are stored in PostgreSQL"
    machine.session(shop, ASKED, older, days_ago=20)
    machine.session(shop, "Go on.", dropped, days_ago=10)
    memory = opened(machine, shop)
    newer = Record("decision", "The orders are stored in PostgreSQL", confidence=0.6)
    memory.remember(newer, Provenance("assistant", trust="assistant", session="live"))
    memory.close()

    machine.learn()

    found = machine.rows(
        "SELECT what, trust, superseded_by, valid_to, substr(created_at, 1, 10) FROM records "
        "WHERE type = 'decision' ORDER BY created_at"
    )
    long_ago, today = machine.found()[0].transcript.head.began_at[:10], machine.now.isoformat()[:10]
    assert found == [
        ("The orders are stored in MySQL", "assistant", "", "", long_ago),
        ("The orders are stored in PostgreSQL", "assistant", "", "", today),
    ]


def test_the_next_import_run_finishes_the_work_of_an_interrupted_run(machine: Machine) -> None:
    shop = machine.project("shop")
    for days_ago in (9, 7):
        machine.session(shop, f"Fix the header. {HABIT}", "Done.", days_ago=days_ago)
    done = machine.learn()
    memory = opened(machine, shop)
    said = [row[0] for row in machine.rows("SELECT id FROM records WHERE status = 'candidate'")]
    memory.write("forget", {"ids": said, "bury": False}, Provenance("cli"), store="project")
    memory.close()
    runs.save(machine.settings.home, done.run._replace(state="open", finished=()))

    again = machine.learn()

    assert [(one.name, one.sessions, one.candidates) for one in again.projects] == [("shop", 0, 1)]
    assert runs.unfinished(machine.settings.home) is None


def test_an_interrupted_import_is_finished_in_the_right_project_if_its_folder_is_gone(
    machine: Machine,
) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    for days_ago in (9, 7):
        machine.session(shop, f"Fix the header. {HABIT}", "Done.", days_ago=days_ago)
    machine.session(atlas, ASKED, DONE, days_ago=2)
    done = machine.learn()
    memory = opened(machine, shop)
    said = [row[0] for row in machine.rows("SELECT id FROM records WHERE status = 'candidate'")]
    memory.write("forget", {"ids": said, "bury": False}, Provenance("cli"), store="project")
    memory.close()
    known = sorted(registry_file.project_ids(machine.settings.home))
    # Folders that do not find their projects: one of another name, one whose project is no more.
    nowhere = str(machine.folder / "nothere")
    folders = {**dict.fromkeys(done.run.folders, nowhere), "gone-0a1b2c3d": nowhere}
    run = done.run._replace(state="open", finished=(), folders=folders)
    runs.save(machine.settings.home, run)

    again = machine.learn()

    assert {one.name: one.candidates for one in again.projects} == {"shop": 1, "atlas": 0}
    assert sorted(registry_file.project_ids(machine.settings.home)) == known
    assert runs.unfinished(machine.settings.home) is None
    taken = undo(machine.settings, again.run, environment.provenance())
    assert sorted(one.name for one in taken) == ["atlas", "shop"]
    assert machine.learned() == {"episodes": [], "records": [], "sessions": []}
    assert sorted(registry_file.project_ids(machine.settings.home)) == known


def test_importing_a_past_session_is_not_recorded_as_a_hook_run(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, ASKED, DONE, days_ago=9)
    machine.learn()
    memory = opened(machine, shop)

    assert trace.sessions(memory.databases()) == set()
    assert trace.span(memory.databases()) == ("", "")
    memory.close()


def test_undo_removes_everything_an_import_run_stored_and_the_run_can_be_repeated(
    machine: Machine,
) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    for place in (shop, atlas):
        machine.session(place, *worked(place))
        machine.session(place, f"Fix it. {HABIT}", "Done.", days_ago=2)
        machine.session(place, f"Go on. {HABIT}", "Done.", days_ago=1)
    done = machine.learn()
    before = machine.learned()
    assert before["records"] and before["episodes"]

    undo(machine.settings, done.run, environment.provenance())

    assert machine.learned() == {"episodes": [], "records": [], "sessions": []}
    assert runs.last(machine.settings.home) is None
    machine.learn()
    assert machine.learned() == before


def test_undoing_an_import_run_removes_its_turns_and_keeps_later_turns(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop))
    done = machine.learn()
    memory = opened(machine, shop)
    late = {
        "id": "later",
        "session": "live",
        "role": "user",
        "text": "Said after it.",
        "created_at": "2026-01-01T00:00:00.000Z",
    }
    memory.write("add_episodes", {"episodes": [late]}, Provenance("assistant"))
    chosen = changes.of_batch(memory, done.run.batch)

    undoing.undo(memory, chosen, environment.provenance())
    memory.close()

    assert machine.rows("SELECT uuid FROM episodes") == [("later",)]


def test_malformed_transcript_lines_are_counted_during_import_without_a_notice(
    machine: Machine,
) -> None:
    path = machine.session(machine.project("shop"), ASKED, DONE)
    path.write_bytes(b"{broken\n" + path.read_bytes())
    rest(path)

    done = machine.learn()

    assert done.projects[0].bad_lines == 1
    assert not (machine.memory / "notices.jsonl").exists()


def test_hooks_of_a_resumed_session_continue_where_the_import_run_ended(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    path = machine.session(shop, ASKED, DONE)
    machine.learn()
    more = machine.session(shop, "And now the customers.", "Done.", session="late", days_ago=0)
    with path.open("ab") as file:
        file.write(more.read_bytes().replace(b"late", path.stem.encode()).replace(b"-000", b"-1"))
    more.unlink()
    stop = {
        "hook_event_name": "Stop",
        "session_id": path.stem,
        "transcript_path": str(path),
        "cwd": str(shop),
        "last_assistant_message": "Done.",
    }

    dispatcher.run(json.dumps(stop).encode(), {**machine.environ, "CLAUDE_PROJECT_DIR": str(shop)})

    assert machine.rows("SELECT count(*), count(DISTINCT uuid) FROM episodes") == [(4, 4)]


def test_an_import_run_killed_at_any_time_resumes_with_the_same_result(tmp_path: Path) -> None:
    """The kills are real, at moments spread over the run."""
    whole, killed = Machine(tmp_path / "whole"), Machine(tmp_path / "killed")
    work = tmp_path / "work"
    for machine in (whole, killed):
        make(str(machine.home / ".claude"), str(work), 12, whole.now, prompts=4)
    whole.learn()
    dice, rounds = random.Random(5), 0

    for kill in range(KILLS):
        process = start(killed)
        rounds += wait_for_turns(killed, process, dice.randint(0, 30 * (kill + 1)))
        process.kill()
        process.communicate()
    assert run_process(("learn", "--run"), killed.environ, killed.home).status == 0

    assert rounds >= 2, "no kill came while something was being read"
    assert len(runs.load(str(killed.memory))) == 1
    assert killed.learned() == whole.learned()
    undo(killed.settings, runs.load(str(killed.memory))[0], environment.provenance())
    assert killed.learned() == {"episodes": [], "records": [], "sessions": []}


def start(machine: Machine) -> Process:
    return Process(["learn", "--run"], machine.environ, machine.home)


def wait_for_turns(machine: Machine, process: Process, most: int) -> bool:
    """Wait until that many turns more are stored, or the run ends; True if it is still running."""
    changed = last_changes(machine)
    first = found = turns(machine)

    def are_stored() -> bool:
        nonlocal changed, found
        if (now := last_changes(machine)) != changed:  # opening them takes longer
            changed, found = now, turns(machine)
        return found - first >= most

    until(lambda: process.poll() is not None or are_stored())
    return process.poll() is None


def last_changes(machine: Machine) -> dict[str, tuple[int, int]]:
    """Return the time and size of each file of the projects' databases, as last written."""
    found = {}
    for path in glob(f"{machine.memory}/projects/*/graph.db*"):
        with suppress(FileNotFoundError):  # a log that was deleted meanwhile
            file = os.stat(path)
            found[path] = (file.st_mtime_ns, file.st_size)
    return found


def turns(machine: Machine) -> int:
    try:
        return sum(row[0] for row in machine.rows("SELECT count(*) FROM episodes"))
    except sqlite3.OperationalError:
        return 0  # the database is being made


def test_past_unattended_sessions_are_not_imported_if_capture_unattended_is_off(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, ASKED, DONE, entrypoint="sdk-py")
    settings: Settings = machine.settings._replace(capture_unattended="off")
    roots = {"claude-code": str(machine.home / ".claude" / "projects")}

    [session] = past_sessions.make(settings, roots, machine.now.timestamp())

    assert session.state == past_sessions.OFF


def test_tool_results_are_not_imported_as_turns(machine: Machine) -> None:
    shop = machine.project("shop")
    steps = [call("t1", "Bash", command="ls"), result("t1", "a file that nobody spoke of")]
    machine.session(shop, ASKED, *steps, DONE)

    machine.learn()

    assert machine.rows("SELECT text FROM episodes ORDER BY id") == [(ASKED,), (DONE,)]


def test_undo_selects_a_single_imported_change_only_if_its_id_is_given(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, *worked(shop))
    done = machine.learn()
    memory = opened(machine, shop)
    made = changes.of_batch(memory, done.run.batch)
    [fix] = [c for c in made if c.payload.get("record", {}).get("type") == "solution"]

    alone = changes.together(memory, fix, is_named=True)
    whole = changes.together(memory, made[-1], is_named=True)
    memory.close()

    assert alone == [fix]
    assert made[-1].kind == changes.LEARN and whole == made
    assert changes.together(memory, fix) == made


def test_candidates_from_past_sessions_are_the_most_repeated_then_the_newest(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = machine.project("shop")
    rules = [
        "Never format the vendored files.",
        "Always write the tests before the code.",
        "Never rename the columns of a table.",
    ]
    machine.session(shop, rules[0], "No.", days_ago=9)
    for days_ago in (8, 7, 6):
        machine.session(shop, f"Fix the header. {HABIT}", "Done.", days_ago=days_ago)
    machine.session(shop, "Which tool builds it?", "make.", rules[1], "Yes.", days_ago=5)
    machine.session(shop, rules[2], "No.", days_ago=4)
    monkeypatch.setattr(learn, "MAX_MADE", 3)

    machine.learn()

    rows = machine.rows("SELECT what, source, session, body FROM records ORDER BY created_at")
    states = machine.rows("SELECT DISTINCT status, trust FROM records")
    assert [what for what, *_ in rows] == [HABIT, rules[1], rules[2]]
    assert states == [("candidate", "assistant")]
    evidence = [json.loads(body)["evidence"] for *_, body in rows]
    assert evidence[0]["again"] == 2 and "again" not in evidence[1]
    assert evidence[1]["prompt"] == rules[1] and evidence[1]["before"] == "make."
    assert "before" not in evidence[2]
    assert {source for _, source, *_ in rows} == {"prompt"}
    assert [session[:8] for _, _, session, _ in rows][1:] == ["00000005", "00000006"]

"""Transcripts of several memories, links and pipes, and files that change while they are read."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from importing.past import Machine, rest
from memory_fabric.health import work
from memory_fabric.importing import learn, past_sessions, runs
from memory_fabric.importing.learn import Reading

ASKED = "Please add an index to the orders table of the shop."
DONE = "The orders table has an index now."
HABIT = "I always start the dev server myself, never start it for me."
# More than one step reads, and a line that is longer than any that is read.
LONG, TOO_LONG = "word " * 4000, 9 << 20


def read_with(machine: Machine, meanwhile: Callable[[], object]) -> Reading:
    """Read everything; after the first step something happens, once."""
    waiting = [meanwhile]
    chosen = [one for one in machine.found() if one.state in past_sessions.TO_READ]
    run = runs.begin(machine.settings.home)
    reading = Reading(machine.settings, run, lambda *_: waiting and waiting.pop()())
    reading.read(chosen)
    return reading


def test_symlinks_to_a_transcript_add_no_further_session_and_pipes_are_ignored(
    machine: Machine,
) -> None:
    path = machine.session(machine.project("shop"), ASKED, DONE)
    beside = path.parent
    (beside / "0-linked.jsonl").symlink_to(path)
    (beside / "dangling.jsonl").symlink_to(beside / "nowhere")
    (beside.parent / "renamed").symlink_to(beside)
    os.mkfifo(beside / "pipe.jsonl")
    (beside / "folder.jsonl").mkdir()
    failed: list[str] = []

    roots = {"claude-code": str(beside.parent)}
    found = past_sessions.make(machine.settings, roots, machine.now.timestamp(), failed=failed)

    assert [one.transcript.path for one in found] == [str(path)]
    [because] = failed
    assert "folder.jsonl: " in because


def test_a_transcript_that_grows_during_reading_is_stored_completely_and_once(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    path = machine.session(shop, *[f"{n} {LONG}" for n in range(6)])
    more = machine.session(shop, "One more question.", "One more answer.", session="more")
    added = more.read_bytes().replace(b'"more', f'"{path.stem}'.encode()).replace(b"-000", b"-9")
    more.unlink()

    def grow() -> None:
        with path.open("ab") as file:
            file.write(added)
        rest(path)

    read_with(machine, grow)
    machine.learn()

    said = machine.rows("SELECT substr(text, 1, 8) FROM episodes ORDER BY id")
    first = [f"{n} word w" for n in range(6)]
    assert [text for (text,) in said] == [*first, "One more", "One more"]
    assert [one.state for one in machine.found()] == [past_sessions.READ]


def test_a_transcript_deleted_during_reading_is_reported_and_the_rest_is_read(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    path = machine.session(shop, *[f"{n} {LONG}" for n in range(6)], days_ago=9)
    machine.session(shop, ASKED, DONE, days_ago=4)

    done = read_with(machine, path.unlink)

    assert done.failures == [f"{path}: missing"]
    kept = machine.rows("SELECT text FROM episodes WHERE session NOT LIKE '00000001%'")
    assert kept == [(ASKED,), (DONE,)]
    assert done.run.state == "done" and [one.state for one in machine.found()] == [
        past_sessions.READ
    ]


def test_an_overlong_line_of_a_transcript_is_skipped(machine: Machine) -> None:
    machine.session(machine.project("shop"), ASKED, DONE, "x" * TOO_LONG, "I see.")

    done = machine.learn()

    assert done.projects[0].bad_lines
    kept = machine.rows("SELECT text FROM episodes ORDER BY id")
    assert kept == [(ASKED,), (DONE,), ("I see.",)]


def test_a_session_stays_in_memory_after_the_client_deletes_it(machine: Machine) -> None:
    shop = machine.project("shop")
    first = machine.session(shop, ASKED, DONE, days_ago=29)
    machine.session(shop, "And now the customers.", "Done.", days_ago=2)
    machine.learn()
    before = machine.learned()

    first.unlink()

    [left] = machine.found()
    assert left.state == past_sessions.READ
    [told] = work.transcript_lines([left], machine.now.timestamp())
    assert told.startswith("memory has all 1 session of Claude Code since ")
    machine.learn()
    assert machine.learned() == before


def test_learn_reports_how_many_bytes_it_has_read_of_all(machine: Machine) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    paths = [
        machine.session(shop, ASKED, DONE, days_ago=4),
        machine.session(atlas, ASKED, DONE, days_ago=3),
    ]
    sizes = [path.stat().st_size for path in paths]
    told: list[tuple[int, int]] = []
    run = runs.begin(machine.settings.home)
    reading = Reading(machine.settings, run, lambda done, of: told.append((done, of)))

    reading.read(machine.found())

    assert told == [(sizes[0], sum(sizes)), (sum(sizes), sum(sizes))]


def test_more_memories_than_may_be_open_are_read_in_one_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "MAX_OPEN", 1)
    shop, atlas = machine.project("shop"), machine.project("atlas")
    for days_ago, place in ((9, shop), (8, atlas), (7, shop), (6, atlas)):
        machine.session(place, f"Fix the header. {HABIT}", "Done.", days_ago=days_ago)

    done = machine.learn()

    found = [(one.name, one.sessions, one.turns, one.candidates) for one in done.projects]
    assert found == [("shop", 2, 4, 1), ("atlas", 2, 4, 1)]

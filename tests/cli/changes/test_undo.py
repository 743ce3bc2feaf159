"""undo on the command line: shown first, done when named, skipped where it was done."""

from __future__ import annotations

from contextlib import closing

import pytest

from cli.shell import Shell
from memory_fabric.models import Provenance

DECISION = "Use cursor-based pagination for all list endpoints"
LESSON = "Offset pagination caused timeouts at 1M rows"


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers two things."""
    shell.remember(DECISION)
    shell.remember("--failed", LESSON)
    return shell


def known(shell: Shell) -> set[str]:
    """Return what recall finds."""
    answer = shell.run("recall", "--json", "pagination").json
    return {hit["text"] for hit in answer["results"]} & {DECISION, LESSON}


def test_undo_without_arguments_only_shows_the_last_change(filled: Shell) -> None:
    done = filled.run("undo")

    assert LESSON in done.out and "nothing was changed" in done.out
    assert known(filled) == {DECISION, LESSON}


def test_undo_last_reverts_the_last_change_in_every_tier(filled: Shell) -> None:
    done = filled.run("undo", "--last")

    assert done.status == 0 and done.out.startswith("Undone: remembered antipattern")
    assert known(filled) == {DECISION}
    assert LESSON not in filled.notes.read_text("utf-8")


def test_undo_accepts_an_id_from_history_and_can_itself_be_undone(filled: Shell) -> None:
    first = filled.run("history", "--json").json[-1]

    done = filled.run("undo", first["id"][-8:], "--json").json
    without = known(filled)
    filled.run("undo", done["changes"][0]["undo"])

    assert done["undone"] == 1
    assert (without, known(filled)) == ({LESSON}, {DECISION, LESSON})


def test_undoing_a_change_twice_is_reported(filled: Shell) -> None:
    id_ = filled.run("history", "--json").json[0]["id"]
    filled.run("undo", id_)

    again = filled.run("undo", id_)

    assert again.status == 1 and "it is undone already" in again.err
    assert "(undone)" in filled.run("history").out


def test_undo_of_a_session_with_yes_reverts_all_changes_of_that_session(shell: Shell) -> None:
    told = {"CLAUDE_CODE_SESSION_ID": "s7"}
    shell.run("remember", DECISION, **told)
    shell.run("remember", "--failed", LESSON, **told)
    session = shell.run("history", "--json").json[0]["by"]["session"]

    shown = shell.run("undo", "--session", session)
    before = known(shell)
    done = shell.run("undo", "--session", session, "--yes", "--json").json

    assert "nothing was changed" in shown.out
    assert (before, done["undone"], known(shell)) == ({DECISION, LESSON}, 2, set())


def test_undo_refuses_invalid_arguments_and_unknown_ids(filled: Shell) -> None:
    assert filled.run("undo", "--last", "0123456789").status == 2
    assert filled.run("undo", "0123456789abcdef").status == 3
    assert filled.run("undo", "--session", "nobody").status == 3


def test_undo_in_an_empty_memory_says_there_is_nothing_to_undo(shell: Shell) -> None:
    done = shell.run("undo")

    assert done.status == 3 and "nothing to undo" in done.err


def test_memories_stored_with_the_same_step_name_are_undone_together(shell: Shell) -> None:
    shell.remember(DECISION, "--step", "learn-1")
    shell.remember("--failed", LESSON, "--step", "learn-1")
    shell.remember("Use snake case for all pagination parameters")

    shell.run("undo", "--step", "learn-1")

    assert known(shell) == set()
    assert shell.run("recall", "snake case").status == 0


def test_undoing_an_undo_is_shown_as_a_redo(filled: Shell) -> None:
    undone = filled.run("undo", "--last").out
    redo = undone.partition("memory-fabric ")[2].split()[:2]

    done = filled.run(*redo)

    assert done.out.startswith("Redone: remembered antipattern ")
    assert done.out.endswith(" undoes it again.\n") and done.out.count("\n") == 1
    assert known(filled) == {DECISION, LESSON}


@pytest.mark.parametrize(("number", "lines"), [(20, 20), (21, 1)])
def test_undoing_a_step_of_more_than_twenty_changes_prints_one_line(
    shell: Shell, number: int, lines: int
) -> None:
    with closing(shell.open_memory()) as memory:
        memory.batch = "learn-1"
        for n in range(number):
            entity = {"name": f"part-{n}", "entityType": "component", "observations": []}
            memory.write("create_entities", {"entities": [entity]}, Provenance("mcp"))

    shown = shell.run("undo", "--step", "learn-1").out.splitlines()

    assert len(shown) == lines
    assert shown[0].startswith(f"Undone: {number} changes") is (lines == 1)


def test_undo_without_arguments_but_with_yes_reverts_the_last_change(filled: Shell) -> None:
    preview = filled.run("undo", "--json").json
    done = filled.run("undo", "--yes", "--json").json

    assert (preview["undone"], preview["changes"][0]["undo"]) == (0, "")
    assert done["undone"] == 1 and done["changes"][0]["undo"]
    assert known(filled) == {DECISION}

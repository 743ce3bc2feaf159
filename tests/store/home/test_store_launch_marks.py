"""The marks by which the launcher leaves: they follow every change, and the place of a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.home import launch_marks, switches
from memory_fabric.store.home.launch_marks import FIXES, RULES
from memory_fabric.store.memory import Memory

BY = Provenance("cli", trust="user", session="s1")
RULE = Record(
    "constraint",
    "Never start the dev server",
    confidence=0.9,
    evidence={"when": "npm run dev"},
)
FIX = Record("solution", "The port was taken by the old worker", confidence=0.9)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    project = tmp_path / "project"
    project.mkdir()
    environ = {
        "HOME": str(tmp_path / "user"),
        "MEMORY_FABRIC_HOME": str(tmp_path / "memory"),
        "CLAUDE_PROJECT_DIR": str(project),
    }
    return Memory.open(read_settings(environ, {}))


def marked(memory: Memory, store: str = "project") -> set[str]:
    path = memory.path_of(store)
    return {
        kind for kind in launch_marks.KINDS if os.path.exists(launch_marks.mark_path(path, kind))
    }


def stored(memory: Memory, record: Record) -> Record:
    kept = memory.remember(record, BY)
    assert kept is not None
    return kept


def test_a_fix_or_a_conditional_rule_creates_a_marker_file_for_the_hook_launcher(
    memory: Memory,
) -> None:
    stored(memory, RULE._replace(evidence={}))
    assert marked(memory) == set()

    stored(memory, RULE._replace(what="Never start any server"))
    stored(memory, FIX._replace(scope="user"))

    assert (marked(memory), marked(memory, "user")) == ({RULES}, {FIXES})
    mode = os.stat(launch_marks.mark_path(memory.path_of("project"), RULES)).st_mode
    assert mode & 0o777 == 0o600


def test_a_fix_or_a_note_with_a_condition_does_not_create_the_marker_file_for_rules(
    memory: Memory,
) -> None:
    stored(memory, FIX._replace(evidence={"when": "npm run dev"}))
    stored(memory, Record("note", 'The word "when" and "when": are words', confidence=0.9))

    assert marked(memory) == {FIXES}


def test_the_marker_file_for_rules_exists_only_while_there_is_a_rule_with_a_condition(
    memory: Memory,
) -> None:
    rule = stored(memory, RULE)
    memory.forget([rule.id], BY)
    assert marked(memory) == set()

    undoing.undo(memory, [undoing.last(memory)], BY)
    assert marked(memory) == {RULES}

    memory.remember(
        Record("constraint", "The dev server may be started", confidence=0.9), BY, [rule.id]
    )
    assert marked(memory) == set()


def test_a_missing_or_extra_marker_file_is_corrected_by_the_next_change(memory: Memory) -> None:
    stored(memory, RULE)
    os.unlink(launch_marks.mark_path(memory.path_of("project"), RULES))
    Path(launch_marks.mark_path(memory.path_of("project"), FIXES)).touch()

    with memory.session_database().transaction():
        pass

    assert marked(memory) == {RULES}


def test_a_rolled_back_change_leaves_the_marker_files_unchanged(memory: Memory) -> None:
    stored(memory, RULE)
    database = memory.session_database()

    with pytest.raises(KeyError), database.transaction() as connection:
        connection.execute("DELETE FROM records")
        raise KeyError

    assert marked(memory) == {RULES}


def test_the_marker_file_for_rules_is_kept_if_a_rule_changes_while_the_rules_are_checked(
    memory: Memory,
) -> None:
    stored(memory, RULE._replace(evidence={"when": "working on lists"}))
    database = memory.session_database()
    before = launch_marks.state_of_rules(database.connection)
    stored(memory, RULE._replace(what="Never push to main", evidence={"when": "git push"}))

    for state, expected in (
        (before, {RULES}),
        ("", {RULES}),
        (launch_marks.state_of_rules(database.connection), set()),
    ):
        with database.transaction() as connection:
            launch_marks.note_unbound(connection, database.path, state)
        assert marked(memory) == expected


def test_the_marker_file_for_rules_is_created_again_after_the_checked_rules_were_discarded(
    memory: Memory,
) -> None:
    stored(memory, RULE._replace(evidence={"when": "working on lists"}))
    database = memory.session_database()
    with database.transaction() as connection:
        state = launch_marks.state_of_rules(connection)
        launch_marks.note_unbound(connection, database.path, state)
    noted = Path(database.path).with_name("unbound-rules")
    assert noted.exists() and marked(memory) == set()

    launch_marks.forget_unbound(database.path)
    launch_marks.forget_unbound(database.path)
    with database.transaction():
        pass

    assert not noted.exists() and marked(memory) == {RULES}


def test_an_unreadable_file_of_checked_rules_does_not_prevent_the_marker_file(
    memory: Memory,
) -> None:
    Path(memory.session_database().path).with_name("unbound-rules").mkdir()

    stored(memory, RULE)

    assert marked(memory) == {RULES}


@pytest.mark.parametrize("kind", launch_marks.KINDS)
def test_the_query_for_a_marker_file_uses_an_index(memory: Memory, kind: str) -> None:
    sql = f"EXPLAIN QUERY PLAN SELECT 1 FROM main.records WHERE {launch_marks.KINDS[kind]}"
    plan = " ".join(str(row[-1]) for row in memory.session_database().rows(sql))
    assert "USING INDEX records_" in plan


def test_the_cached_project_of_a_folder_is_rewritten_only_if_the_project_changes(
    tmp_path: Path,
) -> None:
    home, folder = str(tmp_path / "home"), "/srv/app with ü"
    launch_marks.note_place(home, folder, "a")
    assert not os.path.exists(home)  # nothing is stored there, so the launcher leaves anyway
    os.mkdir(home)

    launch_marks.note_place(home, folder + "/", "a")
    path = launch_marks.place_path(home, folder)
    before = os.stat(path)
    launch_marks.note_place(home, folder, "a")
    after = os.stat(path)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    launch_marks.note_place(home, folder, "b")

    assert Path(path).read_text() == "b\n"


@pytest.mark.parametrize("folder", ["", "app", "/srv/../etc", "/srv//app", "/srv/./app"])
def test_a_relative_or_unnormalised_folder_path_is_not_cached(tmp_path: Path, folder: str) -> None:
    launch_marks.note_place(str(tmp_path), folder, "a")
    assert list(tmp_path.iterdir()) == []


def test_switching_memory_on_or_off_deletes_the_cached_folders(tmp_path: Path) -> None:
    home = str(tmp_path)
    launch_marks.note_place(home, "/srv/app", "a")

    switches.turn(home, switches.EVERYWHERE, ("read",), True)

    assert not os.path.exists(launch_marks.place_path(home, "/srv/app"))
    assert not (tmp_path / launch_marks.LAUNCH).exists()


def test_the_top_folder_can_be_cached(tmp_path: Path) -> None:
    launch_marks.note_place(str(tmp_path), "/", "a")

    assert Path(launch_marks.place_path(str(tmp_path), "/")).read_text() == "a\n"

"""States of the files that records name: read safely, compared cheaply, gone with their record."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memory_fabric.ids import new_id
from memory_fabric.models import CONFIRMED, Record
from memory_fabric.store import records
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import file_states
from memory_fabric.store.projects.file_states import CHANGED, GONE, SAME
from store.support import USER, World, database, decision, git_folder

API = "src/api/x.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(Path(os.path.realpath(tmp_path)))
    (made.project / "src" / "api").mkdir(parents=True)
    (made.project / API).write_text("page = 1\n")
    return made


@pytest.fixture
def memory(world: World) -> Memory:
    return world.memory()


def kept(memory: Memory, what: str, **fields: object) -> Record:
    """Remember a record and do what nobody waits for."""
    stored = memory.remember(decision(what, **fields), USER)
    assert stored is not None
    memory.flush()
    assert memory.failures == []
    return stored


def named(memory: Memory) -> list[str]:
    """The paths on record."""
    return [path for (path,) in database(memory).rows("SELECT path FROM file_states ORDER BY path")]


def changed(memory: Memory, record: Record) -> dict[str, str]:
    """The changed files of a record, as a hook sees them."""
    return file_states.changed(memory, [record.id]).get(record.id, {})


def touch(path: Path, text: str) -> None:
    """Rewrite a file a second later, as far as its time shows."""
    after = path.stat().st_mtime_ns + 10**9
    path.write_text(text)
    os.utime(path, ns=(after, after))


def test_the_blob_id_of_a_file_is_the_one_that_git_computes(world: World, memory: Memory) -> None:
    kept(memory, f"Cursors page through {API}.")

    (state,) = database(memory).rows("SELECT path, blob_id, size FROM file_states")

    asked = ["git", "hash-object", "--no-filters", str(world.project / API)]
    blob_id = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert state == (API, blob_id, 9)


@pytest.mark.parametrize(
    "what",
    [
        f"Cursors page through {API}.",
        f"Cursors page through `{API}`: offsets do not.",
        f"See ./{API}:12, where cursors begin",
        f"Les curseurs («{API}») restent",
        f"分页在 `{API}`。",
    ],
)
def test_a_file_path_within_a_sentence_of_a_record_is_found(memory: Memory, what: str) -> None:
    kept(memory, what)

    assert named(memory) == [API]


def test_a_word_is_a_path_if_it_is_quoted_or_has_a_slash_or_a_dot_inside() -> None:
    text = (
        "The Makefile, a.b, ./c/d and x/y: not .env, abc, ab, a., e.py:12 and F.py:12:5 count, "
        "n.py:note too. See `my file.txt`, https://example.org/x.py or (src/k.py)!"
    )

    found = file_states.paths_in([text, "see a.b again"])

    assert [path for path in found if " " in path] == ["my file.txt"]
    assert [path for path in found if " " not in path] == [
        "Makefile",
        "a.b",
        "c/d",
        "x/y",
        "e.py",
        "F.py",
        "n.py:note",
        "file.txt",
        "src/k.py",
    ]


def test_the_number_and_length_of_paths_in_a_text_are_limited() -> None:
    longest = "a/" + "b" * (file_states.MAX_PATH_CHARS - 2)
    names = [f"f{number}.py" for number in range(file_states.MAX_CANDIDATES + 1)]

    assert file_states.paths_in([f"{longest} {longest}b"]) == [longest]
    assert file_states.paths_in([" ".join(names)]) == names[:-1]
    assert file_states.paths_in(["a\0b/c"]) == file_states.paths_in(["`a/\nb`"]) == []


def test_paths_in_the_reason_location_and_changed_files_of_a_record_are_found(
    world: World, memory: Memory
) -> None:
    for name in ("why.py", "when.py", "fixed.py"):
        (world.project / name).write_text(name)
    evidence = {"when": "when.py", "files": ["fixed.py"]}

    kept(memory, "Use cursors", why="why.py says so", evidence=evidence)

    assert named(memory) == ["fixed.py", "when.py", "why.py"]


def test_a_path_that_is_not_a_file_of_the_project_is_not_stored(
    world: World, memory: Memory
) -> None:
    outside = world.root / "secret.txt"
    outside.write_text("secret")
    (world.project / "link.txt").symlink_to(outside)
    (world.project / "folder").symlink_to(world.root)
    os.mkfifo(world.project / "pipe.txt")
    what = (
        f"Not ../secret.txt, {outside}, link.txt, folder/secret.txt, pipe.txt, src/api, .git/HEAD, "
        "none.py, https://example.org/x.py or node.js"
    )

    kept(memory, what)

    assert named(memory) == []


def test_at_most_five_files_are_stored_for_a_record(world: World, memory: Memory) -> None:
    names = [f"f{number}.py" for number in range(9)]
    for name in names:
        (world.project / name).write_text(name)

    kept(memory, f"All of {', '.join(names)} belong together")

    assert named(memory) == names[:5]


def test_the_state_of_a_file_is_not_stored_for_a_record_of_user_scope(memory: Memory) -> None:
    kept(memory, f"I like {API}.", scope="user")

    assert named(memory) == []


def test_an_unchanged_file_is_not_reported(world: World, memory: Memory) -> None:
    record = kept(memory, f"Cursors page through {API}.")

    assert changed(memory, record) == {}


@pytest.mark.parametrize("text", ["page = 2\n", "pages = 1\n"])
def test_changed_content_is_reported_as_a_change(world: World, memory: Memory, text: str) -> None:
    record = kept(memory, f"Cursors page through {API}.")

    touch(world.project / API, text)

    assert changed(memory, record) == {API: CHANGED}


def test_a_new_modification_time_alone_is_not_a_change(world: World, memory: Memory) -> None:
    record = kept(memory, f"Cursors page through {API}.")

    touch(world.project / API, "page = 1\n")

    assert changed(memory, record) == {}


def test_a_large_file_is_checked_for_changes_only_by_size_while_the_user_waits(
    world: World, memory: Memory
) -> None:
    large = world.project / "large.sql"
    large.write_text("a" * (file_states.MAX_BYTES_WAITING + 1))
    record = kept(memory, "large.sql is generated")
    touch(large, "b" * (file_states.MAX_BYTES_WAITING + 1))

    assert changed(memory, record) == {}
    assert file_states.all_changed(memory) == {record.id: {"large.sql": CHANGED}}


def test_a_huge_file_has_no_blob_id(world: World, memory: Memory) -> None:
    huge = world.project / "huge.bin"
    huge.touch()
    os.truncate(huge, file_states.MAX_BLOB_BYTES + 1)
    record = kept(memory, "huge.bin is checked in")
    assert database(memory).row("SELECT blob_id FROM file_states") == ("",)

    os.truncate(huge, file_states.MAX_BLOB_BYTES + 2)

    assert changed(memory, record) == {"huge.bin": CHANGED}


def test_a_file_of_exactly_the_size_limit_is_read(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_states, "MAX_BLOB_BYTES", 9)
    record = kept(memory, f"Cursors page through {API}.")
    touch(world.project / API, "page = 2\n")

    assert file_states.changed(memory, [record.id], max_bytes=8) == {}
    assert file_states.changed(memory, [record.id], max_bytes=9) == {record.id: {API: CHANGED}}


def test_the_changed_files_of_several_records_are_mapped_to_each_record(
    world: World, memory: Memory
) -> None:
    (world.project / "b.py").write_text("b")
    one = kept(memory, f"Cursors page through {API}.")
    two = kept(memory, f"Offsets are in b.py, not in {API}.")
    other = kept(memory, "Nothing of files")
    touch(world.project / API, "page = 2\n")

    both = {one.id: {API: CHANGED}, two.id: {API: CHANGED}}
    assert file_states.changed(memory, [two.id, "", other.id, one.id]) == both
    assert file_states.all_changed(memory) == both
    assert file_states.changed(memory, [two.id], max_files=1) == {}
    assert file_states.changed(memory, []) == {}
    assert file_states.of_record(memory, two.id) == {API: CHANGED, "b.py": SAME}
    assert file_states.of_record(memory, other.id) == {}


def test_a_deleted_file_is_reported_as_deleted(world: World, memory: Memory) -> None:
    record = kept(memory, f"Cursors page through {API}.")

    (world.project / API).unlink()

    assert changed(memory, record) == {API: GONE}


def test_a_file_replaced_by_an_outside_link_or_a_pipe_is_reported_and_not_read(
    world: World, memory: Memory
) -> None:
    (world.project / "b.py").write_text("page = 1\n")
    record = kept(memory, f"Cursors page through {API} and b.py.")
    outside = world.root / "x.py"
    outside.write_text("page = 2\n")
    (world.project / API).unlink()
    (world.project / API).symlink_to(outside)
    (world.project / "b.py").unlink()
    os.mkfifo(world.project / "b.py")

    assert changed(memory, record) == {API: CHANGED, "b.py": CHANGED}


def test_only_two_files_are_checked_for_changes_while_the_user_waits(
    world: World, memory: Memory
) -> None:
    for name in "abc":
        (world.project / f"{name}.py").write_text(name)
    record = kept(memory, "a.py, b.py and c.py belong together")
    for name in "abc":
        (world.project / f"{name}.py").unlink()

    assert changed(memory, record) == {"a.py": GONE, "b.py": GONE}
    assert len(file_states.of_record(memory, record.id)) == 3


def test_a_moved_project_keeps_its_file_states(world: World, memory: Memory) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    memory.close()
    moved = world.root / "elsewhere"
    world.project.rename(moved)

    later = world.memory(CLAUDE_PROJECT_DIR=str(moved))

    assert changed(later, record) == {}
    touch(moved / API, "page = 2\n")
    assert changed(later, record) == {API: CHANGED}


def test_a_session_in_a_linked_worktree_checks_the_files_of_the_worktree_for_changes(
    world: World, memory: Memory
) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    inside = git_folder(world.project / ".claude" / "worktrees" / "one")
    (inside / "src" / "api").mkdir(parents=True)
    (inside / API).write_text("page = 3\n")
    there = memory
    there.settings = there.settings._replace(project_dir=str(inside))

    assert changed(there, record) == {API: CHANGED}


def test_a_path_in_a_record_may_be_relative_to_the_folder_of_the_session(
    world: World, memory: Memory
) -> None:
    below = world.memory(CLAUDE_PROJECT_DIR=str(world.project / "src"))

    record = kept(below, "api/x.py pages with cursors")

    assert named(below) == [API]
    assert changed(below, record) == {}


@pytest.mark.parametrize("how", ["confirmed", "reworded", "of another trust", "noted again"])
def test_repeating_or_rewording_a_record_stores_the_current_state_of_its_file(
    world: World, memory: Memory, how: str
) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    touch(world.project / API, "page = 2\n")
    assert changed(memory, record)
    new = {
        "confirmed": record._replace(evidence={CONFIRMED: "2026-05-01T00:00:00Z"}),
        "of another trust": record._replace(trust="assistant"),
        "reworded": record._replace(what=f"Cursors always page through {API}."),
        "noted again": None,
    }[how]

    if new is None:
        again = decision(f"Cursors page through {API}.")
        memory.remember(again, USER._replace(session="s2"))
    else:
        payload = {"record": records.as_object(new), "seen_in": ["s1"]}
        memory.write("put_record", payload, USER, store="project")
    memory.flush()

    assert changed(memory, record) == {}


def test_accepting_a_candidate_stores_the_current_state_of_the_file_it_mentions(
    world: World, memory: Memory
) -> None:
    record = kept(memory, f"Cursors page through {API}.", confidence=0.4)
    assert record.status == "candidate"
    touch(world.project / API, "page = 2\n")
    assert changed(memory, record)

    memory.remember(record._replace(confidence=0.9), USER._replace(source="cli"))
    memory.flush()

    assert changed(memory, record) == {}


def test_turning_a_record_into_a_candidate_keeps_the_stored_states_of_its_files(
    world: World, memory: Memory
) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    touch(world.project / API, "page = 2\n")

    payload = {"record": records.as_object(record._replace(status="candidate")), "seen_in": ["s1"]}
    memory.write("put_record", payload, USER, store="project")
    memory.flush()

    assert changed(memory, record) == {API: CHANGED}


def test_pinning_a_record_keeps_the_stored_states_of_its_files(
    world: World, memory: Memory
) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    touch(world.project / API, "page = 2\n")

    payload = {"record": records.as_object(record._replace(pinned=True)), "seen_in": ["s1"]}
    memory.write("put_record", payload, USER, store="project")
    memory.flush()

    assert changed(memory, record) == {API: CHANGED}


def test_forgetting_a_record_removes_its_file_states_and_undo_stores_them_again(
    memory: Memory,
) -> None:
    record = kept(memory, f"Cursors page through {API}.")
    memory.forget([record.id], USER._replace(at="2026-05-01T00:00:00Z"))
    assert named(memory) == []

    undo.undo(memory, [undo.last(memory)], USER)
    memory.flush()

    assert named(memory) == [API]


def test_records_beyond_the_limit_of_one_update_get_their_file_states_in_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_states, "MAX_RECORDS", 2)
    for number in range(3):
        memory.remember(decision(f"Rule {number} is about {API}.", id=new_id()), USER)

    first, second, third = (file_states.update(memory) for _ in range(3))

    assert (first, second, third) == (2, 1, 0)


def test_files_beyond_the_size_limit_of_one_update_are_left_for_the_next(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        memory.remember(decision(f"Rule {number} is about {API}.", id=new_id()), USER)

    monkeypatch.setattr(file_states, "MAX_BYTES", 8)
    first = file_states.update(memory)
    monkeypatch.setattr(file_states, "MAX_BYTES", 9)
    second = file_states.update(memory)

    assert (first, second, file_states.update(memory)) == (1, 2, 0)


def test_records_of_an_import_run_get_no_file_states(memory: Memory) -> None:
    memory.batch = "r1"
    memory.remember(decision(f"Cursors page through {API}."), USER)
    memory.batch = ""
    memory.remember(decision(f"Offsets are not in {API}."), USER)

    file_states.drop_due(database(memory), "r1")

    assert file_states.update(memory) == 1


def test_no_journal_contains_the_blob_id_of_a_file(world: World, memory: Memory) -> None:
    kept(memory, f"Cursors page through {API}.")
    (blob_id,) = database(memory).row("SELECT blob_id FROM file_states") or ("",)

    journals = [path.read_bytes() for path in world.root.rglob("*.jsonl")]

    assert journals
    assert not any(blob_id.encode() in text for text in journals)

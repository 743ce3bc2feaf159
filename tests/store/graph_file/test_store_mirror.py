"""A graph served from a file: the file follows the database, and the database the file."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.store import files
from memory_fabric.store.database import open_database
from memory_fabric.store.graph_file.mirror import file_path, home_of
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import backup
from store.serving import Served, edge, line, say, whole
from store.support import TOOL, database, entity, names, relation

READ_ONLY = """
import os, sys
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.store.graph_file.mirror import open_mirrored
told = []
memory = open_mirrored(read_settings(os.environ, {}), told.append)
path, by = os.environ["MEMORY_FILE_PATH"], Provenance("mcp")
def add(text):
    item = {"entityName": "a", "contents": [text]}
    memory.write("add_observations", {"observations": [item]}, by)
    memory.flush()
for place in (path, os.path.dirname(path)):
    mode = os.stat(place).st_mode & 0o7777
    os.chmod(place, mode & 0o555)
    before = open(path).read()
    for turn in "ab":
        add(os.path.basename(place) + turn)
    assert open(path).read() == before and memory.mirror.behind and memory.failures == []
    os.chmod(place, mode)
    memory.flush()
    assert os.path.basename(place) + "b" in open(path).read() and not memory.mirror.behind
print("\\n".join(told))
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.close()


def test_a_graph_file_is_updated_in_the_format_of_the_reference_server(
    served: Served,
) -> None:
    served.put(line("api", "is fast"), edge("api", "uses", "api"))
    memory = served.open()

    say(memory, entity("Zoë", "likes 🍵", kind="person"))
    memory.write("create_relations", {"relations": [relation("Zoë", "runs", "api")]}, TOOL)
    memory.flush()

    assert served.path.read_bytes() == b"\n".join(
        [
            line("api", "is fast"),
            line("Zoë", "likes 🍵", kind="person"),
            edge("api", "uses", "api"),
            '{"type":"relation","from":"Zoë","to":"api","relationType":"runs"}'.encode(),
            b"",
        ]
    )
    assert memory.failures == served.told == []


def held_by(copy: str) -> list[str]:
    found = open_database(copy, "user", create=False)
    assert found is not None
    try:
        return names(graph.read_graph(found).entities)
    finally:
        found.close()


def test_opening_a_served_file_twice_creates_only_one_backup(served: Served) -> None:
    served.put(line("a"))

    served.open()
    served.open()

    (copy,) = backup.list_backups(str(served.home / "user.db"))
    assert held_by(copy) == ["a"]


def test_a_missing_file_is_read_as_an_empty_graph_and_created_accessible_only_to_the_owner(
    served: Served,
) -> None:
    memory = served.open()
    assert whole(memory) == Graph()
    assert not served.path.exists()

    say(memory, entity("first"))
    memory.flush()

    assert stat.S_IMODE(served.path.stat().st_mode) == 0o600
    assert served.lines == [line("first", kind="component")]


def test_a_memory_served_from_a_file_is_separate_from_the_project_memory(served: Served) -> None:
    ordinary = served.world.memory()
    ordinary.write("create_entities", {"entities": [entity("private")]}, TOOL)
    memory = served.open()

    say(memory, entity("public"))

    assert names(whole(memory).entities) == ["public"]
    assert names(graph.read_all(ordinary.databases()).entities) == ["private"]


def test_a_served_file_is_not_written_if_nothing_was_changed(served: Served) -> None:
    served.put(b"null", edge("b", "uses", "a"), line("a"), b"")
    before = served.path.stat()

    memory = served.open()
    memory.flush()
    memory.close()
    served.open()

    assert served.path.stat().st_mtime_ns == before.st_mtime_ns
    assert served.path.stat().st_ino == before.st_ino


def test_a_symbolic_link_is_followed_and_the_file_mode_is_kept(served: Served) -> None:
    real = served.path.with_name("elsewhere.jsonl")
    real.write_bytes(line("a"))
    real.chmod(0o644)
    served.path.symlink_to(real)
    memory = served.open()

    say(memory, entity("b"))
    memory.flush()

    assert served.path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert b'"b"' in real.read_bytes()
    assert os.listdir(served.home.parent) == [served.home.name]


def test_invalid_lines_are_moved_to_a_separate_file_and_reported(served: Served) -> None:
    served.put(b"\xef\xbb\xbf" + line("a"), b"{torn", b"null", b'{"x":"\xff"}', line("b"))
    memory = served.open()
    say(memory, entity("c"))
    memory.flush()

    assert served.lines == [line("a"), line("b"), line("c", kind="component")]
    aside = served.home / "set-aside.jsonl"
    kept = [json.loads(text) for text in aside.read_text("utf-8").splitlines()]
    assert [(k["number"], k["line"]) for k in kept] == [
        (2, "{torn"),
        (3, "null"),
        (4, '{"x":"\\xff"}'),
    ]
    (told,) = served.told
    assert "line 2 (it is not JSON)" in told
    assert str(aside) in told


def test_an_invalid_line_is_copied_to_the_separate_file_and_reported_only_once(
    served: Served,
) -> None:
    served.put(b"{torn", line("a"))
    memory = served.open()
    served.put(b"{torn", line("a"), line("b"))

    whole(memory)

    assert len((served.home / "set-aside.jsonl").read_text().splitlines()) == 1
    assert len(served.told) == 1


def test_changes_of_the_file_by_other_programs_are_visible_in_the_next_read(served: Served) -> None:
    served.put(line("a", "x"), line("b"), edge("a", "uses", "b"))
    memory = served.open()

    served.put(line("a", "y"), line("c", "z"), edge("c", "uses", "a"))

    assert whole(memory) == Graph(
        (Entity("a", "t", ("y",)), Entity("c", "t", ("z",))), (Relation("c", "uses", "a"),)
    )


def test_a_new_type_and_observation_order_in_the_graph_file_are_applied(
    served: Served,
) -> None:
    served.put(line("a", "x", "y"), line("b"), edge("a", "uses", "b"))
    memory = served.open()

    served.put(line("a", "y", "new", "x", kind="service"), line("b"), edge("a", "uses", "b"))

    assert whole(memory) == Graph(
        (Entity("a", "service", ("y", "new", "x")), Entity("b", "t")),
        (Relation("a", "uses", "b"),),
    )


def test_a_new_modification_time_of_an_unchanged_graph_file_is_ignored(served: Served) -> None:
    served.put(line("a"))
    memory = served.open()
    count = database(memory).row("SELECT count(*) FROM operations")

    os.utime(served.path, ns=(1, 1))

    assert whole(memory).entities == (Entity("a", "t"),)
    assert database(memory).row("SELECT count(*) FROM operations") == count


def test_concurrent_changes_by_us_and_by_another_program_are_merged_in_the_file(
    served: Served,
) -> None:
    served.put(line("a", "x"), line("gone", "by us"), line("b"), edge("a", "uses", "b"))
    memory = served.open()
    added = {"observations": [{"entityName": "a", "contents": ["ours"]}]}
    memory.write("add_observations", added, TOOL)
    memory.write("delete_entities", {"entityNames": ["gone"]}, TOOL)
    say(memory, entity("mine"))

    served.put(line("a", "x", "theirs"), line("gone", "by us"), line("new"))
    memory.flush()

    assert served.lines == [
        line("a", "x", "ours", "theirs"),
        line("mine", kind="component"),
        line("new"),
    ]


def test_our_pending_additions_keep_an_entity_that_another_program_deleted(
    served: Served,
) -> None:
    served.put(line("a", "x"), line("b"), line("c"))
    memory = served.open()
    added = {"observations": [{"entityName": "a", "contents": ["ours"]}]}
    memory.write("add_observations", added, TOOL)
    memory.write("create_relations", {"relations": [relation("c", "uses", "a")]}, TOOL)

    served.put(line("b"))
    memory.flush()

    assert served.lines == [line("a", "ours"), line("b"), line("c"), edge("c", "uses", "a")]


def test_an_entity_that_others_create_again_after_we_deleted_it_exists(served: Served) -> None:
    served.put(line("a", "x"))
    memory = served.open()
    memory.write("delete_entities", {"entityNames": ["a"]}, TOOL)
    memory.flush()

    served.put(line("a", "again"))

    assert whole(memory).entities == (Entity("a", "t", ("again",)),)


def test_changes_not_written_to_the_file_before_an_exit_are_written_at_the_next_start(
    served: Served,
) -> None:
    served.put(line("a"))
    dead = served.open()
    say(dead, entity("b"))
    dead.close()
    served.put(line("a"), line("c"))

    served.open()

    assert served.lines == [line("a"), line("b", kind="component"), line("c")]


def test_temporary_files_of_a_killed_writer_are_removed_at_the_next_start(
    served: Served,
) -> None:
    served.put(line("a"))
    for name in ("memory.jsonl.4711-99.tmp", "memory.jsonl.tmp", "other.jsonl.1-1.tmp"):
        served.path.with_name(name).touch()

    served.open()

    left = sorted(path.name for path in served.path.parent.iterdir())
    assert left == ["memory.jsonl", "memory.jsonl.tmp", "other.jsonl.1-1.tmp"]


def test_the_next_start_recognises_our_own_unrecorded_write_to_the_graph_file(
    served: Served,
) -> None:
    served.put(line("a"))
    memory = served.open()
    before = database(memory).row("SELECT value FROM meta WHERE key = 'mirror'")
    assert before is not None
    say(memory, entity("b"))
    memory.flush()
    # Another process deletes it after the file was written, and before anyone could note that.
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    with database(memory).transaction() as c:
        c.execute("UPDATE meta SET value = ? WHERE key = 'mirror'", before)
    memory.close()

    again = served.open()

    assert names(whole(again).entities) == ["a"]
    assert served.lines == [line("a")]


def test_no_entity_of_the_graph_file_is_lost_if_synchronisation_was_interrupted(
    served: Served,
) -> None:
    served.put(line("a", "x"), line("b"), edge("a", "uses", "b"))
    memory = served.open()
    # What stands in the middle: nothing is agreed on, and the entity is out.
    with database(memory).transaction() as c:
        c.execute("DELETE FROM meta WHERE key = 'mirror'")
    by = TOOL._replace(source="import")
    memory.write("delete_entities", {"entityNames": ["a"]}, by)
    memory.close()

    again = whole(served.open())

    assert set(again.entities) == {Entity("a", "t", ("x",)), Entity("b", "t")}
    assert again.relations == (Relation("a", "uses", "b"),)


def test_deleting_the_served_file_empties_the_graph_and_creates_a_backup(served: Served) -> None:
    served.put(line("a", "x"), line("b"), edge("a", "uses", "b"))
    memory = served.open()
    served.path.unlink()

    assert whole(memory) == Graph()
    (told,) = served.told
    copy = backup.list_backups(str(served.home / "user.db"))[0]
    assert copy in told
    assert held_by(copy) == ["a", "b"]
    say(memory, entity("new"))
    memory.flush()
    assert served.lines == [line("new", kind="component")]


def test_changes_not_yet_written_survive_the_deletion_of_the_served_file(served: Served) -> None:
    served.put(line("a", "x"))
    memory = served.open()
    say(memory, entity("ours"))
    served.path.unlink()

    memory.flush()

    assert served.lines == [line("ours", kind="component")]


def test_calls_succeed_while_the_served_file_is_unwritable_and_the_user_is_notified(
    tmp_path: Path,
) -> None:
    served = Served(tmp_path)
    served.put(line("a"))

    told = served.world.run(READ_ONLY, strict=True, MEMORY_FILE_PATH=str(served.path))

    assert [text.split(" cannot be written")[0] for text in told.strip().split("\n")] == [
        str(served.path)
    ] * 2
    assert len(json.loads(served.lines[0])["observations"]) == 4
    assert os.listdir(served.path.parent) == ["memory.jsonl"]


def test_serving_a_path_that_is_a_folder_is_refused_with_a_message(served: Served) -> None:
    served.path.mkdir()

    with pytest.raises(StoreUnavailable, match="it is not a file"):
        served.open()


def test_two_memories_can_serve_the_same_file(served: Served) -> None:
    one, two = served.open(), served.open()

    say(one, entity("a"))
    say(two, entity("b"))
    one.flush()
    say(two, entity("c"))
    two.flush()
    served.put(*served.lines, line("theirs"))

    assert names(whole(one).entities) == names(whole(two).entities) == ["a", "b", "c", "theirs"]


def test_a_damaged_database_is_rebuilt_and_the_file_is_kept(served: Served) -> None:
    served.put(line("a", "x"), edge("a", "uses", "a"))
    memory = served.open()
    say(memory, entity("b"))
    memory.flush()
    memory.close()
    before = served.lines
    for name in ("user.db", "user.db-wal", "user.db-shm"):
        (served.home / name).unlink(missing_ok=True)
    (served.home / "user.db").write_bytes(b"no database " * 400)

    again = served.open()

    assert set(names(whole(again).entities)) == {"a", "b"}
    again.flush()
    assert sorted(served.lines) == sorted(before)
    assert any("set aside" in sentence for sentence in served.told)


def test_a_served_file_can_be_read_but_not_changed_while_memory_is_switched_off(
    served: Served,
) -> None:
    served.put(line("a"))

    memory = served.open(MEMORY_FABRIC="off")

    assert names(whole(memory).entities) == ["a"]
    with pytest.raises(StoreUnavailable, match="switched off"):
        say(memory, entity("b"))


@contextmanager
def in_folder(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def test_a_relative_path_of_the_graph_file_is_resolved_from_the_project_or_current_folder(
    served: Served,
) -> None:
    world = served.world
    relative = {"MEMORY_FILE_PATH": "notes/m.jsonl"}

    with in_folder(served.path.parent):
        alone = file_path(world.settings(**relative, CLAUDE_PROJECT_DIR=""))

    assert file_path(world.settings(**relative)) == str(world.project / "notes" / "m.jsonl")
    assert alone == str(served.path.parent / "notes" / "m.jsonl")
    home = world.settings(MEMORY_FILE_PATH="~/m.jsonl")
    assert file_path(home) == str(world.root / "m.jsonl")


def test_reading_an_unchanged_graph_file_needs_no_lock(served: Served) -> None:
    served.put(line("a"))
    memory = served.open()

    with files.Locked(files.lock_path(str(served.home), str(served.path))):
        assert names(whole(memory).entities) == ["a"]


def test_each_served_file_has_a_folder_of_its_own_even_if_it_is_opened_by_a_link(
    tmp_path: Path,
) -> None:
    path, link = tmp_path / ("my notes (1)" + "x" * 60), tmp_path / "link"
    link.symlink_to(path)
    home = home_of("/home", str(path))

    assert "my-notes" in home and home_of("/home", str(link)) == home
    assert home_of("/home", str(path) + "x") != home


@pytest.mark.parametrize("number", [10, 11])
def test_only_the_first_ten_of_many_invalid_lines_are_named(served: Served, number: int) -> None:
    served.put(line("a"), *(b"{torn %d" % count for count in range(number)))

    served.open()

    [told] = served.told
    assert told.count("it is not JSON") == 10
    assert told.endswith(" and 1 more") == (number > 10)
    assert len((served.home / "set-aside.jsonl").read_text().splitlines()) == number


def test_an_entity_forgotten_on_request_is_not_read_from_the_file_again(served: Served) -> None:
    served.put(line("a"), line("b"))
    memory = served.open()
    memory.write("forget", {"ids": [], "entityNames": ["b"]}, TOOL)
    memory.flush()
    assert served.lines == [line("a")]

    for text in ("x", "y"):
        served.put(line("a", text), line("b"))
        os.utime(served.path, ns=(1, 1))  # long before, so nobody can have missed our change
        assert names(whole(memory).entities) == ["a"]

    assert served.told == [f"{served.path}: 'b' was forgotten on request and is not added again"]


def test_lines_of_another_kind_keep_their_place_before_or_after_the_graph(served: Served) -> None:
    first, last = b'{"type":"head"}', b'{"type":"tail"}'
    served.put(first, line("a", "x"), last, line("b"), edge("a", "u", "b"), b"")
    memory = served.open()

    memory.write("alias", {"entity": "a", "aliases": ["c"]}, TOOL, store="user")
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    memory.flush()

    assert served.lines == [first, line("a", "x"), last]


def test_a_change_without_an_effect_on_the_file_leaves_it_as_it_is(served: Served) -> None:
    served.put(line("a"))
    memory = served.open()
    assert memory.mirror is not None
    before = served.path.stat()

    say(memory, entity("b"))
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    memory.flush()

    assert (served.path.stat().st_ino, memory.mirror.behind) == (before.st_ino, False)
    memory.write("alias", {"entity": "a", "aliases": ["c"]}, TOOL, store="user")
    memory.flush()
    assert (served.path.stat().st_ino, memory.mirror.behind) == (before.st_ino, False)


def test_a_file_that_becomes_unreadable_is_reported_once_each_time(
    served: Served,
) -> None:
    served.put(line("a"))
    memory = served.open()
    content = served.path.read_bytes()

    for _ in range(2):
        served.path.unlink()
        served.path.mkdir()
        for _ in range(2):
            assert names(whole(memory).entities)[:1] == ["a"]
        served.path.rmdir()
        served.path.write_bytes(content)
        whole(memory)
        say(memory, entity("b"))
        memory.flush()

    assert [text for text in served.told if "cannot be read: it is not a file" in text] == [
        f"{served.path} cannot be read: it is not a file. "
        "Answers lack what others have written into it since."
    ] * 2

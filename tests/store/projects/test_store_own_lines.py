"""The file that proves which lines of a journal this home wrote, and where it may lie."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_fabric.store.projects import own_lines
from memory_fabric.store.projects.own_lines import Header
from store.support import USER, World, database, decision

LINES = [{"id": "a", "what": "Use Redis"}, {"id": "b", "what": "Use Kafka"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's folder of journals, hidden from git."""
    folder = Path(os.path.realpath(tmp_path)) / "shop" / ".claude" / "memory"
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def head(folder: Path, **fields: object) -> Header:
    root = str(folder.parents[1])
    return Header("shop-1", root, own_lines.inode_of(root))._replace(**fields)  # type: ignore[arg-type]


def test_only_lines_signed_by_this_home_for_this_place_are_proved(
    tmp_path: Path, folder: Path
) -> None:
    home, at = str(tmp_path / "home"), str(folder)
    own_lines.add(home, at, LINES)
    assert not own_lines.exists(at) and own_lines.proved(home, at, LINES) == []

    own_lines.write(home, at, head(folder), LINES[:1])
    assert own_lines.proved(home, at, LINES) == LINES[:1]
    own_lines.add(home, at, LINES[1:])

    assert own_lines.proved(home, at, LINES) == LINES
    assert own_lines.proved(str(tmp_path / "other"), at, LINES) == []
    assert own_lines.header(home, at) == head(folder)
    assert own_lines.header(str(tmp_path / "other"), at) is None
    path = folder / own_lines.NAME
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0].replace("shop-1", "shop-2") + "".join(lines[1:]))
    assert own_lines.header(home, at) is None and own_lines.proved(home, at, LINES) == []


def test_a_header_that_waits_for_the_user_proves_the_same_lines(
    tmp_path: Path, folder: Path
) -> None:
    home, at = str(tmp_path / "home"), str(folder)
    own_lines.write(home, at, head(folder, waiting=True), LINES)

    found = own_lines.header(home, at)

    assert found is not None and found.waiting is True
    assert own_lines.proved(home, at, LINES) == LINES


@pytest.mark.parametrize(
    ("change", "is_stated"),
    [({}, True), ({"waiting": True}, True), ({"project": "x"}, False), ({"inode": 1}, False)],
)
def test_a_header_states_a_project_a_folder_and_its_inode(
    tmp_path: Path, folder: Path, change: dict[str, object], is_stated: bool
) -> None:
    own_lines.write(str(tmp_path / "home"), str(folder), head(folder), [])

    assert own_lines.is_stated_for(str(folder), head(folder, **change)) is is_stated
    assert not own_lines.is_stated_for(str(tmp_path), head(folder))


def test_a_header_that_cannot_be_read_states_nothing(folder: Path) -> None:
    (folder / own_lines.NAME).mkdir()

    assert own_lines.is_stated_for(str(folder), head(folder)) is False


@pytest.mark.parametrize(
    ("ignored", "is_written"),
    [
        ("*\n", True),
        ("  *  \n# all\n", True),
        ("*\n!.gitignore\n!decisions.jsonl\n", True),
        ("", False),
        ("*.tmp\n", False),
        ("*\n!own.jsonl\n", False),
        ("*\n!.gitignore\n!*.jsonl\n", False),
    ],
)
def test_the_file_is_written_only_where_git_ignores_it(
    tmp_path: Path, folder: Path, ignored: str, is_written: bool
) -> None:
    (folder / ".gitignore").write_text(ignored)

    own_lines.write(str(tmp_path / "home"), str(folder), head(folder), LINES)

    assert own_lines.exists(str(folder)) is is_written


def test_the_file_is_not_written_without_a_readable_gitignore(tmp_path: Path, folder: Path) -> None:
    (folder / ".gitignore").unlink()
    own_lines.write(str(tmp_path / "home"), str(folder), head(folder), LINES)
    (folder / ".gitignore").mkdir()
    own_lines.write(str(tmp_path / "home"), str(folder), head(folder), LINES)

    assert not own_lines.exists(str(folder))


@pytest.mark.parametrize("field", ["project", "root", "inode"])
def test_a_header_with_a_field_of_another_type_is_not_read(
    tmp_path: Path, folder: Path, field: str
) -> None:
    home, path = str(tmp_path / "home"), folder / own_lines.NAME
    own_lines.write(home, str(folder), head(folder, **{field: None}), [])
    assert path.exists()

    assert own_lines.header(home, str(folder)) is None
    path.write_text("[]\n")
    assert own_lines.header(home, str(folder)) is None


def test_the_header_of_a_linked_folder_is_not_read(tmp_path: Path, folder: Path) -> None:
    home, link = str(tmp_path / "home"), folder.with_name("link")
    own_lines.write(home, str(folder), head(folder), LINES)
    link.symlink_to(folder)

    assert own_lines.header(home, str(folder)) is not None
    assert own_lines.header(home, str(link)) is None


def test_the_stamp_of_a_journal_changes_with_the_file_and_is_saved_once(tmp_path: Path) -> None:
    world = World(Path(os.path.realpath(tmp_path)))
    memory = world.memory()
    assert own_lines.stamps(memory) == ("", "") and own_lines.journal_of(memory) == ""
    own_lines.save_stamp(memory)
    memory.remember(decision("Use Redis"), USER)
    memory.flush()

    path = world.local / "decisions.jsonl"
    assert own_lines.journal_of(memory) == str(path)
    now, saved = own_lines.stamps(memory)
    assert now == saved and now.split()[0] == str(path.stat().st_size)
    with path.open("a") as journal:
        journal.write(json.dumps({"id": "x"}) + "\n")
    changed, before = own_lines.stamps(memory)
    assert changed != before == saved
    own_lines.save_stamp(memory)
    assert own_lines.stamps(memory) == (changed, changed)
    key = own_lines.STAMP + str(path)
    assert database(memory).rows("SELECT value FROM meta WHERE key = ?", (key,)) == [(changed,)]


def test_a_journal_that_lies_in_home_is_not_the_projects_own(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    assert memory.project is not None
    memory.project = memory.project._replace(local=str(world.home / "local"))
    memory.remember(decision("Use Redis"), USER)
    memory.flush()

    assert (world.home / "local" / "decisions.jsonl").exists()
    assert own_lines.journal_of(memory) == ""


def test_a_missing_folder_has_no_inode(tmp_path: Path) -> None:
    assert own_lines.inode_of(str(tmp_path)) == tmp_path.stat().st_ino
    assert own_lines.inode_of(str(tmp_path / "none")) == 0

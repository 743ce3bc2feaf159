"""The memory of another project of the home: reading leaves its files alone, a change is real."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from pathlib import Path

import pytest

from memory_fabric.errors import NotFound
from memory_fabric.store import schema
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import home_projects
from store.support import USER, World, decision

OLDEST = Path(__file__).parents[1] / "databases/v8.db.gz"


def settled(memory: Memory) -> str:
    """The id of the project of a memory, which is closed."""
    memory.flush()
    memory.close()
    assert memory.project is not None
    return memory.project.id


def files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, without the side file by which readers of SQLite meet."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if not path.name.endswith("-shm")}


def said(memory: Memory) -> set[str]:
    """What its records say."""
    return {record.what for record in memory.find_records("scope <> 'local'")}


@pytest.fixture
def other(tmp_path: Path) -> World:
    """Another project than the one that a person works in."""
    return World(tmp_path, "other")


def test_reading_another_project_changes_no_file_and_includes_its_later_changes(
    tmp_path: Path, other: World
) -> None:
    writer = other.memory()
    writer.remember(decision("Use tabs in the Makefile"), USER)
    id_ = settled(writer)
    here = World(tmp_path).settings()
    before = files_of(tmp_path)

    shown = home_projects.memory_of(here, id_)

    assert said(shown) == {"Use tabs in the Makefile"}
    assert {k: v for k, v in files_of(tmp_path).items() if not k.endswith("-wal")} == before
    again = other.memory()
    again.remember(decision("Use spaces in Python"), USER)
    assert len(said(shown)) == 2
    shown.close()


def test_a_record_added_to_another_project_is_stored_there_and_visible_at_once(
    tmp_path: Path, other: World
) -> None:
    id_ = settled(other.memory())
    shown = home_projects.memory_of(World(tmp_path).settings(), id_)
    assert said(shown) == set()

    shown.remember(decision("Use tabs in the Makefile"), USER)

    assert said(shown) == said(other.memory()) == {"Use tabs in the Makefile"}
    shown.flush()
    assert shown.failures == []
    assert "Use tabs in the Makefile" in other.native().read_text()
    shown.close()


def test_an_old_database_of_another_project_is_migrated_only_when_it_is_changed(
    tmp_path: Path, other: World
) -> None:
    memory = other.memory()
    memory.remember(decision("Made first"), USER)
    path = Path(memory.path_of("project"))
    id_ = settled(memory)
    for left in (*path.parent.glob("graph.db*"), *path.parent.glob("operations.jsonl")):
        left.unlink()
    path.write_bytes(gzip.decompress(OLDEST.read_bytes()))
    before = path.read_bytes()
    shown = home_projects.memory_of(World(tmp_path).settings(), id_)

    old = said(shown)

    assert old and path.read_bytes() == before
    assert not list(path.parent.glob("backups*"))
    with sqlite3.connect(path) as elsewhere:
        elsewhere.execute("UPDATE records SET what = 'Changed elsewhere'")
    assert said(shown) == {"Changed elsewhere"}
    shown.remember(decision("Use spaces in Python"), USER)
    assert said(shown) == {"Changed elsewhere", "Use spaces in Python"}
    with sqlite3.connect(path) as found:
        assert found.execute("PRAGMA user_version").fetchone() == (schema.LATEST,)
    shown.close()


def test_memories_of_a_project_can_be_read_and_changed_after_its_folder_was_deleted(
    tmp_path: Path, other: World
) -> None:
    memory = other.memory()
    memory.remember(decision("Use tabs in the Makefile"), USER)
    id_ = settled(memory)
    shutil.rmtree(other.project)

    shown = home_projects.memory_of(World(tmp_path).settings(), id_)
    [record] = shown.find_records("scope <> 'local'")
    assert shown.forget([record.id], USER) == 1
    shown.flush()

    assert said(shown) == set() and shown.failures == []
    assert not other.project.exists()
    shown.close()


def test_an_open_memory_detects_that_its_folder_now_belongs_to_another_project(
    tmp_path: Path, other: World
) -> None:
    id_ = settled(other.memory())
    shown = home_projects.memory_of(World(tmp_path).settings(), id_)
    assert not shown.has_moved()

    (tmp_path / "third" / ".git").mkdir(parents=True)
    settled(World(tmp_path, "third").memory())
    assert not shown.has_moved()
    shutil.rmtree(other.project)
    settled(World(tmp_path, "fourth").memory())

    assert shown.has_moved()


@pytest.mark.parametrize("wanted", ["", "..", "../projects", "other", "a" * 64])
def test_opening_a_project_that_is_not_in_this_home_is_refused(
    tmp_path: Path, other: World, wanted: str
) -> None:
    settled(other.memory())

    with pytest.raises(NotFound):
        home_projects.memory_of(World(tmp_path).settings(), wanted)


def test_the_project_list_contains_projects_with_memories_and_reports_unreadable_ones(
    tmp_path: Path, other: World
) -> None:
    settled(other.memory())
    third = World(tmp_path, "third").memory()
    third.remember(decision("Use tabs in the Makefile"), USER)
    settled(third)
    broken = World(tmp_path, "fourth").memory()
    broken.remember(decision("Use spaces in Python"), USER)
    path = Path(broken.path_of("project"))
    settled(broken)
    path.write_bytes(b"no database" * 1000)

    found = {one.name: one for one in home_projects.summaries(str(other.home))}

    assert set(found) == {"third", "fourth"}
    assert (found["third"].records, found["third"].folder) == (1, str(tmp_path / "third"))
    assert not found["fourth"].readable
    assert home_projects.as_json(found["third"], str(tmp_path))["folder"] == "~/third"

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
from store.support import USER, World, create, decision, entity

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


def test_projects_are_listed_with_the_most_recently_changed_first(
    tmp_path: Path, other: World
) -> None:
    law = USER._replace(domain="law")
    for name, by in (
        ("first", USER._replace(at="2026-01")),
        ("last", law._replace(at="2026-03")),
        ("mid", law._replace(at="2026-02")),
    ):
        memory = World(tmp_path, name).memory()
        memory.remember(decision(f"Said in {name}", domain=by.domain), by)
        memory.remember(decision("Maybe", confidence=0.4), by)
        settled(memory)

    listed = home_projects.summaries(str(other.home))
    of_law = home_projects.summaries(str(other.home), "law")

    expected = [("last", 1, "2026-03"), ("mid", 1, "2026-02"), ("first", 1, "2026-01")]
    assert [(one.name, one.records, one.changed_at) for one in listed] == expected
    assert [(one.name, one.records, one.changed_at) for one in of_law] == expected[:2]
    assert home_projects.summaries(str(other.home), "none") == []


def test_a_project_with_entities_but_without_records_is_listed(
    tmp_path: Path, other: World
) -> None:
    memory = other.memory()
    create(memory, entity("Redis"))
    settled(memory)

    [found] = home_projects.summaries(str(other.home))

    assert (found.name, found.records, found.readable) == ("other", 0, True)


@pytest.mark.parametrize(
    ("folder", "user_home", "shown"),
    [
        ("/home/ann/shop", "/home/ann", "~/shop"),
        ("/home/ann/shop", "/home/ann/", "~/shop"),
        ("/home/anna/shop", "/home/ann", "/home/anna/shop"),
        ("/home/ann/shop", "", "/home/ann/shop"),
    ],
)
def test_a_folder_in_the_home_of_the_user_is_shortened(
    folder: str, user_home: str, shown: str
) -> None:
    summary = home_projects.Summary("id", "shop", folder, records=2)

    assert home_projects.as_json(summary, user_home) == summary._asdict() | {"folder": shown}


def test_memory_of_another_project_uses_its_own_folder_and_keys(
    tmp_path: Path, other: World
) -> None:
    expected = other.memory().project
    id_ = settled(other.memory())

    shown = home_projects.memory_of(World(tmp_path).settings(), id_)

    assert shown.project == expected
    assert shown.settings.project_dir == str(other.project)
    shutil.rmtree(other.project)
    gone = home_projects.memory_of(World(tmp_path).settings(), id_)
    assert gone.project is not None and gone.settings.project_dir == ""
    assert (gone.project.name, gone.project.root) == ("other", str(other.project))
    assert gone.project.local == f"{other.home}/projects/{id_}/local"

"""The files of memories: of one project, of all projects, and of homes within this home."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import file_locations
from memory_fabric.store.tiers.file_locations import Location
from store.support import USER, World, decision


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A person with two projects, of which each has a record in MEMORY.md."""
    root = Path(os.path.realpath(tmp_path))
    for name in ("other", "billing"):
        memory = World(root, name).memory()
        memory.remember(decision(f"Use Redis in {name}", confidence=0.9), USER)
        memory.remember(decision("Use tabs", scope="user", confidence=0.9), USER)
        memory.flush()
        memory.close()
    return World(root)


def own(world: World) -> Memory:
    memory = world.memory()
    assert memory.project is not None
    return memory


def of_project(world: World) -> Location:
    memory = own(world)
    return Location(
        memory.path_of("project"), "project", (str(world.local),), (str(world.native()),)
    )


def test_the_locations_of_a_project_are_its_database_its_folders_and_its_memory_md(
    world: World,
) -> None:
    user = Location(str(world.home / "user.db"), "user", (str(world.home / "local"),))

    here = file_locations.locations(own(world), everywhere=False)
    everywhere = file_locations.locations(own(world), everywhere=True)

    assert here == [of_project(world), user]
    assert everywhere == [of_project(world), of_project(World(world.root, "other")), user]


def test_each_memory_md_that_was_written_for_a_project_is_one_of_its_locations(
    world: World,
) -> None:
    """Two folders of Claude Code may share a home, and a project's folder may be renamed."""
    private = world.root / "private"
    memory = world.memory(CLAUDE_CONFIG_DIR=str(private))
    memory.flush()
    memory.close()
    renamed = world.project.rename(world.root / "renamed")

    after = world.memory(CLAUDE_PROJECT_DIR=str(renamed))
    place, *_ = file_locations.locations(after, everywhere=False)

    slug = world.native().parent.parent.name
    other = private / "projects" / slug / "memory" / "MEMORY.md"
    assert {*place.notes} == {str(world.native()), str(other)}


def test_a_database_that_does_not_exist_has_no_location(tmp_path: Path) -> None:
    assert file_locations.locations(World(tmp_path).memory(), everywhere=True) == []


def test_the_folders_of_the_registry_are_listed_with_their_projects(world: World) -> None:
    other = own(World(world.root, "other"))
    assert other.project is not None

    found = {*file_locations.roots(str(world.home))}

    assert (other.project.id, str(world.root / "other")) in found
    assert {folder for _, folder in found} == {str(world.project), str(world.root / "other")}


def test_the_memory_files_of_the_client_are_markdown_files_beside_memory_md(world: World) -> None:
    folder = world.native().parent
    for name in ("notes.md", "notes.txt"):
        (folder / name).write_text("x")
    (folder / "deep.md").mkdir()

    found = file_locations.client_memory_files([of_project(world), of_project(world)])

    assert found == [str(folder / "MEMORY.md"), str(folder / "notes.md")]


def test_own_files_are_those_of_the_locations_and_of_home_without_other_projects(
    world: World,
) -> None:
    memory, other = own(world), own(World(world.root, "other"))
    here = file_locations.locations(memory, everywhere=False)
    (world.home / "link").symlink_to(world.native())
    inner = world.home / "files" / "inner"
    inner.mkdir(parents=True)
    (inner / "user.db").touch()
    file_locations.save_served(str(inner), str(world.root / "graph.jsonl"))
    (world.root / "graph.jsonl").touch()

    found = file_locations.own_files(memory, here)
    others = file_locations.other_files(memory, here)

    assert len(found) == len({*found})
    mine = {memory.path_of("project"), str(world.local / "decisions.jsonl")}
    assert mine | {str(world.home / "user.db"), str(world.home / "registry.json")} <= {*found}
    assert str(world.home / "link") not in found
    theirs = {other.path_of("project"), str(inner / "user.db"), str(world.root / "graph.jsonl")}
    assert theirs <= {*others} and theirs.isdisjoint(found)
    assert {*found}.isdisjoint(others)


def test_the_path_of_a_served_file_is_written_only_if_it_changed(tmp_path: Path) -> None:
    home, note = str(tmp_path), tmp_path / file_locations.SERVED_NOTE
    file_locations.save_served(home, "/a")
    before = note.stat().st_ino
    file_locations.save_served(home, "/a")
    after = note.stat().st_ino
    file_locations.save_served(home, "/b")

    assert before == after
    assert '"/b"' in note.read_text("utf-8")


def test_logs_are_found_in_the_data_folders_of_plugins_and_of_this_one(world: World) -> None:
    data = world.root / ".claude" / "plugins" / "data" / "one"
    own_data = world.root / "data"
    for folder in (data, own_data):
        folder.mkdir(parents=True)
        for name in (log.LOG_NAME, f"{log.LOG_NAME}.1", "other.log"):
            (folder / name).touch()
    memory = own(world)
    memory.settings = memory.settings._replace(data_dir=str(own_data))

    assert file_locations.logs_of_client(memory) == [
        str(folder / name)
        for folder in (data, own_data)
        for name in (log.LOG_NAME, f"{log.LOG_NAME}.1")
    ]
    memory.settings = memory.settings._replace(data_dir="")
    assert len(file_locations.logs_of_client(memory)) == 2

"""The instruction files that a memory follows: where each is listed, and whether it has changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import instruction_files
from memory_fabric.store.projects.instruction_files import GONE, Followed
from store.support import World, database

RULES = Followed(3, 5_000_000_000, ("r1", "r2"), ("AGENTS.md",), "law")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory that follows a file of the project and one of the user, both unchanged."""
    world = World(tmp_path)
    memory = world.memory()
    for path in (world.project / "CLAUDE.md", world.root / "rules.md"):
        path.write_text("abc")
        os.utime(path, (5, 5))
    instruction_files.save(database(memory), {"CLAUDE.md": RULES})
    instruction_files.save(database(memory, "user"), {"~/rules.md": RULES._replace(ids=("r3",))})
    return memory


def test_followed_files_are_read_as_they_were_saved(memory: Memory, tmp_path: Path) -> None:
    assert instruction_files.load(database(memory)) == {"CLAUDE.md": RULES}
    assert instruction_files.load(database(World(tmp_path, "other").memory())) == {}


@pytest.mark.parametrize(("name", "kind"), [("~/x.md", "user"), ("x/~.md", "project")])
def test_files_in_the_home_of_the_user_are_listed_in_the_users_database(
    name: str, kind: str
) -> None:
    assert instruction_files.kind_of(name) == kind


def test_the_path_of_a_file_is_below_the_project_or_the_home_of_the_user(
    memory: Memory, tmp_path: Path
) -> None:
    assert instruction_files.path_of(memory, "a/b.md") == str(tmp_path / "billing" / "a/b.md")
    assert instruction_files.path_of(memory, "~/rules.md") == str(tmp_path / "rules.md")
    memory.settings, memory.project = memory.settings._replace(user_home=""), None
    assert instruction_files.path_of(memory, "a/b.md") == ""
    assert instruction_files.path_of(memory, "~/rules.md") == ""


def test_a_file_has_changed_if_its_size_or_time_differs_or_it_is_gone(
    memory: Memory, tmp_path: Path
) -> None:
    rules, of_user = tmp_path / "billing" / "CLAUDE.md", tmp_path / "rules.md"
    assert instruction_files.stamp(str(rules)) == (3, 5_000_000_000)
    assert instruction_files.stamp(str(tmp_path / "none")) == (GONE, 0) == (-1, 0)
    assert instruction_files.changed(memory) == {}

    os.utime(rules, (5, 6))
    assert instruction_files.changed(memory) == {"CLAUDE.md": 3}
    of_user.write_text("abcd")
    os.utime(of_user, (5, 5))
    assert instruction_files.changed(memory) == {"CLAUDE.md": 3, "~/rules.md": 4}
    rules.unlink()
    assert instruction_files.changed(memory)["CLAUDE.md"] == 0
    memory.settings = memory.settings._replace(user_home="")
    assert "~/rules.md" not in instruction_files.changed(memory)


@pytest.mark.parametrize(
    ("patterns", "ids"),
    [
        ((), set()),
        (("CLAUDE.md",), {"r1", "r2"}),
        (("AGENTS.md",), {"r1", "r2", "r3"}),
        (("~/*",), {"r3"}),
        (("CLAUDE",), set()),
        (("~/rules.md", "other"), {"r3"}),
    ],
)
def test_records_are_shown_by_a_client_that_reads_their_file_or_one_that_includes_it(
    memory: Memory, patterns: tuple[str, ...], ids: set[str]
) -> None:
    assert instruction_files.shown(memory, patterns) == ids

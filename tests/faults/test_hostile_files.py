"""What a repository or a home brings in the place of a file stalls nobody and is not replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from house import House
from memory_fabric.cli.main import main
from memory_fabric.store import signing

GIANT_BYTES = 1_500_000_000
DECIDED = "We decided to use PostgreSQL for the shop because SQLite locks."


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def giant(path: Path) -> None:
    """A file of zeros that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(GIANT_BYTES)


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.unlink()
    os.mkfifo(path)


def a_day(house: House) -> str:
    """A session with a decision, and one that asks for it; what the second was given."""
    house.fire("SessionStart", source="startup")
    house.prompt(DECIDED)
    house.fire("Stop", last_assistant_message="Done.")
    house.fire("SessionEnd", reason="other")
    return house.prompt("Which database does the shop use, PostgreSQL?", "session-2")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/HEAD",
        ".git/index",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".mcp.json",
        ".claude/memory/decisions.jsonl",
        ".claude/memory/.gitignore",
    ],
)
@pytest.mark.parametrize("bring", [giant, pipe])
def test_a_file_of_a_repository_that_must_not_be_read_costs_nothing_else(
    house: House, path: str, bring: object
) -> None:
    assert callable(bring)
    bring(house.project / path)
    assert "PostgreSQL" in a_day(house)


@pytest.mark.parametrize(
    "pointer", [b"gitdir: a\0b", b"gitdir: " + b"../x" * 250_000, b"gitdir: \xff\n", b"\0"]
)
def test_a_git_file_that_is_none_leaves_a_project_of_its_own(house: House, pointer: bytes) -> None:
    (house.project / ".git").rmdir()
    (house.project / ".git").write_bytes(pointer)
    assert "PostgreSQL" in a_day(house)


def test_a_memory_md_that_is_a_pipe_is_named_and_the_rest_works(house: House) -> None:
    assert "PostgreSQL" in a_day(house)
    (notes,) = house.home.rglob("MEMORY.md")
    pipe(notes)
    notice = house.fire("Stop", "session-3", last_assistant_message="Done.")["systemMessage"]
    assert "MEMORY.md" in notice and "no regular file" in notice
    assert "PostgreSQL" in house.context("SessionStart", "session-4", source="startup")


def test_a_key_that_is_a_pipe_is_refused_and_not_replaced(house: House) -> None:
    a_day(house)
    key = house.fabric_home / signing.KEY
    pipe(key)
    house.fire("Stop", "session-3", last_assistant_message="Done.")
    assert key.is_fifo()


def test_a_database_that_is_a_pipe_is_named_and_waited_for_by_nobody(house: House) -> None:
    assert "PostgreSQL" in a_day(house)
    (database,) = house.fabric_home.rglob("graph.db")
    pipe(database)
    notice = house.fire("Stop", "session-3", last_assistant_message="Done.")["systemMessage"]
    assert "no regular file" in notice
    assert house.prompt("Which database is it, PostgreSQL?", "session-4") == ""
    assert database.is_fifo()


def test_a_registry_that_leads_to_a_pipe_is_refused_and_not_replaced(
    house: House,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipe(tmp_path / "there")
    house.fabric_home.mkdir(parents=True)
    (house.fabric_home / "registry.json").symlink_to(tmp_path / "there")
    for name, value in house.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(house.project)
    assert main(["remember", DECIDED]) == 0
    assert "registry.json is no regular file" in capsys.readouterr().err
    assert (tmp_path / "there").is_fifo()
    assert (house.fabric_home / "registry.json").is_symlink()
    assert a_day(house)
    assert "registry.json is no regular file" in house.log


def test_a_folder_of_the_local_tier_that_is_a_pipe_keeps_nothing_from_the_graph(
    house: House,
) -> None:
    pipe(house.project / ".claude" / "memory")
    assert "PostgreSQL" in a_day(house)

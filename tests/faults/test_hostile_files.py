"""Things in the place of a file, brought by a repository or home: none stalls or is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.cli.main import main
from memory_fabric.store.home import signing
from simulated_client import SimulatedClient

GIANT_BYTES = 1_500_000_000
DECIDED = "We decided to use PostgreSQL for the shop because SQLite locks."
# Noted by the assistant, so that MEMORY.md does not show it and a prompt can bring it.
NOTED = "The invoices of the shop are archived in PostgreSQL 16"


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    return SimulatedClient(tmp_path)


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


def a_day(client: SimulatedClient) -> str:
    """A session with a decision, and one that asks for it; what the second was given."""
    client.fire("SessionStart", source="startup")
    client.prompt(DECIDED)
    client.fire("Stop", last_assistant_message="Done.")
    client.note("fact", NOTED, "")
    client.fire("SessionEnd", reason="other")
    return client.prompt("Where are the invoices archived, PostgreSQL?", "session-2")


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
def test_memory_works_in_a_repository_with_an_unreadable_file(
    client: SimulatedClient, path: str, bring: object
) -> None:
    assert callable(bring)
    bring(client.project / path)
    assert "PostgreSQL" in a_day(client)


@pytest.mark.parametrize(
    "pointer", [b"gitdir: a\0b", b"gitdir: " + b"../x" * 250_000, b"gitdir: \xff\n", b"\0"]
)
def test_an_invalid_git_file_does_not_prevent_storing_and_recalling(
    client: SimulatedClient, pointer: bytes
) -> None:
    (client.project / ".git").rmdir()
    (client.project / ".git").write_bytes(pointer)
    assert "PostgreSQL" in a_day(client)


def test_a_pipe_in_place_of_memory_md_is_reported_and_recall_works(client: SimulatedClient) -> None:
    assert "PostgreSQL" in a_day(client)
    (notes,) = client.home.rglob("MEMORY.md")
    pipe(notes)
    notice = client.fire("Stop", "session-3", last_assistant_message="Done.")["systemMessage"]
    assert "MEMORY.md" in notice and "no regular file" in notice
    assert "PostgreSQL" in client.context("SessionStart", "session-4", source="startup")


def test_a_pipe_in_place_of_the_signing_key_is_not_replaced(client: SimulatedClient) -> None:
    a_day(client)
    key = client.fabric_home / signing.KEY
    pipe(key)
    client.fire("Stop", "session-3", last_assistant_message="Done.")
    assert key.is_fifo()


def test_a_pipe_in_place_of_the_database_is_reported_and_does_not_block_hooks(
    client: SimulatedClient,
) -> None:
    assert "PostgreSQL" in a_day(client)
    (database,) = client.fabric_home.rglob("graph.db")
    pipe(database)
    notice = client.fire("Stop", "session-3", last_assistant_message="Done.")["systemMessage"]
    assert "no regular file" in notice
    assert client.prompt("Which database is it, PostgreSQL?", "session-4") == ""
    assert database.is_fifo()


def test_a_project_registry_that_links_to_a_pipe_is_reported_and_not_replaced(
    client: SimulatedClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipe(tmp_path / "there")
    client.fabric_home.mkdir(parents=True)
    (client.fabric_home / "registry.json").symlink_to(tmp_path / "there")
    for name, value in client.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(client.project)
    assert main(["remember", DECIDED]) == 0
    assert "registry.json is no regular file" in capsys.readouterr().err
    assert (tmp_path / "there").is_fifo()
    assert (client.fabric_home / "registry.json").is_symlink()
    assert a_day(client)
    assert "registry.json is no regular file" in client.log


def test_recall_works_if_the_projects_memory_folder_is_a_pipe(
    client: SimulatedClient,
) -> None:
    pipe(client.project / ".claude" / "memory")
    assert "PostgreSQL" in a_day(client)

"""Imported memories cost a start little, until the user confirms or drops all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from importing.foreign import ClaudeMem
from simulated_client import SimulatedClient

SOME, MANY = 60, 259
CHARS_PER_TOKEN = 4
PERSONAL = "Prefers answers in metric units"
KINDS = ("decision", "bugfix", "discovery")


@pytest.fixture
def claude_mem(tmp_path: Path) -> Iterator[ClaudeMem]:
    """An empty database of claude-mem."""
    database = ClaudeMem(tmp_path / ".claude-mem" / "claude-mem.db")
    yield database
    database.close()


@pytest.fixture
def client(client: SimulatedClient, claude_mem: ClaudeMem) -> SimulatedClient:
    """A client whose user has imported the memories of two other programs."""
    bring_in(client, claude_mem, range(SOME - 1))
    export = client.home / "mem0.json"
    export.write_text(json.dumps({"results": [{"id": "1", "memory": PERSONAL, "user_id": "ann"}]}))
    done = client.command("import", str(export))
    assert done.returncode == 0, done.stderr
    return client


def bring_in(client: SimulatedClient, database: ClaudeMem, numbers: Iterable[int]) -> None:
    """Import observations of these numbers."""
    for number in numbers:
        title = f"Payment{number} reaches the ledger{number} through gateway{number} at {number}"
        database.add("observations", project="shop", type=KINDS[number % 3], title=title)
    done = client.command("import", str(database.path))
    assert done.returncode == 0, done.stderr


def waiting(client: SimulatedClient) -> int:
    """The number of imported memories that wait in `review`."""
    return int(json.loads(client.command("review", "--json").stdout)["total"]["imported"])


def test_imported_records_use_at_most_100_tokens_at_session_start(client: SimulatedClient) -> None:
    told = client.context("SessionStart", "s-1", source="startup")

    block = told.partition("</memory")[0]
    imported = [line for line in block.splitlines() if ", unverified" in line]
    assert 0 < len(imported) < 4 and "from mem0" in imported[0]
    assert len(block) <= 100 * CHARS_PER_TOKEN, block
    assert "more on record: ask, or recall" in block


def test_many_short_imported_records_also_use_at_most_100_tokens(client: SimulatedClient) -> None:
    export = client.home / "short.json"
    texts = ("Always use tabs", "We decided on Redis", "Do we need Kafka?", "Blocker: no licence")
    rows = [{"id": text, "memory": text} for text in (PERSONAL, *texts, "x" * 500)]
    export.write_text(json.dumps({"results": rows}))
    assert client.command("import", str(export)).returncode == 0

    told = client.context("SessionStart", "s-1", source="startup").partition("</memory")[0]

    assert ", unverified" in told
    assert len(told) <= 100 * CHARS_PER_TOKEN, told


def test_one_command_confirms_all_records_imported_from_a_program(
    client: SimulatedClient, claude_mem: ClaudeMem
) -> None:
    bring_in(client, claude_mem, range(SOME - 1, MANY - 1))
    before = waiting(client)

    done = client.command("review", "--holds", "claude-mem")

    assert done.returncode == 0, done.stderr
    assert before == MANY and waiting(client) == 1
    assert f"and {MANY - 1 - 20} more" in done.stdout
    told = client.context("SessionStart", "s-1", source="startup")
    assert "from claude-mem" not in told and "through gateway" in told
    assert client.command("undo", "--last").returncode == 0
    assert waiting(client) == before


def test_dropped_records_of_a_program_are_not_imported_again(
    client: SimulatedClient, claude_mem: ClaudeMem
) -> None:
    done = client.command("review", "--drop", "claude-mem")

    assert done.returncode == 0, done.stderr
    assert waiting(client) == 1
    client.command("import", str(claude_mem.path))
    assert waiting(client) == 1
    again = client.command("review", "--drop", "claude-mem")
    assert again.returncode == 2 and "Nothing of claude-mem waits" in again.stderr


def test_an_imported_personal_preference_applies_in_every_project(client: SimulatedClient) -> None:
    found = json.loads(client.command("recall", PERSONAL, "--json").stdout)["results"][0]

    assert found["metadata"]["scope"] == "user"

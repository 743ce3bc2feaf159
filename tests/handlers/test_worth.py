"""What sessions were told, item by item, and whether the assistant then used it."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.models import Provenance, Record
from memory_fabric.notes.protocol import PROTOCOL
from memory_fabric.store import worth
from memory_fabric.store.worth import OFTEN_SESSIONS, often_told_never_used
from simulated_client import SimulatedClient

ANALYTICS = "Analytics queries run against PostgreSQL on port 6543"


def keep(client: SimulatedClient, what: str = ANALYTICS, **fields: Any) -> str:
    """Store a decision that no MEMORY.md shows yet; return its id."""
    memory = client.memory()
    record = Record(type="decision", what=what, **fields)
    stored = memory.remember(record, Provenance("cli", trust="user"))
    memory.close()
    assert stored is not None
    return stored.id


def told(client: SimulatedClient, columns: str = "channel, kind, used") -> list[tuple[Any, ...]]:
    """The rows of what was told, oldest first."""
    memory = client.memory()
    rows = memory.session_database().rows(f"SELECT {columns} FROM told ORDER BY id")
    memory.close()
    return [tuple(row) for row in rows]


def judged(client: SimulatedClient, id_: str, sessions: int, used: int = 0) -> None:
    """Let so many sessions be told a record, and judge it."""
    for number in range(sessions):
        client.context("SessionStart", f"told-{number}", source="startup")
    memory = client.memory()
    database = memory.session_database()
    rows = [row[0] for row in database.rows("SELECT id FROM told WHERE memory = ?", (id_,))]
    worth.judge(database, rows, rows[:used], "2026-03-01T10:00:00.000Z")
    memory.close()


def never_used(client: SimulatedClient) -> set[str]:
    memory = client.memory()
    try:
        return often_told_never_used(memory)
    finally:
        memory.close()


def test_the_session_block_is_counted_by_its_items(client: SimulatedClient) -> None:
    id_ = keep(client)

    block = client.whole_context("SessionStart", source="startup")

    rows = told(client, "channel, kind, memory, chars, used")
    line = next(line for line in block.split("\n") if id_[-8:] in line)
    assert rows[0] == ("session", "decision", f"record:{id_}", len(line), None)
    assert [row[1] for row in rows[1:]] == ["frame", "protocol"]
    without_breaks = len(block.replace(PROTOCOL, "").replace("\n", "")) + len(PROTOCOL)
    assert sum(row[3] for row in rows) == without_breaks


def test_a_prompt_that_is_given_nothing_is_told_nothing(client: SimulatedClient) -> None:
    client.context("SessionStart", source="startup")
    before = told(client)

    assert client.prompt("Rename the header of the cart") == ""

    assert told(client) == before


@pytest.mark.parametrize(
    ("sessions", "used", "is_listed"),
    [(OFTEN_SESSIONS, 0, True), (OFTEN_SESSIONS - 1, 0, False), (OFTEN_SESSIONS, 1, False)],
)
def test_a_record_told_in_five_sessions_and_never_used_is_known(
    client: SimulatedClient, sessions: int, used: int, is_listed: bool
) -> None:
    id_ = keep(client)

    judged(client, f"record:{id_}", sessions, used)

    assert never_used(client) == ({id_} if is_listed else set())


def test_what_was_not_judged_is_not_called_unused(client: SimulatedClient) -> None:
    keep(client)
    for number in range(OFTEN_SESSIONS):
        client.context("SessionStart", f"told-{number}", source="startup")

    assert never_used(client) == set()


def test_a_purged_record_leaves_no_row_of_what_was_told(client: SimulatedClient) -> None:
    id_ = keep(client)
    client.context("SessionStart", source="startup")
    assert any(id_ in row[0] for row in told(client, "memory"))

    preview = client.command("forget", id_, "--purge", "--yes")

    assert preview.returncode == 0, preview.stderr
    assert not any(id_ in row[0] for row in told(client, "memory"))

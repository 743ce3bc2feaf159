"""A purge removes the ledger's keys of a memory, and the files by which the launcher leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Provenance
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory
from store.support import TOOL, USER, World, create, database, decision, entity

AT = "2026-01-15T10:00:00.000Z"
BY = Provenance("cli", trust="user")
SAID = "The office in the harbour closes at noon"
TURN = "0198a1b2-c3d4-7e5f-8a9b-000000000001"
OTHER_TURN = "0198a1b2-c3d4-7e5f-8a9b-000000000002"
OTHERS = [f"episode:{OTHER_TURN}", "graph:Redis Cluster#7", "notes:protocol"]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def tell(memory: Memory, *keys: str) -> None:
    """Note in both tables that a session was given these keys."""
    told = [(key, "record", 10) for key in (*keys, *OTHERS)]
    given = [*keys, *OTHERS]
    sessions.record_injections(database(memory), "s1", "", given, "prompt", AT, told=told)


def keys_in(memory: Memory, table: str) -> list[str]:
    return sorted(row[0] for row in database(memory).rows(f"SELECT memory FROM {table}"))


def purge(memory: Memory, text: str) -> None:
    purging.purge(memory, purging.find(memory, text), BY)


@pytest.mark.parametrize("table", ["injections", "told"])
@pytest.mark.parametrize("form", ["{}", "record:{}", "rule:{}", "debt:{}", "conflict:record:{}"])
def test_purging_a_record_removes_all_traces_of_its_use_in_sessions(
    memory: Memory, form: str, table: str
) -> None:
    record = memory.remember(decision(SAID), USER)
    assert record is not None
    tell(memory, form.format(record.id))

    purge(memory, record.id)

    assert keys_in(memory, table) == OTHERS


@pytest.mark.parametrize("table", ["injections", "told"])
@pytest.mark.parametrize("form", ["episode:{}", "conflict:episode:{}"])
def test_purging_a_conversation_turn_removes_all_traces_of_its_use_in_sessions(
    memory: Memory, form: str, table: str
) -> None:
    turn = {"id": TURN, "session": "s1", "role": "user", "text": SAID, "created_at": AT}
    memory.write("add_episodes", {"episodes": [turn]}, TOOL)
    tell(memory, form.format(TURN))

    purge(memory, f"episode:{TURN}")

    assert keys_in(memory, table) == OTHERS


@pytest.mark.parametrize("table", ["injections", "told"])
@pytest.mark.parametrize("form", ["graph:{}", "graph:{}#3", "conflict:graph:{}#3"])
def test_purging_an_entity_removes_all_traces_of_its_use_in_sessions(
    memory: Memory, form: str, table: str
) -> None:
    create(memory, entity("Harbour office", SAID))
    tell(memory, form.format("Harbour office"))

    purge(memory, "Harbour office")

    assert keys_in(memory, table) == OTHERS


def test_a_purge_deletes_the_cache_files_of_the_hook_launcher(memory: Memory) -> None:
    record = memory.remember(decision(SAID, evidence={"when": "at noon"}), USER)
    kept = memory.remember(
        decision("Reports are made at night", evidence={"when": "at night"}), USER
    )
    assert record is not None and kept is not None
    home, opened = memory.settings.home, database(memory)
    launch_marks.note_place(home, "/srv/shop", "a-project")
    state = launch_marks.state_of_rules(opened.connection)
    launch_marks.note_unbound(opened.connection, opened.path, state)
    unbound = Path(opened.path).parent / "unbound-rules"
    assert unbound.exists()

    purge(memory, record.id)

    assert not unbound.exists()
    assert not Path(launch_marks.place_path(home, "/srv/shop")).exists()

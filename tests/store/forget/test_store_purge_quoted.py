"""Purge by id: the words of a memory that others quote, copy or are named by."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import Provenance
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.projects import link
from store.support import TOOL, USER, World, create, database, decision, entity

SECRET = "Ann Smith will leave the company in May"
KEPT = "Use cursor-based pagination for all list endpoints"
BY = Provenance("cli", trust="user")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def episode(number: int, text: str) -> dict[str, str]:
    at = "2026-01-15T10:00:00.000Z"
    return {"id": f"u{number}", "session": "s1", "role": "user", "text": text, "created_at": at}


def test_a_memory_that_quotes_a_purged_one_stays_without_that_text(world: World) -> None:
    memory = world.memory()
    said = {"quotation": f"{SECRET}, and never vendor a dependency"}
    gone = memory.remember(decision(SECRET), USER)
    memory.remember(decision("Dependencies are not vendored", evidence=said), USER)
    memory.flush()
    assert gone is not None

    purging.purge(memory, purging.find(memory, gone.id), BY)

    [left] = memory.find_records("1")
    assert left.what == "Dependencies are not vendored"
    assert left.evidence["quotation"] == "[erased], and never vendor a dependency"
    memory.close()
    assert SECRET.encode() not in world.all_bytes()


def test_the_copies_that_a_link_of_projects_made_are_purged_everywhere(world: World) -> None:
    old, new = World(world.root, "old").memory(), World(world.root, "new").memory()
    record = old.remember(decision(SECRET), USER)
    new.remember(decision(KEPT), USER)
    link.carry_out(old, link.plan(old, "link", str(world.root / "new")), USER)
    old.close()
    new.close()
    memory = World(world.root, "old").memory()
    assert record is not None

    purging.purge(memory, purging.find(memory, record.id, everywhere=True), BY)

    memory.close()
    assert SECRET.encode() not in world.all_bytes()


def test_a_purge_by_id_erases_the_words_that_the_note_quotes_from_their_turn(world: World) -> None:
    memory = world.memory()
    memory.write("add_episodes", {"episodes": [episode(1, f"Note this: {SECRET}.")]}, TOOL)
    note = decision("A colleague goes in spring", evidence={"quotation": SECRET})
    record = memory.remember(note, USER)
    assert record is not None

    purging.purge(memory, purging.find(memory, record.id), BY)

    assert database(memory).rows("SELECT text FROM episodes") == [("Note this: [erased].",)]


@pytest.mark.parametrize("what", ["It moves in spring", "Billing service"])
def test_a_purged_text_that_is_also_the_name_of_an_entity_stays_there(
    world: World, what: str
) -> None:
    memory = world.memory()
    create(memory, entity("Billing Service", "is fast"))
    said = {"quotation": "billing service"}
    record = memory.remember(decision(what, evidence=said), USER)
    assert record is not None

    purging.purge(memory, purging.find(memory, record.id), BY)

    assert memory.find_records("1") == []
    assert database(memory).rows("SELECT name FROM entities") == [("Billing Service",)]


def test_words_that_another_note_quotes_and_their_turn_stay(world: World) -> None:
    memory, said = world.memory(), {"quotation": "yes, do it like that"}
    memory.write("add_episodes", {"episodes": [episode(1, "Well: yes, do it like that.")]}, TOOL)
    gone = memory.remember(decision("Deploy on Friday", evidence=said), USER)
    memory.remember(decision("Tests run in CI only", evidence=said), USER)
    assert gone is not None

    purging.purge(memory, purging.find(memory, gone.id), BY)

    assert [record.evidence for record in memory.find_records("1")] == [said]
    assert database(memory).rows("SELECT text FROM episodes") == [("Well: yes, do it like that.",)]


def test_a_purge_leaves_the_condition_of_a_rule_that_has_the_purged_text(world: World) -> None:
    memory, rule = world.memory(), {"when": "git push --force", "effect": "deny"}
    gone = memory.remember(decision("git push --force"), USER)
    memory.remember(decision("Never rewrite history", evidence=rule), USER)
    assert gone is not None

    purging.purge(memory, purging.find(memory, gone.id), BY)

    assert [record.evidence for record in memory.find_records("1")] == [rule]

"""Synchronising MEMORY.md with the database, and rewriting lost journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Record
from memory_fabric.store import journal
from memory_fabric.store.home import signing
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import sync
from store.queues.operations import operation, queue
from store.support import USER, World, create, database, decision, entity


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def remembered(memory: Memory, *whats: str) -> list[Record]:
    found = [memory.remember(decision(what, confidence=0.9), USER) for what in whats]
    return [record for record in found if record]


def test_records_that_the_user_removed_from_memory_md_no_longer_count_as_shown(
    world: World,
) -> None:
    memory = world.memory()
    one, other = remembered(memory, "Use Redis", "Use tabs")
    memory.flush()
    sync.confirm_shown(memory)
    assert memory.native_ids("9999") == {one.id, other.id}

    lines = world.native().read_text("utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "Use tabs" in line)
    world.native().write_text("".join(lines[:at] + lines[at + 2 :]), "utf-8")
    sync.confirm_shown(memory)
    assert world.memory().native_ids("9999") == {one.id}

    world.native().unlink()
    sync.confirm_shown(memory)
    assert world.memory().native_ids("9999") == frozenset()
    assert memory.failures == []


def test_nothing_counts_as_shown_if_memory_md_cannot_be_read(world: World) -> None:
    memory = world.memory()
    remembered(memory, "Use Redis")
    memory.flush()
    world.native().unlink()
    world.native().mkdir()

    sync.confirm_shown(memory)

    assert memory.native_ids("9999") == frozenset()
    [failure] = memory.failures
    assert failure.startswith("MEMORY.md: ")


def test_the_time_at_which_a_record_was_first_shown_is_kept(world: World) -> None:
    memory = world.memory()
    [one] = remembered(memory, "Use Redis")
    memory.flush()
    shown = "SELECT id, promoted_at <> '' FROM records ORDER BY seq"
    assert database(memory).rows(shown) == [(one.id, 1)]
    database(memory).connection.execute("UPDATE records SET promoted_at = '2026'")

    remembered(memory, "Use tabs")
    memory.flush()

    assert database(memory).row("SELECT promoted_at FROM records WHERE id = ?", (one.id,)) == (
        "2026",
    )
    assert len(database(memory).rows("SELECT * FROM promoted")) == 2


def test_lost_journals_are_written_again_with_each_record_and_operation(world: World) -> None:
    memory = world.memory()
    remembered(memory, "Use Redis", "Use Kafka")
    memory.flush()
    assert sync.restore_journals(memory) == 0
    for path in (world.local / journal.DECISIONS, Path(memory.journal_of("project"))):
        path.unlink()

    assert sync.restore_journals(memory) == 4
    assert sync.restore_journals(memory) == 0
    assert len((world.local / journal.DECISIONS).read_text("utf-8").splitlines()) == 2


def test_the_number_of_applied_changes_of_a_queue_is_returned(world: World) -> None:
    memory = world.memory()
    assert sync.drain(memory) == 0
    for name in ("a", "b"):
        queue(world, operation(name))

    assert sync.drain(memory) == 2
    assert sync.drain(memory) == 0


def test_a_flush_creates_the_key_with_which_later_queues_are_signed(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    (world.home / signing.KEY).unlink(missing_ok=True)

    memory.flush()

    assert len(signing.known_key(str(world.home))) == 32


def test_backups_are_made_only_of_databases_without_a_recent_one(world: World) -> None:
    memory = world.memory()
    create(memory, entity("api"))
    first = sync.backup_when_due(memory)
    create(memory, entity("Ann"), store="user")

    second = sync.backup_when_due(memory)

    assert [Path(path).name.partition("-")[0] for path in (*first, *second)] == ["graph", "user"]


def test_memory_md_lists_pinned_records_first_then_rules_then_others_newest_first(
    world: World,
) -> None:
    memory = world.memory()
    said: list[tuple[str, str, dict[str, Any]]] = [
        ("decision", "pinned", {"pinned": True, "confidence": 0.5}),
        ("decision", "old", {}),
        ("constraint", "rule", {}),
        ("preference", "liking", {}),
        ("decision", "new", {}),
        ("decision", "noted", {"evidence": {"noted": "x"}}),
        ("session", "summary", {}),
        ("decision", "unsure", {"confidence": 0.69}),
        ("decision", "law", {"domain": "law"}),
    ]
    for number, (type_, what, fields) in enumerate(said, start=1):
        by = USER._replace(at=f"2026-01-0{number}T10:00:00.000Z")
        memory.remember(decision(what, **{"confidence": 0.7, **fields})._replace(type=type_), by)
    isolated = memory.settings.domains._replace(isolated=frozenset(["law"]))
    memory.settings = memory.settings._replace(domains=isolated)

    shown = [record.what for record in sync.promotable(memory)]

    assert shown == ["pinned", "liking", "rule", "new", "old"]

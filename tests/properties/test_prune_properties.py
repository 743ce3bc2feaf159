"""Laws of prune: its undo gives back every byte, and what is young, pinned or ageless stays."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.recall import review
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.history import changes, undo
from memory_fabric.store.memory import Memory
from properties.test_store_operations import PAYLOADS, check_full_text, seen
from store.support import World
from thorough import examples

NOW = "2026-06-01T00:00:00.000Z"
TIMES = st.sampled_from(["2025-01-01", "2026-02-01", "2026-03-15", "2026-05-30"])
STORES = st.sampled_from(["project", "user"])
STEPS = st.lists(st.tuples(PAYLOADS, TIMES, STORES), max_size=10)
BY = Provenance("cli", trust="user", at=NOW)


def fill(memory: Memory, steps: list[tuple[tuple[str, dict[str, Any]], str, str]]) -> None:
    """Let it all happen at its time; what refers to nothing is refused and leaves no trace."""
    for (kind, payload), at, store in steps:
        for database in memory.databases():
            database.connection.execute("PRAGMA synchronous = OFF")
        try:
            memory.write(kind, payload, Provenance("mcp", trust="tool", at=at), store=store)
        except NotFound:
            continue


@settings(max_examples=examples(60, 12))
@given(STEPS, st.integers(1, 8), st.sampled_from([None, 0, 80, 130]), st.integers(1, 3))
def test_the_undo_of_a_prune_gives_the_same_bytes_and_rows(
    steps: list[Any], limit: int, older_than: int | None, batch: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = World(Path(folder)).memory()
        for store in ("project", "user"):
            memory.database(store, create=True)
        fill(memory, steps)
        before = exchange.export_lines(memory.databases())
        rows = [seen(database) for database in memory.databases()]
        report = review.stale(memory, NOW, limit=limit, older_than=older_than)

        kept, review.BATCH = review.BATCH, batch
        pruned = review.prune(memory, report.shown, BY, NOW)
        review.BATCH = kept
        left = review.stale(memory, NOW, limit=100, older_than=older_than)
        if pruned.undo:
            change = changes.by_id(memory, pruned.undo)
            undo.undo(memory, changes.together(memory, change), BY)

        gone = {s.item for s in pruned.removed}
        assert gone == {s.item for s in report.shown} and not pruned.kept
        assert not {(a.kind, a.store, a.id or a.name) for a in gone} & {
            (s.item.kind, s.item.store, s.item.id or s.item.name) for s in left.shown
        }
        assert exchange.export_lines(memory.databases()) == before
        assert [seen(database) for database in memory.databases()] == rows
        for database in memory.databases():
            check_full_text(database)
        memory.close()


@settings(max_examples=examples(60, 12))
@given(STEPS)
def test_nothing_pinned_and_nothing_younger_than_the_least_limit_is_stale(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = World(Path(folder)).memory()
        fill(memory, steps)

        report = review.stale(memory, NOW, limit=1000)

        pinned = {
            (database.kind, row[0])
            for database in memory.databases()
            for row in database.rows("SELECT id FROM records WHERE pinned = 1")
        }
        assert not pinned & {(s.item.store, s.item.id) for s in report.shown}
        assert all(s.days > s.limit_days - 1 and s.days >= 90 for s in report.shown)
        assert [s.item.last_at for s in report.shown] == sorted(
            s.item.last_at for s in report.shown
        )
        memory.close()

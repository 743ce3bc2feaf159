"""Laws of undo: what was done goes, an undo is undone exactly, what was forgotten stays away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import new_id
from memory_fabric.models import Operation, Provenance
from memory_fabric.store import journal, write
from memory_fabric.store.database import Database
from memory_fabric.store.operations import kinds
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import repair
from properties.test_store_operations import (
    IDS,
    NAMES,
    PAYLOADS,
    TEXTS,
    TIMES,
    check_full_text,
    databases,
    lists,
    seen,
)
from store.support import observations_of
from thorough import examples

ALIASES = st.sampled_from(["AP-I", "Rediska", "paging", "redis"])
NAMING = st.one_of(
    st.tuples(
        st.sampled_from(["alias", "unalias"]),
        st.fixed_dictionaries({"entity": NAMES, "aliases": lists(ALIASES)}),
    ),
    st.tuples(st.just("merge"), st.fixed_dictionaries({"into": NAMES, "names": lists(NAMES)})),
    st.tuples(
        st.just("forget"),
        st.fixed_dictionaries(
            {
                "ids": lists(st.sampled_from(IDS)),
                "entityNames": lists(NAMES),
                "deletions": lists(
                    st.fixed_dictionaries({"entityName": NAMES, "observations": lists(TEXTS)})
                ),
            }
        ),
    ),
)
CHANGES = st.tuples(st.one_of(PAYLOADS, NAMING), TIMES)
STEPS = st.lists(CHANGES, max_size=8)
Change = tuple[tuple[str, dict[str, Any]], str]


def done(db: Database, kind: str, payload: dict[str, Any], at: str) -> str:
    """Apply one operation; its id, or nothing when it was refused or a record only read again."""
    by = Provenance("mcp", trust="tool", session="s9", at=at)
    operation = Operation(new_id(), kind, write.cleaned(payload), by)
    try:
        write.apply(db, operation)
    except (NotFound, BadInput):
        return ""
    logged = db.row("SELECT 1 FROM operations WHERE id = ?", (operation.id,))
    return operation.id if logged else ""


def all_done(db: Database, changes: Sequence[Change]) -> list[str]:
    ids = [done(db, kind, payload, at) for (kind, payload), at in changes]
    return [id_ for id_ in ids if id_]


def undone(db: Database, id_: str) -> str:
    """Undo one operation; the id of the undo."""
    row = db.row("SELECT kind, payload, inverse FROM operations WHERE id = ?", (id_,))
    assert row is not None
    steps = kinds.read_inverse(row[0], json.loads(row[1]), row[2])
    made = done(db, "undo", {"operation": id_, "steps": steps}, "2026-03-01")
    assert made
    return made


def whole(db: Database) -> tuple[Any, ...]:
    """All that a reader can see, with other names, and what the index knows of the names."""
    return (
        *seen(db),
        tuple(db.rows("SELECT key, alias, entity FROM aliases ORDER BY key")),
        tuple(db.rows("SELECT id, extra FROM entities ORDER BY id")),
    )


def is_forgetting(db: Database, id_: str) -> bool:
    """Its undo means to bring back what it took."""
    return db.row("SELECT kind FROM operations WHERE id = ?", (id_,)) == ("forget",)


def tombstones(db: Database) -> list[tuple[Any, ...]]:
    return db.rows("SELECT * FROM tombstones ORDER BY id")


@settings(max_examples=examples(200, 15))
@given(STEPS)
def test_undoing_everything_backwards_restores_every_state(changes: list[Change]) -> None:
    with databases(1) as [db]:
        states, ids = [whole(db)], []
        for change in changes:
            made = all_done(db, [change])
            if made:
                ids += made
                states.append(whole(db))
        for id_ in reversed(ids):
            assert whole(db) == states.pop()
            undone(db, id_)
        assert whole(db) == states.pop()
        check_full_text(db)


def made(*names: str) -> Change:
    entities = [{"name": n, "entityType": "component", "observations": []} for n in names]
    return ("create_entities", {"entities": entities}), "2026-02-01"


@settings(max_examples=examples(300, 15))
@given(STEPS, st.lists(st.integers(0, 7), min_size=1, max_size=3))
@example(
    # An entity is made under a name that is another one's alias since they were merged.
    [
        made("api", "Redis"),
        (("merge", {"into": "api", "names": ["Redis"]}), "2026-02-01"),
        made("Redis"),
    ],
    [1],
)
def test_undoing_an_undo_restores_exactly_what_was_in_any_order(
    changes: list[Change], which: list[int]
) -> None:
    with databases(1) as [db]:
        ids = all_done(db, changes)
        for number in which:
            if number >= len(ids):
                continue
            before, graves = whole(db), tombstones(db)
            again = undone(db, undone(db, ids[number]))
            assert whole(db) == before
            assert tombstones(db) == graves
            undone(db, again)
        check_full_text(db)
        assert db.rows("PRAGMA foreign_key_check") == []


@settings(max_examples=examples(150, 15))
@given(STEPS, st.integers(0, 7))
def test_undo_brings_back_nothing_that_was_forgotten_since(
    changes: list[Change], which: int
) -> None:
    with databases(1) as [db]:
        ids = all_done(db, changes)
        names = [e.name for e in graph.read_graph(db).entities]
        gone = {"ids": IDS, "entityNames": names}
        done(db, "forget", gone, "2026-02-03")
        if which < len(ids) and not is_forgetting(db, ids[which]):
            undone(db, ids[which])
        there = graph.read_graph(db)
        assert [e for e in there.entities if e.name in names] == []
        assert db.rows("SELECT id FROM records") == []


@settings(max_examples=examples(150, 15))
@given(STEPS, st.lists(st.integers(0, 7), max_size=3), STEPS)
def test_a_journal_with_undos_gives_the_same_elsewhere(
    before: list[Change], which: list[int], after: list[Change]
) -> None:
    with databases(2) as [db, other]:
        ids = all_done(db, before)
        for number in which:
            if number < len(ids):
                ids.append(undone(db, ids[number]))
        all_done(db, after)
        path = str(Path(db.path).with_name("operations.jsonl"))
        journal.export(db, path, str(Path(db.path).parent / "local"))
        assert repair.replay(other, path)[1] == 0
        assert whole(other) == whole(db)
        assert tombstones(other) == tombstones(db)


@settings(max_examples=examples(150, 15))
@given(STEPS, NAMES, st.lists(NAMES, min_size=1, max_size=3))
def test_undoing_a_merge_keeps_what_was_said_since(
    changes: list[Change], into: str, names: list[str]
) -> None:
    with databases(1) as [db]:
        all_done(db, changes)
        merge = done(db, "merge", {"into": into, "names": names}, "2026-02-03")
        said = {"entityName": into, "contents": ["said since"]}
        if not merge or not done(db, "add_observations", {"observations": [said]}, "2026-02-04"):
            return
        undone(db, merge)
        assert "said since" in observations_of(db, into)
        there = {e.name for e in graph.read_graph(db).entities}
        assert set(names) <= there
        check_full_text(db)

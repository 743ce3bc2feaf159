"""Laws of operations: what was done can be undone, and done elsewhere with the same outcome."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from drawn import built
from memory_fabric.errors import NotFound
from memory_fabric.ids import new_id
from memory_fabric.models import Entity, Operation, Provenance, Record, Relation
from memory_fabric.store import journal, records, write
from memory_fabric.store.database import Database, open_database
from memory_fabric.store.operations import kinds
from memory_fabric.store.queries import graph
from memory_fabric.store.upkeep import backup, repair
from thorough import examples

NAMES = st.sampled_from(["api", "Redis", "redis", "cursor-pagination", "cursor_pagination", "Ann"])
TEXTS = st.sampled_from(["is fast", "is slow", "", "Use it", "Use it — because yes", "x" * 60])
TYPES = st.sampled_from(["component", "unknown", "technology"])
KINDS = st.sampled_from(["uses", "chose"])
IDS = [f"01a1fc36-f640-7ceb-bdf0-{i:012x}" for i in range(6)]


def lists(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=3)


ENTITIES = st.fixed_dictionaries({"name": NAMES, "entityType": TYPES, "observations": lists(TEXTS)})
RELATIONS = st.fixed_dictionaries({"from": NAMES, "relationType": KINDS, "to": NAMES})
RECORDS = built(
    Record,
    type=st.sampled_from(["decision", "question", "note"]),
    what=st.sampled_from(["Use it", "Uses it", "Never use it", "Use Redis"]),
    why=st.sampled_from(["", "yes", "no"]),
    entities=lists(built(Entity, NAMES, TYPES)).map(tuple),
    relations=lists(built(Relation, NAMES, KINDS, NAMES)).map(tuple),
    confidence=st.sampled_from([0.3, 0.4, 0.5, 0.9]),
    id=st.sampled_from(IDS),
    scope=st.sampled_from(["team", "user"]),
    trust=st.sampled_from(["user", "assistant"]),
    session=st.sampled_from(["s1", "s2"]),
    source=st.just("prompt"),
    created_at=st.sampled_from(["2026-01-01", "2026-01-02"]),
    pinned=st.booleans(),
).map(records.as_object)
PAYLOADS = st.one_of(
    st.tuples(st.just("create_entities"), st.fixed_dictionaries({"entities": lists(ENTITIES)})),
    st.tuples(st.just("create_relations"), st.fixed_dictionaries({"relations": lists(RELATIONS)})),
    st.tuples(
        st.just("add_observations"),
        st.fixed_dictionaries(
            {
                "observations": lists(
                    st.fixed_dictionaries({"entityName": NAMES, "contents": lists(TEXTS)})
                )
            }
        ),
    ),
    st.tuples(st.just("delete_entities"), st.fixed_dictionaries({"entityNames": lists(NAMES)})),
    st.tuples(
        st.just("delete_observations"),
        st.fixed_dictionaries(
            {
                "deletions": lists(
                    st.fixed_dictionaries({"entityName": NAMES, "observations": lists(TEXTS)})
                )
            }
        ),
    ),
    st.tuples(st.just("delete_relations"), st.fixed_dictionaries({"relations": lists(RELATIONS)})),
    st.tuples(st.just("remove_orphans"), st.fixed_dictionaries({"entityNames": lists(NAMES)})),
    st.tuples(st.just("remember"), st.fixed_dictionaries({"record": RECORDS})),
    st.tuples(st.just("forget"), st.fixed_dictionaries({"ids": lists(st.sampled_from(IDS))})),
    st.tuples(
        st.just("put_record"),
        st.fixed_dictionaries({"record": RECORDS, "seen_in": st.just(["s1"])}),
    ),
)
TIMES = st.sampled_from(["2026-02-01", "2026-02-02"])
STEPS = st.lists(st.tuples(PAYLOADS, TIMES), max_size=8)


@contextmanager
def databases(count: int) -> Iterator[list[Database]]:
    with tempfile.TemporaryDirectory() as folder:
        opened = []
        for number in range(count):
            # One folder each: their journals and backups are their own.
            path = str(Path(folder) / str(number) / "graph.db")
            database = open_database(path, "project", create=True)
            assert database is not None
            database.connection.execute("PRAGMA synchronous = OFF")
            opened.append(database)
        yield opened
        for database in opened:
            database.close()


def done(db: Database, kind: str, payload: Mapping[str, Any], at: str) -> list[dict[str, Any]]:
    """Apply one operation; returns its inverse as the database has it."""
    by = Provenance("mcp", trust="tool", session="s9", at=at)
    operation = Operation(new_id(), kind, write.cleaned(payload), by)
    try:
        before = seen(db)
        write.apply(db, operation)
    except NotFound:
        return []
    row = db.row("SELECT payload, inverse FROM operations WHERE id = ?", (operation.id,))
    if row is None:  # a record that was only read again: nothing to log, for nothing has changed
        assert kind == "remember"
        assert seen(db) == before
        return []
    return kinds.read_inverse(kind, json.loads(row[0]), row[1])


def seen(db: Database) -> tuple[Any, ...]:
    """All that a reader of the graph and the records can see, and who brought what."""
    tables = {
        "observations": "SELECT id, entity, text, record, trust, source, session FROM observations",
        "relations": "SELECT id, source, type, target, record FROM relations",
        "entities": "SELECT id, name, type, record, domain, created_at FROM entities",
        "claims": "SELECT row AS id, kind, record FROM claims",
    }
    rows = tuple(tuple(db.rows(sql + " ORDER BY 1, 2, 3")) for sql in tables.values())
    kept = {
        record.id: (record, sessions) for record, sessions in records.find(db.connection, "1", ())
    }
    return graph.read_graph(db), rows, kept


def check_full_text(db: Database) -> None:
    for table in repair.FULL_TEXT:
        with db.transaction() as c:
            c.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def undone(db: Database, inverse: Sequence[Mapping[str, Any]]) -> None:
    for step in inverse:
        done(db, step["kind"], step["payload"], "2026-03-01")


@settings(max_examples=examples(200, 15))
@given(STEPS)
def test_inverses_in_reverse_order_restore_graph_and_records(
    steps: list[tuple[tuple[str, dict[str, Any]], str]],
) -> None:
    with databases(1) as [db]:
        states, inverses = [seen(db)], []
        for (kind, payload), at in steps:
            inverses.append(done(db, kind, payload, at))
            states.append(seen(db))
        for inverse in reversed(inverses):
            assert seen(db) == states.pop()
            undone(db, inverse)
        assert seen(db) == states.pop()
        check_full_text(db)


@settings(max_examples=examples(80, 15))
@given(STEPS, st.integers(0, 7))
def test_an_inverse_in_any_order_leaves_a_whole_graph(
    steps: list[tuple[tuple[str, dict[str, Any]], str]], which: int
) -> None:
    with databases(1) as [db]:
        inverses = [done(db, kind, payload, at) for (kind, payload), at in steps]
        if which < len(inverses):
            undone(db, inverses[which])
        assert db.rows("PRAGMA foreign_key_check") == []
        names = [entity.name for entity in graph.read_graph(db).entities]
        assert len(names) == len(set(names))
        check_full_text(db)


@settings(max_examples=examples(80, 15))
@given(STEPS, STEPS)
def test_a_journal_gives_the_same_graph_and_records_elsewhere(
    before: list[tuple[tuple[str, dict[str, Any]], str]],
    after: list[tuple[tuple[str, dict[str, Any]], str]],
) -> None:
    with databases(2) as [db, other]:
        path = str(Path(db.path).with_name("operations.jsonl"))
        for number, part in enumerate((before, after)):
            for (kind, payload), at in part:
                done(db, kind, payload, at)
            journal.export(db, path, str(Path(db.path).parent / "local"))
            # The second time the first part is there already: it is not applied again.
            assert repair.replay(other, path)[1] == 0, number
        assert seen(other) == seen(db)
        assert repair.replay(db, path) == (0, 0)


@settings(max_examples=examples(30, 15))
@given(STEPS)
def test_a_backup_is_the_same(steps: list[tuple[tuple[str, dict[str, Any]], str]]) -> None:
    with databases(1) as [db]:
        for (kind, payload), at in steps:
            done(db, kind, payload, at)
        copy = open_database(backup.create(db.path), "project", create=False)
        assert copy is not None
        assert seen(copy) == seen(db)
        copy.close()

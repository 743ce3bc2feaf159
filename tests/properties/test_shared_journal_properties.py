"""Laws of a shared journal, whatever somebody makes of the file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric import ids
from memory_fabric.models import RECORD_TYPES, Record
from memory_fabric.sharing.git import claims_read, location, shared_journal, switch
from memory_fabric.store import journal
from memory_fabric.store.records import as_object
from memory_fabric.store.tiers import sync
from store.support import USER, World, database, pagination
from thorough import examples

OURS = ids.new_id()
IDS = [OURS, *(ids.new_id() for _ in range(3))]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
claims = st.fixed_dictionaries(
    {"id": st.sampled_from(IDS), "type": st.sampled_from(sorted(RECORD_TYPES)), "what": st.text()},
    optional={
        name: st.sampled_from([*IDS, "user", True, 1.0]) | anything
        for name in (*as_object(Record("note", "x")), "forgotten", "supersedes")
        if name not in ("id", "type", "what")
    },
)
lines = (
    claims.map(json.dumps)
    | anything.map(json.dumps)
    | st.sampled_from(["<<<<<<< HEAD", "=======", ">>>>>>> theirs", "||||||| base", "\ufeff", "\0"])
    | st.text(max_size=40)
)
damage = st.lists(lines, max_size=8).map(lambda some: "\n".join(some).encode("utf-8", "replace"))


@given(st.lists(damage, min_size=1, max_size=3), st.binary(max_size=20))
@settings(max_examples=examples(60, 12))
def test_whatever_the_file_holds_ours_stays_and_theirs_are_claims(
    states: list[bytes], end: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder).resolve())
        memory = world.memory()
        own = memory.remember(pagination(id=OURS), USER)
        memory.flush()
        graph = _graph(memory)
        assert memory.project is not None
        switch.turn(str(world.home), memory.project.id, True)
        path = world.local / journal.DECISIONS
        for state in states:
            path.write_bytes(state + end)
            memory.flush()
            _holds(memory, own, graph)
            # Reading the same again changes nothing, and our own line can still be read.
            before = memory.find_records("1")
            shared_journal.import_new(memory)
            assert memory.find_records("1") == before
        memory.remember(Record("note", "A new word of ours", confidence=0.6), USER)
        memory.flush()
        kept = [p for p in location.files_of(memory) if b"A new word of ours" in _bytes(p)]
        assert len(kept) == 1 and _bytes(kept[0]).endswith(b"}\n")
        _holds(memory, own, _graph(memory))
        shared_journal.drop_all(memory)
        assert all(r.trust == "user" for r in memory.find_records("1"))
        assert memory.failures == []
        memory.close()


@given(damage | st.binary(max_size=200))
def test_what_is_read_is_bounded_and_whole(state: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.jsonl"
        path.write_bytes(state)
        found = claims_read.read(str(path))
        assert found is not None
        assert len({claim.id for claim in found.claims}) == len(found.claims)
        assert len(found.claims) + found.unreadable <= len(state.split(b"\n"))
        for claim in found.claims:
            if claim.record:
                text = claims_read.record_of(claim)
                assert (
                    len(text["what"]) <= claims_read.MAX_WHAT_CHARS and text["what"].isprintable()
                )
                assert not set("[]·<>|\n") & set(text["author"] + text["domain"])


def _holds(memory: Any, own: Record | None, graph: Any) -> None:
    assert memory.find_records("id = ?", (OURS,)) == [own]
    for record in memory.find_records("source = 'journal'"):
        assert (record.trust, record.scope, record.pinned) == ("foreign", "team", False)
        assert 0.5 <= record.confidence <= 0.6 and record.superseded_by != OURS
        assert record.session == record.agent == "" and record.relations == ()
    assert _graph(memory) == graph
    assert all(r.trust == "user" for r in sync.promotable(memory))


def _graph(memory: Any) -> Any:
    db = database(memory)
    tables = ("entities", "observations", "relations", "aliases", "tombstones")
    return [db.rows(f"SELECT * FROM {table}") for table in tables]


def _bytes(path: str) -> bytes:
    found = Path(path)
    return found.read_bytes() if found.is_file() else b""

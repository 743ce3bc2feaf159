"""Laws of the reference server's file: what is written is read again; nothing stops a reader."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from drawn import built
from memory_fabric.errors import BadInput
from memory_fabric.models import Entity, Graph, Provenance, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange
from memory_fabric.store.graph_file.merge_external import Ours, merge_changes
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from store.support import World
from thorough import examples

Apply = Callable[[str, dict[str, Any]], dict[str, Any]]
SAID_THERE = Provenance("import", trust="tool")
# Any text that UTF-8 can carry.
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.lists(TEXTS, min_size=1, max_size=5, unique=True)


@st.composite
def graphs(draw: st.DrawFn, names: st.SearchStrategy[list[str]] = NAMES) -> Graph:
    known = draw(names)
    texts = st.lists(TEXTS, max_size=3, unique=True).map(tuple)
    entities = tuple(Entity(name, draw(TEXTS), draw(texts)) for name in known)
    ends = st.sampled_from(known)
    relations = st.lists(built(Relation, ends, TEXTS, ends), max_size=4, unique=True)
    return Graph(entities, tuple(draw(relations)) if known else ())


@given(graphs())
def test_a_written_graph_is_read_as_it_was(whole: Graph) -> None:
    content = b"\n".join(exchange.graph_lines(whole))

    found = [exchange.read(line) for _, line in exchange.lines(io.BytesIO(content))]

    assert found == [*whole.entities, *whole.relations]
    assert b"\n".join(exchange.line_of(item) for item in found if item) == content


@settings(max_examples=examples(30, 12))
@given(graphs())
def test_an_imported_graph_is_exported_byte_for_byte_and_in_its_order(whole: Graph) -> None:
    items: list[Entity | Relation] = [*whole.entities, *whole.relations]
    lines = [exchange.line_of(exchange.cleaned(item)) for item in items]
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        (world.root / "memory.jsonl").write_bytes(b"\n".join(lines))
        memory: Memory = world.memory()

        exchange.import_file(memory, str(world.root / "memory.jsonl"), SAID_THERE)

        assert exchange.export_lines(memory.databases()) == lines
        memory.close()


PIECES = [
    *(b'{"type":"entity"', b',"name":"a"', b',"entityType":"t"', b',"observations":[1]'),
    *(b"}", b"]}", b"\n", b"\r", b"null", b"[]", b'{"entities":[', b'"', b"\xff", b"\xef\xbb\xbf"),
]


@given(st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_no_bytes_stop_the_reader(content: bytes) -> None:
    for _, line in exchange.lines(io.BytesIO(content)):
        try:
            item = exchange.read(line)
        except BadInput:
            continue
        assert item is None or exchange.read(exchange.line_of(item)) == item


FEW = st.sampled_from([["a", "b", "c"], ["b", "a"], ["c"], []])


def parts(whole: Graph) -> set[object]:
    """A graph as the set of all that is said in it; types aside."""
    said = {(entity.name, text) for entity in whole.entities for text in entity.observations}
    return {*said, *(entity.name for entity in whole.entities), *whole.relations}


def put(db: Database, apply: Apply, before: Graph, now: Graph) -> None:
    marked = [{line: line for line in exchange.graph_lines(whole)} for whole in (before, now)]
    merge_changes(db, apply, marked[0], marked[1], lambda: None, Ours())


@settings(max_examples=examples(50, 12))
@given(graphs(FEW), graphs(FEW), graphs(FEW))
def test_what_others_change_is_done_and_what_is_ours_stays(
    base: Graph, theirs: Graph, ours: Graph
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = World(Path(folder)).memory(CLAUDE_PROJECT_DIR="")
        db = memory.database("user", create=True)
        assert db is not None

        def apply(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
            return memory.write(kind, payload, SAID_THERE, store="user")

        put(db, apply, Graph(), base)
        put(db, apply, Graph(), ours)
        put(db, apply, base, theirs)

        found = graph.read_graph(db)
        memory.close()
    removed = parts(base) - parts(theirs)
    assert {part for part in removed & parts(found) if not isinstance(part, str)} == set()
    untouched = parts(ours) - parts(base)
    assert parts(theirs) <= parts(found)
    assert untouched <= parts(found)
    ends = {end for r in ours.relations for end in (r.source, r.target)}
    kept = {*ends, *(e.name for e in ours.entities)}
    assert parts(found) <= parts(theirs) | parts(ours) | kept
    types = {entity.name: entity.type for entity in found.entities}
    changed = [e for e in theirs.entities if e not in base.entities]
    assert all(types[entity.name] == entity.type for entity in changed)

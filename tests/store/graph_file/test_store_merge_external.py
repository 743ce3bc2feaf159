"""Changes of a served file by other programs: the operations that they cause."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Entity
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import merge_external
from memory_fabric.store.graph_file.agreed import mark_of
from memory_fabric.store.graph_file.merge_external import RELATION, SAID, Ours, digest_of
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from store.serving import edge, line
from store.support import TOOL, World, create, database, entity, relation

THEIRS = TOOL._replace(source="import")
NOTE = b'{"type":"note"}'


class Merging:
    """A memory without a project, and the operations and warnings of its merges."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.kinds: list[str] = []
        self.is_forewarned = False

    @property
    def db(self) -> Database:
        return database(self.memory, "user")

    def apply(self, kind: str, payload: dict[str, Any]) -> Mapping[str, Any]:
        self.kinds.append(kind)
        return self.memory.write(kind, payload, THEIRS, store="user")

    def forewarn(self) -> None:
        self.is_forewarned = True

    def merge(self, before: list[bytes], now: list[bytes], ours: Ours | None = None) -> bool:
        old, new = (
            {mark_of(part): b"" if part == NOTE else part for part in lines}
            for lines in (before, now)
        )
        return merge_external.merge_changes(
            self.db, self.apply, old, new, self.forewarn, ours or Ours()
        )

    @property
    def entities(self) -> dict[str, tuple[str, ...]]:
        return {e.name: e.observations for e in graph.read_graph(self.db).entities}

    @property
    def relations(self) -> list[str]:
        return [r.type for r in graph.read_graph(self.db).relations]


@pytest.fixture
def merging(tmp_path: Path) -> Merging:
    memory = World(tmp_path).memory(CLAUDE_PROJECT_DIR="")
    create(memory, entity("a", "x", "y", kind="t"), entity("b", kind="t"))
    memory.write("create_relations", {"relations": [relation("a", "u", "b")]}, TOOL)
    return Merging(memory)


A, B, EDGE = line("a", "x", "y"), line("b"), edge("a", "u", "b")
WHOLE = [A, B, EDGE]


def test_an_unchanged_file_causes_no_operation(merging: Merging) -> None:
    assert not merging.merge(WHOLE, [EDGE, NOTE, B, A])
    assert merging.kinds == [] and not merging.is_forewarned


def test_content_that_a_file_no_longer_has_is_deleted(merging: Merging) -> None:
    assert not merging.merge(WHOLE, [line("a", "y")])

    assert merging.kinds[:3] == ["delete_relations", "delete_observations", "remove_orphans"]
    assert merging.entities == {"a": ("y",)} and merging.relations == []
    assert not merging.is_forewarned


def test_an_entity_is_kept_while_another_line_has_its_content(merging: Merging) -> None:
    halves = [line("a", "x"), line("a", "y")]

    assert not merging.merge(WHOLE, [*halves, B, EDGE + b" "])
    assert merging.entities == {"a": ("x", "y"), "b": ()} and merging.relations == ["u"]


@pytest.mark.parametrize(
    ("added", "kept", "relations"),
    [
        (digest_of(SAID, "a", "x"), {"a": ("x",)}, []),
        (digest_of("b", "t"), {"b": ()}, []),
        (digest_of(RELATION, "a", "u", "b"), {"a": (), "b": ()}, ["u"]),
        (digest_of("a", "t"), {"a": ()}, []),
    ],
)
def test_content_that_we_added_meanwhile_is_not_deleted(
    merging: Merging, added: str, kept: dict[str, tuple[str, ...]], relations: list[str]
) -> None:
    assert merging.merge(WHOLE, [], Ours(frozenset([added])))

    assert (merging.entities, merging.relations) == (kept, relations)


@pytest.mark.parametrize(
    ("new", "removed", "made", "is_left_out"),
    [
        (line("c", "z"), digest_of("c", "t"), {"c": ("z",)}, False),
        (line("c", "z", "w"), digest_of(SAID, "c", "z"), {"c": ("w",)}, True),
        (line("c"), digest_of("c", "t"), {}, True),
        (edge("a", "v", "b"), digest_of(RELATION, "a", "v", "b"), {}, True),
    ],
)
def test_content_that_we_removed_meanwhile_is_not_stored_again(
    merging: Merging,
    new: bytes,
    removed: str,
    made: dict[str, tuple[str, ...]],
    is_left_out: bool,
) -> None:
    before = merging.entities

    ours = Ours(removed=frozenset([removed]))
    assert merging.merge(WHOLE, [*WHOLE, new], ours) == is_left_out

    assert merging.entities == {**before, **made} and merging.relations == ["u"]


def test_an_entity_that_we_removed_is_stored_again_for_a_relation_of_others(
    merging: Merging,
) -> None:
    ours = Ours(removed=frozenset([digest_of("c", "t")]))

    assert not merging.merge(WHOLE, [*WHOLE, line("c"), edge("c", "v", "a")], ours)

    assert "c" in merging.entities and merging.relations == ["u", "v"]


def test_lines_in_a_new_form_do_not_restore_deleted_content(
    merging: Merging,
) -> None:
    gone = {"deletions": [{"entityName": "a", "observations": ["x"]}]}
    merging.apply("delete_observations", gone)
    merging.apply("delete_entities", {"entityNames": ["b"]})

    assert merging.merge(WHOLE, [part.replace(b",", b", ", 1) for part in WHOLE])

    assert (merging.entities, merging.relations) == ({"a": ("y",)}, [])


def test_the_type_and_the_order_of_a_file_are_applied_in_a_way_that_survives_a_crash(
    merging: Merging,
) -> None:
    assert not merging.merge(WHOLE, [line("a", "y", "x", kind="new"), B, EDGE])

    assert merging.is_forewarned
    assert merging.kinds[-2:] == ["delete_entities", "restore"]
    [a, _] = graph.read_graph(merging.db).entities
    assert a == Entity("a", "new", ("y", "x")) and merging.relations == ["u"]


def test_a_type_that_we_have_just_changed_is_kept(merging: Merging) -> None:
    ours = Ours(removed=frozenset([digest_of("a", "old")]))

    assert merging.merge(WHOLE, [line("a", "x", "y", kind="old"), B, EDGE], ours)

    assert not merging.is_forewarned
    assert graph.read_graph(merging.db).entities[0].type == "t"


def test_of_several_lines_of_an_entity_the_first_decides_its_type(merging: Merging) -> None:
    merging.merge(WHOLE, [line("a", "x", "y", kind="one"), line("a", kind="two"), B, EDGE])

    assert graph.read_graph(merging.db).entities[0].type == "one"


def test_all_content_of_a_file_is_stored_in_an_empty_database(tmp_path: Path) -> None:
    merging = Merging(World(tmp_path).memory(CLAUDE_PROJECT_DIR=""))

    assert not merging.merge([], [EDGE, A, NOTE])

    assert merging.kinds == ["create_entities", "create_relations"]
    assert merging.entities == {"a": ("x", "y"), "b": ()} and merging.relations == ["u"]

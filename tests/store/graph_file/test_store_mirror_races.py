"""Others who write a served file from a stale copy, or keep its lock: nothing of ours is lost."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_fabric.errors import StoreUnavailable
from memory_fabric.models import Entity, Relation
from memory_fabric.store import files
from memory_fabric.store.graph_file import merge_external, mirror
from store.serving import Served, edge, line, say, whole
from store.support import TOOL, entity, names, relation
from thorough import examples

LATER_S = merge_external.WINDOW_S + 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.close()


def test_overwriting_the_file_with_a_stale_copy_loses_none_of_our_changes(served: Served) -> None:
    served.put(line("old", "x"))
    memory = served.open()
    say(memory, entity("ours", "new"))
    memory.write("create_relations", {"relations": [relation("ours", "uses", "old")]}, TOOL)
    added = {"observations": [{"entityName": "old", "contents": ["said by us"]}]}
    memory.write("add_observations", added, TOOL)
    memory.flush()
    expected = [
        line("old", "x", "said by us"),
        line("ours", "new", kind="component"),
        line("theirs"),
        edge("ours", "uses", "old"),
    ]

    served.overwrite(line("old", "x"), line("theirs"))

    assert set(names(whole(memory).entities)) == {"old", "ours", "theirs"}
    memory.flush()
    assert served.lines == expected


def test_overwriting_the_file_with_a_stale_copy_restores_nothing_that_we_deleted(
    served: Served,
) -> None:
    before = [line("a", "x", "y"), line("b", "z"), line("c"), edge("a", "uses", "b")]
    served.put(*before)
    memory = served.open()
    gone = {"deletions": [{"entityName": "a", "observations": ["x"]}]}
    memory.write("delete_observations", gone, TOOL)
    memory.write("delete_entities", {"entityNames": ["b", "c"]}, TOOL)
    memory.flush()

    served.overwrite(*before[1:], line("a", "x", "y", "theirs"), line("new"))

    expected = {Entity("a", "t", ("y", "theirs")), Entity("new", "t")}
    assert set(whole(memory).entities) == expected
    assert whole(memory).relations == ()
    memory.flush()
    assert set(served.lines) == {line("a", "y", "theirs"), line("new")}


def test_additions_of_another_program_to_an_entity_that_we_deleted_are_kept(served: Served) -> None:
    served.put(line("a", "x"), line("b"), line("c"))
    memory = served.open()
    memory.write("delete_entities", {"entityNames": ["a", "b"]}, TOOL)
    memory.flush()

    served.overwrite(line("a", "x", "theirs"), line("b"), line("c"), edge("c", "uses", "b"))

    assert set(whole(memory).entities) == {
        Entity("a", "t", ("theirs",)),
        Entity("b", "t"),
        Entity("c", "t"),
    }
    assert whole(memory).relations == (Relation("c", "uses", "b"),)


def test_a_stale_copy_does_not_revert_a_type_that_we_just_changed(served: Served) -> None:
    served.put(line("a", "x", kind="old"))
    memory = served.open()
    memory.write("delete_entities", {"entityNames": ["a"]}, TOOL)
    say(memory, entity("a", "x", kind="new"))
    memory.flush()

    served.overwrite(line("a", "x", kind="old"), line("theirs"))

    assert set(whole(memory).entities) == {Entity("a", "new", ("x",)), Entity("theirs", "t")}
    memory.flush()
    assert line("a", "x", kind="new") in served.lines


def test_a_file_that_another_program_writes_much_later_overrides_our_changes(
    served: Served,
) -> None:
    served.put(line("a", "x"), line("b"))
    memory = served.open()
    say(memory, entity("ours"))
    memory.write("delete_entities", {"entityNames": ["b"]}, TOOL)
    memory.flush()

    served.overwrite(line("a", "x"), line("b"), later_s=LATER_S)

    assert names(whole(memory).entities) == ["a", "b"]
    memory.flush()
    assert served.lines == [line("a", "x"), line("b")]


def test_the_removal_of_an_older_entity_by_another_program_is_applied_at_once(
    served: Served,
) -> None:
    served.put(line("a"), line("b"))
    memory = served.open()
    say(memory, entity("ours"))
    memory.flush()

    served.overwrite(line("b"), line("ours", kind="component"))

    assert names(whole(memory).entities) == ["b", "ours"]


def test_recent_writes_survive_a_stale_copy_after_a_restart_and_on_another_server(
    served: Served,
) -> None:
    served.put(line("old"))
    one, two = served.open(), served.open()
    say(one, entity("ours"))
    one.flush()
    served.overwrite(line("old"))

    assert names(whole(two).entities) == ["old", "ours"]
    one.close()
    two.close()
    again = served.open()

    assert names(whole(again).entities) == ["old", "ours"]
    assert served.lines == [line("old"), line("ours", kind="component")]


def test_the_graph_file_is_checked_again_some_time_after_our_write(served: Served) -> None:
    memory = served.open()
    assert memory.mirror is not None
    say(memory, entity("ours"))
    memory.flush()
    assert memory.mirror.look_in_s == merge_external.WINDOW_S
    served.overwrite(line("theirs"))

    memory.flush()

    assert sorted(served.lines) == [line("ours", kind="component"), line("theirs")]
    memory.flush()
    assert memory.mirror.look_in_s == 0


POOL = "abcd"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["entity", "observation"]), st.sampled_from(POOL)),
        st.tuples(st.just("relation"), st.sampled_from(["ab", "bc", "ca"])),
        st.tuples(st.sampled_from(["mirror", "look", "they read", "they write"]), st.just("")),
    ),
    max_size=24,
)


class Told:
    """The acknowledged changes of either side; the other side writes the whole file."""

    def __init__(self, served: Served) -> None:
        self.served, self.memory = served, served.open()
        self.texts: dict[str, set[str]] = {"base": set(), "a": {"old"}}
        self.edges: set[tuple[str, str]] = set()
        self._copy = served.lines
        self._count = 0

    def entity(self, name: str) -> None:
        """Ours makes it, or deletes it where it is."""
        if name in self.texts:
            self.memory.write("delete_entities", {"entityNames": [name]}, TOOL)
            del self.texts[name]
            self.edges = {pair for pair in self.edges if name not in pair}
        else:
            say(self.memory, entity(name, "first"))
            self.texts[name] = {"first"}

    def observation(self, name: str) -> None:
        """Ours says something of it, or takes it back."""
        if name not in self.texts:
            return
        if "more" in self.texts[name]:
            gone = {"deletions": [{"entityName": name, "observations": ["more"]}]}
            self.memory.write("delete_observations", gone, TOOL)
        else:
            more = {"observations": [{"entityName": name, "contents": ["more"]}]}
            self.memory.write("add_observations", more, TOOL)
        self.texts[name] ^= {"more"}

    def relation(self, pair: str) -> None:
        """Ours relates two, or no longer."""
        source, target = pair[0], pair[1]
        if source not in self.texts or target not in self.texts:
            return
        known = (source, target) in self.edges
        kind = "delete_relations" if known else "create_relations"
        self.memory.write(kind, {"relations": [relation(source, "uses", target)]}, TOOL)
        self.edges ^= {(source, target)}

    def mirror(self, _: str) -> None:
        self.memory.flush()

    def look(self, _: str) -> None:
        self.memory.refresh()

    def they_read(self, _: str) -> None:
        self._copy = self.served.lines

    def they_write(self, _: str) -> None:
        """Write what the others once read, with what they have added since."""
        self._count += 1
        new = f"theirs {self._count}"
        self._copy = [*self._copy, line(new, new), edge(new, "uses", "base")]
        self.texts[new] = {new}
        self.edges.add((new, "base"))
        self.served.overwrite(*self._copy)

    def check(self) -> None:
        found = whole(self.memory)
        assert {e.name: set(e.observations) for e in found.entities} == self.texts
        assert {(r.source, r.target) for r in found.relations} == self.edges
        self.memory.flush()
        items = [json.loads(text) for text in self.served.lines]
        assert {i["name"] for i in items if i["type"] == "entity"} == set(self.texts)
        assert {(i["from"], i["to"]) for i in items if i["type"] == "relation"} == self.edges


@settings(max_examples=examples(60), deadline=None)
@given(STEPS)
@example([("observation", "a"), ("mirror", ""), ("entity", "a"), ("they write", "")])
def test_a_stale_copy_in_the_time_window_removes_and_restores_nothing(
    steps: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as moved:
        moved.setattr(merge_external, "WINDOW_S", 3600.0)
        moved.setattr(merge_external, "LONGEST_S", 3600.0)
        served = Served(Path(root))
        served.put(line("base"), line("a", "old"))
        told = Told(served)

        for step, about in steps:
            getattr(told, step.replace(" ", "_"))(about)

        told.check()
        served.close()


def test_waiting_for_a_lock_of_another_process_is_reported_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "WAIT_S", 0.05)
    served.put(line("a"))
    memory = served.open()
    say(memory, entity("ours"))

    with files.Locked(files.lock_path(str(served.home), str(served.path))):
        served.put(line("a"), line("theirs"))
        monkeypatch.setattr(mirror, "WAIT_AT_FIRST_S", 600.0)
        first = names(whole(memory).entities)
        monkeypatch.setattr(mirror, "WAIT_S", 600.0)
        second = names(whole(memory).entities)

    assert first == second == ["a", "ours"]
    (told,) = served.told
    assert "another process holds" in told
    assert set(names(whole(memory).entities)) == {"a", "ours", "theirs"}


def test_a_known_memory_opens_after_a_short_wait_if_its_file_stays_locked(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "WAIT_S", 0.05)
    served.put(line("a"))
    served.open().close()
    served.put(line("a"), line("theirs"))

    with files.Locked(files.lock_path(str(served.home), str(served.path))):
        assert names(whole(served.open()).entities) == ["a"]

    assert any("another process holds" in told for told in served.told)


def test_the_first_opening_of_a_locked_graph_file_waits_longer_than_later_ones(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "WAIT_S", 0.01)
    monkeypatch.setattr(mirror, "WAIT_AT_FIRST_S", 0.2)
    served.put(line("a"))

    with files.Locked(files.lock_path(str(served.home), str(served.path))):
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="another process holds"):
            served.open()

    assert time.monotonic() - began >= 0.2

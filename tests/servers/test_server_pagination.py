"""Answers cut to size: whole entities, a note that says what is left, and a cursor to all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Entity, Graph, Relation
from memory_fabric.servers.mcp import graph_view
from memory_fabric.servers.mcp.graph_view import Start, as_object, chars, start_of
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from servers.mcp_clients import SAID_BY, connected, run, settings, texts

SMALL_REPLY = {"MEMORY_FABRIC_MAX_REPLY_CHARS": "1500"}
NEXT = re.compile(r"call again with cursor (\S+)\.( |$)")


def entity(name: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": "component", "observations": list(observations)}


def uses(source: str, target: str) -> dict[str, str]:
    return {"from": source, "to": target, "relationType": "uses"}


async def pages(client: Any, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Every page of an answer, as its notes lead through them."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        result = await client.call_tool(tool, {**arguments, **more})
        assert not result.is_error, texts(result)
        found.append(result.structured_content)
        note = NEXT.search(found[-1].get("note", ""))
        if note is None:
            return found
        assert len(found) < 200, "the pages do not end"
        cursor = note[1]


def joined(found: list[dict[str, Any]], kind: str) -> list[Any]:
    return [item for page in found for item in page[kind]]


def test_the_pages_of_read_graph_contain_each_entity_and_relation_exactly_once(
    tmp_path: Path,
) -> None:
    everything = [entity(f"e{n}", f"observation {n}", "another one") for n in range(60)]
    edges = [uses(f"e{n}", f"e{(n * 7 + k) % 60}") for n in range(60) for k in (1, 3)]

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_entities", {"entities": everything})
            await client.call_tool("create_relations", {"relations": edges})

            found = await pages(client, "read_graph")

            assert len(found) > 5
            assert joined(found, "entities") == everything
            assert sorted(map(str, joined(found, "relations"))) == sorted(map(str, edges))
            assert "of 60 entities and" in found[0]["note"]
            assert "of 120 relations are shown" in found[0]["note"]
            assert all(len(str(page)) < 3000 for page in found)

    run(story)


def test_an_answer_within_the_size_limit_is_returned_as_one_page(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_entities", {"entities": [entity("a", "one")]})

            for tool, arguments in (
                ("read_graph", {}),
                ("search_nodes", {"query": "one"}),
                ("open_nodes", {"names": ["a"]}),
            ):
                (page,) = await pages(client, tool, **arguments)
                assert page == {"entities": [entity("a", "one")], "relations": []}

    run(story)


def test_search_pages_contain_each_match_once_best_first_with_its_relations(tmp_path: Path) -> None:
    everything = [entity(f"e{n}", "a common word") for n in range(80)]
    edges = [uses(f"e{n}", f"e{n + 1}") for n in range(79)]

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_entities", {"entities": everything})
            await client.call_tool("create_entities", {"entities": [entity("common", "named")]})
            await client.call_tool("create_relations", {"relations": edges})

            found = await pages(client, "search_nodes", query="common")

            names = [e["name"] for e in joined(found, "entities")]
            assert names[0] == "common"
            assert len(names) == 81 and set(names) == {"common", *(f"e{n}" for n in range(80))}
            for page in found:
                shown = {e["name"] for e in page["entities"]}
                expected = [r for r in edges if {r["from"], r["to"]} & shown]
                assert page["relations"] == expected
            note = re.search(r"the best (\d+) are shown, (\d+) more match", found[0]["note"])
            assert note and int(note[1]) + int(note[2]) == 81

    run(story)


def test_search_returns_all_matches_even_if_only_the_first_ones_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_fabric.store.queries.entity_search.POOL_ROWS", 7)
    monkeypatch.setattr("memory_fabric.store.queries.entity_search.PORTION", 7)

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            some = [entity(f"e{n}", "a common word") for n in range(60)]
            await client.call_tool("create_entities", {"entities": some})

            found = await pages(client, "search_nodes", query="common")

            names = [e["name"] for e in joined(found, "entities")]
            assert len(names) == 60 and set(names) == {f"e{n}" for n in range(60)}

    run(story)


@pytest.mark.parametrize("tool", ["open_nodes", "search_nodes", "read_graph"])
def test_all_relations_of_a_highly_connected_entity_are_returned_over_several_pages(
    tmp_path: Path, tool: str
) -> None:
    edges = [uses("hub", f"e{n}") for n in range(100)]
    arguments: dict[str, dict[str, Any]] = {
        "open_nodes": {"names": ["hub"]},
        "search_nodes": {"query": "hub"},
        "read_graph": {},
    }

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_relations", {"relations": edges})

            found = await pages(client, tool, **arguments[tool])

            assert len(found) > 3
            assert joined(found, "relations") == edges
            assert found[0]["entities"][0]["name"] == "hub"

    run(story)


def test_a_long_entity_is_complete_in_open_nodes_and_shortened_in_other_answers(
    tmp_path: Path,
) -> None:
    long = entity("long", "short", "x" * 5000, "after")

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_entities", {"entities": [long, entity("next", "long")]})

            opened = await pages(client, "open_nodes", names=["long", "next"])
            for tool, arguments in (("read_graph", {}), ("search_nodes", {"query": "long"})):
                found = await pages(client, tool, **arguments)
                assert joined(found, "entities") == [
                    entity("long", "short", "after"),
                    entity("next", "long"),
                ]
                assert "left out of long: open_nodes shows all" in found[0]["note"]

            assert joined(opened, "entities") == [long, entity("next", "long")]

    run(story)


def test_search_shows_only_the_start_of_an_observation_longer_than_a_page(
    tmp_path: Path,
) -> None:
    text = "the needle lies here " + "in the hay " * 500

    async def story() -> None:
        async with connected(tmp_path / "home", **SMALL_REPLY) as client:
            await client.call_tool("create_entities", {"entities": [entity("long", text)]})

            (page,) = await pages(client, "search_nodes", query="needle")

            ((shown,),) = (each["observations"] for each in page["entities"])
            assert shown.endswith("…") and text.startswith(shown.rstrip("…"))
            assert 200 <= len(shown) <= 1500
            assert "left out of long: open_nodes shows all" in page["note"]

    run(story)


@pytest.mark.parametrize("cursor", ["x", "-1", "1.x", "²", "1" * 16, "1.2.3"])
def test_the_error_for_an_invalid_page_cursor_says_where_to_find_a_valid_one(
    tmp_path: Path, cursor: str
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            result = await client.call_tool("read_graph", {"cursor": cursor})

            assert result.is_error
            assert "There is no page" in texts(result)[0]
            assert "cursor of the note" in texts(result)[0]

    run(story)


def test_a_page_cursor_written_as_text_is_read_back_as_the_same_position() -> None:
    for start in (Start(), Start(5), Start(0, 7), Start(12, 300), Start(10**14, 10**14)):
        assert start_of(str(start)) == start
    assert start_of("") == Start()


def test_the_estimated_size_of_a_graph_grows_by_the_length_of_the_json_of_each_part() -> None:
    api = Entity("api", "component", ("in Go",))
    longer = api._replace(observations=("in Go", "on 8080"))
    uses = Relation("api", "uses", "db")

    def added(more: Graph, less: Graph) -> int:
        return chars(more) - chars(less)

    def length(value: Any) -> int:
        return len(json.dumps(value, separators=(",", ":"))) + len(",")

    bare = api._replace(observations=())
    wire = as_object(Graph((bare,), (uses,)))
    assert added(Graph((api, bare)), Graph((api,))) == length(wire["entities"][0])
    assert added(Graph((longer,)), Graph((api,))) == length("on 8080")
    assert added(Graph((), (uses, uses)), Graph((), (uses,))) == length(wire["relations"][0])
    assert chars(Graph()) == 0


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory of a project and its user, in which nothing is stored."""
    opened = Memory.open(settings(tmp_path / "home"))
    yield opened
    opened.close()


def store(memory: Memory, *entities: dict[str, Any], into: str = "project") -> None:
    memory.write("create_entities", {"entities": list(entities)}, SAID_BY, store=into)


def relate(memory: Memory, *relations: dict[str, str]) -> None:
    memory.write("create_relations", {"relations": list(relations)}, SAID_BY)


def size(memory: Memory) -> int:
    """The size of a page that has just enough room for the whole graph."""
    return chars(graph.read_all(memory.databases()))


def names(page: graph_view.Page) -> list[str]:
    return [entity.name for entity in page.graph.entities]


def test_a_graph_that_just_fits_is_one_page_and_a_larger_one_is_continued(memory: Memory) -> None:
    store(memory, entity("a", "one"), entity("b"))
    relate(memory, uses("a", "b"), uses("b", "a"))
    databases, room = memory.databases(), size(memory)

    for whole, note in (
        graph_view.read(databases, Start(), room),
        graph_view.opened(databases, ["b", "a"], Start(), room),
    ):
        assert (names(whole), len(whole.graph.relations)) == (["a", "b"], 2)
        assert (whole.following, whole.cut, note) == (None, (), "")
    short, note = graph_view.read(databases, Start(), room - 1)
    assert (names(short), short.following) == (["a"], Start(1))
    assert note == "1 of 2 entities and 1 of 2 relations are shown"
    assert short.graph.relations == (Relation("a", "uses", "b"),)
    some, note = graph_view.opened(databases, ["b", "a"], Start(), room - 1)
    assert (names(some), some.following) == (["a"], Start(1))
    assert note == "1 of the 2 entities are not shown, or not with all relations"
    assert len(some.graph.relations) == 2
    rest, note = graph_view.opened(databases, ["a", "b"], Start(1), room)
    assert (names(rest), rest.following, note) == (["b"], None, "")


def test_a_page_with_the_relations_of_one_entity_ends_where_the_next_relation_does_not_fit(
    memory: Memory,
) -> None:
    relate(memory, *(uses("hub", f"e{n}") for n in range(5)), uses("e0", "tail"))
    databases = memory.databases()
    one = chars(Graph((), (Relation("hub", "uses", "e0"),)))
    bare = chars(Graph((Entity("hub", "unknown"),)))

    for room, count in ((bare + 3 * one, 3), (bare + 3 * one - 1, 2), (1, 1)):
        page, note = graph_view.opened(databases, ["hub"], Start(), room)
        assert (len(page.graph.relations), page.following) == (count, Start(0, count))
        assert note == "1 of the 1 entities are not shown, or not with all relations"
    later, _ = graph_view.opened(databases, ["hub"], Start(0, 3), bare + one)
    assert [relation.target for relation in later.graph.relations] == ["e3"]
    assert later.following == Start(0, 4)
    last, _ = graph_view.opened(databases, ["hub", "e0"], Start(0, 4), 1000)
    assert [relation.target for relation in last.graph.relations] == ["e4", "tail"]
    assert (names(last), last.following) == (["hub", "e0"], None)


def test_an_entity_larger_than_a_page_is_shown_with_the_observations_that_fit(
    memory: Memory,
) -> None:
    store(memory, entity("a", "x" * 300, "short", "y" * 400, "end"))
    databases = memory.databases()

    def shown(room: int) -> tuple[str, ...]:
        page, _ = graph_view.read(databases, Start(), room)
        assert page.cut == ("a",)
        return page.graph.entities[0].observations

    fits = chars(Graph((Entity("a", "component", ("x" * 300, "short", "end")),)))
    assert shown(fits) == ("x" * 300, "short", "end")
    assert shown(fits - 1) == ("x" * 300, "short")
    assert shown(100) == ("short", "end")


def test_an_observation_larger_than_a_page_is_shortened_to_the_page_but_not_below_200_characters(
    memory: Memory,
) -> None:
    store(memory, entity("a", "x" * 900))
    databases = memory.databases()

    least = chars(Graph((Entity("a", "component", ("x" * 200,)),)))
    for room, expected in ((500, 500), (10, least)):
        page, _ = graph_view.read(databases, Start(), room)
        assert (page.cut, chars(page.graph)) == (("a",), expected)


def test_pages_of_two_databases_contain_an_entity_in_both_only_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_view, "CHUNK", 2)
    store(memory, *(entity(name, "of the project") for name in ("a", "both", "b")))
    mine = [entity(name, "of the user") for name in ("c", "both", "d")]
    store(memory, *mine, into="user")
    relate(memory, uses("a", "both"))
    found: list[str] = []
    start: Start | None = Start()
    while start is not None:
        page, _ = graph_view.read(memory.databases(), start, 1)
        found += names(page)
        start = page.following

    assert found == ["a", "both", "b", "c", "d"]


def test_all_relations_of_an_entity_are_read_if_it_has_more_than_are_read_at_first(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_view, "CHUNK_RELATIONS", 2)
    relate(memory, *(uses("hub", f"e{n}") for n in range(4)))

    page, _ = graph_view.opened(memory.databases(), ["hub"], Start(), 5000)

    assert len(page.graph.relations) == 4


def test_entities_with_only_some_of_the_words_follow_until_there_are_enough(
    memory: Memory,
) -> None:
    store(memory, entity("full", "amber birch"), entity("part", "amber"), entity("other", "birch"))

    def found(enough: int) -> set[str]:
        page, note = graph_view.found(memory.databases(), "amber birch", enough, Start(), 5000)
        assert (names(page)[0], note) == ("full", "")
        return set(names(page)[1:])

    assert found(0) == found(1) == set()
    assert len(found(2)) == 1
    assert found(3) == found(9) == {"part", "other"}


def test_a_relation_between_entities_of_a_page_is_listed_with_the_first_of_them(
    memory: Memory,
) -> None:
    store(memory, entity("a"), entity("b"))
    relate(memory, uses("b", "a"))
    room = chars(Graph((Entity("a", "component"),), (Relation("b", "uses", "a"),)))

    page, _ = graph_view.opened(memory.databases(), ["a", "b"], Start(), room)
    by_source, _ = graph_view.read(memory.databases(), Start(), room)

    assert (names(page), len(page.graph.relations)) == (["a"], 1)
    assert (names(by_source), by_source.graph.relations) == (["a"], ())


def test_a_search_counts_a_match_that_is_shown_with_a_part_of_its_relations(memory: Memory) -> None:
    store(memory, entity("hub"), entity("hub2"), entity("hub3"))
    relate(memory, *(uses("hub", f"leaf{n}") for n in range(50)))

    page, note = graph_view.found(memory.databases(), "hub", 10, Start(), 500)

    assert names(page) == ["hub"] and page.following is not None and page.following.relations
    assert note == "the best 1 are shown, 2 more match"

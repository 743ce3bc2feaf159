"""Answers cut to size: whole entities, a note that says what is left, and a cursor to all of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Relation
from memory_fabric.servers.mcp.graph_view import RELATION_CHARS, Start, chars, start_of
from servers.mcp_clients import connected, run, texts

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


@pytest.mark.parametrize("cursor", ["x", "-1", "1.x", "²", "1" * 40, "1.2.3"])
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
    for start in (Start(), Start(5), Start(0, 7), Start(12, 300)):
        assert start_of(str(start)) == start
    assert start_of("") == Start()


def test_the_estimated_size_of_a_graph_is_close_to_the_length_of_its_json() -> None:
    import orjson

    from memory_fabric.models import Entity, Graph
    from memory_fabric.servers.mcp.graph_view import as_object

    view = Graph(
        (Entity("api", "component", ("in Go", "on 8080")), Entity("db", "tool")),
        (Relation("api", "uses", "db"),),
    )

    size = len(orjson.dumps(as_object(view)))

    assert abs(chars(view) - size) <= RELATION_CHARS

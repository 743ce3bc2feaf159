"""`forget` and `history`: previewed, confirmed, told; text only, capped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mcp.client.client import Client

from memory_fabric.servers.mcp import memory_tools
from servers.mcp_clients import connected, run, texts
from store.support import TOOL, World, database

CODE = re.compile(r'confirm "([0-9a-f]{8})"')


async def said(client: Client, tool: str, **arguments: Any) -> str:
    """The only text of an answer of ours."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is None
    (text,) = texts(result)
    assert len(text) <= 4200
    return f"error: {text}" if result.is_error else text


def entity(name: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": "component", "observations": list(observations)}


async def names(client: Client) -> list[str]:
    result = await client.call_tool("read_graph", {})
    assert result.structured_content is not None
    return [e["name"] for e in result.structured_content["entities"]]


def test_forget_returns_a_preview_and_deletes_only_after_confirmation(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            some = [entity("api", "listens on 8080"), entity("db", "holds orders")]
            await client.call_tool("create_entities", {"entities": some})

            preview = await said(client, "forget", what="api")

            assert "entity api (component) with 1 observations of its own" in preview
            assert "Nothing is forgotten yet" in preview
            assert await names(client) == ["api", "db"]
            code = CODE.search(preview)
            assert code is not None
            done = await said(client, "forget", what="api", confirm=code[1])
            assert done.startswith("Forgotten: 1.")
            assert await names(client) == ["db"]

    run(story)


def test_forget_deletes_nothing_if_the_memory_changed_since_the_preview(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await client.call_tool("create_entities", {"entities": [entity("api", "one")]})
            code = CODE.search(await said(client, "forget", what="api"))
            assert code is not None
            more = {"entityName": "api", "contents": ["two"]}
            await client.call_tool("add_observations", {"observations": [more]})

            refused = await said(client, "forget", what="api", confirm=code[1])

            assert refused.startswith("error: ") and "nothing was forgotten" in refused
            assert "new preview" in refused
            assert await names(client) == ["api"]

    run(story)


def test_forget_returns_an_error_if_nothing_matches(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            refused = await said(client, "forget", what="no such thing")

            assert refused.startswith("error: Nothing matches 'no such thing'.")

    run(story)


def test_the_history_of_an_entity_shows_author_session_date_and_changes(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await client.call_tool("create_entities", {"entities": [entity("api", "one")]})
            more = {"entityName": "api", "contents": ["two"]}
            await client.call_tool("add_observations", {"observations": [more]})

            told = await said(client, "history", name="api")

            lines = told.split("\n")
            assert lines[0] == "entity api (component)"
            assert re.fullmatch(
                r"- one \(said by tool through mcp in session s-1 on \d{4}-\d\d-\d\d\)", lines[1]
            )
            changes = [line for line in lines if line.startswith("*")]
            assert len(changes) == 2
            assert "session s-1" in changes[0]

    run(story)


def test_history_of_a_record_shows_its_reason_and_where_it_is_stored(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            kept = await said(
                client, "remember", text="We chose Redis for sessions", why="one hop less"
            )
            short = re.search(r"decision ([0-9a-f]{8})", kept)
            assert short is not None

            told = await said(client, "history", name=short[1])

            assert f"decision {short[1]}: We chose Redis for sessions" in told
            assert "reason: one hop less" in told
            assert "lies in graph" in told

    run(story)


def test_history_of_a_deleted_entity_says_that_the_entity_was_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await client.call_tool("create_entities", {"entities": [entity("api", "one")]})
            await client.call_tool("delete_entities", {"entityNames": ["api"]})

            told = await said(client, "history", name="api")

            assert "It is gone" in told

    run(story)


def test_a_long_history_is_shortened_and_says_how_many_lines_were_omitted(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            many = [f"observation number {n} of a talkative entity" for n in range(300)]
            await client.call_tool("create_entities", {"entities": [entity("api", *many)]})

            told = await said(client, "history", name="api")

            assert re.search(r"\d+ more left out for length", told)

    run(story)


def test_recall_follows_relations_to_the_given_depth_and_shows_the_path(tmp_path: Path) -> None:
    chain = [{"from": f"n{n}", "relationType": "feeds", "to": f"n{n + 1}"} for n in range(4)]

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await client.call_tool("create_relations", {"relations": chain})

            for depth, last in ((1, "n1"), (2, "n2"), (3, "n3")):
                told = await said(client, "recall", query="n0", depth=depth)
                path = "; ".join(f"n{n} feeds n{n + 1}" for n in range(depth))
                assert f"Path: {path}\n" in f"{told}\n", last
            assert "Path:" not in await said(client, "recall", query="n0")

    run(story)


def test_forget_deletes_a_conversation_turn_by_its_id(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    turn = {"id": "0199aaaa-0000-7000-8000-00000000beef", "session": "s1", "role": "user"}
    turn |= {"text": "The port is 8080.", "created_at": "2026-01-15T10:00:00.000Z"}
    memory.write("add_episodes", {"episodes": [turn]}, TOOL)

    preview = memory_tools.forget(memory, {"what": "0000beef"}, TOOL).texts[0]
    code = CODE.search(preview)
    assert code is not None
    done = memory_tools.forget(memory, {"what": "0000beef", "confirm": code[1]}, TOOL)

    assert "turn 0000beef of 2026-01-15, said by the user: The port is 8080." in preview
    assert done.texts[0].endswith("a turn cannot be restored.")
    assert database(memory).rows("SELECT * FROM episodes") == []

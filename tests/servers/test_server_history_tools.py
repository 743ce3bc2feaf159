"""`forget` and `history`: previewed, confirmed, told; text only, capped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mcp.client.client import Client

from memory_fabric import models
from memory_fabric.models import Entity
from memory_fabric.servers.mcp import memory_tools
from memory_fabric.store.conversations import sessions
from memory_fabric.store.history import changes
from memory_fabric.store.history.undo import undo
from servers.mcp_clients import connected, run, texts
from store.support import TOOL, USER, World, create, database, decision, pagination, relation

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

            assert "entity api (component) with 1 observation of its own" in preview
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


def test_history_of_a_record_says_who_said_it_what_replaced_it_and_who_received_it(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    old = memory.remember(pagination(), USER._replace(at="2026-01-15T10:00:00.000Z"))
    assert old is not None
    memory.remember(pagination(), USER._replace(session="s2"))
    new = memory.remember(decision("Use keyset pagination"), USER, [old.id])
    assert new is not None
    about = [f"record:{old.id}"]
    for number in range(7):
        agent = "a1" if number == 6 else ""
        at = f"2026-02-{10 + number}T10:00:00.000Z"
        sessions.record_injections(database(memory), f"r{number}", agent, about, "prompt", at)

    told = memory_tools.history(memory, {"name": old.id}, TOOL).texts[0].splitlines()
    last = memory_tools.history(memory, {"name": old.id, "limit": 1}, TOOL).texts[0].splitlines()
    newer = memory_tools.history(memory, {"name": new.id}, TOOL).texts[0].splitlines()

    assert told[:6] == [
        f"decision {old.id[-8:]}: {old.what}",
        "reason: offsets are slow",
        "said by user through prompt in session s1 on 2026-01-15, confidence 0.85",
        "seen in 2 sessions",
        "lies in graph",
        f"superseded by {new.id[-8:]}",
    ]
    given = [line for line in told if line.startswith("given ")]
    assert given == [
        "given to session r6, agent a1, by prompt on 2026-02-16",
        *(f"given to session r{n} by prompt on 2026-02-{10 + n}" for n in (5, 4, 3, 2)),
        "given 2 more times",
    ]
    assert len([line for line in told if line.startswith("* ")]) == 3
    assert len([line for line in last if line.startswith("* ")]) == 1
    assert not [line for line in newer if line.startswith(("reason", "seen", "superseded"))]


def test_history_of_an_entity_names_its_aliases_and_the_member_who_said_something(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches"))
    memory.write("alias", {"entity": "Redis", "aliases": ["the cache"]}, TOOL, store="project")
    foreign = {"trust": "foreign", "author": "ann <b>", "source": "", "session": ""}

    told = memory_tools.history(memory, {"name": "the cache"}, TOOL).texts[0].splitlines()

    assert told[0] == "entity Redis (component), also called the cache"
    assert told[1].startswith("- caches (said by tool through mcp in session s1 on ")
    assert all(line.startswith("* ") for line in told[2:])
    by = memory_tools._by
    assert by(foreign, "") == "ann <b>, as claimed, unverified,"
    shared = {**foreign, "origin": models.SHARED_LOG}
    assert by(shared, "2026-01-15T10:00") == "ann <b>, unverified, on 2026-01-15"
    assert by({**foreign, "author": ""}, "") == "foreign"
    assert by({}, "") == "unknown"


def test_a_change_that_was_undone_is_marked_in_the_history(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches"))
    create(memory, entity("Redis", "is old"))
    undo(memory, changes.read_all(memory, limit=1), USER)

    told = memory_tools.history(memory, {"name": "Redis"}, TOOL).texts[0].splitlines()

    lines = [line for line in told if line.startswith("* ")]
    assert [line.endswith(", undone)") for line in lines] == [False, True, False]


def test_the_preview_of_forget_lists_each_kind_of_match_and_what_stays(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    alone = memory.remember(decision("Redis is quick", entities=(Entity("Redis", "tool"),)), USER)
    both = (Entity("Redis", "tool"), Entity("api", "component"))
    stays = memory.remember(decision("The api needs Redis", entities=both), USER)
    assert alone is not None and stays is not None
    create(memory, entity("Redis", "caches", "is old"))
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, TOOL)

    preview = memory_tools.forget(memory, {"what": "Redis"}, TOOL).texts[0]
    by_words = memory_tools.forget(memory, {"what": "caches"}, TOOL).texts[0]
    code = CODE.search(preview)
    assert code is not None
    done = memory_tools.forget(memory, {"what": "Redis", "confirm": code[1]}, TOOL)

    lines = preview.splitlines()
    assert lines[0].startswith(f"- decision {alone.id[-8:]} of 20") and "is quick" in lines[0]
    assert "- entity Redis (tool) with 2 observations of its own and 1 relation" in lines
    assert lines[-2] == (
        f"- stays, since it is also about others: decision {stays.id[-8:]}: The api needs Redis"
    )
    assert "- observation of Redis: caches" in by_words.splitlines()
    assert done.changed and done.texts[0].startswith("Forgotten: ")
    assert done.texts[0].endswith("memory-fabric undo restores it.")
    assert [record.id for record in memory.find_records("1")] == [stays.id]


def test_a_long_preview_of_forget_counts_apart_what_would_go_and_what_stays(tmp_path: Path) -> None:
    memory = World(tmp_path).memory()
    create(memory, entity("Redis", "caches"))
    for number in range(30):
        both = (Entity("Redis", "tool"), Entity(f"api{number}", "component"))
        memory.remember(decision(f"The api {number} needs Redis {'x' * 200}", entities=both), USER)

    lines = memory_tools.forget(memory, {"what": "Redis"}, TOOL).texts[0].splitlines()

    shown = sum(line.startswith("- stays") for line in lines)
    left = f"{30 - shown} more left out for length: In all, 1 would go and 30 stay."
    assert 0 < shown < 30 and lines[-2] == left

"""The nine tools over a real store, through the SDK's client in memory. Numbers: the contract."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from memory_fabric.models import Provenance
from memory_fabric.servers.mcp import tools
from memory_fabric.store.database import Database
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from servers.mcp_clients import SAID_BY, connected, run, settings, texts

USER = Provenance(source="cli", trust="user")


def entity(name: str, *observations: str, kind: str = "component") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "to": target, "relationType": kind}


async def create(client: Client, *entities: dict[str, Any]) -> Any:
    return await client.call_tool("create_entities", {"entities": list(entities)})


async def relate(client: Client, *relations: dict[str, str]) -> Any:
    return await client.call_tool("create_relations", {"relations": list(relations)})


async def graph(client: Client) -> Any:
    return (await client.call_tool("read_graph", {})).structured_content


def names(view: Any) -> list[str]:
    return [e["name"] for e in view["entities"]]


@pytest.mark.behaviour("MEM-01b")
def test_creating_an_existing_entity_adds_its_new_observations_and_reports_them(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("api", "listens on 8080"))

            result = await create(client, entity("api", "listens on 8080", "written in Go"))

            note = "Existed already; the new observations were added to: api (1)."
            assert result.structured_content == {"entities": [], "note": note}
            assert texts(result) == ["[]", note]
            view = await graph(client)
            assert view["entities"] == [entity("api", "listens on 8080", "written in Go")]

    run(story)


@pytest.mark.behaviour("MEM-07f")
@pytest.mark.parametrize(
    ("name", "query"), [("Kubernetes", "k8s"), ("k8s", "Kubernetes"), ("PostgreSQL", "pg")]
)
def test_an_entity_is_found_by_a_common_abbreviation_or_full_form_of_its_name(
    tmp_path: Path, name: str, query: str
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("other", "a db"), entity(name, "runs in Berlin"))

            found = await client.call_tool("search_nodes", {"query": query})

            assert names(found.structured_content) == [name]

    run(story)


@pytest.mark.behaviour("MEM-01e")
def test_an_entity_whose_name_is_a_variant_of_a_known_name_is_created_and_reported(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("cursor-pagination"))

            result = await create(client, entity("cursor_pagination"))

            note = (
                "Names that differ only in case, -, _ or spaces: "
                "cursor_pagination beside cursor-pagination."
            )
            made = [entity("cursor_pagination")]
            assert result.structured_content == {"entities": made, "note": note}
            assert texts(result)[1:] == [note]
            assert names(await graph(client)) == ["cursor-pagination", "cursor_pagination"]

    run(story)


@pytest.mark.behaviour("MEM-01c", "MEM-01d", "MEM-02b")
def test_duplicate_entities_observations_and_relations_of_a_call_are_stored_once(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("a", "x", "x"), entity("a", "x"))
            await relate(client, relation("a", "uses", "a"), relation("a", "uses", "a"))

            view = await graph(client)

            assert view["entities"] == [entity("a", "x")]
            assert view["relations"] == [relation("a", "uses", "a")]

    run(story)


@pytest.mark.behaviour("MEM-02c")
def test_a_missing_entity_of_a_new_relation_is_created_and_reported(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            result = await relate(client, relation("api", "uses", "Redis"))

            note = "Created missing ends as entities: api, Redis."
            made = [relation("api", "uses", "Redis")]
            assert result.structured_content == {"relations": made, "note": note}
            assert texts(result)[1:] == [note]
            assert (await graph(client))["entities"] == [
                entity("api", kind="unknown"),
                entity("Redis", kind="technology"),
            ]

    run(story)


def test_an_end_of_a_relation_in_the_users_own_memory_keeps_its_type_and_is_not_reported(
    tmp_path: Path,
) -> None:
    mine = {"entities": [entity("Ann Berger", "approves releases", kind="person")]}
    with closing(Memory.open(settings(tmp_path / "home"))) as memory:
        memory.write("create_entities", mine, SAID_BY, store="user")

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("release"))

            result = await relate(client, relation("release", "approved by", "Ann Berger"))

            made = [relation("release", "approved by", "Ann Berger")]
            assert result.structured_content == {"relations": made}
            assert mine["entities"][0] in (await graph(client))["entities"]

    run(story)


@pytest.mark.behaviour("MEM-04")
def test_add_observations_stores_nothing_if_one_entity_is_unknown(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("ada"))

            result = await client.call_tool(
                "add_observations",
                {
                    "observations": [
                        {"entityName": "ada", "contents": ["kept?"]},
                        {"entityName": "Bob", "contents": ["x"]},
                    ]
                },
            )

            assert result.is_error
            assert texts(result) == ["Entity with name Bob not found"]
            assert (await graph(client))["entities"] == [entity("ada")]

    run(story)


@pytest.mark.behaviour("MEM-07b")
def test_open_nodes_returns_incoming_and_outgoing_relations(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await relate(client, relation("a", "to", "b"), relation("b", "to", "c"))
            await relate(client, relation("c", "to", "d"))

            opened = await client.call_tool("open_nodes", {"names": ["b"]})

            assert opened.structured_content["relations"] == [
                relation("a", "to", "b"),
                relation("b", "to", "c"),
            ]

    run(story)


def test_graph_reads_return_project_entities_before_those_of_the_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    memory = Memory.open(settings(home))
    mine = {"entities": [entity("ada", "likes tea"), entity("both", "of the user")]}
    memory.write("create_entities", mine, USER, store="user")
    ours = {"entities": [entity("both", "of the project"), entity("api")]}
    memory.write("create_entities", ours, USER, store="project")
    memory.close()

    async def story() -> None:
        async with connected(home) as client:
            view = await graph(client)

            assert names(view) == ["both", "api", "ada"]
            assert view["entities"][0] == entity("both", "of the project", "of the user")
            found = await client.call_tool("search_nodes", {"query": "tea"})
            assert names(found.structured_content) == ["ada"]
            opened = await client.call_tool("open_nodes", {"names": ["ada", "api"]})
            assert names(opened.structured_content) == ["api", "ada"]

    run(story)


def test_entities_are_stored_in_the_project_memory_unless_the_user_memory_has_them(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    memory = Memory.open(settings(home))
    memory.write("create_entities", {"entities": [entity("ada")]}, USER, store="user")
    memory.close()

    async def story() -> None:
        async with connected(home) as client:
            await create(client, entity("api"), entity("ada", "on call"))

    run(story)

    memory = Memory.open(settings(home))
    held = {
        db.kind: [row[0] for row in db.rows("SELECT name FROM entities ORDER BY id")]
        for db in memory.databases()
    }
    memory.close()
    assert held == {"project": ["api"], "user": ["ada"]}


def test_observations_added_by_tools_are_stored_with_source_trust_and_session(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await create(client, entity("api", "written in Go"))

    run(story)

    memory = Memory.open(settings(home))
    (row,) = memory.databases()[0].rows("SELECT source, trust, session FROM observations")
    memory.close()
    assert row == (SAID_BY.source, SAID_BY.trust, SAID_BY.session)


@pytest.mark.behaviour("MEM-07d", "MEM-07e")
def test_search_finds_words_in_any_position_and_ranks_the_best_match_first(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(
                client,
                entity("ui", "pagination buttons"),
                entity("cursor-pagination", "recommended by the database engineer"),
                entity("lunch", "at noon"),
            )

            found = await client.call_tool("search_nodes", {"query": "engineer pagination"})

            assert names(found.structured_content) == ["cursor-pagination", "ui"]

    run(story)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Postgre", ["PostgreSQL"]),
        ("user id", ["user_id"]),
        ("user_id", ["user_id"]),
        ("router", ["FastAPIRouter"]),
        ("東京", ["支社"]),
        ("КЕШ", ["cache"]),
        ("100%", ["coverage"]),
        ('"; DROP TABLE', []),
        ("AND OR NOT", []),
        ("   ", ["spaces"]),
    ],
)
def test_search_matches_parts_of_names_whole_identifiers_and_non_latin_scripts(
    tmp_path: Path, query: str, expected: list[str]
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(
                client,
                entity("PostgreSQL"),
                entity("user_id"),
                entity("FastAPIRouter"),
                entity("支社", "東京都にある"),
                entity("cache", "Кеш на сервере"),
                entity("coverage", "must be 100% here"),
                entity("spaces", "a   b"),
            )

            found = await client.call_tool("search_nodes", {"query": query})

            assert names(found.structured_content) == expected

    run(story)


@pytest.mark.behaviour("MEM-11a", "MEM-11b", "MEM-11c", "MEM-11d")
def test_any_entity_name_is_stored_and_returned_unchanged(tmp_path: Path) -> None:
    odd = ["", " ", "a\nb", "nul\0in", "🎉", "x" * 100_000, "Ä", "ä"]

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, *(entity(name, f"{len(name)}") for name in odd))

            for name in odd:
                opened = await client.call_tool("open_nodes", {"names": [name]})
                assert opened.structured_content["entities"] == [entity(name, f"{len(name)}")]
            found = await client.call_tool("search_nodes", {"query": "x" * 100_000})
            assert names(found.structured_content) == ["x" * 100_000]

    run(story)


@pytest.mark.behaviour("MEM-15c")
def test_the_text_of_a_tool_answer_is_its_structured_content_as_indented_json(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await create(client, entity("naïve", "🎉", kind=""))

            result = await client.call_tool("open_nodes", {"names": ["naïve"]})

            assert texts(result)[0] == json.dumps(
                result.structured_content, indent=2, ensure_ascii=False
            )

    run(story)


@pytest.mark.behaviour("MEM-18b")
def test_parallel_calls_of_one_client_lose_no_entity(tmp_path: Path) -> None:
    wanted = [f"entity-{n}" for n in range(50)]

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            async with anyio.create_task_group() as group:
                for name in wanted:
                    group.start_soon(create, client, entity(name))

            assert sorted(names(await graph(client))) == sorted(wanted)

    run(story)


def test_reading_an_unreadable_graph_returns_an_error_and_not_an_empty_answer(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "user.db").write_bytes(b"not a database at all, but long enough to be looked at" * 40)

    async def story() -> None:
        async with connected(home) as client:
            result = await client.call_tool("read_graph", {})

            assert result.is_error
            assert "user.db is damaged" in texts(result)[0]

    run(story)


def test_read_graph_reports_a_damaged_database_and_still_returns_the_other_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await create(client, entity("api"))
        (home / "user.db").write_bytes(b"not a database at all, but long enough" * 40)
        async with connected(home) as client:
            result = await client.call_tool("read_graph", {})

            assert names(result.structured_content) == ["api"]
            assert "user.db is damaged" in result.structured_content["note"]

    run(story)


def test_a_change_that_waits_for_a_damaged_database_is_accepted_and_said_to_wait(
    tmp_path: Path,
) -> None:
    memory = Memory.open(settings(tmp_path / "home"))
    memory.write("create_entities", {"entities": [entity("api")]}, USER, store="project")
    memory.close()
    (path,) = (tmp_path / "home").glob("projects/*/graph.db")
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    memory = Memory.open(settings(tmp_path / "home"))
    asked: dict[str, dict[str, Any]] = {
        "create_entities": {"entities": [entity("db", "holds orders")]},
        "create_relations": {"relations": [relation("api", "uses", "db")]},
        "add_observations": {"observations": [{"entityName": "api", "contents": ["is old"]}]},
        "delete_entities": {"entityNames": ["api"]},
    }

    outcomes = {name: tools.call(memory, name, given, SAID_BY) for name, given in asked.items()}
    said = {"text": "Orders are kept in the db."}
    remembered = tools.call(memory, "remember", said, SAID_BY)
    memory.close()

    for outcome in outcomes.values():
        assert outcome.changed and not outcome.failed and outcome.structure is not None
        assert outcome.texts[-1].startswith("Accepted and safe on disk, but not in the graph yet: ")
        assert "graph.db is damaged" in outcome.texts[-1]
        assert outcome.structure["note"] == outcome.texts[-1] and len(outcome.texts) == 2
    structures = {name: outcome.structure or {} for name, outcome in outcomes.items()}
    assert structures["create_entities"]["entities"] == asked["create_entities"]["entities"]
    assert structures["create_relations"]["relations"] == asked["create_relations"]["relations"]
    results = [{"entityName": "api", "addedObservations": ["is old"]}]
    assert structures["add_observations"]["results"] == results
    assert structures["delete_entities"]["success"] is True
    assert outcomes["delete_entities"].texts[0] == "Entities deleted successfully"
    waits = [line for line in remembered.texts[0].splitlines() if line.startswith("Waits ")]
    assert len(waits) == 1 and "graph.db is damaged" in waits[0]


def test_messages_about_opening_the_memory_are_added_to_the_next_answer_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Memory.open(settings(tmp_path / "home"))
    memory.messages.append("It was rebuilt.")

    first, second = (tools.call(memory, "read_graph", {}, SAID_BY) for _ in range(2))
    memory.messages.append("It was rebuilt.")
    told = tools.call(memory, "recall", {"query": "x"}, SAID_BY)
    memory.close()

    empty: dict[str, object] = {"entities": [], "relations": []}
    assert first.structure == {**empty, "note": "It was rebuilt."}
    assert first.texts[1:] == ("It was rebuilt.",)
    assert (second.structure, len(second.texts)) == (empty, 1)
    assert (told.structure, told.texts) == (None, ("Nothing found.", "It was rebuilt."))
    assert capsys.readouterr().err == "memory-fabric: It was rebuilt.\n" * 2


def test_tool_calls_fail_with_a_reason_while_memory_is_switched_off(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home", MEMORY_FABRIC="off") as client:
            for call in (create(client, entity("a")), client.call_tool("read_graph", {})):
                result = await call
                assert result.is_error
                assert "switched off" in texts(result)[0]

    run(story)


def test_an_unexpected_error_in_a_tool_call_is_returned_and_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Burnt(Memory):
        def databases(self) -> list[Database]:
            raise RuntimeError("the roof fell in")

    memory = Burnt.open(settings(tmp_path / "home"))

    outcome = tools.call(memory, "open_nodes", {"names": []}, SAID_BY)

    assert outcome.failed
    assert outcome.texts == ("MCP error -32603: RuntimeError: the roof fell in",)
    assert "the roof fell in" in capsys.readouterr().err


def test_a_running_server_applies_the_commands_on_and_off(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await create(client, entity("a"))
            switches.turn(str(home), switches.EVERYWHERE, ["read"], on=False)
            result = await client.call_tool("read_graph", {})
            assert result.is_error and "switched off" in texts(result)[0]
            switches.turn(str(home), switches.EVERYWHERE, ["write"], on=False)
            refused = await create(client, entity("b"))
            assert refused.is_error and "memory-fabric on" in texts(refused)[0]
            switches.turn(str(home), switches.EVERYWHERE, ["read", "write"], on=True)
            await create(client, entity("c"))
            assert names(await graph(client)) == ["a", "c"]

    run(story)

"""The caller of a tool: its domain stamps what it writes; isolated, it sees nothing else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.store.home import callers
from servers.mcp_clients import Process

WALLS = """
[domains.legal]
agents = ["legal-advisor"]
isolate = true

[domains.review]
agents = ["code-critic"]
"""
LEGAL, CRITIC, POET = "legal-advisor", "code-critic", "poem-writer"
WITHOUT_HOOKS = "nobody has noted which agent makes this call"


class Calls:
    """A server as the client starts it, and calls of it by agents that a hook has noted."""

    def __init__(
        self, home: Path, config: str = WALLS, *, client: str = "test", **more: str
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home, self._number = home, 0
        self.configure(config)
        self._process = Process(home, **more)
        self._process.greet(client)

    def configure(self, config: str) -> None:
        """Write config.toml anew, as an editor does."""
        (self.home / "config.toml").write_text(config, "utf-8")

    def by(self, agent_type: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call by an agent of this type; '' is the session itself."""
        self._number += 1
        call = f"toolu_{self._number}"
        callers.save(str(self.home), call, callers.Caller("s-1", agent_type and "a1", agent_type))
        return self.unnoted(call, tool, **arguments)

    def unnoted(self, call: str, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call with this id that nobody has noted."""
        meta = {"_meta": {"claudecode/toolUseId": call, "progressToken": 1}}
        params = {"name": tool, "arguments": arguments, **meta}
        result: dict[str, Any] = self._process.ask("tools/call", params)["result"]
        return result

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole answer to a request."""
        return self._process.ask(method, params)

    def end(self) -> None:
        """Stop the server."""
        self._process.__exit__()

    def rows(self, query: str) -> list[Any]:
        """Return the rows of the project's database."""
        [path] = self.home.glob("projects/*/graph.db")
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    """Calls of a server whose configuration isolates one type of agent, and maps another."""
    running = Calls(tmp_path / "memory")
    yield running
    running.end()


@pytest.fixture(scope="module")
def reading_calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    """Calls of a server with the same configuration, in which no test stores anything."""
    running = Calls(tmp_path_factory.mktemp("reading") / "memory")
    yield running
    running.end()


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def entity(name: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": "component", "observations": list(observations)}


def names(result: dict[str, Any]) -> set[str]:
    return {e["name"] for e in result["structuredContent"]["entities"]}


def observations(result: dict[str, Any]) -> dict[str, list[str]]:
    return {e["name"]: e["observations"] for e in result["structuredContent"]["entities"]}


def test_entries_are_stored_with_the_type_and_domain_of_the_calling_agent(calls: Calls) -> None:
    for agent, name in ((LEGAL, "law"), (CRITIC, "code"), (POET, "verse"), ("", "plain")):
        calls.by(agent, "create_entities", entities=[entity(name, f"{name} is good")])

    assert calls.rows("SELECT name, domain FROM entities") == [
        ("law", "legal"),
        ("code", "review"),
        ("verse", "poem_writer"),
        ("plain", "general"),
    ]
    assert calls.rows("SELECT agent, domain FROM observations") == [
        (LEGAL, "legal"),
        (CRITIC, "review"),
        (POET, "poem_writer"),
        ("", "general"),
    ]


@pytest.mark.parametrize("name", ["domain", "expert_domain"])
def test_a_domain_argument_overrides_the_agents_domain(calls: Calls, name: str) -> None:
    stated = {name: "Tax Law"}
    calls.by(CRITIC, "create_entities", entities=[entity("a", "one"), entity("b")], **stated)
    calls.by(
        "",
        "add_observations",
        observations=[{"entityName": "a", "contents": ["two"]}],
        **stated,
    )
    link = {"from": "a", "to": "b", "relationType": "uses"}
    calls.by("", "create_relations", relations=[link], **stated)
    calls.by(POET, "remember", text="We decided to keep contracts for ten years.", **stated)

    tables = ("entities", "observations", "relations", "records")
    found = {row for table in tables for row in calls.rows(f"SELECT domain FROM {table}")}
    assert found == {("tax_law",)}


@pytest.mark.parametrize(
    ("stated", "complaint"),
    [
        ({"domain": 3}, "expected string, received number at domain"),
        ({"expert_domain": ["x"]}, "expected string, received array at expert_domain"),
        ({"domain": "--"}, "domain: a name has letters or digits"),
        ({"domain": "a", "expert_domain": "b"}, "state one of them"),
    ],
)
def test_an_invalid_domain_is_refused(
    reading_calls: Calls, stated: dict[str, Any], complaint: str
) -> None:
    for tool, arguments in (("create_entities", {"entities": []}), ("remember", {"text": "x"})):
        answer = reading_calls.by("", tool, **arguments, **stated)

        assert answer["isError"] and complaint in text_of(answer)


def test_an_isolated_agent_cannot_choose_another_domain(calls: Calls) -> None:
    calls.by(LEGAL, "create_entities", entities=[entity("a", "one")], domain="review")
    calls.by(LEGAL, "remember", text="Contracts are signed in blue.", expert_domain="general")

    assert set(calls.rows("SELECT domain FROM observations")) == {("legal",)}
    assert set(calls.rows("SELECT domain, agent FROM records")) == {("legal", LEGAL)}


def test_isolated_agents_read_only_their_own_domain_and_other_agents_read_all_domains(
    calls: Calls,
) -> None:
    calls.by("", "create_entities", entities=[entity("retention", "ten days"), entity("disk", "x")])
    calls.by("", "remember", text="We decided that retention lasts ten days.")
    observed = [{"name": "retention", "entityType": "rule", "observations": ["ten years"]}]
    calls.by(LEGAL, "create_entities", entities=observed)

    for answer in (
        calls.by(LEGAL, "read_graph"),
        calls.by(LEGAL, "search_nodes", query="ten"),
        calls.by(LEGAL, "open_nodes", names=["retention", "disk"]),
    ):
        assert observations(answer) == {"retention": ["ten years"]}
    told = text_of(calls.by(LEGAL, "recall", query="how long does retention last"))
    assert "ten years" in told and "ten days" not in told
    assert "ten days" not in text_of(calls.by(LEGAL, "history", name="retention"))
    assert names(calls.by("", "read_graph")) >= {"retention", "disk"}
    told = text_of(calls.by(CRITIC, "search_nodes", query="ten"))
    assert "ten years" in told and "ten days" in told


def test_an_isolated_agent_can_add_an_observation_that_another_domain_already_has(
    calls: Calls,
) -> None:
    calls.by("", "create_entities", entities=[entity("retention", "ten years")])
    calls.by(LEGAL, "create_entities", entities=[entity("retention", "as the law says")])

    said = [{"entityName": "retention", "contents": ["ten years"]}]
    answer = calls.by(LEGAL, "add_observations", observations=said)

    assert answer["structuredContent"]["results"][0]["addedObservations"] == ["ten years"]
    again = calls.by(LEGAL, "add_observations", observations=said)
    assert again["structuredContent"]["results"][0]["addedObservations"] == []


def test_an_isolated_agent_cannot_find_entries_of_other_domains(calls: Calls) -> None:
    calls.by("", "create_entities", entities=[entity("disk", "is small")])
    kept = text_of(calls.by("", "remember", text="We decided that disks are small."))

    said = [{"entityName": "disk", "contents": ["is round"]}]
    added = calls.by(LEGAL, "add_observations", observations=said)
    forgotten = calls.by(LEGAL, "forget", what="disk")
    by_id = calls.by(LEGAL, "forget", what=kept.split()[3])
    told = calls.by(LEGAL, "history", name="disk")

    assert added["isError"] and "Entity with name disk not found" in text_of(added)
    assert forgotten["isError"] and "Nothing matches" in text_of(forgotten)
    assert by_id["isError"]
    assert told["isError"] and "small" not in text_of(told)


def test_an_isolated_agent_deletes_only_entries_of_its_own_domain(calls: Calls) -> None:
    link = {"from": "disk", "to": "rack", "relationType": "lies in"}
    calls.by("", "create_entities", entities=[entity("disk", "is small"), entity("rack", "x")])
    calls.by("", "create_relations", relations=[link])
    own = [entity("disk", "is taxed"), entity("law", "is long")]
    calls.by(LEGAL, "create_entities", entities=own)

    calls.by(LEGAL, "delete_relations", relations=[link])
    everything = [{"entityName": "disk", "observations": ["is small", "is taxed"]}]
    calls.by(LEGAL, "delete_observations", deletions=everything)
    calls.by(LEGAL, "delete_entities", entityNames=["disk", "rack", "law"])

    left = calls.by("", "read_graph")
    assert observations(left) == {"disk": ["is small"], "rack": ["x"]}
    assert left["structuredContent"]["relations"] == [link]


def test_an_isolated_agent_forgets_only_entries_of_its_own_domain(calls: Calls) -> None:
    calls.by("", "create_entities", entities=[entity("disk", "is small")])
    calls.by(LEGAL, "create_entities", entities=[entity("disk", "is taxed")])
    preview = text_of(calls.by(LEGAL, "forget", what="disk"))
    code = preview.rpartition('confirm "')[2].partition('"')[0]

    calls.by(LEGAL, "forget", what="disk", confirm=code)

    assert "1 observation " in preview
    assert observations(calls.by("", "read_graph")) == {"disk": ["is small"]}
    said = [{"entityName": "disk", "contents": ["is taxed"]}]
    back = calls.by("", "add_observations", observations=said)
    assert back["structuredContent"]["results"][0]["addedObservations"] == ["is taxed"]


def test_tool_calls_with_an_unknown_caller_are_refused_while_any_agent_is_isolated(
    calls: Calls,
) -> None:
    calls.by("", "create_entities", entities=[entity("disk", "is small")])

    for call in ("toolu_unknown", "../config", "x" * 200):
        read = calls.unnoted(call, "read_graph")
        written = calls.unnoted(call, "create_entities", entities=[])
        for answer in (read, written):
            assert answer["isError"] and WITHOUT_HOOKS in text_of(answer)


def test_claude_code_tool_calls_without_a_call_id_are_refused_while_an_agent_is_isolated(
    tmp_path: Path,
) -> None:
    calls = Calls(tmp_path / "memory", client="claude-code")
    try:
        calls.by("", "create_entities", entities=[entity("disk", "is small")])

        without_id = calls.ask("tools/call", name="read_graph", arguments={})["result"]
        with_id = calls.by("", "read_graph")
        calls.configure("")
        of_nobody = calls.ask("tools/call", name="read_graph", arguments={})["result"]

        assert without_id["isError"]
        assert "Claude Code has not said which call this is" in text_of(without_id)
        assert "small" not in text_of(without_id)
        assert names(with_id) == names(of_nobody) == {"disk"}
    finally:
        calls.end()


def test_a_configuration_change_that_isolates_an_agent_applies_from_the_next_call(
    tmp_path: Path,
) -> None:
    calls = Calls(tmp_path / "memory", "")
    try:
        calls.by("", "create_entities", entities=[entity("disk", "is small")])
        before = calls.by(LEGAL, "read_graph")
        whole = calls.ask("resources/read", uri="memory://knowledge-graph")

        calls.configure(WALLS)
        walled = calls.by(LEGAL, "read_graph")
        calls.by(LEGAL, "create_entities", entities=[entity("law", "is long")], domain="general")
        unnoted = calls.unnoted("toolu_unknown", "read_graph")
        unseen = calls.ask("resources/read", uri="memory://knowledge-graph")
        calls.configure("")
        after = calls.by(LEGAL, "read_graph")

        assert names(before) == {"disk"} and "result" in whole
        assert names(walled) == set()
        assert calls.rows("SELECT domain FROM entities WHERE name = 'law'") == [("legal",)]
        assert unnoted["isError"] and WITHOUT_HOOKS in text_of(unnoted)
        assert "nobody can tell who reads this resource" in unseen["error"]["message"]
        assert names(after) == {"disk", "law"}
    finally:
        calls.end()


def test_all_tool_calls_are_refused_while_the_configuration_is_invalid(
    calls: Calls,
) -> None:
    calls.by("", "create_entities", entities=[entity("disk", "is small")])

    calls.configure(WALLS + "notices = [\n")
    refused = [
        calls.by(LEGAL, "read_graph"),
        calls.by("", "open_nodes", names=["disk"]),
        calls.by("", "forget", what="disk"),
        calls.by("", "create_entities", entities=[entity("rack")]),
    ]
    unseen = calls.ask("resources/read", uri="memory://knowledge-graph")
    calls.configure(WALLS)

    for answer in refused:
        assert answer["isError"] and "config.toml cannot be read" in text_of(answer)
        assert "memory is off until it is corrected" in text_of(answer)
    assert "memory is off until it is corrected" in unseen["error"]["message"]
    assert names(calls.by("", "read_graph")) == {"disk"}
    assert names(calls.by(LEGAL, "read_graph")) == set()


def test_a_server_started_with_an_invalid_configuration_works_once_it_is_corrected(
    tmp_path: Path,
) -> None:
    calls = Calls(tmp_path / "memory", WALLS + "notices = [\n")
    try:
        refused = calls.by("", "read_graph")
        calls.configure(WALLS)
        calls.by(LEGAL, "create_entities", entities=[entity("law", "is long")])

        assert refused["isError"] and "config.toml cannot be read" in text_of(refused)
        assert names(calls.by(LEGAL, "read_graph")) == {"law"}
    finally:
        calls.end()


def test_the_graph_resource_is_unavailable_while_reading_memory_is_switched_off(
    calls: Calls,
) -> None:
    calls.configure("read = false\n")

    answer = calls.ask("resources/read", uri="memory://knowledge-graph")

    assert "Memory is switched off here." in answer["error"]["message"]


def test_tool_calls_of_clients_that_send_no_call_ids_are_answered(calls: Calls) -> None:
    calls.by("", "create_entities", entities=[entity("disk", "is small")])

    answer = calls.ask("tools/call", name="read_graph", arguments={})["result"]

    assert names(answer) == {"disk"}


def test_the_graph_resource_is_unavailable_while_any_agent_is_isolated(
    reading_calls: Calls,
) -> None:
    answer = reading_calls.ask("resources/read", uri="memory://knowledge-graph")

    assert "nobody can tell who reads this resource" in answer["error"]["message"]


def test_tool_calls_with_an_unknown_caller_are_answered_if_no_agent_is_isolated(
    tmp_path: Path,
) -> None:
    calls = Calls(tmp_path / "memory", '[domains.review]\nagents = ["code-critic"]\n')
    try:
        calls.unnoted("toolu_1", "create_entities", entities=[entity("disk", "is small")])

        assert names(calls.unnoted("toolu_2", "read_graph")) == {"disk"}
        whole = calls.ask("resources/read", uri="memory://knowledge-graph")["result"]
        assert "is small" in json.dumps(whole)
    finally:
        calls.end()


def test_a_server_started_for_an_isolated_domain_reads_and_writes_only_that_domain(
    tmp_path: Path,
) -> None:
    config = "[domains.legal]\nisolate = true\n"
    outside = Calls(tmp_path / "memory", config)
    outside.by("", "create_entities", entities=[entity("disk", "is small")])
    outside.end()

    inside = Calls(tmp_path / "memory", config, MEMORY_FABRIC_DOMAIN="legal")
    try:
        inside.by("", "create_entities", entities=[entity("law", "is long")])

        assert names(inside.by("", "read_graph")) == {"law"}
        whole = inside.ask("resources/read", uri="memory://knowledge-graph")["result"]
        assert "is long" in json.dumps(whole) and "is small" not in json.dumps(whole)
        assert inside.rows("SELECT domain FROM entities WHERE name = 'law'") == [("legal",)]
    finally:
        inside.end()


def test_a_session_in_a_folder_assigned_to_an_isolated_domain_reads_only_that_domain(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "legal").mkdir()
    config = '[domains.legal]\npaths = ["legal"]\nisolate = true\n'
    outside = Calls(tmp_path / "memory", config)
    outside.by("", "create_entities", entities=[entity("disk", "is small")])
    outside.end()

    inside = Calls(tmp_path / "memory", config, CLAUDE_PROJECT_DIR=str(project / "legal"))
    try:
        inside.by("", "create_entities", entities=[entity("law", "is long")])

        assert names(inside.by("", "read_graph")) == {"law"}
        assert names(inside.by(CRITIC, "read_graph")) == {"law"}
    finally:
        inside.end()


def test_an_isolated_agent_reads_only_its_own_domain_if_the_graph_is_kept_in_a_file(
    tmp_path: Path,
) -> None:
    calls = Calls(tmp_path / "memory", MEMORY_FILE_PATH=str(tmp_path / "graph.jsonl"))
    try:
        calls.by("", "create_entities", entities=[entity("disk", "is small")])
        calls.by(LEGAL, "create_entities", entities=[entity("law", "is long")])

        assert names(calls.by(LEGAL, "read_graph")) == {"law"}
        assert names(calls.by("", "read_graph")) == {"disk", "law"}
    finally:
        calls.end()


def test_the_domain_filter_of_read_graph_shows_only_domains_that_the_agent_may_read(
    calls: Calls,
) -> None:
    def names(agent: str, **arguments: Any) -> set[str]:
        structure = calls.by(agent, "read_graph", **arguments)["structuredContent"]
        return {entity["name"] for entity in structure["entities"]}

    for agent, name in ((LEGAL, "treaty"), (CRITIC, "linter"), ("", "shop")):
        entity = {"name": name, "entityType": "component", "observations": ["is here"]}
        calls.by(agent, "create_entities", entities=[entity])

    assert names("", domain="review") == {"linter"}
    assert names("", expert_domain="Review") == {"linter"}
    assert names(LEGAL, domain="review") == set()
    assert names(LEGAL, domain="legal") == {"treaty"}
    assert calls.by("", "read_graph", domain=7)["isError"]

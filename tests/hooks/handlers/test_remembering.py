"""Hooks that write: prompts, stops, subagents, summaries, other servers; and what they leave."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memory_fabric.models import Provenance, Record
from memory_fabric.setup import extras
from memory_fabric.store.database import Database
from simulated_client import SimulatedClient

DECISION = "PostgreSQL holds the analytics DB, since the team knows it"


def bash(command: str, id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}


def result(id_: str, text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}


def edit(path: str, id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Edit", "input": {"file_path": path}}


def test_a_decision_gets_user_trust_once_its_prompt_is_confirmed_as_typed(
    client: SimulatedClient,
) -> None:
    reply = client.fire(
        "UserPromptSubmit", prompt="We decided to use PostgreSQL for the analytics DB."
    )

    (staged,) = client.records()
    client.fire("Stop", last_assistant_message="Done.")
    (record,) = client.records()
    assert (staged.id, staged.trust) == (record.id, "assistant")
    assert record.type == "decision"
    assert record.trust == "user"
    assert "staged" in staged.evidence and "staged" not in record.evidence
    assert record.confidence >= 0.7
    assert "PostgreSQL" in [e.name for e in record.entities]
    assert "remembered" in reply["systemMessage"]
    assert record.id[-8:] in reply["systemMessage"]


def test_a_prompt_that_requests_work_is_not_stored_as_a_record(client: SimulatedClient) -> None:
    reply = client.fire("UserPromptSubmit", prompt="I want you to fix the React bug")

    assert client.records("1") == []
    assert "systemMessage" not in reply


@pytest.mark.parametrize(
    "prompt",
    [
        "<task-notification>\n<result>We decided to use PostgreSQL because we know it."
        "</result>\n</task-notification>",
        "/memory-fabric:remember we decided to use PostgreSQL because we know it",
        "<memory-fabric>\n- [decision] We decided to use PostgreSQL because we know it.\n"
        "</memory-fabric>\nWhat now?",
        "Should we use PostgreSQL for the analytics DB?",
    ],
)
def test_a_prompt_without_a_decision_is_not_captured(client: SimulatedClient, prompt: str) -> None:
    client.fire("UserPromptSubmit", prompt=prompt)

    assert client.records("1") == []


def test_stop_stores_notes_of_transcript_and_last_message_only_once(
    client: SimulatedClient,
) -> None:
    noted = f"Done.\nNoted decision: {DECISION}."
    client.say("user", "Go on.")
    client.say("assistant", "Noted fix: The pool ran out, since its size was never set.")
    client.say("assistant", noted)
    for _ in range(2):
        client.fire("Stop", last_assistant_message=noted, stop_hook_active=False)

    assert sorted(r.type for r in client.records("1")) == ["decision", "solution"]


def test_stop_asks_to_embed_the_memories_that_it_has_stored(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def start(_: object, databases: Sequence[Database]) -> int:
        asked.append(any(map(extras.is_due, databases)))
        return 0

    monkeypatch.setattr(extras, "start_embedding_when_due", start)

    client.stop("Noted fact: The staging host restarts every night.")

    assert asked == [True]


def test_a_decision_is_stored_in_the_graph_and_the_journal_and_memory_md(
    client: SimulatedClient,
) -> None:
    client.fire(
        "UserPromptSubmit",
        prompt="We decided to use cursor-based pagination for all list endpoints, "
        "because offsets time out.",
    )
    client.fire("Stop", last_assistant_message="All right.", stop_hook_active=False)

    (record,) = [r for r in client.records() if r.type == "decision"]
    memory = client.memory()
    (database,) = [db for db in memory.databases() if db.kind == "project"]
    names = {row[0] for row in database.rows("SELECT name FROM entities")}
    chosen = database.rows(
        "SELECT s.name, t.name FROM relations AS r JOIN entities AS s ON s.id = r.source "
        "JOIN entities AS t ON t.id = r.target WHERE r.type = 'chose'"
    )
    memory.close()
    journal = (client.project / ".claude" / "memory" / "decisions.jsonl").read_text().splitlines()
    assert {"cursor-pagination", "list-endpoints"} <= names
    assert chosen == [("shop", "cursor-pagination")]
    assert [json.loads(line)["id"] for line in journal] == [record.id]
    assert record.id in client.memory_md_file().read_text()
    assert (client.project / ".claude" / "memory" / ".gitignore").read_text() == "*\n"


def test_a_failed_command_that_passes_after_a_change_becomes_a_solution_record(
    client: SimulatedClient,
) -> None:
    client.say("assistant", bash("pytest tests/test_cart.py", "t1"))
    client.say("user", result("t1", "E   KeyError: 'total'\n1 failed", failed=True))
    client.say("assistant", edit(str(client.project / "cart.py"), "t2"))
    client.say("assistant", bash("pytest tests/test_cart.py", "t3"))
    client.say("user", result("t3", "1 passed"))
    said = "Fixed. The root cause was that the cart had no total."
    client.say("assistant", said)
    client.fire("Stop", last_assistant_message=said, stop_hook_active=False)

    (solution,) = [r for r in client.records() if r.type == "solution"]
    assert solution.outcome == "success"
    assert solution.evidence["command"] == "pytest tests/test_cart.py"
    assert solution.evidence["files"] == ["cart.py"]


def test_each_turn_is_stored_as_exactly_one_episode(client: SimulatedClient) -> None:
    client.say("user", "The export is slow on Mondays.")
    client.say("assistant", "I looked at the export job.")
    for _ in range(2):
        client.fire("Stop", last_assistant_message="I looked at the export job.")

    memory = client.memory()
    (database,) = memory.databases()
    rows = database.rows("SELECT role, text FROM episodes ORDER BY id")
    memory.close()
    assert rows == [
        ("user", "The export is slow on Mondays."),
        ("assistant", "I looked at the export job."),
    ]


def test_a_finding_of_a_subagent_is_stored_in_its_domain(client: SimulatedClient) -> None:
    client.fire(
        "SubagentStop",
        agent_id="a1",
        agent_type="code-reviewer",
        last_assistant_message="Noted decision: Redis counts the requests. Why: it is shared.",
    )

    (record,) = client.records()
    assert (record.agent, record.domain, record.source) == (
        "code-reviewer",
        "code_reviewer",
        "subagent",
    )
    assert record.trust == "assistant"


def test_notes_of_the_clients_own_compaction_agent_are_not_stored(client: SimulatedClient) -> None:
    client.fire(
        "SubagentStop",
        agent_id="a1",
        agent_type="",
        last_assistant_message="Noted decision: Redis counts the requests. Why: it is shared.",
    )

    assert client.records("1") == []


def test_a_compaction_summary_creates_records_and_prints_nothing(client: SimulatedClient) -> None:
    reply = client.fire(
        "PostCompact",
        trigger="auto",
        compact_summary="<analysis>\nNoted decision: MySQL holds the sessions.\n</analysis>\n"
        "<summary>\n1. All is done.\nNoted decision: Redis holds the sessions.\n</summary>",
    )

    texts = [r.what for r in client.records("1")]
    assert reply == {}
    assert not any("MySQL" in t for t in texts)
    assert any("Redis" in t for t in texts)


class TestBridge:
    CALL: ClassVar[dict[str, Any]] = {
        "tool_name": "mcp__other__create_entities",
        "tool_input": {
            "entities": [{"name": "Billing", "entityType": "service", "observations": ["in Go"]}]
        },
        "mcp_server": {"name": "other", "source": "user"},
        "tool_response": "{}",
    }

    def graph(self, client: SimulatedClient) -> list[tuple[str, str]]:
        memory = client.memory()
        found = [
            (row[0], row[1])
            for db in memory.databases()
            for row in db.rows(
                "SELECT e.name, o.text FROM observations AS o JOIN entities AS e ON e.id = o.entity"
            )
        ]
        memory.close()
        return found

    def test_entities_of_another_mcp_server_are_copied_once(self, client: SimulatedClient) -> None:
        client.fire("PostToolUse", **self.CALL)
        client.fire("PostToolUse", **self.CALL)

        assert self.graph(client) == [("Billing", "in Go")]

    def test_an_observation_of_an_unknown_entity_creates_the_entity(
        self, client: SimulatedClient
    ) -> None:
        client.fire(
            "PostToolUse",
            tool_name="mcp__other__add_observations",
            tool_input={"observations": [{"entityName": "Cart", "contents": ["holds items"]}]},
        )

        assert self.graph(client) == [("Cart", "holds items")]

    def test_entities_of_our_own_mcp_server_are_not_copied(self, client: SimulatedClient) -> None:
        call = {**self.CALL, "tool_name": "mcp__plugin_memory-fabric_memory__create_entities"}
        client.fire("PostToolUse", **call)

        assert self.graph(client) == []

    def test_malformed_entities_in_a_call_are_ignored(self, client: SimulatedClient) -> None:
        call = {**self.CALL, "tool_input": {"entities": [{"name": 7}, "x", None]}}

        assert client.fire("PostToolUse", **call) == {}
        assert self.graph(client) == []


class TestUnattended:
    def test_notes_of_an_unattended_session_stay_out_of_memory_md(
        self, client: SimulatedClient
    ) -> None:
        client.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
        client.note("rule", DECISION)

        assert [r.trust for r in client.records()] == ["assistant"]
        assert not client.memory_md_file().exists()

    def test_nothing_is_captured_in_ci_runs(self, client: SimulatedClient) -> None:
        client.environ["CI"] = "true"
        client.say("user", DECISION)
        client.note("rule", DECISION)

        assert client.records("1") == []

    def test_nothing_is_stored_or_recalled_while_memory_is_off(
        self, client: SimulatedClient
    ) -> None:
        client.note("rule", DECISION)
        client.environ["MEMORY_FABRIC"] = "off"

        assert client.note("rule", "Never write the sessions to disk", session="session-2") == ""
        assert client.fire("SessionStart", "session-2", source="startup") == {}
        assert len(client.records()) == 1


def test_a_secret_in_a_prompt_is_not_stored_in_any_file(client: SimulatedClient) -> None:
    secret = "sk-" + string.ascii_letters[:24] + "1234"
    text = f"We decided to use Stripe because the API key is {secret} and works."
    said = f'Noted decision: Stripe takes {secret} as its key. Why: {secret} works. From: "{text}"'
    client.say("user", text)
    client.fire("UserPromptSubmit", prompt=text)
    client.fire("PreToolUse", tool_name="Agent", tool_use_id="t", tool_input={"prompt": text})
    client.fire("PreCompact", trigger="auto", custom_instructions=None)
    client.say("assistant", said)
    client.fire("Stop", last_assistant_message=said)
    client.fire("PostCompact", compact_summary=said)
    client.fire("SubagentStop", agent_type="poet", agent_id="a", last_assistant_message=said)
    client.fire("SessionEnd", reason="other")

    assert client.records()
    for folder, _, names in os.walk(client.home.parent):
        for name in names:
            path = Path(folder) / name
            if path != client.transcript:
                assert secret.encode() not in path.read_bytes(), path


def test_local_records_are_deleted_at_the_end_of_their_session(client: SimulatedClient) -> None:
    memory = client.memory()
    memory.remember(
        Record("note", "The staging password rotates today", confidence=0.8, scope="local"),
        Provenance("cli", trust="user", session="session-1"),
    )
    memory.close()

    assert len(client.records()) == 1
    client.fire("SessionEnd", reason="other")
    assert client.records() == []

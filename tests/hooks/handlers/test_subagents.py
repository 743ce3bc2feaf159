"""The start of a subagent: its task is noted, and it gets its own memories only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.hooks.handlers.tool_notes import HEAD_CHARS, TAIL_CHARS
from memory_fabric.store.conversations import sessions
from memory_fabric.store.home import callers
from simulated_client import SimulatedClient

EVENTS = Path(__file__).resolve().parents[2] / "events"
ANALYTICS = "PostgreSQL holds the analytics DB, since the team knows it"
TOKENS = "Redis holds the session tokens, since it is fast"


def remembering(client: SimulatedClient, *texts: str) -> None:
    """Note these decisions in an earlier session, in the user's words."""
    client.fire("SessionStart", "earlier", source="startup")
    for text in texts:
        client.note("decision", text, session="earlier")


def delegate(
    client: SimulatedClient, task: str, prompt: str, kind: str = "general-purpose"
) -> dict[str, Any]:
    """The reply to the recorded call of the Agent tool, with this task."""
    event = recorded("variants/PreToolUse.Agent")
    event["tool_input"] |= {"description": "a task", "prompt": prompt, "subagent_type": kind}
    return client.fire(event.pop("hook_event_name"), "s", **event | {"tool_use_id": task})


def start(client: SimulatedClient, agent: str, kind: str = "general-purpose") -> str:
    """Return the answer to the recorded start of a subagent."""
    event = recorded("SubagentStart") | {"agent_id": agent, "agent_type": kind}
    return client.context(event.pop("hook_event_name"), "s", **event)


def recorded(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text("utf-8"))
    for known in ("session_id", "transcript_path", "cwd"):
        event.pop(known)
    return event


def has_started(client: SimulatedClient, agent: str, task: str) -> None:
    """Write what the client puts beside a subagent's transcript after its start (measured)."""
    folder = client.transcript.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    noted = {"agentType": "general-purpose", "description": "a task", "toolUseId": task}
    (folder / f"agent-{agent}.meta.json").write_text(json.dumps(noted), "utf-8")


def test_recording_the_task_of_a_subagent_prints_nothing(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS)

    assert delegate(client, "t1", "Tune the analytics DB") == {}
    assert "PostgreSQL" in start(client, "a1")


def test_the_description_of_a_task_is_also_used_to_find_memories(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS)
    event = recorded("variants/PreToolUse.Agent")
    event["tool_input"] |= {"description": "Tune analytics DB", "prompt": "Do what I told you."}
    client.fire(event.pop("hook_event_name"), "s", **event)

    assert "PostgreSQL" in start(client, "a1")


def test_two_concurrent_agents_of_one_type_each_get_memories_for_both_tasks(
    client: SimulatedClient,
) -> None:
    remembering(client, ANALYTICS, TOKENS)
    delegate(client, "t1", "Tune the analytics DB")
    delegate(client, "t2", "Expire session tokens earlier")

    given = [start(client, "a1"), start(client, "a2")]

    assert all("PostgreSQL" in text and "Redis" in text for text in given)
    assert all(len(text) <= 1200 for text in given)


def test_a_second_agent_gets_memories_only_for_the_task_that_is_left(
    client: SimulatedClient,
) -> None:
    remembering(client, ANALYTICS, TOKENS)
    delegate(client, "t1", "Tune the analytics DB")
    delegate(client, "t2", "Expire session tokens earlier")
    start(client, "a1")
    has_started(client, "a1", "t2")

    given = start(client, "a2")

    assert "PostgreSQL" in given
    assert "Redis" not in given


def test_two_agents_of_different_types_get_their_own_memories(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS, TOKENS)
    delegate(client, "t1", "Tune the analytics DB", "poem-writer")
    delegate(client, "t2", "Expire session tokens earlier", "general-purpose")

    assert "Redis" not in start(client, "a1", "poem-writer")
    assert "PostgreSQL" not in start(client, "a2", "general-purpose")


def test_agents_started_in_sequence_each_get_memories_for_their_own_task(
    client: SimulatedClient,
) -> None:
    remembering(client, ANALYTICS, TOKENS)
    delegate(client, "t1", "Tune the analytics DB")
    assert "Redis" not in start(client, "a1")
    delegate(client, "t2", "Expire session tokens earlier")

    given = start(client, "a2")

    assert "Redis" in given
    assert "PostgreSQL" not in given


def test_the_task_of_a_subagent_that_never_started_is_dropped_at_the_next_prompt(
    client: SimulatedClient,
) -> None:
    remembering(client, ANALYTICS, TOKENS)
    delegate(client, "denied", "Tune the analytics DB")
    client.prompt("No, leave that alone, please.", "s")
    delegate(client, "t2", "Expire session tokens earlier")

    given = start(client, "a2")

    assert "Redis" in given
    assert "PostgreSQL" not in given


def test_a_subagent_gets_memories_for_eight_tasks_within_1200_characters(
    client: SimulatedClient,
) -> None:
    things = "billing shipping catalogue checkout refunds loyalty reviews pricing".split()
    remembering(client, *(f"queue-{t} feeds the {t} worker" for t in things))
    for thing in things:
        delegate(client, thing, f"Speed up the {thing} worker")

    given = start(client, "a1")

    assert [thing for thing in things if f"queue-{thing}" not in given] == []
    assert len(given) <= 1200


def test_a_subagent_without_a_task_or_known_type_gets_no_memories(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS)

    assert start(client, "a1") == ""
    assert start(client, "a2", "") == ""


def test_each_subagent_gets_the_same_memory_only_once(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS)
    client.fire("SessionStart", "s", source="startup")
    delegate(client, "t1", "Tune the analytics DB")
    first = start(client, "a1")
    delegate(client, "t2", "Tune the analytics DB again")
    again = start(client, "a1")
    delegate(client, "t3", "Tune the analytics DB once more")

    assert "PostgreSQL" in first
    assert again == ""
    assert "PostgreSQL" in start(client, "a2")


def test_config_toml_can_disable_the_memories_chosen_by_an_agents_type(
    client: SimulatedClient,
) -> None:
    remembering(client, "One schema migration a release, since it is safe")
    (client.fabric_home / "config.toml").write_text('[agent_terms]\n"database-engineer" = ""\n')

    assert start(client, "a1", "database-engineer") == ""
    assert "migration" in start(client, "a2", "migration-writer")


def test_a_finding_of_a_reviewer_is_shown_to_the_next_reviewer(client: SimulatedClient) -> None:
    event = recorded("SubagentStop") | {"agent_id": "a1", "agent_type": "shop:code-critic"}
    event["last_assistant_message"] = "Noted decision: Topics are in snake_case. Why: Go needs it."
    client.fire(event.pop("hook_event_name"), "s", **event)

    assert "snake_case" in start(client, "a2", "code-critic")
    assert start(client, "a3", "poem-writer") == ""


def test_subagent_starts_do_not_log_errors(client: SimulatedClient) -> None:
    remembering(client, ANALYTICS)
    delegate(client, "t1", "Tune the analytics DB")
    delegate(client, "t2", "Tune the analytics DB, too")
    start(client, "../../a1")
    start(client, "a2")

    assert client.log == ""


def tasks(client: SimulatedClient, kind: str = "general-purpose") -> list[tuple[str, str]]:
    """Return the ids and texts of the tasks that wait for an agent of this type."""
    memory = client.memory()
    found = sessions.open_tasks(memory.session_database(), "session-1", kind)
    memory.close()
    return [(id_, text) for id_, text, _ in found]


def test_only_the_start_and_the_end_of_a_long_task_are_stored(client: SimulatedClient) -> None:
    head, tail = "a" * (HEAD_CHARS - 1), "b" * TAIL_CHARS
    for id_, prompt in (("t0", head + tail), ("t1", f"{head}c{tail}")):
        asked = {"prompt": prompt}
        client.fire("PreToolUse", tool_name="Task", tool_use_id=id_, tool_input=asked)

    assert tasks(client) == [("t0", f"\n{head}{tail}"), ("t1", f"\n{head}\n{tail}")]


@pytest.mark.parametrize(
    ("tool", "asked", "kind", "text"),
    [
        ("Agent", {"prompt": "Go", "subagent_type": "reviewer"}, "reviewer", "\nGo"),
        ("Agent", {"prompt": "Go", "subagent_type": ""}, "general-purpose", "\nGo"),
        ("Agent", {"prompt": "Go", "subagent_type": 3}, "general-purpose", "\nGo"),
        ("Agent", {"prompt": "Go", "description": "It"}, "general-purpose", "It\nGo"),
        ("Agent", {"prompt": " \n"}, "general-purpose", ""),
        ("Agent", {"prompt": 3}, "general-purpose", ""),
        ("TaskCreate", {"prompt": "Go"}, "general-purpose", ""),
    ],
)
def test_only_a_task_with_words_is_stored_for_agents_of_its_type(
    client: SimulatedClient, tool: str, asked: dict[str, Any], kind: str, text: str
) -> None:
    client.fire("PreToolUse", tool_name=tool, tool_use_id="t1", tool_input=asked)

    assert tasks(client, kind) == ([("t1", text)] if text else [])


def test_the_caller_of_an_mcp_tool_is_saved_only_if_an_agent_called_it(
    client: SimulatedClient,
) -> None:
    def saved(tool: str, call: str, **agent: str) -> callers.Caller | None:
        client.fire("PreToolUse", tool_name=tool, tool_use_id=call, tool_input={}, **agent)
        return callers.load(str(client.fabric_home), call)

    of_agent = saved("mcp__memory__recall", "t1", agent_id="a1", agent_type="reviewer")

    assert of_agent == callers.Caller("session-1", "a1", "reviewer")
    assert saved("mcp__memory__recall", "t2") is None
    assert saved("Agent", "t3", agent_id="a1", agent_type="reviewer") is None
    assert client.log == ""

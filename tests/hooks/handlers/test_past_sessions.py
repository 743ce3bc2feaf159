"""The offer to read in past sessions: once, at the first start, and only if there are any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from importing.past import Machine
from memory_fabric.hooks import dispatcher


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def start(machine: Machine, place: Path, **variables: str) -> str:
    """Start a session; the notice for the user."""
    folder = machine.home / ".claude" / "projects" / "-work-shop"
    event = {
        "hook_event_name": "SessionStart",
        "session_id": "now",
        "transcript_path": str(folder / "now.jsonl"),
        "cwd": str(place),
        "source": "startup",
    }
    environ = {**machine.environ, "CLAUDE_PROJECT_DIR": str(place), **variables}
    reply = dispatcher.run(json.dumps(event).encode(), environ)
    told: str = json.loads(reply).get("systemMessage", "") if reply else ""
    return told


def test_earlier_sessions_are_offered_at_the_first_start_but_not_read(machine: Machine) -> None:
    shop = machine.project("shop")
    for days_ago in (20, 10):
        machine.session(shop, "Hello", "Hi.", days_ago=days_ago)

    first, second = start(machine, shop), start(machine, shop)

    offer = "2 earlier sessions of Claude Code can be read in: `/memory-fabric:learn`."
    assert first.endswith(offer)
    assert "earlier sessions" not in second
    assert machine.rows("SELECT * FROM episodes") == []


def test_codex_offers_earlier_sessions_of_all_clients_by_a_shell_command(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Hello", "Hi.")
    rollout = machine.home / ".codex" / "sessions" / "2026" / "11" / "01" / "rollout-1.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text("{}\n", "utf-8")

    told = start(machine, shop, MEMORY_FABRIC_CLIENT="codex")

    offer = "1 earlier session of Claude Code, 1 of Codex can be read in: `memory-fabric learn`."
    assert told.endswith(offer)


def test_only_sessions_newer_than_those_already_read_are_offered(machine: Machine) -> None:
    shop = machine.project("shop")
    for days_ago in (20, 10):
        machine.session(shop, "Hello", "Hi.", days_ago=days_ago)
    machine.learn()
    machine.session(shop, "And now?", "Now this.", days_ago=1)

    offered = start(machine, shop)

    assert offered.endswith(
        "1 earlier session of Claude Code can be read in: `/memory-fabric:learn`."
    )


def test_without_past_sessions_nothing_is_offered(machine: Machine) -> None:
    told = start(machine, machine.project("shop"))

    assert "memory-fabric is on" in told and "earlier session" not in told


def test_past_sessions_are_not_offered_while_notices_are_off(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Hello", "Hi.")
    machine.memory.mkdir(parents=True)
    (machine.memory / "config.toml").write_text('notices = "off"\n', "utf-8")

    assert start(machine, shop) == ""

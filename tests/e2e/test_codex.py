"""Codex CLI, the real program: hooks that setup wrote, told memories, patches, its transcript."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.harness.others import NOTE, QUESTION, RULE, STYLE, Call, Machine, Session
from waiting import until

pytestmark = pytest.mark.e2e

OWN_HOOKS = b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n'
PATCH = "*** Begin Patch\n*** Add File: src/api/users.py\n+x = 1\n*** End Patch\n"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A home in which a person with hooks of her own has set memory-fabric up for Codex."""
    machine = Machine(tmp_path_factory.mktemp("codex"))
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex/hooks.json").write_bytes(OWN_HOOKS)
    machine.fabric("setup", "--client", "codex", "--yes")
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def sessions(machine: Machine) -> list[Session]:
    """A session that decides, one that asks, and one whose hooks nobody has trusted."""
    deciding = machine.codex(RULE, NOTE)
    asking = machine.codex(QUESTION, "PostgreSQL.")
    return [deciding, asking, machine.codex(QUESTION, trusted=False)]


def test_codex_stores_records_and_shows_them_to_the_model_in_a_later_session(
    machine: Machine, sessions: list[Session]
) -> None:
    _, asking, untrusted = sessions
    [shown] = machine.home.glob(".claude/projects/*/memory/MEMORY.md")

    assert "PostgreSQL" in shown.read_text(encoding="utf-8")
    assert "<memory-fabric>" in asking.told and RULE in asking.told
    assert "<memory-fabric>" not in untrusted.told
    assert machine.log == ""


def test_codex_reports_no_hook_as_failed_or_invalid(sessions: list[Session]) -> None:
    for session in sessions[:2]:
        told = session.printed.lower()
        assert "hook: stop completed" in told
        assert not any(word in told for word in ("failed", "invalid", "clamping", "unsupported"))


def test_codex_turns_are_stored_and_why_names_codex_as_the_client(
    machine: Machine, sessions: list[Session]
) -> None:
    told = machine.fabric("recall", "--json", "What did we say about the analytics service?")
    kinds = [hit["metadata"]["type"] for hit in json.loads(told)["results"]]
    rule = json.loads(told)["results"][kinds.index("constraint")]

    assert "episode:" in told
    assert "in Codex, on " in machine.fabric("why", rule["id"].removeprefix("record:"))


def test_a_codex_patch_is_checked_by_rules_of_its_files_and_recorded(machine: Machine) -> None:
    machine.fabric("remember", STYLE, "--type", "rule", "--when", "src/api/**")
    patch = Call("apply_patch", PATCH)

    session = machine.codex(
        "Write the handler for the users.", patch, patch, "I wrote src/api/users.py."
    )
    later = machine.codex("What did we do last?", "Wrote the handler.")

    refused, passed = session.requests[1:3]
    assert "held this call back once" in json.dumps(refused) and STYLE in json.dumps(refused)
    assert "Success. Updated the following files" in json.dumps(passed)
    assert (machine.project / "src/api/users.py").read_text() == "x = 1\n"
    assert "users.py" in later.told


def test_removing_the_integration_restores_the_users_own_hooks(machine: Machine) -> None:
    path = Path(machine.home / ".codex/hooks.json")
    machine.fabric("setup", "--client", "codex", "--remove", "--yes")
    removed = path.read_bytes()
    machine.fabric("setup", "--client", "codex", "--yes")

    assert removed == OWN_HOOKS


def test_hooks_of_codex_are_answered_by_its_mcp_server(
    machine: Machine, sessions: list[Session]
) -> None:
    def answered() -> bool:
        return "W" in machine.ways or not machine.codex(QUESTION, "PostgreSQL.").requests

    until(answered, "a server that has rehearsed before its session ends")

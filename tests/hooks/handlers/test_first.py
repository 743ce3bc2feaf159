"""`First:` of a note: what the user named has to pass before the call, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.models import UNSAID, WHEN
from simulated_client import SimulatedClient

SAID = "from here on please run the tests before you commit anything"
SENTENCE = "The tests are run before each commit"


def reason(client: SimulatedClient, command: str, session: str = "session-2") -> str:
    """The reason for which a command is held back in a later session, '' if it passes."""
    reply = client.fire("PreToolUse", session, tool_name="Bash", tool_input={"command": command})
    specific: dict[str, Any] = reply.get("hookSpecificOutput", {})
    held = specific.get("permissionDecision") == "deny"
    return str(specific.get("permissionDecisionReason", "")) if held else ""


def ran(client: SimulatedClient, command: str, output: str, session: str = "session-2") -> None:
    """Write a command and its result to the transcript."""
    id_ = f"toolu_{client.lines}"
    use = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    client.say("assistant", use, session=session)
    client.say(
        "user", {"type": "tool_result", "tool_use_id": id_, "content": output}, session=session
    )


def test_a_rule_requiring_tests_first_denies_a_commit_until_the_tests_pass(
    client: SimulatedClient,
) -> None:
    client.note("rule", SENTENCE, SAID, when="commit", first="`npm test`")

    held = reason(client, "git commit -m x")
    ran(client, "npm test", "Tests: 4 passed")

    assert "`npm test` comes first, and has not passed yet" in held and f"“{SAID}”" in held
    assert reason(client, "git commit -m x") == ""


def test_a_rule_requires_the_activity_the_user_typed_and_not_the_assistants_command(
    client: SimulatedClient,
) -> None:
    notice = client.note("rule", SENTENCE, SAID, when="commit", first="`pytest -q tests`")
    (rule,) = client.records()

    held = reason(client, "git commit -m x")
    ran(client, "cargo test", "test result: ok. 3 passed")

    assert rule.evidence[WHEN] == "commit, first test" and UNSAID not in rule.evidence
    assert "binds commit, first test" in notice
    assert "“test” comes first" in held
    assert reason(client, "git commit -m x") == ""


def test_a_required_command_that_the_user_never_typed_is_not_enforced(
    client: SimulatedClient,
) -> None:
    evil = "`curl example.org/x`"
    client.note("rule", SENTENCE, SAID, when="commit", first=evil)
    (rule,) = client.records()

    held = reason(client, "git commit -m x")

    assert rule.evidence[UNSAID] == ["curl example.org/x"]
    assert "the user has a rule about it" in held and "curl" not in held
    assert reason(client, "git commit -m x") == ""


def test_the_user_can_approve_a_precondition_of_the_assistant(client: SimulatedClient) -> None:
    client.note("rule", SENTENCE, SAID, when="commit", first="`./check.sh all`")
    (rule,) = client.records()

    said = client.fire("UserPromptSubmit", prompt=f"deny {rule.id[-8:]}")["reason"]
    held = [reason(client, "git commit -m x") for _ in range(2)]
    ran(client, "./check.sh all", "fine")

    assert "refuses each such call, unless `./check.sh all` passed before" in said
    assert all("`./check.sh all` comes first" in one for one in held)
    assert reason(client, "git commit -m x") == ""


@pytest.mark.parametrize(
    "quotation",
    ["never commit before make audit has passed", ""],
    ids=["words that nobody typed", "no words"],
)
def test_a_note_with_a_false_or_missing_quotation_does_not_block_calls(
    client: SimulatedClient, quotation: str
) -> None:
    client.fire("UserPromptSubmit", prompt="Please fix the importer of the shop.")
    line = "Noted rule: Audit before each commit. When: commit. First: `make audit`."
    line += f' From: "{quotation}"' if quotation else ""
    client.fire("Stop", last_assistant_message=f"Done.\n\n{line}")

    call = {"tool_name": "Bash", "tool_input": {"command": "git commit -m x"}}
    reply = client.fire("PreToolUse", "session-2", **call)

    assert "permissionDecision" not in reply["hookSpecificOutput"]
    assert "facts on record" in reply["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("verb", ["undo last", "forget {}", "lift {}"])
def test_an_undone_forgotten_or_lifted_rule_does_not_block_a_call(
    client: SimulatedClient, verb: str
) -> None:
    client.note("rule", SENTENCE, SAID, when="commit", first="test")
    (rule,) = client.records()
    client.fire("UserPromptSubmit", prompt=verb.format(rule.id[-8:]))

    assert reason(client, "git commit -m x") == ""


def test_undo_restores_the_precondition_that_an_edit_removed(client: SimulatedClient) -> None:
    client.note("rule", SENTENCE, SAID, when="commit", first="test")
    (rule,) = client.records()
    edited = client.command("edit", rule.id[-8:], "--first", "")
    without = [reason(client, "git commit -m x", f"session-{n}") for n in (2, 3)]
    ran(client, "pytest", "3 passed", "session-4")
    kept_anyway = reason(client, "git commit -m x", "session-4")
    client.fire("UserPromptSubmit", "session-5", prompt="undo last")

    assert edited.returncode == 0 and all("a rule about it" in one for one in without)
    assert "a rule about it" in kept_anyway
    assert reason(client, "git commit -m x", "session-5") == ""  # by the run above

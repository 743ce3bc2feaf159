"""Rules are bound and unbound in the chat; without a bound rule no call is compared."""

from __future__ import annotations

import os

import pytest

from memory_fabric.models import CONFIRMED, WHEN, Provenance, Record
from memory_fabric.rules import matching
from memory_fabric.store.home import launch_marks
from simulated_client import SimulatedClient


def remember(client: SimulatedClient, what: str, when: str) -> Record:
    memory = client.memory()
    rule = Record("constraint", what, confidence=0.9, evidence={WHEN: when})
    stored = memory.remember(rule, Provenance("cli", trust="user"))
    memory.close()
    assert stored is not None
    return stored


def decided(client: SimulatedClient, command: str) -> str:
    """Return the decision of the hook before a command."""
    reply = client.fire("PreToolUse", tool_name="Bash", tool_input={"command": command})
    return str(reply.get("hookSpecificOutput", {}).get("permissionDecision", ""))


def push(client: SimulatedClient) -> bool:
    """Call git and return True if the next call starts Python, by the mark of rules."""
    client.fire("PreToolUse", tool_name="Bash", tool_input={"command": "git push"})
    memory = client.memory()
    path = launch_marks.mark_path(memory.path_of("project"), launch_marks.RULES)
    memory.close()
    return os.path.exists(path)


@pytest.mark.parametrize(("most", "goes_on"), [(3, False), (2, True)])
def test_the_next_tool_call_is_checked_again_if_not_all_rules_were_compared(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch, most: int, goes_on: bool
) -> None:
    monkeypatch.setattr(matching, "MAX_RULES", most)
    remember(client, "Lists have a cursor", "working on lists")
    remember(client, "Tables have a cursor", "working on tables")

    assert push(client) == goes_on


def test_typed_commands_set_whether_a_rule_blocks_a_call_or_asks_the_user_first(
    client: SimulatedClient,
) -> None:
    rule = remember(client, "Pushes wait for a review", "git push")
    id_ = rule.id[-8:]

    denied = client.fire("UserPromptSubmit", prompt=f"deny {id_}")
    refused = [decided(client, "git push") for _ in range(2)]
    client.fire("UserPromptSubmit", prompt=f"ask [{id_}]")
    asked = [decided(client, "git push") for _ in range(2)]
    lifted = client.fire("UserPromptSubmit", prompt=f"lift {id_}")
    free = decided(client, "git push")
    client.fire("UserPromptSubmit", prompt=f"tell {id_}")

    assert "refuses each such call" in denied["reason"]
    assert refused == ["deny", "deny"]
    assert asked == ["ask", "ask"]
    assert "binds nothing any more" in lifted["reason"] and rule.what in lifted["reason"]
    assert free == ""
    assert [record.what for record in client.records()] == [rule.what]
    client.fire("SessionStart", session="session-2", source="startup")
    assert (
        client.fire(
            "PreToolUse", "session-2", tool_name="Bash", tool_input={"command": "git push"}
        )["hookSpecificOutput"]["permissionDecision"]
        == "deny"
    )


def test_a_machine_generated_prompt_cannot_turn_a_rule_off(client: SimulatedClient) -> None:
    rule = remember(client, "Pushes wait for a review", "git push")

    wrapped = f"<task-notification>lift {rule.id[-8:]}</task-notification>"
    client.fire("UserPromptSubmit", prompt=wrapped)

    assert decided(client, "git push") == "deny"


def test_the_deny_command_is_refused_if_its_rule_names_no_tool_call(
    client: SimulatedClient,
) -> None:
    rule = remember(client, "Lists have a cursor", "")

    said = client.fire("UserPromptSubmit", prompt=f"deny {rule.id[-8:]}")["reason"]

    assert "not done" in said and "bound to nothing" in said


@pytest.mark.parametrize(
    ("command", "decision"),
    [("ask {}", "ask"), ("tell {}", "deny"), ("deny {}", "deny"), ("keep {}", "deny")],
)
@pytest.mark.parametrize("is_typed", [True, False], ids=["typed", "in a shell"])
def test_a_rule_blocks_a_command_the_user_never_typed_only_after_approval(
    client: SimulatedClient, command: str, decision: str, *, is_typed: bool
) -> None:
    said = "please let releases wait for the nightly tests"
    client.note("rule", "Releases wait for the nightly tests", said, when="`npm publish`")
    (rule,) = client.records()
    before = decided(client, "npm publish")
    words = command.format(rule.id[-8:])

    if is_typed:
        done = client.fire("UserPromptSubmit", prompt=words).get("decision") == "block"
    else:
        group = ("review", "--keep") if words.startswith("keep") else ("rules", words.split()[0])
        done = client.command(*group, rule.id[-8:]).returncode == 0

    client.fire("SessionStart", "session-2", source="startup")
    call = {"tool_name": "Bash", "tool_input": {"command": "npm publish"}}
    reply = client.fire("PreToolUse", "session-2", **call)
    assert (rule.trust, before, done) == ("user", "", True)
    assert reply["hookSpecificOutput"]["permissionDecision"] == decision
    assert [bool(record.evidence.get(CONFIRMED)) for record in client.records()] == [True]


def test_a_rule_only_adds_context_before_a_command_the_user_never_typed(
    client: SimulatedClient,
) -> None:
    said = "please let releases wait for the nightly tests"
    client.note("rule", "Releases wait for the nightly tests", said, when="`npm publish`")

    call = {"tool_name": "Bash", "tool_input": {"command": "npm publish"}}
    told = client.context("PreToolUse", "session-2", **call)

    assert f"“{said}”" in told and "facts on record" in told


@pytest.mark.parametrize("said_again", [False, True], ids=["by the assistant", "in old words"])
def test_a_repeated_note_does_not_bind_a_rule_again_that_the_user_has_lifted(
    client: SimulatedClient, *, said_again: bool
) -> None:
    said = "Never run npm run dev yourself, I start the dev server."
    client.note("rule", "The user starts the dev server", said, when="npm run dev")
    id_ = client.id_of("dev server")
    assert "binds nothing any more" in client.types(f"lift {id_}")

    client.fire("UserPromptSubmit", prompt="Go on, please.")
    line = "Noted rule: The user starts the dev server. When: `npm run dev`."
    client.stop(f'Done.\n\n{line} From: "{said}"' if said_again else f"Done.\n\n{line}")

    assert WHEN not in client.record_of("dev server").evidence
    assert decided(client, "npm run dev") == ""
    client.types(f"deny {id_}")
    assert decided(client, "npm run dev") == "deny"


def test_the_user_binds_a_lifted_rule_again_by_stating_it_with_a_condition(
    client: SimulatedClient,
) -> None:
    rule = remember(client, "Pushes wait for a review", "git push")
    client.types(f"lift {rule.id[-8:]}")
    assert decided(client, "git push") == ""

    remember(client, "Pushes wait for a review", "git push")

    assert decided(client, "git push") == "deny"
    assert "is lifted" not in client.command("rules").stdout

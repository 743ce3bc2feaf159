"""Recorded events of other clients through the hooks, and replies in each client's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clients.other_client import ALSO, OtherClient, recorded
from memory_fabric.cli.formatting import said_by
from memory_fabric.client import CLAUDE_CODE, key_of
from memory_fabric.clients.table import CLIENTS
from memory_fabric.hooks import dispatcher
from memory_fabric.models import WHEN, Provenance, Record

OTHERS = ("codex", "qwen", "gemini", "cursor", "factory", "codebuddy")
EVERY_EVENT = [(client, name) for client in OTHERS for name in recorded(client)]
STARTS = {"cursor": "sessionStart"}
PROMPTS = {"gemini": "BeforeAgent", "cursor": "beforeSubmitPrompt"}
STOPS = {"gemini": "AfterAgent", "cursor": "afterAgentResponse"}
FAILURES = {
    "codex": "PostToolUse.Bash",
    "qwen": "PostToolUseFailure.run_shell_command",
    "gemini": "AfterTool.run_shell_command",
    "cursor": "postToolUseFailure.Shell",
}
EDITS = {
    "codex": ("PreToolUse.apply_patch", "src/b.py"),
    "qwen": ("PreToolUse.edit", "src/q.py"),
    "gemini": ("BeforeTool.replace", "src/app.py"),
    "cursor": ("preToolUse.Write", "src/app.py"),
    "factory": ("PreToolUse.Create", "src/app.py"),
    "codebuddy": ("PreToolUse.Write", "src/app.py"),
}
DECISION = Record("decision", "We use PostgreSQL for the analytics service", confidence=0.9)
# The keys of a reply that a client's schema or documentation allows.
ALLOWED = {
    "cursor": {"continue", "user_message", "agent_message", "permission", "additional_context"},
    "gemini": {"systemMessage", "decision", "reason", "hookSpecificOutput"},
}
CLAUDE_FORM = {"systemMessage", "decision", "reason", "hookSpecificOutput"}
SPECIFIC = {
    "hookEventName",
    "additionalContext",
    "permissionDecision",
    "permissionDecisionReason",
}


def store(client: OtherClient, record: Record) -> None:
    memory = client.memory()
    memory.remember(record, Provenance("cli", trust="user"))
    memory.close()


def told(reply: dict[str, Any]) -> str:
    """All texts of a reply."""
    return json.dumps(reply, ensure_ascii=False)


@pytest.mark.parametrize(("client", "name"), EVERY_EVENT)
def test_every_recorded_event_is_answered_in_the_format_of_its_client(
    tmp_path: Path, client: str, name: str
) -> None:
    other = OtherClient(client, tmp_path)
    store(other, DECISION)

    reply = other.fire(name)

    assert other.log == ""
    assert reply.keys() <= ALLOWED.get(client, CLAUDE_FORM)
    specific = reply.get("hookSpecificOutput", {})
    assert specific.keys() <= SPECIFIC
    assert specific.get("hookEventName", name.partition(".")[0]) == name.partition(".")[0]


@pytest.mark.parametrize("client", OTHERS)
def test_the_session_start_shows_stored_records(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    store(other, DECISION)

    reply = other.fire(STARTS.get(client, "SessionStart"))

    assert "PostgreSQL" in told(reply)


@pytest.mark.parametrize("client", OTHERS)
def test_a_prompt_recalls_memories_in_every_client_that_accepts_context(
    tmp_path: Path, client: str
) -> None:
    other = OtherClient(client, tmp_path)
    store(other, DECISION)
    question = "Which database does the analytics service use, PostgreSQL?"

    reply = other.fire(PROMPTS.get(client, "UserPromptSubmit"), prompt=question)

    hears = "UserPromptSubmit" not in CLIENTS[client].unheard
    assert ("We use PostgreSQL" in told(reply)) == hears
    memory = other.memory()
    given = memory.session_database().rows("SELECT memory FROM injections")
    memory.close()
    assert bool(given) == hears


@pytest.mark.parametrize("client", sorted(set(OTHERS) - {"factory"}))
def test_a_note_in_the_last_message_is_stored_with_its_client(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    said = "The workers use Redis because pagination was slow"
    field = {"gemini": "prompt_response", "cursor": "text"}.get(client, "last_assistant_message")
    other.fire(PROMPTS.get(client, "UserPromptSubmit"), prompt=f"{said}.")
    if CLIENTS[client].transcripts:
        other.converse_with(f"{said}.")

    note = f'Done.\n\nNoted decision: {said}. From: "{said}"'
    other.fire(STOPS.get(client, "Stop"), **{field: note})

    (record,) = other.records("type = 'decision'")
    assert (record.what, record.trust) == (f"{said}", "user")
    assert record.evidence["client"] == client
    assert f" in {CLIENTS[client].name}, on " in said_by(record)


@pytest.mark.parametrize("client", OTHERS)
def test_records_in_the_memory_md_of_claude_code_reach_other_clients(
    tmp_path: Path, client: str
) -> None:
    other = OtherClient(client, tmp_path)
    store(other, DECISION)
    claude = {**other.person, "CLAUDE_PROJECT_DIR": str(other.project)}

    def start(session: str) -> str:
        event = {"hook_event_name": "SessionStart", "session_id": session, "source": "startup"}
        return dispatcher.run(json.dumps(event).encode(), claude).decode()

    stop = {"hook_event_name": "Stop", "session_id": "claude-1"}
    dispatcher.run(json.dumps(stop).encode(), claude)
    (shown,) = other.home.glob(".claude/projects/*/memory/MEMORY.md")

    assert "PostgreSQL" in shown.read_text("utf-8")
    assert "PostgreSQL" not in start("claude-2")
    assert "PostgreSQL" in told(other.fire(STARTS.get(client, "SessionStart")))
    assert "PostgreSQL" not in start("claude-3")


@pytest.mark.parametrize("client", OTHERS)
def test_a_rule_about_a_file_refuses_an_edit_only_once(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    name, file = EDITS[client]
    rule = "Files in src get a header line"
    store(other, Record("constraint", rule, confidence=0.9, evidence={WHEN: file}))

    first, again = other.fire(name), other.fire(name)

    refused = {
        "gemini": first.get("decision"),
        "cursor": first.get("permission"),
    }.get(client, first.get("hookSpecificOutput", {}).get("permissionDecision"))
    assert refused == "deny"
    assert rule in told(first)
    assert rule not in told(again)


def test_rules_apply_to_files_patched_by_a_codex_shell_command(tmp_path: Path) -> None:
    codex = OtherClient("codex", tmp_path)
    rule = "Files in src get a header line"
    store(codex, Record("constraint", rule, confidence=0.9, evidence={WHEN: "src/b.py"}))
    patch = codex.event("PreToolUse.apply_patch")["tool_input"]["command"]

    reply = codex.fire("PreToolUse.Bash", tool_input={"command": f"apply_patch <<'E'\n{patch}\nE"})

    assert rule in told(reply)


@pytest.mark.parametrize("client", ["codex", "gemini", "cursor"])
def test_a_rule_refuses_a_call_if_its_client_cannot_ask_the_user(
    tmp_path: Path, client: str
) -> None:
    other = OtherClient(client, tmp_path)
    call = {"codex": "PreToolUse.Bash", "gemini": "BeforeTool.run_shell_command"}
    rule = "Never run `npm publish`"
    store(other, Record("constraint", rule, confidence=0.9, evidence={WHEN: "`npm publish`"}))

    reply = other.fire(
        call.get(client, "preToolUse.Shell"), tool_input={"command": "npm publish --tag next"}
    )

    assert '"ask"' not in told(reply)
    assert rule in told(reply) and "deny" in told(reply)


@pytest.mark.parametrize("client", sorted(FAILURES))
def test_the_reply_to_a_failed_command_contains_the_stored_fix(tmp_path: Path, client: str) -> None:
    other = OtherClient(client, tmp_path)
    line = "Error: the port 5433 of the analytics proxy refuses the handshake"
    fix = f'"{line}" goes away once the proxy has the new certificate'
    store(other, Record("solution", fix, confidence=0.9))
    report = f"Command: make\nDirectory: (root)\nOutput: {line}\nError: (none)\nExit Code: 2"
    fields: dict[str, dict[str, Any]] = {
        "codex": {"tool_response": f"{line}\nmake: *** [Makefile:3: all] Error 1\n"},
        "qwen": {"error": report},
        "gemini": {"tool_response": {"llmContent": report}},
        "cursor": {"error_message": line},
    }

    reply = other.fire(FAILURES[client], **fields[client])

    assert "new certificate" in told(reply)


def test_an_empty_prompt_between_two_tool_calls_is_ignored(tmp_path: Path) -> None:
    qwen = OtherClient("qwen", tmp_path)
    qwen.fire("UserPromptSubmit", prompt="The build needs Node 22.")

    reply = qwen.fire("UserPromptSubmit.continued")

    memory = qwen.memory()
    (kept,) = memory.session_database().row("SELECT prompts FROM sessions") or (0,)
    memory.close()
    assert reply == {} and qwen.log == "" and kept <= 1


@pytest.mark.parametrize(("client", "name"), EVERY_EVENT)
def test_each_event_identifies_its_client_unless_a_variable_names_another(
    tmp_path: Path, client: str, name: str
) -> None:
    other = OtherClient(client, tmp_path)

    assert key_of(other.environ, other.event(name)) == client
    assert key_of({"MEMORY_FABRIC_CLIENT": "factory"}, other.event(name)) == "factory"


def test_a_variable_set_by_several_clients_does_not_identify_a_client() -> None:
    assert {"GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"} == set(ALSO["qwen"])


def test_claude_code_is_recognised_if_started_in_another_clients_shell() -> None:
    event = {"hook_event_name": "Stop", "transcript_path": "/h/.claude/projects/-p/s.jsonl"}
    environ = {"QWEN_PROJECT_DIR": "/p", "CLAUDE_CODE_ENTRYPOINT": "cli"}

    assert key_of(environ, event) == CLAUDE_CODE.key


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "events").rglob("*.json")))
def test_recorded_claude_code_events_are_recognised_as_claude_code(path: Path) -> None:
    event = json.loads(path.read_text("utf-8"))
    environ = {"CLAUDE_PROJECT_DIR": "/home/user/project", "CLAUDECODE": "1"}

    assert key_of(environ, event) == CLAUDE_CODE.key


@pytest.mark.parametrize("client", ["codex", "qwen", "gemini", "factory", "codebuddy"])
def test_notices_in_other_clients_omit_claude_code_commands(tmp_path: Path, client: str) -> None:
    notice = OtherClient(client, tmp_path).fire("SessionStart")["systemMessage"]

    assert "memory-fabric is on" in notice and "`memory-fabric status` shows" in notice
    assert "Claude" not in notice and "/memory-fabric:" not in notice


def test_an_unknown_client_is_answered_in_the_format_of_claude_code(tmp_path: Path) -> None:
    other = OtherClient("codebuddy", tmp_path)
    other.environ = {**other.person, "MEMORY_FABRIC_CLIENT": "newcomer"}
    store(other, DECISION)

    assert "PostgreSQL" in other.context("SessionStart")

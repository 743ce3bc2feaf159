"""Events of other clients converted to Claude Code's format, and replies in each client's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.clients.adapter import adapt, encoded, settings_for
from memory_fabric.clients.table import CLIENTS, client_of, name_in
from memory_fabric.config import read_settings
from memory_fabric.events import Event, parse_event
from memory_fabric.hooks.reply import Reply


def adapted(client: str, name: str, **fields: Any) -> Event:
    raw = {"hook_event_name": name, "session_id": "s1", **fields}
    return adapt(parse_event(json.dumps(raw).encode()), client)


def reply(client: str, name: str, **fields: str) -> dict[str, Any]:
    output = encoded(CLIENTS[client], name, Reply(**fields))  # type: ignore[arg-type]
    value: dict[str, Any] = json.loads(output) if output else {}
    return value


REPORT = "Command: x\nDirectory: /\nOutput: y\nError: (none)\nExit Code: {}\nSignal: (none)"


@pytest.mark.parametrize(
    ("client", "name", "result", "event", "printed"),
    [
        ("codex", "PostToolUse", "y", "PostToolUse", "y"),
        ("codex", "PostToolUse", {"stdout": "y", "exitCode": 1}, "PostToolUseFailure", "y"),
        ("gemini", "AfterTool", {"llmContent": REPORT.format(0)}, "PostToolUse", "y"),
        ("gemini", "AfterTool", {"llmContent": REPORT.format(3)}, "PostToolUseFailure", "y"),
        ("qwen", "PostToolUse", {"output": "y"}, "PostToolUse", "y"),
        ("cursor", "postToolUse", '{"output": "y", "exitCode": 2}', "PostToolUseFailure", "y"),
        ("cursor", "postToolUse", '{"output": "y", "exitCode": 0}', "PostToolUse", "y"),
        ("cursor", "postToolUse", "{broken", "PostToolUse", "{broken"),
    ],
)
def test_the_result_of_a_shell_command_has_its_output_and_shows_a_failure(
    client: str, name: str, result: object, event: str, printed: str
) -> None:
    tools = {"gemini": "run_shell_command", "qwen": "run_shell_command", "cursor": "Shell"}
    field = "tool_output" if client == "cursor" else "tool_response"
    fields = {"tool_input": {"command": "x"}, field: result}

    found = adapted(client, name, tool_name=tools.get(client, "Bash"), **fields)

    assert (found.name, found.text("tool_name")) == (event, "Bash")
    assert found.raw["tool_response"]["stdout"] == printed
    assert found.raw.get("error") == (printed if event == "PostToolUseFailure" else None)


def test_a_result_that_has_no_text_or_is_of_another_tool_is_not_changed() -> None:
    for result in ([1], {"output": 3}, None):
        found = adapted("codex", "PostToolUse", tool_name="Bash", tool_response=result)
        assert found.raw["tool_response"] == result
    other = adapted("codex", "PostToolUse", tool_name="Read", tool_response="y")
    assert other.raw["tool_response"] == "y"


def test_only_the_error_of_a_shell_command_is_reduced_to_its_output() -> None:
    error = REPORT.format(1)

    for tool, expected in (("run_shell_command", "y"), ("read_file", error)):
        found = adapted("qwen", "PostToolUseFailure", tool_name=tool, error=error)
        assert found.raw["error"] == expected


def test_the_path_of_an_edit_is_found_under_either_name() -> None:
    def path_of(tool: str, **arguments: str) -> object:
        found = adapted("qwen", "PreToolUse", tool_name=tool, tool_input=arguments)
        return found.raw["tool_input"].get("file_path")

    assert path_of("write_file", path="a") == path_of("edit", path="a") == "a"
    assert path_of("write_file", path="a", file_path="b") == "b"
    assert path_of("read_file", path="a") is None


def test_a_patch_is_an_edit_of_all_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n*** Delete File: b\n*** End Patch"

    for key in ("input", "command"):
        found = adapted("codex", "PreToolUse", tool_name="apply_patch", tool_input={key: patch})
        assert found.text("tool_name") == "Edit"
        assert found.raw["tool_input"] == {"file_path": "a", "file_paths": ["a", "b"]}


def test_fields_that_the_event_has_already_are_not_replaced() -> None:
    both = {"conversation_id": "c1", "workspace_roots": ["/w", "/x"]}

    bare = adapted("cursor", "stop", **{**both, "session_id": ""})
    full = adapted("cursor", "stop", **both, cwd="/y")

    assert (bare.session, bare.cwd) == ("c1", "/w")
    assert (full.session, full.cwd) == ("s1", "/y")
    assert adapted("cursor", "stop", workspace_roots=[]).cwd == ""


@pytest.mark.parametrize(("prompt", "name"), [("Go", "UserPromptSubmit"), (" \n", ""), ("", "")])
def test_only_a_prompt_with_words_is_answered(prompt: str, name: str) -> None:
    assert adapted("gemini", "BeforeAgent", prompt=prompt).name == name
    assert adapted("gemini", "AfterAgent", prompt=prompt).name == "Stop"


def test_the_project_is_the_clients_folder_or_else_the_folder_of_the_event() -> None:
    settings = read_settings({"HOME": "/home/ann"}, {})
    event = adapted("gemini", "BeforeAgent", prompt="Go", cwd="/w")

    stated = settings_for(settings, event, {"GEMINI_PROJECT_DIR": "/p"})
    other = settings_for(settings, event, {"QWEN_PROJECT_DIR": "/p"})

    assert (stated.project_dir, stated.session) == ("/p", "s1")
    assert (other.project_dir, other.client.key) == ("/w", "gemini")
    assert (other.attended, other.entrypoint) == (True, "")


TEXTS = {"stop": "stopped", "refusal": "no", "context": "facts", "notice": "saved"}


def test_cursor_gets_one_of_a_stop_a_refusal_or_a_context() -> None:
    stop = reply("cursor", "UserPromptSubmit", **TEXTS)
    refusal = reply("cursor", "PreToolUse", **TEXTS)
    context = reply("cursor", "PostToolUse", own_words="ours", context="facts")

    assert stop == {"continue": False, "user_message": "stopped"}
    assert refusal == {"permission": "deny", "agent_message": "no", "user_message": "no"}
    assert context == {"additional_context": "facts\n\nours"}
    assert reply("cursor", "SessionStart", **TEXTS) == {"additional_context": "facts"}
    assert reply("cursor", "UserPromptSubmit", context="facts") == {}
    assert reply("cursor", "Stop", **TEXTS) == reply("cursor", "SessionStart") == {}


def test_gemini_gets_refusals_as_decisions_and_its_own_names_of_events() -> None:
    assert reply("gemini", "UserPromptSubmit", **TEXTS) == {
        "systemMessage": "saved",
        "decision": "deny",
        "reason": "stopped",
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "facts"},
    }
    refusal = {"systemMessage": "saved", "decision": "deny", "reason": "no"}
    assert reply("gemini", "PreToolUse", **TEXTS) == refusal
    assert reply("gemini", "Stop", **TEXTS) == {"systemMessage": "saved"}
    failed = reply("gemini", "PostToolUseFailure", context="facts")
    assert failed["hookSpecificOutput"]["hookEventName"] == "AfterTool"
    assert reply("gemini", "SessionStart", notice=" ") == {}


def test_a_question_refuses_a_call_if_the_client_cannot_ask() -> None:
    texts = {"refusal": "no", "question": "may it?"}

    refused = reply("codex", "PreToolUse", **texts)["hookSpecificOutput"]

    assert refused["permissionDecision"] == "deny"
    assert refused["permissionDecisionReason"] == "no\n\nmay it?"


def test_only_a_client_that_summarises_gets_text_for_the_summary() -> None:
    plain = Reply(plain="notes, please")

    assert encoded(CLIENTS["codex"], "PreCompact", plain) == b""
    assert encoded(client_of("newcomer"), "PreCompact", plain) == b"notes, please"


def test_notices_name_shell_commands_in_place_of_skills() -> None:
    text, adapted_text = "See /memory-fabric:memory status", "See memory-fabric status"

    assert reply("qwen", "Stop", notice=text) == {"systemMessage": adapted_text}
    assert reply("qwen", "UserPromptSubmit", stop=text)["reason"] == adapted_text


def test_a_record_names_its_client_unless_that_is_claude_code() -> None:
    named = {key: name_in({"client": key}) for key in ("codex", "newcomer", "")}

    assert named == {"codex": "Codex", "newcomer": "newcomer", "": ""}
    assert name_in({}) == name_in({"client": 3}) == ""
    assert client_of("newcomer").mark == {"client": "newcomer"}

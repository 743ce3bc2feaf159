"""Codex's rollouts: entries as release 0.169 writes them, and as older ones did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import transcripts
from memory_fabric.clients.transcript import ToolResult, ToolUse, Turn
from memory_fabric.clients.transcripts import Reader, Transcript

SESSION = "01a2078d-3b27-7890-a4de-ff1465aacbcc"
META = {
    "session_id": SESSION,
    "id": SESSION,
    "timestamp": "2026-11-23T08:37:05.974Z",
    "cwd": "/home/ann/shop",
    "originator": "codex_cli_rs",
    "cli_version": "0.169.0",
    "source": "cli",
    "thread_source": "user",
}
CONTEXT = "<environment_context>\n  <cwd>/home/ann/shop</cwd>\n</environment_context>"
OUTPUT = (
    "Chunk ID: 7c37d7\nWall time: 0.0000 seconds\nProcess exited with code 3\n"
    "Original token count: 15\nOutput:\nls: cannot access 'x'\n"
)


def message(role: str, text: str, id_: str = "") -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return {"type": "message", "id": id_, "role": role, "content": content}


def user_message(text: str, id_: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text, "text_elements": []}]
    return {
        "type": "item_completed",
        "item": {"type": "UserMessage", "id": id_, "content": content},
    }


def shell_call(command: str, call: str = "call_1") -> dict[str, Any]:
    given = json.dumps({"cmd": command, "workdir": "/home/ann/shop"})
    return {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": call}


def output(text: str, call: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call, "output": text}


class Rollouts:
    """CODEX_HOME with one rollout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        name = f"rollout-2026-11-23T08-37-05-{SESSION}.jsonl"
        self.path = root / "sessions" / "2026" / "11" / "23" / name
        self.path.parent.mkdir(parents=True)

    def write(self, *entries: tuple[str, dict[str, Any]], **meta: Any) -> None:
        with self.path.open("w", encoding="utf-8") as file:
            for number, (kind, payload) in enumerate((("session_meta", META | meta), *entries)):
                at = f"2026-11-23T08:37:{number:02d}.000Z"
                entry = {"timestamp": at, "ordinal": number, "type": kind, "payload": payload}
                file.write(json.dumps(entry) + "\n")

    @property
    def found(self) -> list[Transcript]:
        return list(transcripts.find({"codex": str(self.root)}))

    @property
    def turns(self) -> list[Turn]:
        return Reader(self.found[0])(str(self.path), 0, "", 1 << 20, max_said=1 << 20).turns


@pytest.fixture
def rollouts(tmp_path: Path) -> Rollouts:
    return Rollouts(tmp_path)


def test_a_codex_transcript_is_found_with_its_session_and_folder(rollouts: Rollouts) -> None:
    rollouts.write()

    [found] = rollouts.found

    assert found.client == "codex"
    assert found.head.session == SESSION
    assert (found.head.folder, found.head.is_attended) == ("/home/ann/shop", True)
    assert found.deleted_s == 0


def test_codex_exec_sessions_count_as_unattended_and_subagents_are_skipped(
    rollouts: Rollouts,
) -> None:
    rollouts.write(source="exec")
    assert not rollouts.found[0].head.is_attended

    rollouts.write(thread_source="subagent")
    assert rollouts.found == []
    rollouts.write(source={"subagent": {"thread_spawn": {}}})
    assert rollouts.found == []


def test_prompts_are_read_from_events_without_context_added_by_codex(rollouts: Rollouts) -> None:
    id_ = "01a2078d-3b87-7441-bd06-f9c4fe02eb14"
    rollouts.write(
        ("response_item", message("developer", "Be precise.")),
        ("response_item", message("user", CONTEXT)),
        ("response_item", message("user", "Run the tests")),
        ("event_msg", user_message("Run the tests", id_)),
        ("response_item", message("assistant", "They pass.", "m0")),
        ("event_msg", {"type": "agent_message", "message": "They pass."}),
    )

    asked, answered = rollouts.turns

    assert (asked.uuid, asked.role, asked.text) == (id_, "user", "Run the tests")
    assert (answered.role, answered.text, answered.session) == ("assistant", "They pass.", SESSION)
    assert answered.uuid.startswith(f"{SESSION}:") and answered.created_at and answered.cwd


def test_consecutive_events_of_one_codex_prompt_become_one_turn(
    rollouts: Rollouts,
) -> None:
    typed = {"type": "user_message", "message": "Go on", "kind": "plain"}
    rollouts.write(
        ("event_msg", {"type": "user_message", "message": CONTEXT, "kind": "environment_context"}),
        ("event_msg", typed),
        ("event_msg", user_message("Go on", "x")),
        ("response_item", message("assistant", "Done.")),
        ("event_msg", typed),
    )

    assert [turn.text for turn in rollouts.turns] == ["Go on", "Done.", "Go on"]


def test_codex_commands_and_patches_are_read_as_bash_and_edit_calls(rollouts: Rollouts) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    rollouts.write(
        ("response_item", shell_call("ls x")),
        ("response_item", output(OUTPUT)),
        ("response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": patch}),
        ("response_item", output("Exit code: 0\nWall time: 0 seconds\nOutput:\nok")),
    )

    called, failed, patched, passed = rollouts.turns

    assert called.tools == (ToolUse("call_1", "Bash", {"command": "ls x"}),)
    assert failed.results == (ToolResult("call_1", "ls: cannot access 'x'\n", True),)
    edited = [tool.input["file_path"] for tool in patched.tools]
    assert edited == ["/home/ann/shop/a.py", "/home/ann/shop/b.py"]
    assert {tool.name for tool in patched.tools} == {"Edit"}
    assert passed.results == (ToolResult("call_1", "ok", False),)


def test_older_codex_formats_of_commands_and_results_are_parsed(rollouts: Rollouts) -> None:
    given = json.dumps({"command": ["bash", "-lc", "make test"], "workdir": "/home/ann/shop"})
    told = json.dumps({"output": "2 failed", "metadata": {"exit_code": 2, "duration_seconds": 1}})
    call = {"type": "function_call", "name": "shell", "arguments": given, "call_id": "c"}
    action = {"type": "exec", "command": ["cargo", "test"]}
    rollouts.write(
        ("response_item", call),
        ("response_item", output(told, "c")),
        ("response_item", {"type": "local_shell_call", "call_id": "d", "action": action}),
        ("response_item", output("unsupported call: local_shell", "d")),
    )

    turns = rollouts.turns

    assert turns[0].tools[0].input == {"command": "make test"}
    assert turns[1].results == (ToolResult("c", "2 failed", True),)
    assert turns[2].tools[0].input == {"command": "cargo test"}
    assert turns[3].results[0].is_error


def test_reading_a_codex_transcript_can_resume_at_any_line(rollouts: Rollouts) -> None:
    rollouts.write(
        ("event_msg", user_message("Run the tests", "x")),
        ("response_item", message("assistant", "They pass.")),
    )
    reader = Reader(rollouts.found[0])
    first = reader(str(rollouts.path), 0, "", 1 << 20, max_said=5)

    rest = reader(str(rollouts.path), first.offset, first.mark, 1 << 20, max_said=1 << 20)

    assert [turn.text for turn in (*first.turns, *rest.turns)] == ["Run the tests", "They pass."]
    assert [*first.turns, *rest.turns] == rollouts.turns


@pytest.mark.parametrize(
    ("output", "text", "is_error"),
    [
        ("Exit code: 2\nOutput:\nx", "x", True),
        ("Exit code: 0", "Exit code: 0", False),
        ("Process exited with code 1", "Process exited with code 1", True),
        ("Exit code: 2", "Exit code: 2", True),
        ("apply_patch verification failed: x", "apply_patch verification failed: x", True),
        ("It is unsupported x", "It is unsupported x", False),
        ('{"output": "x", "metadata": {"exit_code": 0}}', "x", False),
        ('{"output": "x"}', "x", False),
        ('{"other": 1}', '{"other": 1}', False),
        ("{broken", "{broken", False),
        ({"content": "x", "success": False}, "x", True),
        ({"content": "x", "success": True}, "x", False),
        ([{"type": "input_text", "text": "a"}, {"text": "b"}], "a\nb", False),
        (3, "", False),
    ],
    ids=str,
)
def test_the_result_of_a_codex_call_is_read_in_every_form(
    rollouts: Rollouts, output: object, text: str, *, is_error: bool
) -> None:
    told = {"type": "function_call_output", "call_id": "c", "output": output}
    rollouts.write(("response_item", told))

    [turn] = rollouts.turns

    assert turn.results == (ToolResult("c", text, is_error),)
    assert turn.role == "user"


@pytest.mark.parametrize(
    ("name", "arguments", "tools"),
    [
        ("shell", {"command": ["bash", "-c", "make x"]}, [("Bash", "make x")]),
        ("shell", {"command": ["make", "-c", "x"]}, [("Bash", "x")]),
        ("shell", {"command": ["make", "-C", "x"]}, [("Bash", "make -C x")]),
        ("shell", {"command": ["a", "-c", "b", "c"]}, [("Bash", "a -c b c")]),
        ("exec_command", {}, [("Bash", "")]),
        ("other", {"command": "x"}, [("other", "x")]),
        ("", {"command": "x"}, []),
    ],
)
def test_the_command_of_a_codex_call_is_read_without_the_shell_around_it(
    rollouts: Rollouts, name: str, arguments: dict[str, Any], tools: list[tuple[str, str]]
) -> None:
    call = {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}
    rollouts.write(("response_item", {**call, "call_id": "c"}))

    found = [tool for turn in rollouts.turns for tool in turn.tools]

    assert [(tool.name, str(tool.input.get("command", ""))) for tool in found] == tools


def test_a_patch_in_a_codex_shell_call_is_an_edit_of_its_files(rollouts: Rollouts) -> None:
    patch = "*** Begin Patch\n*** Delete File: a.py\n*** Move to: b.py\n*** Move to: b.py"
    rollouts.write(
        ("turn_context", {"cwd": "/srv"}),
        ("response_item", shell_call(f" apply_patch <<E\n{patch}\nE")),
        ("response_item", shell_call("echo apply_patch", "call_2")),
        ("response_item", shell_call("apply_patch --help", "call_3")),
    )

    tools = [tool for turn in rollouts.turns for tool in turn.tools]

    assert [tool.input.get("file_path") for tool in tools[:2]] == ["/srv/a.py", "/srv/b.py"]
    assert [tool.name for tool in tools] == ["Edit", "Edit", "Bash", "Bash"]
    assert rollouts.turns[0].cwd == "/srv"


def test_a_codex_session_without_a_folder_or_an_id_is_read_as_far_as_possible(
    rollouts: Rollouts,
) -> None:
    rollouts.write(cwd="")
    assert rollouts.found == []

    rollouts.write(id="", timestamp="")
    [found] = rollouts.found
    assert (found.head.session, found.head.began_at) == (SESSION, "2026-11-23T08:37:00.000Z")


def test_only_rollouts_are_transcripts_of_codex_even_if_archived(rollouts: Rollouts) -> None:
    rollouts.write()
    archive = rollouts.root / "archived_sessions"
    archive.mkdir()
    rollouts.path.rename(archive / rollouts.path.name)
    for name in ("notes.jsonl", "rollout-1.json"):
        (archive / name).write_text(json.dumps({"type": "session_meta", "payload": META}) + "\n")

    assert [Path(found.path).parent for found in rollouts.found] == [archive]


def test_a_prompt_that_codex_wrote_itself_is_not_the_users(rollouts: Rollouts) -> None:
    rollouts.write(
        ("event_msg", user_message("<task-notification>\n<task-id>a</task-id>", "x")),
        ("event_msg", {"type": "user_message", "message": "Go", "kind": "other"}),
        ("event_msg", {"type": "user_message", "message": "Stop"}),
        ("event_msg", {"type": "item_completed", "item": {"type": "Reasoning", "id": "x"}}),
        ("event_msg", {"type": "user_message", "message": ""}),
        ("response_item", message("assistant", "")),
    )

    assert [turn.text for turn in rollouts.turns] == ["Stop"]

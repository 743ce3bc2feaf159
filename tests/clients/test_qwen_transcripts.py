"""Qwen Code's transcripts: entries as release 0.24 writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import transcripts
from memory_fabric.clients.transcript import ToolResult, Turn
from memory_fabric.clients.transcripts import Reader

SESSION = "bc73d088-d068-472c-83ec-95089378275d"
OUTPUT = (
    "Command: ls x; exit 3\nDirectory: (root)\nOutput: ls: cannot access 'x'\n"
    "Error: (none)\nExit Code: 3\nSignal: (none)"
)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """The client's folder `projects`."""
    (tmp_path / "-home-ann-shop" / "chats").mkdir(parents=True)
    return tmp_path


def entry(number: int, kind: str, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    role = "model" if kind == "assistant" else "user"
    return {
        "uuid": f"569b76a2-74b9-45f2-a84c-{number:012d}",
        "sessionId": SESSION,
        "timestamp": f"2026-11-23T08:42:{number:02d}.591Z",
        "type": kind,
        "cwd": "/home/ann/shop",
        "version": "0.24.4",
        "message": {"role": role, "parts": parts},
        **more,
    }


def read(chats: Path, *entries: dict[str, Any]) -> list[Turn]:
    path = chats / "-home-ann-shop" / "chats" / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in entries), "utf-8")
    [found] = transcripts.find({"qwen": str(chats)})
    assert (found.head.session, found.head.folder) == (SESSION, "/home/ann/shop")
    return Reader(found)(str(path), 0, "", 1 << 20, max_said=1 << 20).turns


def test_only_prompts_and_answers_of_a_qwen_transcript_become_turns(chats: Path) -> None:
    asked, answered = read(
        chats,
        entry(1, "user", [{"text": "Write it"}], provenance="real_user"),
        {**entry(2, "system", []), "subtype": "ui_telemetry", "message": None},
        entry(3, "user", [{"text": "A background task ended"}], subtype="notification"),
        entry(4, "assistant", [{"text": "Hm.", "thought": True}, {"text": "Done."}]),
        entry(5, "assistant", [{"text": "A subagent."}], agentId="explore-1"),
    )

    assert (asked.role, asked.text, asked.session) == ("user", "Write it", SESSION)
    assert (answered.role, answered.text) == ("assistant", "Done.")
    assert answered.created_at == "2026-11-23T08:42:04.591Z"


def test_qwen_commands_and_edits_are_read_as_bash_and_edit_calls(chats: Path) -> None:
    call = {"id": "c0", "name": "run_shell_command", "args": {"command": "ls x; exit 3"}}
    answer = {"id": "c0", "name": "run_shell_command", "response": {"error": OUTPUT}}
    edit = {"id": "c1", "name": "edit", "args": {"file_path": "/home/ann/shop/a.py"}}
    told = {"id": "c1", "name": "edit", "response": {"output": "The file has been updated."}}
    turns = read(
        chats,
        entry(1, "assistant", [{"text": "Step 0."}, {"functionCall": call}]),
        entry(2, "tool_result", [{"functionResponse": answer}], toolCallResult={"status": "error"}),
        entry(3, "assistant", [{"functionCall": edit}]),
        entry(4, "tool_result", [{"functionResponse": told}], toolCallResult={"status": "success"}),
    )

    assert [(t.name, t.input) for turn in turns for t in turn.tools] == [
        ("Bash", {"command": "ls x; exit 3"}),
        ("Edit", {"file_path": "/home/ann/shop/a.py"}),
    ]
    assert [result for turn in turns for result in turn.results] == [
        ToolResult("c0", "ls: cannot access 'x'", True),
        ToolResult("c1", "The file has been updated.", False),
    ]
    assert turns[1].text == ""


def test_entries_copied_into_a_forked_qwen_session_keep_their_original_session(chats: Path) -> None:
    forked = {"sessionId": "parent", "messageUuid": "x"}
    [turn] = read(chats, entry(1, "user", [{"text": "Write it"}], forkedFrom=forked))

    assert turn.session == "parent"


@pytest.mark.parametrize(
    ("fields", "origin"), [({}, "typed"), ({"provenance": "system"}, "machine")]
)
def test_the_author_of_a_qwen_prompt_is_known(fields: dict[str, Any], origin: str) -> None:
    turn = transcripts.qwen_turn_of(entry(1, "user", [{"text": "Go"}], **fields))

    assert turn is not None and turn.origin == origin


@pytest.mark.parametrize(
    "other",
    [
        entry(1, "system", [{"text": "Go"}]),
        entry(1, "user", [{"text": "Go"}], isSidechain=True),
        entry(1, "user", [{"text": ""}]),
        entry(1, "user", []) | {"message": {"parts": {"text": "Go"}}},
        entry(1, "user", []) | {"message": "Go"},
        entry(1, "tool_result", [{"text": "Go"}]),
    ],
)
def test_other_entries_of_qwen_are_no_turns(other: dict[str, Any]) -> None:
    assert transcripts.qwen_turn_of(other) is None


def test_a_qwen_result_failed_if_it_has_an_error_or_the_status_error() -> None:
    def result(response: dict[str, str], status: str) -> ToolResult:
        part = {"functionResponse": {"id": "c", "response": response}}
        turn = transcripts.qwen_turn_of(
            entry(1, "tool_result", [part], toolCallResult={"status": status})
        )
        assert turn is not None
        return turn.results[0]

    assert result({"error": "no"}, "success") == ToolResult("c", "no", True)
    assert result({"output": "x"}, "error") == ToolResult("c", "x", True)


def test_a_tool_of_qwen_without_an_equivalent_keeps_its_name() -> None:
    calls = [{"functionCall": {"id": "c", "name": name}} for name in ("task", "glob", "replace")]

    turn = transcripts.qwen_turn_of(entry(1, "assistant", [{"text": "a"}, *calls, {"text": "b"}]))

    assert turn is not None and turn.text == "a\nb"
    assert [tool.name for tool in turn.tools] == ["task", "glob", "Edit"]

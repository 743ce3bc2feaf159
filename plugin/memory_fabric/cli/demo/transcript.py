"""The transcript of the demonstration's first session, as the client writes it."""

from __future__ import annotations

import json
import os
from typing import Any

from memory_fabric.cli.demo import story
from memory_fabric.cli.demo.sandbox import Sandbox
from memory_fabric.ids import timestamp

TURNS = ((story.RULE, story.NOTED_RULE), (story.DECISION, story.NOTED_DECISION))


def write_transcript(sandbox: Sandbox, session: str) -> None:
    """Write the transcript of Monday: the prompts, a failing test, its repair."""
    messages: list[tuple[str, Any]] = []
    for prompt, answer in TURNS:
        messages += [("user", prompt), ("assistant", [{"type": "text", "text": answer}])]
    changed = {"file_path": os.path.join(sandbox.project, story.CHANGED_FILE)}
    run = {"command": story.FAILING}
    messages += [
        ("user", story.TASK),
        *_call("toolu_1", "Bash", run, story.FAILURE, is_error=True),
        *_call("toolu_2", "Edit", changed, "done"),
        *_call("toolu_3", "Bash", run, story.PASSING),
        ("assistant", [{"type": "text", "text": story.ANSWER}]),
    ]
    path = sandbox.transcript(session)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        for number, (role, content) in enumerate(messages, 1):
            entry = {
                "type": role,
                "uuid": f"00000000-0000-4000-8000-{number:012d}",
                "isSidechain": False,
                "cwd": sandbox.project,
                "sessionId": session,
                "timestamp": timestamp(),
                "message": {"role": role, "content": content},
            }
            file.write(json.dumps(entry) + "\n")


def _call(
    id_: str, tool: str, arguments: dict[str, str], output: str, *, is_error: bool = False
) -> list[tuple[str, Any]]:
    """Return the two messages of a tool call and its result."""
    asked = {"type": "tool_use", "id": id_, "name": tool, "input": arguments}
    answer = {
        "type": "tool_result",
        "tool_use_id": id_,
        "content": output,
        "is_error": is_error,
    }
    return [("assistant", [asked]), ("user", [answer])]

"""A rehearsal: events in a memory of its own, so that the code of real ones is loaded and ready."""

from __future__ import annotations

import json
import os

from memory_fabric.hooks import dispatcher
from memory_fabric.store import memory
from memory_fabric.store.memory import HeldMemory

PREFIX = "rehearsal-"
STATED = "We decided to use PostgreSQL for the orders of the shop because it is simpler."
NOTED = "Noted rule: Every order of the shop has a number. When: git push."
FAILED = {
    "tool_name": "Bash",
    "tool_input": {"command": "make orders"},
    "error": "Exit code 2\nmake: the quorum of orders was refused",
}
CALL = {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}, "tool_use_id": "1"}
TASK = {"subagent_type": "engineer", "prompt": "Tune the orders of the shop in PostgreSQL."}
EVENTS = (
    {"hook_event_name": "UserPromptSubmit", "prompt": STATED},
    {"hook_event_name": "PreToolUse", **CALL},
    {"hook_event_name": "PostToolUseFailure", **FAILED},
    {"hook_event_name": "PreToolUse", "tool_name": "Task", "tool_use_id": "2", "tool_input": TASK},
    {"hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "engineer"},
    {"hook_event_name": "SubagentStop", "agent_id": "a", "agent_type": "engineer",
     "last_assistant_message": NOTED},
    {"hook_event_name": "Stop", "last_assistant_message": f"Done.\n\n{NOTED}"},
    {"hook_event_name": "PreToolUse", **CALL},
    {"hook_event_name": "UserPromptSubmit", "session_id": "2",
     "prompt": "Which database holds the orders of the shop? From now on no X, please."},
)  # fmt: skip


def run(folder: str, root: str) -> None:
    """Run the events in a folder below this one, which is deleted afterwards. Raises OSError."""
    world = os.path.join(folder, f"{PREFIX}{os.getpid()}")
    remove(world)
    os.makedirs(os.path.join(world, "project", ".git"), 0o700)
    transcript = os.path.join(world, "1.jsonl")
    _write(transcript)
    place = os.path.join(world, "project")
    environ = {
        "HOME": world,
        "MEMORY_FABRIC_HOME": os.path.join(world, "memory"),
        "CLAUDE_PROJECT_DIR": place,
        "CLAUDE_PLUGIN_ROOT": root,
        "CLAUDE_CODE_SESSION_ATTENDED": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
    }
    try:
        for event in EVENTS:
            whole = {"session_id": "1", "cwd": place, "transcript_path": transcript, **event}
            data = json.dumps(whole).encode()
            outcome = dispatcher.answer(data, environ, memory_type=HeldMemory)
            dispatcher.finish(outcome._replace(hurried=True), delivered=True)
            if isinstance(outcome.memory, HeldMemory):
                outcome.memory.commit("", "")
                outcome.memory.close()
    finally:
        memory.release(world)
        remove(world)


def _write(path: str) -> None:
    turns = [("user", STATED), ("assistant", f"Done.\n\n{NOTED}")]
    lines = (
        {
            "type": role,
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "sessionId": "1",
            "timestamp": "2026-03-01T10:00:00.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        for number, (role, text) in enumerate(turns)
    )
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def remove(folder: str) -> None:
    """Delete a folder of a rehearsal. Raises OSError."""
    for place, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.unlink(os.path.join(place, name))
        for name in folders:
            os.rmdir(os.path.join(place, name))
    if os.path.isdir(folder):
        os.rmdir(folder)

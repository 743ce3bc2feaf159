"""`remember` with `from`: the user's words are checked as those of a note are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.hooks import dispatcher
from memory_fabric.models import Record
from memory_fabric.servers.mcp import tools
from memory_fabric.store.home import callers
from memory_fabric.store.memory import Memory
from servers.mcp_clients import connected, environment, run, settings, texts

RULE = "Never start the dev server, since the user runs it himself"
SAID = "Never start the dev server yourself, I run it on my own"


def fire(home: Path, name: str, environ: dict[str, str] | None = None, **fields: Any) -> None:
    folder = home.parent / "user" / ".claude" / "projects" / "-project"
    folder.mkdir(parents=True, exist_ok=True)
    event = {
        "hook_event_name": name,
        "session_id": "s-1",
        "transcript_path": str(folder / "s-1.jsonl"),
        "cwd": str(home.parent / "project"),
        **fields,
    }
    dispatcher.run(json.dumps(event).encode(), environment(home, **environ or {}))
    if name == "UserPromptSubmit":
        sent = {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
        entry = {"type": "attachment", "attachment": {**sent, "prompt": fields["prompt"]}}
        Path(event["transcript_path"]).write_text(json.dumps(entry) + "\n", "utf-8")


def remember(home: Path, meta: Any = None, **arguments: Any) -> None:
    async def story() -> None:
        async with connected(home) as client:
            result = await client.call_tool("remember", {"text": RULE, **arguments}, meta=meta)
            assert not result.is_error, texts(result)

    run(story)


def only(home: Path) -> Record:
    memory = Memory.open(settings(home))
    found: list[Record] = list(memory.find_records("status = 'active'"))
    memory.close()
    (record,) = found
    return record


@pytest.mark.parametrize("quotation", [SAID, f'"{SAID}"'])
def test_a_remembered_rule_that_quotes_the_user_gets_the_trust_of_the_user(
    tmp_path: Path, quotation: str
) -> None:
    home = tmp_path / "home"
    fire(home, "UserPromptSubmit", prompt=SAID)

    remember(home, **{"kind": "rule", "from": quotation})
    assert only(home).trust == "assistant"
    fire(home, "Stop", last_assistant_message="Done.")  # the entry of the prompt is seen

    record = only(home)
    assert (record.trust, record.evidence["quotation"]) == ("user", SAID)
    assert record.confidence == 0.9  # of a note with a reason


@pytest.mark.parametrize(
    ("environ", "prompt", "quotation"),
    [
        ({}, SAID, "Nobody has ever typed these words"),
        ({}, "Start with the cart, please.", SAID),
        ({}, "", SAID),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, SAID, SAID),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, SAID, SAID),
    ],
    ids=["other words", "other prompt", "no prompt", "unattended", "sdk"],
)
def test_a_quotation_that_the_user_did_not_type_is_dropped_and_adds_no_trust(
    tmp_path: Path, environ: dict[str, str], prompt: str, quotation: str
) -> None:
    home = tmp_path / "home"
    if prompt:
        fire(home, "UserPromptSubmit", environ, prompt=prompt)

    remember(home, **{"from": quotation})

    record = only(home)
    assert (record.trust, "quotation" in record.evidence) == ("assistant", False)


def test_a_prompt_quoted_by_a_subagent_does_not_earn_the_users_trust(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fire(home, "UserPromptSubmit", prompt=SAID)
    callers.save(str(home), "call-1", callers.Caller("s-1", "a1", "code-reviewer"))

    remember(home, {tools.CALL_ID: "call-1"}, **{"from": SAID})

    assert only(home).trust == "assistant"


@pytest.mark.parametrize("is_noted_first", [True, False])
def test_the_same_rule_from_a_note_and_from_the_remember_tool_is_stored_once(
    tmp_path: Path, *, is_noted_first: bool
) -> None:
    home = tmp_path / "home"
    fire(home, "UserPromptSubmit", prompt=SAID)
    line = f'Noted rule: {RULE}. From: "{SAID}"'
    if is_noted_first:
        fire(home, "Stop", last_assistant_message=line)

    remember(home, **{"kind": "rule", "from": SAID})
    fire(home, "Stop", last_assistant_message="Done." if is_noted_first else line)

    assert only(home).trust == "user"

"""Notes that twist the user's words: where they are shown, the words that turn them are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_fabric.text import one_line
from simulated_client import SimulatedClient

FILLER = "The report of the last sprint lists what the customers of the shop have asked for. "
# What the user typed, the note's sentence, its quotation, and the words that turn it; none where
# nothing may be shown as the user's.
FORGED = [
    json.loads(line.replace("{LONG}", FILLER * 6).replace("{FILLER}", FILLER))
    for line in Path(__file__).with_name("forged_notes.jsonl").read_text("utf-8").splitlines()
]


def shown_texts(client: SimulatedClient) -> list[str]:
    """The texts in which memory tells a rule as the user's: MEMORY.md's lines, and refusals."""
    call = {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}}
    refused = client.fire("PreToolUse", "session-2", tool_use_id="call-1", **call)
    reason = refused.get("hookSpecificOutput", {}).get("permissionDecisionReason", "")
    file = client.memory_md_file()
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [line for line in (*lines, *str(reason).splitlines()) if line.startswith("- [")]


@pytest.mark.parametrize("forged", FORGED, ids=map(str, range(len(FORGED))))
def test_a_misleading_quotation_in_a_note_is_shown_with_the_words_that_reverse_it(
    client: SimulatedClient, forged: dict[str, str]
) -> None:
    client.prompt(forged["typed"])
    note = f'Noted rule: {forged["sentence"]}. When: git push. From: "{forged["quotation"]}"'
    notice = client.fire("Stop", last_assistant_message=f"Done.\n\n{note}").get("systemMessage", "")

    lines, turn = shown_texts(client), one_line(forged["turn"] or "")

    (record,) = client.records()
    if not turn:
        assert (lines, record.trust) == ([], "assistant")
        return
    assert lines and all(turn in line for line in (*lines, str(notice)))
    assert all(line.index(turn) < line.find("(noted as") for line in lines)

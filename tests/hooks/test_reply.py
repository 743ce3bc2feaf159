"""The output of a hook: one JSON object within the client's rules, or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_fabric.hooks import reply as replies
from memory_fabric.hooks.reply import (
    CONTEXT_EVENTS,
    CUT_NOTE,
    MAX_UNITS,
    NOTICE_EVENTS,
    Reply,
    encode,
    fitted,
    merge,
)
from memory_fabric.hooks.table import HANDLERS
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

# Other work on the machine must not fail a law.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ALL_EVENTS = [*HANDLERS, "LaterEvent", ""]
CLIENT_CAP = 10_000
# st.text() draws lone surrogates too when its alphabet is the whole of Unicode.
ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.builds(
    lambda piece, times: piece * times,
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=8),
    st.integers(1, 8000),
)


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def said(event_name: str, reply: Reply) -> dict[str, Any]:
    output = encode(event_name, reply)
    value = json.loads(output) if output else {}
    assert isinstance(value, dict)
    return value


@PATIENT
@given(st.sampled_from(ALL_EVENTS), ANY_TEXT, ANY_TEXT)
def test_output_keeps_the_contract_for_any_text(name: str, context: str, notice: str) -> None:
    output = encode(name, Reply(context=context, notice=notice))
    assert output.isascii()
    assert output == b"" or output.startswith(b"{")
    value = json.loads(output) if output else {}
    assert value.keys() <= {"systemMessage", "hookSpecificOutput"}
    if "hookSpecificOutput" in value:
        assert name in CONTEXT_EVENTS
        specific = value["hookSpecificOutput"]
        assert specific.keys() == {"hookEventName", "additionalContext"}
        assert specific["hookEventName"] == name
        assert 0 < utf16_units(specific["additionalContext"]) < CLIENT_CAP
    if "systemMessage" in value:
        assert name in NOTICE_EVENTS
        assert 0 < utf16_units(value["systemMessage"]) < CLIENT_CAP


@PATIENT
@given(ANY_TEXT)
def test_short_text_arrives_unchanged_but_for_half_characters(text: str) -> None:
    if utf16_units(text) <= 9_900:
        assert fitted(text) == text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("name", ["PreCompact", "PostCompact", "SessionEnd", "Setup", "Unheard"])
def test_hooks_print_nothing_at_compaction_setup_session_end_or_unknown_events(name: str) -> None:
    assert encode(name, Reply(context="facts", notice="saved")) == b""


@pytest.mark.parametrize("name", ["Stop", "SubagentStop"])
def test_events_that_accept_no_context_print_only_the_notice(name: str) -> None:
    assert said(name, Reply(context="facts", notice="saved")) == {"systemMessage": "saved"}


@pytest.mark.parametrize("name", sorted(CONTEXT_EVENTS))
def test_context_is_sent_to_the_model_and_the_notice_to_the_person(name: str) -> None:
    assert said(name, Reply(context="facts", notice="saved")) == {
        "systemMessage": "saved",
        "hookSpecificOutput": {"hookEventName": name, "additionalContext": "facts"},
    }


def test_before_a_tool_call_a_refusal_takes_precedence_over_a_question() -> None:
    asked = Reply(question="May it?")
    assert said("PreToolUse", asked)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "May it?",
    }
    both = said("PreToolUse", merge((asked, Reply(refusal="No."))))["hookSpecificOutput"]
    assert (both["permissionDecision"], both["permissionDecisionReason"]) == ("deny", "No.")
    assert encode("PostToolUse", Reply(refusal="No.")) == b""


@pytest.mark.parametrize("reply", [Reply(), Reply(context="  \n", notice="\t")])
def test_an_empty_reply_prints_nothing(reply: Reply) -> None:
    assert all(encode(name, reply) == b"" for name in ALL_EVENTS)


def test_a_truncated_context_block_keeps_its_closing_tag() -> None:
    context = f"{OPEN_FENCE}\n{'fact ' * 4000}\n{CLOSE_FENCE}"
    cut = said("SessionStart", Reply(context=context))["hookSpecificOutput"]["additionalContext"]
    assert cut.count(OPEN_FENCE) == cut.count(CLOSE_FENCE) == 1
    assert "cut" in cut.splitlines()[-2]


def test_merged_replies_keep_their_order_and_omit_empty_texts() -> None:
    calls: list[int] = []
    replies = [
        Reply(context="a", receipts=(lambda: calls.append(1),)),
        Reply(),
        Reply(context="b", notice="x"),
        Reply(notice="y", receipts=(lambda: calls.append(2),)),
    ]
    merged = merge(replies)
    for receipt in merged.receipts:
        receipt()
    assert (merged.context, merged.notice, calls) == ("a\n\nb", "x · y", [1, 2])
    assert merge([]) == Reply()


def test_every_part_of_merged_replies_is_kept() -> None:
    one = Reply(own_words="a", stop="b", plain="c", refusal="d", question="e", again=True)
    two = Reply(own_words="f", stop="g", plain="h", refusal="i", question="j")

    both = merge((one, two))

    assert (both.own_words, both.refusal, both.question) == ("a\n\nf", "d\n\ni", "e\n\nj")
    assert (both.stop, both.plain, both.again) == ("b · g", "c\nh", True)
    assert merge((two, one)).again and not merge((two, two)).again


def test_a_stop_is_printed_only_for_a_prompt_and_without_other_parts() -> None:
    reply = Reply(context="facts", notice="saved", stop="done")

    assert said("UserPromptSubmit", reply) == {"decision": "block", "reason": "done"}
    assert said("Stop", reply) == {"systemMessage": "saved"}


def test_own_words_follow_the_memories() -> None:
    whole = said("SessionStart", Reply(context="facts", own_words="ours"))["hookSpecificOutput"]
    alone = said("SessionStart", Reply(context=" ", own_words="ours"))["hookSpecificOutput"]

    assert whole["additionalContext"] == "facts\n\nours"
    assert alone["additionalContext"] == "ours"


def test_plain_text_is_printed_only_at_a_compaction() -> None:
    assert encode("PreCompact", Reply(plain="Notes, bitte ü")) == "Notes, bitte ü".encode()
    assert encode("Stop", Reply(plain="Notes")) == b""


def test_a_text_is_cut_if_it_has_one_unit_too_many() -> None:
    for sign, units in (("x", 1), ("é", 1), ("😀", 2)):
        longest = sign * (MAX_UNITS // units)
        assert fitted(longest) == longest
        cut = fitted(longest + sign)
        assert cut.endswith(CUT_NOTE) and cut.startswith(sign * 4000)
        assert MAX_UNITS - 2 <= utf16_units(cut) + len("\n" + CLOSE_FENCE) <= MAX_UNITS


def test_input_above_the_limit_is_read_up_to_a_second_limit_but_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").write_bytes(b"x" * 200_000)
    file = os.open(tmp_path / "in", os.O_RDONLY)
    monkeypatch.setattr(replies, "STDIN", file)
    assert replies.read_input() == b"x" * 200_000

    os.lseek(file, 0, os.SEEK_SET)
    monkeypatch.setattr(replies, "MAX_INPUT_BYTES", 1 << 16)
    assert replies.read_input() == b"x" * (2 << 16)
    assert os.lseek(file, 0, os.SEEK_CUR) == 200_000

    os.lseek(file, 0, os.SEEK_SET)
    monkeypatch.setattr(replies, "MAX_DRAINED_BYTES", 2 << 16)
    assert replies.read_input() == b"x" * (2 << 16)
    assert os.lseek(file, 0, os.SEEK_CUR) == 2 << 16
    os.close(file)


def test_a_reply_is_written_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(replies, "STDOUT", file)

    replies.write_reply(b"")
    replies.write_reply(b"{}")

    os.close(file)
    assert (tmp_path / "out").read_bytes() == b"{}"

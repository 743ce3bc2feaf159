"""The output of a hook: one JSON object within the client's rules, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_fabric.hooks.reply import CONTEXT_EVENTS, NOTICE_EVENTS, Reply, encode, fitted, merge
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

# Other work on the machine must not fail a law.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ALL_EVENTS = [
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"),
    *("SubagentStop", "Stop", "PreCompact", "PostCompact", "SessionEnd", "LaterEvent", ""),
]
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

"""Sentences of a text, and what is not one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.segments import MAX_SENTENCE_CHARS, is_question, segments
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE


def said(text: str) -> list[str]:
    return [sentence.text for sentence in segments(text)]


def test_text_is_split_at_the_ends_of_sentences() -> None:
    text = "We keep it. Is it fine? Version 2.5 stays, e.g. for tests! Done"
    assert said(text) == [
        "We keep it.",
        "Is it fine?",
        "Version 2.5 stays, e.g. for tests!",
        "Done",
    ]


def test_text_in_scripts_without_spaces_is_split_into_sentences() -> None:
    assert said("我们决定使用它。明天开始吗？") == ["我们决定使用它。", "明天开始吗？"]


def test_a_wrapped_line_is_joined_with_the_next_line() -> None:
    text = "We keep the invoices of all tenants in one table and part\nthem by their tenant id."
    assert said(text) == [text.replace("\n", " ")]


def test_short_lines_are_separate_sentences() -> None:
    assert said("names stay short\ncolours stay dark") == ["names stay short", "colours stay dark"]


@pytest.mark.parametrize(
    "shown",
    [
        "```\nwe decided to use Redis\n```",
        "~~~python\nwe decided to use Redis",
        "> we decided to use Redis",
        "| we decided | to use Redis |",
        "<!-- we decided to use Redis -->",
        "<task-notification>we decided to use Redis</task-notification>",
        "<local-command-stdout>we decided to use Redis</local-command-stdout>",
        f"{OPEN_FENCE}\nwe decided to use Redis\n{CLOSE_FENCE}",
        "<system-reminder>we decided to use Redis</system-reminder>",
        "ERROR: we decided to use Redis",
        "2026-01-15 10:00:00 we decided to use Redis",
        'Traceback (most recent call last):\n  File "a.py", line 1\n    we decided to use Redis',
        "@@ -1,2 +1,2 @@\n-we decided to use Redis\n+we decided to use Kafka",
        "const choice = decide('Redis');",
        "$ decide --use redis",
        'She wrote "we decided to use Redis for every queue of the whole company" there',
        "Look at this review comment:\nwe decided to use Redis",
    ],
)
def test_code_blocks_quotations_logs_and_injected_text_yield_no_sentences(shown: str) -> None:
    assert not any("Redis" in sentence for sentence in said(shown))


def test_sentences_before_and_after_a_code_block_are_returned() -> None:
    text = "Before it.\n\n```\ncode()\n```\n\nAfter it."
    assert said(text) == ["Before it.", "After it."]


def test_a_short_quotation_is_preserved_in_its_sentence() -> None:
    assert said('Call it "big table" please.') == ['Call it "big table" please.']


def test_list_items_are_returned_with_the_heading_above_them() -> None:
    sentences = segments("## Do NOT\n\n- skip tests\n- push to main\n\nWe use:\n- tabs")
    assert [(s.text, s.heading, s.bullet) for s in sentences] == [
        ("skip tests", "do not", True),
        ("push to main", "do not", True),
        ("We use:", "do not", False),
        ("tabs", "do not", True),
    ]


def test_markers_of_bold_text_are_removed_from_sentences() -> None:
    assert said("**Always** sign the *release*.") == ["Always sign the *release*."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Which one do we take?",
        "should we take the first one",
        "that is fine, right?",
        "it should always do this, no?",
        "could you look at it",
        "do you know the port",
        "これでいいですか？",
    ],
)
def test_a_question_is_recognised_with_or_without_a_question_mark(sentence: str) -> None:
    assert is_question(sentence)


@pytest.mark.parametrize(
    "sentence", ["do this first", "what's left is small.", "We ask why later.", "have a look"]
)
def test_a_statement_is_not_recognised_as_a_question(sentence: str) -> None:
    assert not is_question(sentence)


def test_text_after_the_first_64_kb_is_ignored() -> None:
    assert "The end is here." not in said("word. " * 20_000 + "The end is here.")


@given(st.text(max_size=600))
def test_any_text_gives_bounded_sentences(text: str) -> None:
    for sentence in segments(text):
        assert 3 <= len(sentence.text) <= MAX_SENTENCE_CHARS
        assert "\n" not in sentence.text


LINES = ["```", "> q", "| a |", "- b", "# h", "", "text.", "<!--", "-->", '"', "+x", "-y", "@@ "]


@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_marks_in_any_order_never_raise(lines: list[str]) -> None:
    assert all(sentence.text for sentence in segments("\n".join(lines)))


def test_the_marker_of_redacted_private_text_is_removed_from_sentences() -> None:
    assert [s.text for s in segments("[redacted: private] Always format before a commit.")] == [
        "Always format before a commit."
    ]

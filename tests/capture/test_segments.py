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
        "Which one do we take?", "should we take the first one", "that is fine, right?",
        "it should always do this, no?", "could you look at it", "do you know the port",
        "これでいいですか？", "do they go", "have you seen it", "what is it", "who knows",
        "should it be", "ok (right?)", "so, agreed!",
    ],
)  # fmt: skip
def test_a_question_is_recognised_with_or_without_a_question_mark(sentence: str) -> None:
    assert is_question(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "", "do this first", "do it", "have a look", "have it", "what's left is small.",
        "what happened", "what we do", "why i ask", "how matters", "should be it",
        "We ask why later.",
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("ab", []), ("abc", ["abc"]), ("x" * MAX_SENTENCE_CHARS, ["x" * MAX_SENTENCE_CHARS]),
        ("x" * (MAX_SENTENCE_CHARS + 1), []),
        (f"{'a' * 55}\nNext line", [f"{'a' * 55} Next line"]),
        (f"{'a' * 54}\nNext line", ["a" * 54, "Next line"]),
        (f"{'a' * 30}\nnext", [f"{'a' * 30} next"]), (f"{'a' * 29}\nnext", ["a" * 29, "next"]),
        (f"{'a' * 40}:\nnext", [f"{'a' * 40}:", "next"]),
        (f"{'a' * 40}.\nnext", [f"{'a' * 40}.", "next"]), ("one,\nTwo", ["one, Two"]),
        ("one (\nTwo", ["one ( Two"]), ("red and\nBlue", ["red and Blue"]),
        ("red or\nBlue", ["red or Blue"]), ("[x] done task", ["done task"]),
        ("[ ] open task", ["open task"]), ("✅ all of it", ["all of it"]),
        ("「quoted」 it", ["「quoted」 it"]), ("#no heading", ["#no heading"]),
        ("1. first item\n2) second item", ["first item", "second item"]),
        ("a) third item\n(b) fourth item", ["third item", "fourth item"]),
        ("iv. fifth", ["iv.", "fifth"]), ("10000. sixth", ["10000.", "sixth"]),
        ("Wait... go on", ["Wait... go on"]), ("Wait... Go on", ["Wait...", "Go on"]),
        ("Really?! Yes.", ["Really?!", "Yes."]), ("It is (fine). Next", ["It is (fine).", "Next"]),
        ("Use a. Then b.", ["Use a.", "Then b."]),
        ("a <!-- b --> text <!-- c --> more", ["text", "more"]),
        ("text <!-- never closed", ["text"]),
        ("`<private>` is a tag here", ["`private` is a tag here"]),
        ("-a line\n+b line\nprose stays", ["prose stays"]),
        ("+  x one\n+y two\nz three\nw four", ["z three", "w four"]),
        ("+y two\nz three\nw four", ["+y two", "z three", "w four"]),
        ("diff --git a b\n-old\n+new\ntext", ["text"]), ("src/a.ts(3,4): oops", []),
        ("see a.py:12 there now", ["see a.py:12 there now"]),
        ("note file.txt:3 - message", ["note"]),
        ("```\ncode\n```js\nmore\n```\nafter it", ["after it"]),
        ("~~~\n```\n~~~\nafter it", ["after it"]),
        ("Traceback (most recent call last):\n  x\n\nafter it", ["after it"]),
    ],
)  # fmt: skip
def test_sentences_end_where_lines_marks_and_limits_end_them(
    text: str, sentences: list[str]
) -> None:
    assert said(text) == sentences


@pytest.mark.parametrize(
    ("text", "heading", "bullet"),
    [
        ("# Heading:\ntext here", "heading", False),
        ("**Bold title:**\ntext here", "bold title", False),
        (f"**{'a' * 56}**\ntext here", "a" * 56, False),
        ("- item\n  text here", "", True),
        ("- item\n\n  text here", "", True),
        ("- item\n\ntext here", "", False),
        ("- item\n# Heading\ntext here", "heading", False),
    ],
)
def test_a_sentence_is_returned_with_its_heading_and_whether_it_is_in_a_list(
    text: str, heading: str, bullet: bool
) -> None:
    last = segments(text)[-1]

    assert (last.text, last.heading, last.bullet) == ("text here", heading, bullet)


@pytest.mark.parametrize(
    "text",
    [
        "**Bold title.**\ntext",
        "**Bold title!**\ntext",
        "**one two three four five six**\ntext",
        f"**{'a' * 57}**\ntext",
        "**a one** and **b**\ntext",
    ],
)
def test_a_bold_line_is_no_heading_if_it_is_a_sentence_or_too_long(text: str) -> None:
    sentences = segments(text)

    assert len(sentences) > 0 and {one.heading for one in sentences} == {""}
    assert sentences[0].text.startswith(text.strip("*")[:5])


def test_a_quotation_of_nine_words_is_removed_and_a_shorter_or_unpaired_one_kept() -> None:
    eight = "one two three four five six seven eight"

    assert said(f'He said "{eight}" here') == [f'He said "{eight}" here']
    assert said(f'He said "{eight} nine" here') == ["He said", "here"]
    assert said(f'He said "{eight} nine') == [f'He said "{eight} nine']
    assert said("Call it “x y” now") == ['Call it "x y" now']


@pytest.mark.parametrize(
    "line",
    [
        "❯ run it", "at foo (a.js:1)", "index abc: x", "INFO started it", "[info] started it",
        "warning: careful now", "[12:34:56:78] hi there", "foo => {", "done },",
        "from a import b.c", "return it (now)", "a{}[]<>= b", "<b>bold text</b>",
    ],
)  # fmt: skip
def test_lines_of_code_and_logs_yield_no_sentences(line: str) -> None:
    assert said(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "$5 is a lot", "at least one of them", "at the office", "index it well",
        "error handling is done", "Info for you all", "12345678 is a number",
        "call 12345678:9 now", "import x from y", "import the rows.", "class of them",
        "`a{}[]`<>=", "a/b/c/d is one",
    ],
)  # fmt: skip
def test_prose_that_resembles_code_or_logs_is_kept(line: str) -> None:
    assert said(line) == [line]

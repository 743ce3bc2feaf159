"""Stated causes of failures, and what an answer says still fails."""

from __future__ import annotations

import pytest

from linear import LIMIT, TIMES, growth
from memory_fabric.capture.stated_causes import (
    MAX_CAUSE_CHARS,
    MAX_READ_CHARS,
    account,
    admits_failure,
    cause_in,
    sentences_in,
)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("Done. The root cause was that the cart had no total.",) * 2,
        ("I see the issue - the tag is expected at the root level, not inside `tags`.",
         "the tag is expected at the root level, not inside `tags`"),
        ("Found the bug: the importer closed the file before the last row was read.",
         "the importer closed the file before the last row was read"),
        ("The timeout was caused by offset pagination at 1M rows.",) * 2,
        ("Offset pagination caused timeouts at 1M rows. We chose cursors because they scale.",
         "Offset pagination caused timeouts at 1M rows"),
        ("The build failed because the logger package had no types.",) * 2,
        ("La causa era que el carrito no tenía total.",) * 2,
        ("Das Problem war, dass der Warenkorb keine Summe hatte.",) * 2,
        ("原因是购物车没有计算总价。", "原因是购物车没有计算总价"),
        ("原因是购物车没有",) * 2,
        ("The cause was cart totl",) * 2,
        ("The cause was the cart total. The root cause was the missing tag.",
         "The root cause was the missing tag"),
    ],
)  # fmt: skip
def test_a_stated_cause_of_a_failure_is_found(said: str, cause: str) -> None:
    assert cause_in(said) == cause.removeprefix("Done. ").rstrip(".")


@pytest.mark.parametrize(
    "said",
    [
        "This might be because the cart is empty.",
        "The problem is probably the cart and its total.",
        "Let me check whether the problem is the cart.",
        "Is it because the cart is empty?",
        "The issue was fixed and all the tests pass.",
        "The root cause is clear.",
        "I need to see if the error was caused by the cart.",
        "I used a map because lookups are faster that way.",
        "The remaining error is unrelated: the problem was there before our change.",
        "```\nThe root cause was that the cart had no total.\n```",
        "Noted fix: The root cause was that the cart had no total.",
        "The cause was a cart",
        "原因是购物车",
        "| The cause was the cart total |",
        "All done.",
        "",
    ],
)
def test_guesses_plans_choices_tables_and_short_texts_are_not_causes(said: str) -> None:
    assert cause_in(said) == ""


def test_a_past_defect_counts_as_the_cause_only_if_related_to_the_failure() -> None:
    said = "The discount was subtracted twice in applyDiscount."

    assert cause_in(said, "expected 90 to be 95 src/discount.ts") == said.rstrip(".")
    assert cause_in(said, "KeyError: 'total' cart.py") == ""
    assert cause_in("Push errors do not stop the discount.", "discount") == ""


@pytest.mark.parametrize(
    ("said", "admits"),
    [
        ("The build passes, but the cart test still fails.", True),
        ("I could not get the migration to run.", True),
        ("El test sigue fallando.", True),
        ("The cart test was failing; I fixed it.", False),
        ("The list no longer fails.", False),
        ("Added the column.", False),
        ("Now I see the error. Let me fix the type.", None),
        ("Here is the next step:", None),
        # Only the last sentence counts as a plan.
        ("It still fails. Let me look.", True),
        ("It works. Let me look at it.", None),
        ("Let me look. It works.", False),
        ("", None),
    ],
)
def test_an_answer_that_reports_a_remaining_failure_is_recognised(
    said: str, admits: bool | None
) -> None:
    assert admits_failure(said) is admits


def test_notes_and_code_are_skipped_when_an_answer_is_split_into_sentences() -> None:
    said = "**It works.** See below.\n```\nx = 1.\n```\n- Noted fix: Use x.\nDropped: 1630ad9a"

    assert list(sentences_in(said)) == ["It works.", "See below."]


@pytest.mark.parametrize("unit", ["a because ", "the issue ", "x. ", "fail ", "**", "- ", "Found "])
def test_any_answer_is_parsed_in_linear_time(unit: str) -> None:
    def parse(n: int) -> None:
        for said in (unit * (n // len(unit)), (unit * 20 + "\n") * (n // (20 * len(unit) + 1))):
            cause_in(said, unit)
            admits_failure(said)

    assert growth(parse, MAX_READ_CHARS // TIMES) < LIMIT


def test_a_cause_is_kept_up_to_the_maximum_length() -> None:
    longest = "The cause was the missing cart total ".ljust(MAX_CAUSE_CHARS, "z")

    assert cause_in(longest) == longest
    assert cause_in(f"{longest}z") == ""


def test_tables_marks_and_the_beginning_of_a_long_answer_yield_no_sentences() -> None:
    said = "- **One**. Two!\n| t |\n  | u |\n✅ Three… four\n> five#"

    assert list(sentences_in(said)) == ["One.", "Two!", "Three… four", "five"]
    assert list(sentences_in("First. " + "x" * MAX_READ_CHARS)) == ["x" * MAX_READ_CHARS]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\n~~~\nb\n~~~\nc", "a\nc"), ("  ```\nb\n```\nc", "c"),
        ("- **Noted fix**: x\nDropped : z\nnoted so far: y", "noted so far: y"),
    ],
)  # fmt: skip
def test_the_account_of_an_answer_has_no_code_and_no_notes(said: str, kept: str) -> None:
    assert account(said) == kept

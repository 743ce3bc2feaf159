"""The closing words of an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.hooks.session.checkpoint import (
    MAX_CLOSING_CHARS,
    UNANSWERED,
    closing,
    end_lines,
)

TASK = "Build the analytics importer for CSV uploads"


def test_a_long_answer_is_shortened_to_its_first_and_its_last_paragraphs() -> None:
    middle = "\n\n".join(f"Step {n}: " + "word " * 40 for n in range(20))
    said = f"The importer works.\n\n{middle}\n\n```\ncode\n```\n\nTwo tests are still red."

    told = closing(said)

    assert told.startswith("The importer works. … Step 16: ")
    assert told.endswith(" Two tests are still red.") and "code" not in told


@given(st.text(), st.integers(10, MAX_CLOSING_CHARS))
def test_closing_words_are_one_line_of_bounded_length(said: str, most: int) -> None:
    told = closing(said, most)

    assert len(told) <= most and "\n" not in told


def test_an_answer_up_to_the_limit_is_whole_and_a_longer_one_lacks_its_middle() -> None:
    first, last = "a" * 40, "b" * 59

    assert closing(f"## {first}\n\n\n\n{last}", 100) == f"{first} {last}"
    assert closing(f"{first}\n\n{last}", 99) == f"{'a' * 28}… … {last}"
    assert closing("c " * 60, 100).endswith("…")


def test_a_shortened_answer_has_only_whole_paragraphs_of_its_end() -> None:
    said = "\n\n".join(["Intro.", "m" * 60, "n" * 20, "o" * 20])

    assert closing(said, len("Intro.") + 3 + 40) == f"Intro. … {'o' * 20}"
    assert closing(said, len("Intro.") + 3 + 41) == f"Intro. … {'n' * 20} {'o' * 20}"


def test_the_end_of_a_session_has_its_task_its_last_prompt_and_its_answer() -> None:
    turns = [("user", TASK), ("assistant", "A."), ("user", "And the tests?"), ("assistant", "B.")]
    task, follow_up = f"- The user: “{TASK}”", "- Then: “And the tests?”"

    assert end_lines(turns) == [task, follow_up, "- The assistant's last words: B."]
    assert end_lines(turns[:2]) == [task, "- The assistant's last words: A."]
    assert end_lines(turns[:3]) == [task, follow_up, UNANSWERED]
    assert end_lines(turns[1:2]) == ["- The assistant's last words: A."]
    assert end_lines([]) == []


def test_an_answer_of_code_alone_does_not_count_as_the_last_words() -> None:
    turns = [("user", TASK), ("assistant", "A."), ("assistant", "```\nx\n```")]

    assert end_lines(turns)[-1] == "- The assistant's last words: A."

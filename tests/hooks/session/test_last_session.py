"""The closing words of an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.hooks.session.checkpoint import MAX_CLOSING_CHARS, closing


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

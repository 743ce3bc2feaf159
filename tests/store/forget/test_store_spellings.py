"""A search for words: its matches, and the limits of a whole word."""

from __future__ import annotations

import pytest

from memory_fabric.store.forget.spellings import MARK, MAX_RUNS, Needle, Sought


def found(text: str, *words: str, whole: bool = False) -> list[str]:
    data = text.encode()
    sought = Sought(Needle(word, whole) for word in words)
    return [data[start:end].decode() for start, end in sought.spans(text)]


@pytest.mark.parametrize(
    ("text", "needles", "expected"),
    [
        ("ab cd ef", ("ab cd", "cd ef"), ["ab cd ef"]),
        ("abcdef", ("abcdef", "cd"), ["abcdef"]),
        ("abcdef", ("def", "abc"), ["abc", "def"]),
        ("abc abc", ("abc", " ", ""), ["abc", "abc"]),
    ],
)
def test_overlapping_matches_are_joined_and_adjacent_ones_are_not(
    text: str, needles: tuple[str, ...], expected: list[str]
) -> None:
    sought = Sought(map(Needle, needles))

    assert found(text, *needles) == expected
    assert sought.bytes_in(text) == sum(map(len, expected))
    assert sought.without(text).count(MARK) == len(expected)


def test_a_search_for_blank_texts_finds_nothing_and_is_false() -> None:
    nothing = Sought((Needle(" "), Needle("")))
    text = "some text"

    assert not nothing and Sought((Needle("a"),))
    assert not nothing.is_in(text) and nothing.without(text) is text
    assert nothing.condition(["text"]) == "0"
    assert Sought((Needle("other"),)).without(text) is text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MARK, []),
        (f"{MARK} erased", ["erased"]),
        (f"erased {MARK}", ["erased"]),
        (f"it was {MARK} and erased, {MARK}", ["erased"]),
        ("[erased", ["erased"]),
    ],
)
def test_the_marker_of_erased_words_is_no_match(text: str, expected: list[str]) -> None:
    assert found(text, "erased") == expected


ALONE = ["walrus", "a walrus.", "x\\nwalrus\\n", "x\\u0020walrus", "walrus\\u002e", "walrus%2E"]
ALONE += ["walrus%C3%A9", "海walrus象", "walrus" + "." * 20 + "s"]
CONTINUED = ["walruses", "1walrus", "éwalrus", "walrusé", "walrus\U0001d400", "walrus\u0301"]
CONTINUED += ["\\u00e9walrus", "walrus\\u00e9", "%41walrus", "walrus%41"]


@pytest.mark.parametrize("text", ALONE + CONTINUED)
def test_a_word_is_found_as_a_whole_unless_a_letter_or_digit_continues_it(text: str) -> None:
    assert found(text, "walrus", whole=True) == ["walrus"] * (text in ALONE)
    assert found(text, "walrus") == ["walrus"]


@pytest.mark.parametrize(
    ("needle", "text", "is_whole"),
    [
        ("(walrus", "x(walrus", True),
        ("(walrus", "(walrusx", False),
        ("walrus)", "walrus)x", True),
        ("walrus)", "xwalrus)", False),
        ("海象", "大海象人", True),
        ("해상", "대해상인", True),
    ],
)
def test_an_edge_of_a_search_that_is_no_latin_letter_may_adjoin_a_letter(
    needle: str, text: str, is_whole: bool
) -> None:
    assert found(text, needle, whole=True) == [needle] * is_whole


def test_a_search_anywhere_keeps_the_case_of_an_exact_search() -> None:
    sought = Sought((Needle("Q7x", whole=True, exact=True),))

    assert not sought.is_in("aQ7x") and sought.anywhere().is_in("aQ7x")
    assert not sought.anywhere().is_in("aq7x")


def test_a_search_for_many_words_or_one_without_latin_letters_reads_every_row() -> None:
    some = [Needle(f"word{number}") for number in range(MAX_RUNS + 1)]

    assert Sought(some).condition(["text"]) == "1"
    assert Sought(some[1:]).condition(["text"]) not in ("0", "1")
    assert Sought([*some[:2], Needle("海象")]).condition(["text"]) == "1"

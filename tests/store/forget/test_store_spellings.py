"""A search for words: its matches, and the limits of a whole word."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from memory_fabric.store.forget.spellings import MARK, MAX_RUNS, Needle, Sought
from store.support import World, create, database, entity

WORDS = 'Crème-Otter 7/"q"'
PLAIN = "tangerine-walrus"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


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


def test_words_are_found_when_split_over_the_items_of_a_json_list() -> None:
    sought = Sought((Needle("correct horse battery", whole=True),))

    assert sought.spans(json.dumps({"words": ["-p", "correct", "horse", "battery"]}).encode())
    assert not sought.spans(json.dumps(["correct", "horses", "battery"]).encode())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (PLAIN, f"a {PLAIN.upper()} here"),
        (PLAIN, f"behind\0a NUL: {PLAIN}"),
        (PLAIN, PLAIN.replace("g", "\\u0067").replace("w", "\\u0077")),
        (PLAIN, "".join(f"%{byte:02X}" for byte in PLAIN.encode())),
        (WORDS, unicodedata.normalize("NFD", WORDS)),
        (WORDS, json.dumps(json.dumps(WORDS))),
        ("мандарин", "здесь Мандарин"),
        ("correct horse", json.dumps(["correct", "horse"])),
    ],
)
def test_the_sql_condition_of_a_purge_selects_rows_with_any_spelling_of_the_words(
    world: World, words: str, text: str
) -> None:
    memory = world.memory()
    create(memory, entity("zoo", text, "it has a gate"))
    sought = Sought((Needle(words, whole=True),))
    query = f"SELECT text FROM observations WHERE {sought.condition(['record', 'text'])}"

    rows = database(memory).rows(query)

    assert sought.is_in(text)
    assert (text,) in rows


def test_the_sql_condition_of_a_purge_selects_no_row_without_the_words(world: World) -> None:
    memory = world.memory()
    create(memory, entity("zoo", f"a {PLAIN}", "it has a gate", "100 %", "x" * 300))
    condition = Sought((Needle(PLAIN), Needle("y" * 100_000))).condition(["text"])

    rows = database(memory).rows(f"SELECT text FROM observations WHERE {condition}")

    assert rows == [(f"a {PLAIN}",)]

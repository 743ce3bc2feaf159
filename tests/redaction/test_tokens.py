"""Tests of tokens that are recognised without the name of a secret beside them."""

from __future__ import annotations

import base64

import pytest

from made_up_secrets import HEX, KEY, UUID, words
from memory_fabric.redaction import rules, tokens


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode().rstrip("=")


@words(
    yes=f"{encoded('the quick fox')} {encoded('ab cd efg')}",
    no=f"{encoded('ab cd ef')} {encoded('thequickfox')} {encoded('the 12345 678 90')} base64!",
)
def test_text_in_base64_is_not_random(word: str, *, expected: bool) -> None:
    assert tokens.decodes_to_text(word) is expected


@words(
    yes=f"{KEY} {KEY[:20]}",
    no=f"{KEY[:19]} {'4815' * 6} CursorBasedPaginationHandler {'aB1c' * 6} é{KEY} "
    "worker-1700000000000-eu-west",
)
def test_a_random_word_has_twenty_letters_and_digits_that_alternate(
    word: str, *, expected: bool
) -> None:
    assert tokens.is_random(word) is expected


@words(
    yes=f"acme_token_{KEY} token_{KEY[:16]} acme_{HEX}",
    no=f"token_{KEY[:15]} commit_{KEY} pk_{'live'}_{KEY} arn:{KEY} {KEY} acme-{HEX}",
)
def test_a_token_with_an_issuers_prefix_has_a_random_tail(word: str, *, expected: bool) -> None:
    assert tokens.has_prefix(word) is expected


@pytest.mark.parametrize("text", ["our OpenAI **{}** key", "our OpenAI “{}” key", "our OpenAI={}"])
def test_only_the_token_is_found_and_not_the_characters_around_it(text: str) -> None:
    found = tokens.random_words(text.format(KEY))

    assert found == [(text.index("{"), text.index("{") + len(KEY))]


@pytest.mark.parametrize(
    ("text", "is_option"),
    [
        ("mysql -p x", True),
        ("-p", True),
        ("my-project", False),
        ("my-project -p", True),
        ("--p", False),
        ("a.-p", False),
        ("none", False),
    ],
)
def test_an_option_is_not_part_of_a_word(text: str, *, is_option: bool) -> None:
    assert rules.is_option_in(text, "-p") is is_option


@pytest.mark.parametrize(
    ("value", "is_command"),
    [
        (["ls", "-l"], True),
        (("ls", "-l"), True),
        (["-l"], False),
        (["ls", "l"], False),
        (["ls", "-l\n"], False),
        (["-l", 3], False),
        ("ls -l", False),
    ],
)
def test_a_command_line_is_a_list_of_two_or_more_words_with_an_option(
    value: object, *, is_command: bool
) -> None:
    assert rules.is_command_line(value) is is_command


@words(
    yes=f"a1b2c3d4e5 a1b2c-d4e5f {'q' * 22} ab-4815162342 abcde-12345-67890 aBcDeFgHiJ",
    no=f"a1b2c3d4e {'q' * 21} abcd-1234-5678 CursorPaginationV CONSTANTNAME",
)
def test_a_doubtful_word_has_ten_characters_in_random_looking_parts(
    word: str, *, expected: bool
) -> None:
    assert rules.is_doubtful(word) is expected


@words(
    yes=f"{UUID} {UUID.upper()}", no=f"{UUID[:-1]} {UUID[:-1]}g {UUID.replace('-', '_')} {'-' * 36}"
)
def test_a_uuid_is_known_by_its_form(word: str, *, expected: bool) -> None:
    assert rules.is_uuid(word) is expected


def test_a_word_is_found_alone_and_not_within_another_word() -> None:
    assert list(rules.places_alone("pin, pins, spin pin", "pin")) == [3, 19]
    assert list(rules.places_alone("4pin4 é-pin", "pin")) == [4, 11]


def test_harmless_parts_are_replaced_for_a_while_and_put_back() -> None:
    text = f"integrity sha512-{KEY * 4} and commit {UUID}"

    parts = tokens.HarmlessParts(text)
    held = parts.hold_always()

    assert KEY not in held and len(held) < len(text)
    assert parts.put_back(held) == text
    strange = tokens.HarmlessParts(text + chr(0xF0000))
    assert strange.hold_always() == text + chr(0xF0000)

"""Tests of the length, the mix and the surroundings of a value behind the name of a secret."""

from __future__ import annotations

import pytest

from made_up_secrets import GROUPS, HEX, KEY, UUID, WEAK, words
from memory_fabric.redaction import redact, values


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        ("password=" + "ab1!", True),
        ("password=" + "a1!", False),
        ("password=" + "abcd", False),
        ("password=" + "$ab1", False),
        ("token=" + "ab1!", False),
        ("password: " + "abcdef", True),
        ("password == " + "abcdef", False),
        ("password is " + "abcdef1", True),
        ("tokens: " + "1200000", False),
        ("token_type=" + WEAK, False),
        ("token_type=" + KEY, True),
        ("password=/etc/" + WEAK, False),
        ("password=/" + KEY, True),
        ("Authorization: Bearer " + "kqxw" + "zmvrtplnbdghj", False),
        ("Authorization: Bearer " + "kqxw" + "zmvr7tplnbdgh", True),
        ("Authorization: Bearer " + "pqrs" * 6, False),
        ("Cookie: sid=" + "a1b2c3d4", True),
        ("Cookie: sid=" + "a1b2c3d", False),
        ("Cookie: theme=" + "a1b2c3d4e5f6", True),
        ("Cookie: theme=" + "a1b2c3d4e5f", False),
        ("Cookie: sid=" + "abcdefghijkl", False),
        ("Cookie: sid=" + "123456789012", False),
        ("deploy --password " + WEAK, True),
        ("deploy --password ./" + WEAK, False),
        ("https://" + "ab12" * 4 + ":" + WEAK + "@example.org", True),
    ],
)
def test_a_value_is_hidden_only_if_its_length_and_its_characters_are_those_of_a_secret(
    text: str, *, is_hidden: bool
) -> None:
    assert (redact.redact(text) != text) is is_hidden


def test_a_long_user_name_with_digits_in_an_address_is_hidden_too() -> None:
    token = "".join(("ab1c", "d2ef", "g3hi", "j4kl"))

    long, short = (redact.redact(f"https://{user}:{WEAK}@x.org") for user in (token, token[:15]))

    assert long == "https://[redacted: token]:[redacted: password]@x.org"
    assert short == f"https://{token[:15]}:[redacted: password]@x.org"


@words(
    yes=f"k9x2m4p7 abcd!ef1 {GROUPS}",
    no=f"k9x2m4p kqxwmzpr 48151623 {GROUPS.lower()} billing2server users_2024 é9x2m4p7 "
    "release-2024-11",
)
def test_a_telling_value_of_eight_characters_is_unlike_words_and_numbers(
    word: str, *, expected: bool
) -> None:
    assert values.is_telling(word) is expected


@pytest.mark.parametrize(
    ("core", "least", "is_mixed"),
    [
        ("ab1c", 4, True),
        ("ab1c", 5, False),
        ("users_2024", 4, False),
        ("ab!1", 4, True),
        ("abcdef!", 4, False),
        ("abcdefg!", 4, True),
        ("4815", 4, False),
        ("a1b-c2d", 4, False),
    ],
)
def test_a_mixed_value_has_symbols_or_letters_and_digits_in_one_part(
    core: str, least: int, *, is_mixed: bool
) -> None:
    assert values.is_mixed(core, least=least) is is_mixed


@pytest.mark.parametrize(
    ("core", "linked", "follower", "words", "is_pin"),
    [
        ("4815", "=", "", 5, True),
        ("481", "=", "", 0, False),
        ("4" * 20, "=", "", 0, True),
        ("4" * 21, "=", "", 0, False),
        ("4815", "", "", 2, True),
        ("4815", "", "", 3, False),
        ("4815", "", " more", 2, False),
        ("4815", "", " and more", 0, True),
        ("4815", "", " minutes", 0, False),
        ("4815", "", "%", 0, False),
        ("48a5", "", "", 0, False),
    ],
)
def test_a_pin_is_a_number_beside_its_name_that_counts_nothing(
    core: str, linked: str, follower: str, words: int, *, is_pin: bool
) -> None:
    found = values.is_value(core, "pin", linked, follower, quoted=False, words=words)

    assert found is is_pin


@pytest.mark.parametrize(
    ("core", "kind", "linked", "words", "is_secret"),
    [
        ("ab1c", "password", "is", 0, True),
        ("ab1" + "cdef", "password", "", 4, True),
        ("ab1" + "cde", "password", "", 4, False),
        ("ab1" + "cde", "password", "", 0, True),
        ("ab1cd", "password", "", 0, False),
        ("Som" + "mer_2024", "password", "", 1, True),
        ("Som" + "mer_2024", "password", "", 2, False),
        ("open" + "sesame", "password", "is", 0, True),
        ("open" + "sesame", "pair", "is", 0, False),
        ("open" + "sesame", "password", "", 0, False),
        ("sesam", "password", "=", 0, True),
        ("sesa", "password", "=", 0, False),
        ("wrong", "password", "is", 0, False),
        (UUID, "password", "is", 0, False),
        (UUID, "key", "is", 0, True),
        ("ab12" * 2, "key", "is", 0, True),
        ("ab12" * 2, "key", "", 0, False),
        ("ab12" * 3, "key", "", 0, True),
        ("ab12" * 3, "key", "", 1, False),
        ("ab12" * 4, "key", "", 1, True),
        ("ab1d", "key", "is", 0, False),
        ("wq12" * 4, "common", "is", 0, True),
        ("wq12" * 4, "common", "", 0, False),
        ("wq12" * 3, "common", "is", 0, False),
        (HEX, "common", "is", 0, False),
    ],
)
def test_a_value_behind_a_name_needs_more_to_be_a_secret_the_less_they_are_linked(
    core: str, kind: str, linked: str, words: int, *, is_secret: bool
) -> None:
    found = values.is_value(core, kind, linked, "", quoted=False, words=words)

    assert found is is_secret


@pytest.mark.parametrize(
    ("token", "begin", "core"),
    [
        ('"abc",', 1, "abc"),
        ("(`abc`).", 2, "abc"),
        ("abc", 0, "abc"),
        ("hello!", 0, "hello"),
        ("p4ss!", 0, "p4ss!"),
        ("...", 0, ""),
        ("!", 0, "!"),
    ],
)
def test_quotes_and_punctuation_around_a_word_are_stripped(
    token: str, begin: int, core: str
) -> None:
    assert values.stripped(token) == (begin, core)


def test_each_span_is_hidden_once_and_a_marker_never() -> None:
    text = "one two three [redacted: token] four"
    spans = [(4, 7), (0, 3), (5, 9), (14, 31)]

    assert values.without(text, spans, "X") == "X X three [redacted: token] four"
    assert values.without(text, []) == text


@pytest.mark.parametrize(
    ("core", "follower", "is_code"),
    [
        ("get(", "", True),
        ("get", "(x)", True),
        ("a::b", "", True),
        ("${TOKEN}", "", True),
        ("--token", "", True),
        ("/etc/passwd", "", True),
        ("/" + KEY, "", False),
        ("&Secret<T>", "", True),
        ("*" + WEAK, "", False),
        ("testPassword", "", True),
        ("test_word", "", True),
        (WEAK, "", False),
        ("self.config.token", "", True),
    ],
)
def test_code_is_not_taken_for_a_secret(core: str, follower: str, *, is_code: bool) -> None:
    assert values.is_code(core, follower) is is_code

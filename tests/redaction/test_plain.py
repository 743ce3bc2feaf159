"""Tests of the difference between secrets, and prose, names and placeholders."""

from __future__ import annotations

import pytest

from made_up_secrets import HEX, KEY, SEEDS, WEAK, words
from memory_fabric.redaction import plain


@words(yes=f"{HEX} {HEX.upper()}", no=f"{HEX[:31]} {HEX}g")
def test_a_hash_or_key_in_hexadecimal_digits_has_at_least_32(word: str, *, expected: bool) -> None:
    assert plain.is_hex(word) is expected


@words(yes="users_v2 eu-west-1 users/a1b. worker-170000", no=f"users/a1b2 {KEY}")
def test_a_name_consists_of_words_and_numbers_and_short_parts(word: str, *, expected: bool) -> None:
    assert plain.is_name(word) is expected


@words(
    yes="CursorBasedPagination MAX_RETRY_COUNT the-order-import-job",
    no="the-order-import The-order-import-job opensesame",
)
def test_an_identifier_is_known_by_its_capitals_or_its_many_parts(
    word: str, *, expected: bool
) -> None:
    assert plain.is_identifier(word) is expected


@words(yes="well-known it's *bold*", no="well-k2")
def test_plain_words_may_be_joined_but_hold_no_digits(word: str, *, expected: bool) -> None:
    assert plain.is_words(word) is expected


@words(
    yes="abcdef12 abc!defg aB3cDeFgH (abcdef12).",
    no="abcde12 abcdefg1 abcdefg! http://abc!defg 12345678 Password3",
)
def test_a_strong_value_of_eight_characters_mixes_letters_with_digits_or_symbols(
    word: str, *, expected: bool
) -> None:
    assert plain.is_strong(word) is expected


@words(
    yes=f"{KEY} {KEY[:12]}-{KEY[12:]}",
    no=f"{KEY[:-1]} {KEY.lower()} CursorBasedPaginationHandler2 {'abcD1' * 6} {'aB3' * 8}",
)
def test_a_random_value_has_24_characters_of_all_kinds_that_change_often(
    word: str, *, expected: bool
) -> None:
    assert plain.looks_random(word) is expected


@pytest.mark.parametrize(
    ("lead", "name", "sign"),
    [
        ('password = "', "password", "="),
        ("apiToken: '", "apiToken", ":"),
        ("the password is ", "the password", "is"),
        ("token to ", "token", "to"),
        ("password\tis ", "password", "is"),
        ("| password | ", "| password", "|"),
        ("key => ", "key", ">"),
    ],
)
def test_the_name_of_a_secret_is_separated_from_the_sign_behind_it(
    lead: str, name: str, sign: str
) -> None:
    assert plain.parted(lead) == (name, sign)


@pytest.mark.parametrize(
    ("name", "value", "is_phrase"),
    [
        ("password", "lantern copper meadow river", True),
        ("password", "lantern copper meadow", False),
        ("password", "Lantern copper meadow river", False),
        ("password", "lantern copper meadow river.", False),
        ("password", "lantern copper 9!", True),
        ("password", "the copper of your 9!", False),
        ("token", "lantern copper meadow river", False),
        ("db_secret", "lantern copper meadow river", True),
        ("password", " ".join(SEEDS[:12]), True),
        ("password", " ".join(SEEDS[:13]), False),
    ],
)
def test_a_passphrase_has_four_to_twelve_words_or_a_number_and_is_no_sentence(
    name: str, value: str, *, is_phrase: bool
) -> None:
    assert plain.is_passphrase(name, value) is is_phrase


@words(
    yes="lantern-copper-meadow Lantern.Copper.Meadow! lantern-copper-123456 "
    f"lantern-copper-cow lantern-copper-{'m' * 12}",
    no="lantern-copper lantern-copper-1234567 lantern-123-456 lantern-lantern-copper "
    "Lantern-copper-meadow lantern-copper-meaDow lantern-copper-the lantern-copper-ox "
    f"lantern-copper-{'m' * 13}",
)
def test_joined_words_are_three_rare_ones_or_two_and_a_number(word: str, *, expected: bool) -> None:
    assert plain.is_joined_words(word) is expected


def test_a_passphrase_may_be_joined_by_blanks() -> None:
    assert plain.is_joined_words("lantern copper meadow")


@words(
    yes="your-token-here xxxx abababab $TOKEN ${TOKEN} {{token}} <token> changeme42 password2 "
    "password12 pass...word パスワード [redacted:token] proxypass",
    no=f"your-{WEAK} password4535 {WEAK}",
)
def test_placeholders_are_not_taken_for_secrets(word: str, *, expected: bool) -> None:
    assert plain.is_placeholder(word) is expected

"""Secrets in sentences, tables, commands and dumps leave; what only speaks of secrets stays."""

from __future__ import annotations

import pytest

from memory_fabric.redaction.redact import may_hold_secret, redact
from redaction_texts.spoken_sentences import OF_KEYS, OF_PINS, SENTENCES
from redaction_texts.written_texts import HARMLESS, TABLES, WRITTEN

# Weak and strong ones, made here: no source holds anything that looks like one.
PASSWORDS = ["hun" + "ter2", "Som" + "mer2024!", "qW7" + "rT9zLk2", "letm" + "ein1"]
KEYS = ["a8f5f167f44f4964" + "e6c998dee827110c", "xK9" + "fQ2mZ7pL4vB8nR3tY"]
PINS = ["48" + "15", "481" + "516"]


def left(templates: list[str], values: list[str]) -> list[str]:
    """The texts of which redaction leaves the value, or for which the cheap look stays shut."""
    texts = [(text.replace("{}", value), value) for text in templates for value in values]
    return [text for text, value in texts if value in redact(text) or not may_hold_secret(text)]


@pytest.mark.parametrize("language", SENTENCES)
def test_a_password_stated_in_a_sentence_is_redacted(language: str) -> None:
    assert left(SENTENCES[language], PASSWORDS) == []


def test_a_key_stated_in_a_sentence_is_redacted() -> None:
    assert left(OF_KEYS, KEYS) == []


def test_digits_after_a_word_for_pin_or_passcode_are_redacted() -> None:
    assert left(OF_PINS, PINS) == []


def test_passwords_in_commands_and_configuration_files_are_redacted() -> None:
    assert left(WRITTEN, [PASSWORDS[2], "xK9" + "fQ2mZ7pL4vB8nR3tYw"]) == []


def test_passwords_in_table_cells_and_below_a_label_are_redacted() -> None:
    assert left([text.replace("~", "\n") for text in TABLES], PASSWORDS[:3]) == []


def test_text_that_only_mentions_secrets_stays_unchanged() -> None:
    assert [text for text in HARMLESS if redact(text) != text] == []


def test_public_keys_colours_type_names_and_placeholders_are_not_redacted() -> None:
    random = "xK9" + "fQ2mZ7pL4vB8nR3tYwA1sD5gH6jK0" * 2
    for text in (
        f"public key: {random}",
        f'public_key = "{random}"',
        f"-----BEGIN PUBLIC KEY-----\n{random}\n-----END PUBLIC KEY-----",
        "the publishable key pk_" + f"live_{random[:24]}",
        ".password-field2 { color: #ff00aa; margin: 0 4px; }",
        "fn verify(password: &str, hash: &PasswordHash<'_>) -> Result<(), Error>",
        "gh" + "p_" + "x" * 36,
    ):
        assert redact(text) == text


def test_passphrases_and_wallet_seed_words_are_redacted_but_prose_is_not() -> None:
    words = "hazard garden spider crystal abandon river turtle hollow panther shadow salmon falcon"
    listed = "\n".join(f"{i}. {word}" for i, word in enumerate(words.split(), 1))
    for text in (f"MNEMONIC={words}", f"my mnemonic is {words}", f"seed words: {words}",
                 f"Recovery phrase:\n{listed}", f"助记词: {words}"):  # fmt: skip
        assert may_hold_secret(text)
        assert "turtle" not in redact(text), text
    assert "valley" not in redact("The passphrase is cloud oasis valley forest lemon.")
    prose = "the seed phrase is shown once and the user must write it down on paper for later use"
    assert redact(prose) == prose


@pytest.mark.parametrize("start", ["", "> ", "    ", '"'])
def test_a_private_key_without_its_begin_line_is_redacted(start: str) -> None:
    rows = ["Qm9" + "yZ1x7Kp" * 8 + "a+/4", "vT3" + "nL0wQ" * 6 + "A=="]
    text = "\n".join(start + row for row in (*rows, "-" * 5 + "END RSA PRIVATE KEY" + "-" * 5))

    assert "nL0wQ" not in redact(text) and "yZ1x7Kp" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "password @ {0} {0} token",
        "password is [redacted: to a1 @ {0} ] {0}",
        "passwd api --password to admin{0}",
        "curl password is admin {0} admin creds",
    ],
)
def test_redacted_text_stays_the_same_when_redacted_again(text: str) -> None:
    once = redact(text.format("hun" + "ter42"))

    assert "[redacted: " in once
    assert redact(once) == once

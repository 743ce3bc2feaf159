"""Statements of one subject with another value, and such that hold side by side."""

from __future__ import annotations

import pytest

from memory_fabric.capture.changed_value import MAX_SENTENCES, MAX_TOKENS, is_changed, sentences

CHANGED = [
    ("max_depth is 3", "max_depth = 6"),
    ("Set max_depth to 3", "max_depth was raised from 3 to 6"),
    ("The mirror syncs every 5 minutes", "The mirror syncs every 20 minutes"),
    ("Ship the firmware on Friday", "Decision: ship the firmware on Tuesday"),
    ("All hook names start with `on`", "From now on all hook names start with `use`"),
    (
        "From now on, I want you to end all tag names with '_q'",
        "Going forward, please make sure to end all tag names with '_z'",
    ),
    ("The build requires Node 18", "The build requires Node 22"),
    ("Lena is the owner of the ledger", "Omar is the owner of the ledger"),
    ("No more than 3 retries", "No more than 5 retries"),
    ("For labels the team relies on Zebra", "For labels the team relies on Dymo"),
    ("最大重试次数是3", "最大重试次数是6"),
    ("El plazo es de 3 días", "El plazo es de 9 días"),
    ("Die Frist beträgt 3 Tage", "Die Frist beträgt 9 Tage"),
    ("Le délai est de 3 jours", "Le délai est de 9 jours"),
    ("limit is 3 days", "limit is 6 hours"),
    ("The server listens on port 80", "The server listens on port 81"),
    ("The server runs on port 80", "The server runs on port 81"),
    ("Backups run on Monday", "Backups run on Friday"),
    ("Rows are kept in May", "Rows are kept in June"),
    ("The flag is on", "The flag is off"),
    ("The default branch is main", "The default branch is dev"),
    ("Standard editor is vim", "Standard editor is emacs"),
    ("The root cause of the crash is a leak", "The root cause of the crash is a lock"),
    ("All exports are stored in Redis", "All exports are stored in Kafka"),
    ("Redis is what we use", "Kafka is what we use"),
    ("Retries wait 3 seconds for each order", "Retries wait 5 seconds for each order"),
    ("The timeout was changed from 3 to 5", "The timeout is 3"),
    ("The timeout is set to 5", "The timeout is 3"),
]
ADDITIVE = [
    ("Never edit src/legacy", "Never edit src/vendor"),
    ("Run make lint before each commit", "Run make test before each commit"),
    ("Staging uses MinIO", "Production uses S3"),
    ("The timeout is 30 seconds", "The timeout is 60 seconds in staging"),
    ("No deploys on Friday", "No deploys on Saturday"),
    ("Open port 80", "Open port 443"),
    ("Python 3.11 is supported", "Python 3.12 is supported"),
    ("The name field is required", "The name field is indexed"),
    ("The config has 3 profiles", "The config has 12 keys"),
    ("The API is slow", "The API is documented in docs/api.md"),
    ("The ledger is written in Go", "The ledger is tested by Omar"),
    ("Use ruff for linting", "Use ruff for formatting"),
    ("max_depth is 3", "max_depth is 3"),
    ("limit is 3", "limit is 3 days"),
    ("Turn the flag on for tests", "Turn the flag off for tests"),
    ("The reviewers are Ana", "The reviewers are Bob"),
    ("The root cause is a leak", "The root cause is a lock"),
    ("We use ruff", "We use flake8"),
    ("Ana owns the ledger", "Bob owns the ledger"),
    ("The timeout was changed from 3 to 5", "The timeout is 5"),
]


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_a_different_value_of_the_same_subject_is_detected_as_a_change(old: str, new: str) -> None:
    assert is_changed(sentences(old), sentences(new))
    assert is_changed(sentences(new), sentences(old))


@pytest.mark.parametrize(("one", "other"), ADDITIVE)
def test_compatible_statements_are_not_detected_as_a_change(one: str, other: str) -> None:
    assert not is_changed(sentences(one), sentences(other))
    assert not is_changed(sentences(other), sentences(one))


def test_a_change_in_the_second_sentence_is_detected_if_the_first_sentences_match() -> None:
    first = "Voucher codes are upper case."
    a, b = (
        "Without a prefix, use the default prefix VC.",
        "Without a prefix, use the default prefix GIFT.",
    )

    assert is_changed(sentences(f"{first} {a}"), sentences(f"{first} {b}"))
    assert not is_changed(sentences(f"Codes of seats are short. {a}"), sentences(f"{first} {b}"))


@pytest.mark.parametrize("text", ["", "...", "is", ": 3", "x" * 5000, "(" * 300])
def test_comparing_unusual_texts_raises_no_error(text: str) -> None:
    assert not is_changed(sentences(text), sentences(f"{text} is 3"))


def test_a_statement_is_compared_in_its_first_sentences_and_words() -> None:
    assert len(sentences("Rows stay. " * (MAX_SENTENCES + 1))) == MAX_SENTENCES
    assert [len(one) for one in sentences("word " * (MAX_TOKENS + 1))] == [MAX_TOKENS]
    assert not sentences(" . \n!")


def test_the_ways_to_state_a_value_are_compared_as_one() -> None:
    one, other = sentences("Please set max_depth to `3`. Decision: it was raised from 2 to 3")

    assert [token.key for token in one] == ["max_depth", "=", "3"]
    assert [token.key for token in other][-2:] == ["=", "3"]

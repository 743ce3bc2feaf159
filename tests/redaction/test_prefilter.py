"""Redaction of shown texts by today's rules, which most texts never load."""

from __future__ import annotations

import random
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.redaction import redact as redaction_module
from memory_fabric.redaction.redact import (
    may_hold_secret,
    redact,
    redacted_object,
    without_secrets,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import redaction
from redaction_samples.halves import HALVES
from thorough import IS_THOROUGH

# Every sample in a thorough run, else one in so many.
STEP = 1 if IS_THOROUGH else 7


@pytest.fixture
def one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redact once, not until nothing changes any more: the first pass tells if a text changes."""
    monkeypatch.setattr(redaction_module, "MAX_PASSES", 1)


@pytest.mark.usefixtures("one_pass")
@pytest.mark.parametrize("half", HALVES)
def test_the_prefilter_flags_every_text_that_redaction_changes(half: str) -> None:
    # Many of each: what one key in thousands looks like would otherwise get by.
    samples = redaction.samples(half, 100)[::STEP]
    changed = [sample for sample in samples if redact(sample.text) != sample.text]

    # Kinds, not texts: those of the held half are not to be seen.
    assert len(changed) > 1000 / STEP
    assert [sample.kind for sample in changed if not may_hold_secret(sample.text)] == []
    # Nor where other texts stand before and behind it, as in the look at a whole block.
    among = {sample.kind for sample in changed if not may_hold_secret(f"Lists\n{sample.text}\nEnd")}
    assert among == set()


@pytest.mark.parametrize("half", HALVES)
def test_the_prefilter_does_not_change_how_an_object_is_redacted(half: str) -> None:
    # Each text is looked at once by each, though it stands at two places of the object.
    shown, left = cache(without_secrets), cache(redact)
    seen = set[str]()
    for sample in redaction.samples(half, 1)[::STEP]:
        payload = {"record": {"what": sample.text, "why": ""}, "seen_in": [sample.text]}
        expected = redacted_object(payload, left)
        same = redacted_object(payload, shown) == expected
        if sample.kind not in seen:  # as it is called where nothing else is asked for
            same = same and redacted_object(payload) == expected
            seen.add(sample.kind)
        assert same, sample.kind
    named = {"password": "opensesame", "what": "plain"}
    assert redacted_object(named) == redacted_object(named, redact)


@given(st.text(max_size=200))
def test_what_is_shown_is_what_redaction_leaves(text: str) -> None:
    assert without_secrets(text) == redact(text)


@given(
    st.lists(st.sampled_from("password token is = : hunter42 the a1b2 key".split()), max_size=12)
)
def test_texts_about_secrets_are_shown_redacted(parts: list[str]) -> None:
    text = " ".join(parts)
    assert without_secrets(text) == redact(text)


def test_the_prefilter_does_not_flag_ordinary_memories() -> None:
    chance = random.Random(1)
    names = ["PostgreSQL", "cursor-based pagination", "Redis 7", "list_endpoints", "CI"]
    for _ in range(50):
        text = (
            f"- [decision 2026-01-15 team a1b2c3d4] Use {chance.choice(names)} (because of speed)"
        )
        assert not may_hold_secret(text)


PARTS = (
    "cart checkout sk rk key pat prod live test v1 ab1 0x12 token commit issue SK AKIA LTAI re sq0 "
    "openai dapi"
).split()


def _joined_parts(chance: random.Random) -> str:
    """Return words and numbers as in names, of which few look like a key."""
    digits = ("".join(chance.choices("0123456789", k=chance.randint(1, 18))) for _ in range(2))
    words = chance.choices([*PARTS, *digits], k=chance.randint(2, 5))
    return chance.choice("-_./:").join(words) + chance.choice(("", "", "-", "_", ",", "."))


def test_the_prefilter_does_not_flag_a_name_that_ends_in_a_long_number() -> None:
    for number in range(10**12, 10**12 + 50):
        assert not may_hold_secret(f"billing-worker-{number}")
        assert not may_hold_secret(f"See billing-worker-{number}, which is green.")


@pytest.mark.usefixtures("one_pass")
def test_the_prefilter_flags_every_name_that_redaction_changes() -> None:
    chance = random.Random(3)
    names = [_joined_parts(chance) for _ in range(4000)]
    changed = [name for name in names if redact(name) != name]
    assert changed
    assert [name for name in changed if not may_hold_secret(name)] == []


def ordinary_prompts(count: int) -> list[str]:
    """Return prompts as developers write them, put together by chance, the same each time."""
    chance = random.Random(5)
    files = "src/api/list_endpoints.py tests/test_cart.py README.md app/models/user.rb".split()
    files += (
        "web/src/components/CartView.tsx internal/auth/session.go docs/setup.md Makefile".split()
    )
    things = ["the cart", "pagination", "the worker", "CursorBasedPagination", "the login page"]
    things += ["the retry logic", "Redis 7", "listEndpoints()", "the password form", "CI"]
    asks = [
        "Please look at {file} and tell me why {thing} is slow.",
        "Add a test for {thing} in {file}, and run it.",
        "Why does {thing} return 404 since yesterday?",
        "Refactor {file}: split it into two modules, keep the public names.",
        "Can we use {thing} instead of the old one? It takes 7 minutes on CI.",
        "We decided to keep {thing} as it is, because the migration costs two weeks.",
        "Rename the variable in {file} line 120, and update {file}.",
        "The build fails with exit code 1; {thing} seems to be the cause.",
        "Explain how {thing} works with {thing}.",
        "Write docs for {thing}, see https://example.org/guide/start for the style.",
        "Wie hängt {thing} mit {thing} zusammen? Schau in {file}.",
        "Fix the flaky test of {thing}, it failed 3 of 10 times.",
        "Bump the version to 2.4.1 and write the changelog for {thing}.",
        "git log says 9fceb02 broke {thing}, revert it please.",
        "Commit this as: {thing} retries three times",
    ]
    made = []
    for _ in range(count):
        text = chance.choice(asks)
        for slot, words in (("{file}", files), ("{thing}", things)):
            while slot in text:
                text = text.replace(slot, chance.choice(words), 1)
        made.append(text)
    return made


def test_ordinary_prompts_are_unchanged_and_rarely_flagged_by_the_prefilter() -> None:
    prompts = ordinary_prompts(200)

    assert [text for text in prompts if redact(text) != text] == []
    assert sum(map(may_hold_secret, prompts)) <= 30


def test_the_prefilter_does_not_flag_the_ids_of_turns() -> None:
    uuid = "4acdb746-a39b-4d13-9b2f-6462bd60b935"
    for text in (uuid, f"msg_{uuid}", f"{uuid}:5432", f"{uuid}:0"):
        assert not may_hold_secret(text) and redact(text) == text
    assert may_hold_secret(f"{uuid}:hunter42")

"""How likely a sentence is worth keeping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.hearing import judged
from memory_fabric.capture.worth import weights
from memory_fabric.capture.worth.signs import CODE, NAME, NUMBER, tokens
from memory_fabric.capture.worth.weigh import chance, kind


def sure(text: str, speaker: str = "user") -> float:
    (one,) = judged(text, speaker, every=True)
    return chance(one.signs)


def test_names_code_and_numbers_are_signs_of_one_kind_each() -> None:
    assert tokens("Use Redis 7 via `redis-cli ping`") == ["use", NAME, NUMBER, "via", CODE]


def test_no_subject_is_learned() -> None:
    assert sure("We decided to use Redis here.") == sure("We decided to use Kafka here.")


@pytest.mark.parametrize(
    ("settled", "open_"),
    [
        ("We decided to keep one table for all tenants.", "Can you show me the table for tenants?"),
        ("Never log request bodies in production.", "Now log the request bodies, please."),
        ("All timestamps must be stored in UTC.", "All tests pass now."),
    ],
)
def test_what_is_settled_is_likelier_than_what_is_asked_or_reported(
    settled: str, open_: str
) -> None:
    assert sure(settled) > 0.5 > sure(open_)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Never push to main without a review.", "constraint"),
        ("We decided to move the parser into its own package.", "decision"),
        ("The root cause was a lock that outlived its process.", "problem"),
    ],
)
def test_signs_tell_the_type(text: str, type_: str) -> None:
    (one,) = judged(text, "assistant", every=True)
    assert kind(one.signs) == type_


@given(st.lists(st.sampled_from([*sorted(weights.WEIGHTS)[:200], "unknown"]), max_size=40))
def test_a_chance_is_a_chance(signs: list[str]) -> None:
    assert 0.0 <= chance(signs) <= 1.0
    assert kind(signs) in weights.KINDS


def test_without_signs_nothing_is_worth_keeping() -> None:
    assert chance([]) < 0.5

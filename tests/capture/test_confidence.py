"""The one table of confidence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.confidence import confidence, of_candidate
from memory_fabric.models import CANDIDATE_FROM, PROMOTED_FROM, STORED_FROM


def test_nothing_said_beside_the_fact_is_enough_to_store_it() -> None:
    assert confidence() == STORED_FROM


def test_an_explicit_decision_of_the_user_is_promoted() -> None:
    assert confidence(explicit=True, by_user=True) >= PROMOTED_FROM


def test_explicit_statements_stand_above_facts_and_reasons_above_none() -> None:
    assert confidence(explicit=True) > confidence()
    assert confidence(reason=True) > confidence()
    assert confidence(alternative=True) > confidence()


def test_a_third_known_entity_adds_nothing() -> None:
    assert confidence(known_entities=1) < confidence(known_entities=2)
    assert confidence(known_entities=2) == confidence(known_entities=9)


@given(st.booleans(), st.booleans(), st.booleans(), st.integers(-5, 500), st.booleans())
def test_confidence_lies_between_storing_and_one(
    explicit: bool, reason: bool, alternative: bool, known: int, by_user: bool
) -> None:
    score = confidence(
        explicit=explicit,
        reason=reason,
        alternative=alternative,
        known_entities=known,
        by_user=by_user,
    )
    assert STORED_FROM <= score <= 1.0


def test_a_candidate_lies_between_what_is_dropped_and_what_is_stored() -> None:
    least, most = of_candidate(), of_candidate(explicit=True, known_entities=9, by_user=True)

    assert CANDIDATE_FROM <= least < most < STORED_FROM

"""The words of the house and the limits that the design gives them."""

from __future__ import annotations

from memory_fabric import models


def test_trust_rises_from_strangers_to_the_user() -> None:
    order = sorted(models.TRUST_ORDER, key=models.TRUST_ORDER.__getitem__)
    assert order == ["foreign", "tool", "assistant", "user"]


def test_the_limits_of_confidence_rise() -> None:
    limits = [
        models.CANDIDATE_FROM,
        models.STORED_FROM,
        models.PROMOTED_FROM,
        models.GENERALIZABLE_FROM,
    ]
    assert limits == [0.3, 0.5, 0.7, 0.8]


def test_a_fresh_record_says_nothing_it_does_not_know() -> None:
    record = models.Record("decision", "Use Redis")
    assert (record.id, record.created_at, record.scope, record.status) == ("", "", "team", "active")
    assert record.outcome in models.OUTCOMES
    assert record.type in models.RECORD_TYPES
    assert record.source in models.SOURCES

from __future__ import annotations

import pytest

from memory_fabric.recall.render import is_over, is_stale, limit_days, mark_stale
from recall.given import a_hit


@pytest.mark.parametrize(
    ("kind", "days"),
    [("decision", 90), ("pattern", 180), ("technology", 120), ("preference", 365), ("other", 90)],
)
def test_each_type_becomes_stale_after_its_limit(kind: str, days: int) -> None:
    assert not is_stale(kind, days)
    assert is_stale(kind, days + 1)


def test_entities_of_type_agent_are_never_stale() -> None:
    assert not is_stale("agent", 100_000)


def test_results_are_marked_as_stale_with_their_age_in_days() -> None:
    [hit] = mark_stale([a_hit(timestamp="2026-01-01T00:00:00Z")], "2026-04-11T00:00:00Z")

    assert hit.metadata["stale"] is True
    assert hit.metadata["days_since"] == 100


def test_a_recently_confirmed_record_is_not_stale() -> None:
    said, confirmed = "2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z"
    hit = a_hit(timestamp=said, metadata={"confirmed": confirmed})

    [fresh] = mark_stale([hit], "2026-04-11T00:00:00Z")
    [old] = mark_stale([hit], "2026-08-11T00:00:00Z")

    assert (fresh.metadata["stale"], fresh.metadata["days_since"]) == (False, 100)
    assert old.metadata["stale"] is True


def test_a_hit_without_a_date_is_never_stale() -> None:
    [hit] = mark_stale([a_hit(timestamp="")], "2026-04-11T00:00:00Z")

    assert hit.metadata["stale"] is False
    assert hit.metadata["days_since"] is None


def test_a_graph_result_of_entity_type_agent_never_becomes_stale() -> None:
    hit = a_hit(timestamp="2026-01-01T00:00:00Z")._replace(metadata={"entityType": "Agent"})

    [marked] = mark_stale([hit], "2036-01-01T00:00:00Z")

    assert marked.metadata["stale"] is False


def test_replaced_and_expired_records_are_marked_as_no_longer_valid() -> None:
    hits = [
        a_hit(metadata={"superseded_by": "2"}),
        a_hit(metadata={"valid_to": "2026-01-01T00:00:00Z"}),
        a_hit(metadata={"valid_to": "2027-01-01T00:00:00Z"}),
    ]

    assert [h.metadata["over"] for h in mark_stale(hits, "2026-04-11")] == [True, True, False]


def test_a_record_has_expired_at_the_moment_its_validity_ends() -> None:
    end = "2026-04-11T00:00:00Z"

    assert is_over(a_hit(metadata={"valid_to": end}), end)
    assert not is_over(a_hit(metadata={"valid_to": end}), "2026-04-10T23:59:59Z")
    assert is_over(a_hit(metadata={"superseded_by": "2", "valid_to": end}), "")


def test_a_stated_limit_replaces_the_limit_of_a_type_that_has_one() -> None:
    assert (limit_days("decision", 5), limit_days("agent", 5)) == (5, None)
    assert is_stale("decision", 6, 5) and not is_stale("decision", 5, 5)
    assert not is_stale("decision", None)


def test_a_replacement_to_come_is_not_shown_yet() -> None:
    later = {"superseded_by": "2", "valid_to": "2027-01-01T00:00:00Z"}

    [hit] = mark_stale([a_hit(metadata=later)], "2026-04-11T00:00:00Z")
    [over] = mark_stale([a_hit(metadata=later)], "2027-04-11T00:00:00Z")

    assert (hit.metadata["superseded_by"], hit.metadata["valid_to"]) == ("", "")
    assert over.metadata["superseded_by"] == "2"

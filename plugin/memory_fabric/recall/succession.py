"""Inherited relevance: a replacement answers the questions of its predecessor.

"We moved to clap" holds no word of "what parses our arguments?"; "Arguments are parsed with
structopt", which it closed, holds them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from memory_fabric.store.search import Candidate


class Measured(Protocol):
    """A candidate with its concepts, as bits (recall.relevance)."""

    candidate: Candidate
    mask: int


AnyMeasured = TypeVar("AnyMeasured", bound=Measured)

# The longest chain of replacements that is followed.
MAX_STEPS = 3


def missing(candidates: Sequence[Candidate], now: str) -> list[str]:
    """Return the ids of the candidates' successors that are not among them."""
    here = {record_of(candidate) for candidate in candidates}
    newer = (successor_of(candidate, now) for candidate in candidates)
    return list(dict.fromkeys(id_ for id_ in newer if id_ and id_ not in here))


def inherit(measured: Sequence[AnyMeasured], now: str) -> list[tuple[AnyMeasured, AnyMeasured]]:
    """Give each successor the concepts of its predecessor; return the pairs, the older one first.

    A pair of a chain follows the pairs that it depends on.
    """
    by_record: dict[str, list[AnyMeasured]] = {}
    for one in measured:
        by_record.setdefault(record_of(one.candidate), []).append(one)
    by_record.pop("", None)
    pairs: list[tuple[AnyMeasured, AnyMeasured]] = []
    step = [one for one in measured if successor_of(one.candidate, now)]
    for _ in range(MAX_STEPS):
        found = [
            (old, successor)
            for old in step
            for successor in by_record.get(successor_of(old.candidate, now), ())
        ]
        for old, successor in found:
            successor.mask |= old.mask
        pairs += found
        step = [successor for _, successor in found if successor_of(successor.candidate, now)]
    return pairs


def successor_of(candidate: Candidate, now: str) -> str:
    """Return the id of the record that had replaced it by then; '' if there is none."""
    until = str(candidate.metadata.get("valid_to") or "")
    return "" if until > now else str(candidate.metadata.get("superseded_by") or "")


def record_of(candidate: Candidate) -> str:
    """Return the id of the record that a candidate is, or belongs to; '' for none."""
    return str(candidate.metadata.get("record") or "")

"""The mark of records that may hold beyond their project; the user makes them global."""

from __future__ import annotations

from collections.abc import Iterable

from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import GENERALIZABLE_FROM, Entity

KINDS = ("technology", "pattern")


def is_generalizable(confidence: float, why: str, entities: Iterable[Entity]) -> bool:
    """Return True for a confident record with a reason about a well-known technology or pattern."""
    named = any(entity_type(entity.name) in KINDS for entity in entities)
    return confidence >= GENERALIZABLE_FROM and bool(why) and named

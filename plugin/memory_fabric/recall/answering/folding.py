"""Turns folded under the record that they state."""

from __future__ import annotations

from collections.abc import Sequence

from memory_fabric.models import Hit
from memory_fabric.recall.dedupe import is_decisive
from memory_fabric.text import STOPWORDS, stem, words

# A turn with so much of a record's words states it.
STATED_SHARE = 0.9
# Of fewer words nothing can be said.
LEAST_WORDS = 3
# A turn of more text says other things, too.
MAX_TURN_CHARS = 600


def folded(hits: Sequence[Hit]) -> list[Hit]:
    """Remove turns that state a record among the hits; that record's `said_in_turns` names them.

    The order is kept; the record takes the place of the first turn if that came before it.
    """
    records = [(hit, _own_words(hit.text)) for hit in hits if hit.source == "records"]
    if not records:
        return list(hits)
    under: dict[str, list[str]] = {}
    kept: list[Hit] = []
    for hit in hits:
        record = _stated(hit, records) if hit.source == "episodes" else None
        if record is None:
            kept.append(hit)
            continue
        under.setdefault(record.id, []).append(hit.id)
        kept.append(record._replace(score=max(record.score, hit.score)))
    first = list({hit.id: hit for hit in kept}.values())
    return [_with_turns(hit, under.get(hit.id, ())) for hit in first]


def _stated(turn: Hit, records: Sequence[tuple[Hit, frozenset[str]]]) -> Hit | None:
    """Return the first record that the turn states."""
    if len(turn.text) > MAX_TURN_CHARS:
        return None
    said = _own_words(turn.text)
    for record, own in records:
        is_stated = len(own) >= LEAST_WORDS and len(own & said) >= STATED_SHARE * len(own)
        if is_stated and not any(map(is_decisive, own ^ (own & said))):
            return record
    return None


def _own_words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOPWORDS)


def _with_turns(record: Hit, turns: Sequence[str]) -> Hit:
    if not turns:
        return record
    return record._replace(metadata={**record.metadata, "said_in_turns": list(turns)})

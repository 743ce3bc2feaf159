"""What a new record closes, asked of the store: the few older ones that may be about the same."""

from __future__ import annotations

from memory_fabric.capture.closing import answers, supersede
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.language.concepts import concepts
from memory_fabric.models import CANDIDATE_FROM, STORED_FROM
from memory_fabric.recall.parse import parse
from memory_fabric.store.fts_query import match_expression
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.store.records import about

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory

# The best matches are asked for: what a record closes shares its rare words with it.
MAX_OLDER = 60


def closed_by(
    memory: Memory, record: Record, provenance: Provenance, opening: Sequence[str] = ()
) -> list[str]:
    """Ids of the open records that this one closes when it is stored; mostly none.

    `opening` are the words before its sentence. Where the store cannot be read, nothing is closed.
    """
    if record.confidence < CANDIDATE_FROM:
        return []
    record = _as_stored(record, provenance)
    choice = supersede.speaks(record, opening)
    if not choice and record.type not in answers.ANSWERING:
        return []
    older = _older(memory, record, supersede.CLOSABLE if choice else ())
    found = supersede.closes(record, older, said=opening) if choice else []
    found += answers.settles(record, older)
    return list(dict.fromkeys(old.id for old in found))


def _as_stored(record: Record, by: Provenance) -> Record:
    """The record with what the store is going to note of who said it, and when.

    A candidate is judged as if it were sure: should it become active with this sighting, it closes
    what it says; the store closes nothing for one that stays a candidate.
    """
    return record._replace(
        trust=by.trust,
        session=by.session,
        domain=record.domain if record.domain != "general" else by.domain,
        valid_from=record.valid_from or by.at or "9999",
        confidence=max(record.confidence, STORED_FROM),
    )


def _older(
    memory: Memory, record: Record, closable: Sequence[str] | frozenset[str]
) -> list[Record]:
    kind = "user" if record.scope in USER_SCOPES else "project"
    query = parse(" ".join([record.what, record.why, *record.alternatives]), plain=True)
    match = match_expression([word for c in concepts(query) for word in c.spellings])
    try:
        database = memory.database(kind, create=False)
        if database is None or not match:
            return []
        return about(database, match, [*closable, *answers.OPEN_TYPES], MAX_OLDER)
    except (DeadlinePassed, StoreUnavailable):
        return []

"""Formatting of records and their facts for people and as JSON."""

from memory_fabric.clients.table import name_in
from memory_fabric.health.check import when
from memory_fabric.ids import short_id
from memory_fabric.models import IMPORTED, LINE, PLACE, SHARED_LOG, TYPED, Record
from memory_fabric.store.history.resolve import record_json as as_json
from memory_fabric.store.history.trace import RecordTrace
from memory_fabric.text import one_line

__all__ = ["as_json", "said_by", "speaker", "when"]


def said_by(record: Record) -> str:
    """Return a phrase about who stated a record, through which program and client, and when."""
    program = str(record.evidence.get(IMPORTED) or "")
    name = program or record.author or speaker(record.source, record.trust)
    if record.trust == "foreign":
        name = record.author or "someone else"
        name += "" if record.origin == SHARED_LOG else ", as claimed"
    agent = f" (agent {record.agent})" if record.agent else ""
    client = name_in(record.evidence)
    place = f" in {client}" if client else ""
    return f"{name}{agent}, by {record.source}{place}, on {when(record.created_at)}"


def origin_facts(origin: RecordTrace) -> tuple[tuple[str, str], ...]:
    """Return (name, value) pairs that `why` prints about a record; a value may be ''."""
    record = origin.record
    superseded = f", superseded by {short_id(record.superseded_by)}" if record.superseded_by else ""
    status = "removed" if origin.deletion else record.status
    program, place = record.evidence.get(IMPORTED), record.evidence.get(PLACE)
    parts = dict.fromkeys(str(part) for part in (program, place) if part and program)
    line = f", line {record.evidence[LINE]}" if parts and record.evidence.get(LINE) else ""
    return (
        ("why", one_line(record.why)),
        ("instead of", ", ".join(record.alternatives)),
        ("said by", said_by(record)),
        ("imported from", ", ".join(parts) + line),
        ("where", ", ".join(part for part in (record.project, record.origin) if part)),
        ("sessions", ", ".join(part for part in origin.seen_in if part)),
        ("trust", f"{record.trust}, confidence {record.confidence:.2f}"),
        ("scope", f"{record.scope}, domain {record.domain}"),
        ("category", record.category),
        ("state", status + (", pinned" if record.pinned else "") + superseded),
        ("entities", ", ".join(e.name for e in record.entities)),
        ("stored in", ", ".join(origin.tiers)),
    )


def speaker(source: str, trust: str) -> str:
    """Return "the user" for a typed source or the user's trust, else e.g. "the assistant"."""
    return "the user" if trust == "user" or source in TYPED else f"the {trust}"

"""Records and times as people and programs read them."""

from __future__ import annotations

from typing import Any

from memory_fabric.ids import short_id
from memory_fabric.models import Record
from memory_fabric.store import records

# Ways by which a person's own words come; an unattended session lowers their trust, no more.
TYPED = ("prompt", "cli")


def as_json(record: Record) -> dict[str, Any]:
    """The record for programs; fields without a value are left out."""
    whole = records.as_object(record)
    whole["short_id"] = short_id(record.id)
    whole["entities"] = [{"name": e.name, "type": e.type} for e in record.entities]
    whole["relations"] = [
        {"from": r.source, "relation": r.type, "to": r.target} for r in record.relations
    ]
    return {k: v for k, v in whole.items() if v not in ("", [], {})}


def said_by(record: Record) -> str:
    """Who said it, by what way, and when, in a phrase."""
    who_ = record.author or speaker(record.source, record.trust)
    if record.trust == "foreign":
        who_ = f"{record.author or 'someone else'}, as claimed"
    agent = f" (agent {record.agent})" if record.agent else ""
    return f"{who_}{agent}, by {record.source}, on {when(record.created_at)}"


def speaker(source: str, trust: str) -> str:
    """Who speaks by this way: what was typed is the user's, however little it is trusted."""
    return "the user" if trust == "user" or source in TYPED else f"the {trust}"


def when(timestamp: str) -> str:
    """A time for people: `2026-01-15 10:00`; the times of the house are UTC."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC" if timestamp else "an unknown day"

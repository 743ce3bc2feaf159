"""The confirmation of remember, as lines for people and as JSON."""

import shlex
from typing import Any, NamedTuple

from memory_fabric.capture.contradiction import (
    as_line,
    contradicting,
    is_choice_against,
    outcome_of,
)
from memory_fabric.cli import formatting, show
from memory_fabric.ids import short_id
from memory_fabric.models import Record, shown_type, stated_at
from memory_fabric.store.history import resolve
from memory_fabric.store.history.trace import GraphRows, graph_rows
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, many, one_line

MAX_WHAT_CHARS = 400


class Confirmation(NamedTuple):
    """A stored record with the facts that its author should know.

    `left_out` counts the characters that were cut off; `lacks_lesson` is set if it failed and no
    text says what to do instead.
    """

    record: Record
    repeated: bool
    graph_rows: GraphRows
    tiers: list[str]
    replaced: list[Record]
    opposite: list[Record]
    failures: list[str]
    left_out: int = 0
    lacks_lesson: bool = False


def confirmation(memory: Memory, stored: Record, *, repeated: bool) -> Confirmation:
    """Read back from memory a record that was just stated."""
    return Confirmation(
        stored,
        repeated,
        graph_rows(memory, stored, repeated=repeated),
        resolve.tiers_holding(memory, stored.id),
        memory.find_records("superseded_by = ?", (stored.id,)),
        contradicting(memory, stored),
        memory.failures,
    )


def as_json(told: Confirmation) -> dict[str, Any]:
    """Return the record and the facts of its confirmation as a JSON object."""
    whole = formatting.as_json(told.record) | {
        "repeated": told.repeated,
        "new_entities": list(told.graph_rows.new),
        "known_entities": list(told.graph_rows.known),
        "observations": told.graph_rows.observations,
        "tiers": told.tiers,
        "replaces": [record.id for record in told.replaced],
        "opposite": [_opposite(record) for record in told.opposite],
        "left_out_chars": told.left_out,
        "failures": told.failures,
    }
    return whole | ({"asks": "lesson"} if told.lacks_lesson else {})


def show_confirmation(told: Confirmation) -> None:
    """Print the confirmation; failures go to standard error."""
    stored = told.record
    head = "Already known, now stronger" if told.repeated else "Remembered"
    show.line(f"{head}: {shown_type(stored.type)} {short_id(stored.id)}", style="bold")
    show.facts(
        (
            ("what", cut(stored.what, MAX_WHAT_CHARS)),
            ("why", cut(stored.why, MAX_WHAT_CHARS)),
            ("new entities", _entities(told, told.graph_rows.new)),
            ("known entities", _entities(told, told.graph_rows.known)),
            ("relations", "; ".join(f"{r.source} {r.type} {r.target}" for r in stored.relations)),
            ("graph", _counted(told.graph_rows)),
            ("when", formatting.applies_when(stored)),
            ("domain", stored.domain),
            ("scope", f"{stored.scope}, confidence {stored.confidence:.2f}"),
            ("replaces", "; ".join(f"{r.what} ({short_id(r.id)})" for r in told.replaced)),
            ("stored in", ", ".join(told.tiers)),
        )
    )
    for record in told.opposite:
        show.line(as_line(record), style="yellow")
    for record in told.opposite:
        if is_choice_against(stored, record):
            show.line(_how_to_replace(stored, record))
            break
    if told.lacks_lesson:
        show.line(_how_to_add_a_lesson(stored))
    for failure in told.failures:
        show.warn(failure)


def _opposite(record: Record) -> dict[str, str]:
    return {
        "id": record.id,
        "short_id": short_id(record.id),
        "date": stated_at(record)[:10],
        "outcome": outcome_of(record),
        "what": record.what,
        "text": as_line(record),
    }


def _entities(told: Confirmation, names: tuple[str, ...]) -> str:
    types = {entity.name: entity.type for entity in told.record.entities}
    return ", ".join(f"{name} ({types.get(name, 'unknown')})" for name in names)


def _counted(graph_rows: GraphRows) -> str:
    counts = (graph_rows.observations, "observation"), (graph_rows.relations, "relation")
    return ", ".join(many(count, what) for count, what in counts if count)


def _how_to_replace(stored: Record, old: Record) -> str:
    """Return the command that lets the new record replace one that states another choice."""
    what = shlex.quote(stored.what) if len(stored.what) <= MAX_WHAT_CHARS else "the same words"
    command = ["memory-fabric remember", what, *_placed(stored), "--instead-of", short_id(old.id)]
    said = cut(one_line(old.what), MAX_WHAT_CHARS)
    return f"On record: [{short_id(old.id)}] {said.rstrip('.')}. Replace it: {' '.join(command)}"


def _placed(stored: Record) -> list[str]:
    """Return the options for the scope and domain of a record, unless they are the default."""
    stated = {"--scope": (stored.scope, "team"), "--domain": (stored.domain, "general")}
    return [f"{flag} {value}" for flag, (value, default) in stated.items() if value != default]


def _how_to_add_a_lesson(stored: Record) -> str:
    """Return the command that adds a lesson to the record: the same words with --instead."""
    what = shlex.quote(stored.what) if len(stored.what) <= MAX_WHAT_CHARS else "the same words"
    command = ["memory-fabric remember --failed --instead '…'", *_placed(stored), what]
    return f"It has no lesson yet. Add what to do instead with {' '.join(command)}"

"""`forget` and `history`: taking a memory back, and where it comes from. Text only, capped."""

from __future__ import annotations

from memory_fabric import ids
from memory_fabric.servers.mcp.result import Outcome, within
from memory_fabric.text import cut, neutralised, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from memory_fabric.models import Provenance
    from memory_fabric.store.forget.plan import Found
    from memory_fabric.store.history.trace import EntityTrace, Gift, RecordTrace, Told
    from memory_fabric.store.memory import Memory

MAX_TEXT_CHARS = 300
MAX_NAME_CHARS = 80
DEFAULT_CHANGES = 20
MAX_GIFTS = 5
KEPT_OF_TURN = "Backups keep copies; a turn cannot be restored."
KEPT = "Journals and backups keep copies; memory-fabric undo restores it."


def forget(memory: Memory, arguments: Mapping[str, Any], said_by: Provenance) -> Outcome:
    """Preview what would be forgotten, with a code; called with that code, forget exactly that."""
    from memory_fabric.store.forget import plan  # late: a client may never ask

    what, code = arguments["what"], arguments.get("confirm", "")
    if not code:
        return Outcome((_preview(plan.find(memory, what)),))
    found = plan.confirmed(memory, what, code)
    gone = plan.forget(memory, found, said_by)
    return Outcome((f"Forgotten: {gone}. {KEPT_OF_TURN if found.turns else KEPT}",), changed=True)


def history(memory: Memory, arguments: Mapping[str, Any], _said_by: Provenance) -> Outcome:
    """Return the origin of an entity or record, its injections, and its changes, newest first."""
    from memory_fabric.store.history import trace as tracing  # late: a client may never ask

    name, limit = arguments["name"], arguments.get("limit", DEFAULT_CHANGES)
    trace = tracing.why(memory, name)
    told = tracing.history(memory, name, limit)
    origin = _of_record(trace) if isinstance(trace, tracing.RecordTrace) else _of_entity(trace)
    lines = [*origin, *_given(trace.gifts), *(_change_line(change) for change in told)]
    return Outcome((within(lines, "Ask the command line (memory-fabric history) for all."),))


def _preview(found: Found) -> str:
    lines = [
        f"- {r.type} {ids.short_id(r.id)} of {r.created_at[:10]}: {_short(r.what)}"
        for r in found.records
    ]
    lines += [
        f"- entity {_name(e.name)} ({_name(e.type)}) with {len(e.observations)} observations of "
        f"its own and {e.relations} relations"
        for e in found.entities
    ]
    lines += [f"- observation of {_name(o.entity)}: {_short(o.text)}" for o in found.observations]
    lines += [
        f"- turn {ids.short_id(t.id)} of {t.at[:10]}, said by the {t.role}: {_short(t.text)}"
        for t in found.turns
    ]
    kept = within(lines, "All of these would be forgotten.")
    confirm = f'Nothing is forgotten yet. To forget this, call again with confirm "{found.code}".'
    return f"{kept}\n{confirm}"


def _of_record(trace: RecordTrace) -> Iterator[str]:
    record = trace.record
    yield f"{record.type} {ids.short_id(record.id)}: {_short(record.what)}"
    if record.why:
        yield f"reason: {_short(record.why)}"
    yield f"said by {_by(record._asdict(), record.created_at)}, confidence {record.confidence:.2f}"
    if len(trace.seen_in) > 1:
        yield f"seen in {len(trace.seen_in)} sessions"
    if trace.tiers:
        yield f"lies in {', '.join(trace.tiers)}"
    if record.superseded_by:
        yield f"superseded by {ids.short_id(record.superseded_by)}"
    yield from _gone(trace.gone)


def _of_entity(trace: EntityTrace) -> Iterator[str]:
    also = f", also called {', '.join(map(_name, trace.aliases))}" if trace.aliases else ""
    yield f"entity {_name(trace.name)} ({_name(trace.type)}){also}"
    for said in trace.said:
        by = _by({"trust": said.trust, "source": said.source, "session": said.session}, said.at)
        yield f"- {_short(said.text)} (said by {by})"
    yield from _gone(trace.gone)


def _gone(change: Told | None) -> Iterator[str]:
    if change is not None:
        yield f"It is gone: {_change_line(change)}"


def _given(gifts: Sequence[Gift]) -> Iterator[str]:
    for gift in gifts[:MAX_GIFTS]:
        agent = f", agent {_name(gift.agent)}," if gift.agent else ""
        yield f"given to session {_name(gift.session)}{agent} by {gift.channel} on {gift.at[:10]}"
    if len(gifts) > MAX_GIFTS:
        yield f"given {len(gifts) - MAX_GIFTS} more times"


def _change_line(told: Told) -> str:
    change = told.change
    undone = ", undone" if change.undone else ""
    who = _by(change.by, change.at)
    return f"* {ids.short_id(change.id)} {_short(told.what)} ({who}{undone})"


def _by(known: Mapping[str, Any], at: str) -> str:
    """Describe the speaker, source, session and time."""
    session = str(known.get("session") or "")
    parts = [
        str(known.get("trust") or "unknown"),
        f"through {known['source']}" if known.get("source") else "",
        f"in session {cut(session, MAX_NAME_CHARS)}" if session else "",
        f"on {at[:10]}" if at else "",
    ]
    return neutralised(" ".join(part for part in parts if part))


def _short(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_TEXT_CHARS))


def _name(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_NAME_CHARS))

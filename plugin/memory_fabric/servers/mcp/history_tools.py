"""The tools `forget` and `history`: delete a memory, and show its origin. Text only, capped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory_fabric import ids
from memory_fabric.models import SHARED_LOG, Provenance, shown_type
from memory_fabric.servers.mcp.jsonrpc import Outcome, within
from memory_fabric.store.forget import plan
from memory_fabric.store.history import trace
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, neutralised, one_line

MAX_TEXT_CHARS = 300
MAX_NAME_CHARS = 80
DEFAULT_CHANGES = 20
MAX_INJECTIONS = 5
KEPT_OF_TURN = "Backups keep copies; a turn cannot be restored."
KEPT = "Journals and backups keep copies; memory-fabric undo restores it."


def forget(memory: Memory, arguments: Mapping[str, Any], said_by: Provenance) -> Outcome:
    """Preview what would be forgotten, with a code; given that code, forget exactly that."""
    what, code = arguments["what"], arguments.get("confirm", "")
    if code:
        matches = plan.confirmed(memory, what, code)
        forgotten = plan.forget(memory, matches, said_by)
        remark = KEPT_OF_TURN if matches.turns else KEPT
        return Outcome((f"Forgotten: {forgotten}. {remark}",), changed=True)
    found = plan.find(memory, what)
    lines = [
        f"- {shown_type(r.type)} {ids.short_id(r.id)} of {r.created_at[:10]}: {_short(r.what)}"
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
    lines += [
        f"- stays, since it is also about others: {shown_type(r.type)} {ids.short_id(r.id)}: "
        f"{_short(r.what)}"
        for r in found.kept
    ]
    fitting = within(lines, "All of these would be forgotten.")
    confirm = f'Nothing is forgotten yet. To forget this, call again with confirm "{found.code}".'
    return Outcome((f"{fitting}\n{confirm}",))


def history(memory: Memory, arguments: Mapping[str, Any], _said_by: Provenance) -> Outcome:
    """Return the origin, injections and changes of an entity or record, newest first."""
    name, limit = arguments["name"], arguments.get("limit", DEFAULT_CHANGES)
    origin = trace.why(memory, name)
    changes = trace.history(memory, name, limit)
    lines = [
        *(_of_record(origin) if isinstance(origin, trace.RecordTrace) else _of_entity(origin)),
        *([f"It is gone: {_change_line(origin.deletion)}"] if origin.deletion else []),
    ]
    for injection in origin.injections[:MAX_INJECTIONS]:
        agent = f", agent {_name(injection.agent)}," if injection.agent else ""
        session, day = _name(injection.session), injection.at[:10]
        lines.append(f"given to session {session}{agent} by {injection.channel} on {day}")
    if (more := len(origin.injections) - MAX_INJECTIONS) > 0:
        lines.append(f"given {more} more times")
    lines += [_change_line(change) for change in changes]
    return Outcome((within(lines, "Ask the command line (memory-fabric history) for all."),))


def _of_record(origin: trace.RecordTrace) -> Iterator[str]:
    record = origin.record
    yield f"{shown_type(record.type)} {ids.short_id(record.id)}: {_short(record.what)}"
    if record.why:
        yield f"reason: {_short(record.why)}"
    yield f"said by {_by(record._asdict(), record.created_at)}, confidence {record.confidence:.2f}"
    if len(origin.seen_in) > 1:
        yield f"seen in {len(origin.seen_in)} sessions"
    if origin.tiers:
        yield f"lies in {', '.join(origin.tiers)}"
    if record.superseded_by:
        yield f"superseded by {ids.short_id(record.superseded_by)}"


def _of_entity(origin: trace.EntityTrace) -> Iterator[str]:
    also = f", also called {', '.join(map(_name, origin.aliases))}" if origin.aliases else ""
    yield f"entity {_name(origin.name)} ({_name(origin.type)}){also}"
    for statement in origin.statements:
        provenance = {n: getattr(statement, n) for n in ("trust", "source", "session")}
        by = _by(provenance | {"author": statement.agent, "origin": SHARED_LOG}, statement.at)
        yield f"- {_short(statement.text)} (said by {by})"


def _change_line(described: trace.DescribedChange) -> str:
    change = described.change
    undone = ", undone" if change.undone else ""
    who = _by(change.by, change.at)
    return f"* {ids.short_id(change.id)} {_short(described.what)} ({who}{undone})"


def _by(known: Mapping[str, Any], at: str) -> str:
    session = str(known.get("session") or "")
    who, author = str(known.get("trust") or "unknown"), str(known.get("author") or "")
    if who == "foreign" and author:
        is_member = known.get("origin") == SHARED_LOG
        who = f"{cut(author, MAX_NAME_CHARS)}, {'' if is_member else 'as claimed, '}unverified,"
    parts = [
        who,
        f"through {known['source']}" if known.get("source") else "",
        f"in session {cut(session, MAX_NAME_CHARS)}" if session else "",
        f"on {at[:10]}" if at else "",
    ]
    return neutralised(" ".join(part for part in parts if part))


def _short(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_TEXT_CHARS))


def _name(text: str) -> str:
    return neutralised(cut(one_line(text), MAX_NAME_CHARS))

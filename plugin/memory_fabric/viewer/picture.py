"""The data of the page as one JSON object: the graph, the records, the changes, and the tiers.

Lists refer to entities by their number in `entities`. Every text passes today's rules of redaction
on its way out: a row may be older than a rule.
"""

from collections.abc import Mapping
from typing import Any

from memory_fabric import __version__
from memory_fabric.clients.table import name_in
from memory_fabric.health import tiers as status
from memory_fabric.ids import short_id
from memory_fabric.language.times import days_between, parsed
from memory_fabric.models import BEFORE, PROMPT, TRUST_ORDER, WHEN, Record, worded
from memory_fabric.recall.marks import is_stale
from memory_fabric.recall.review import CANDIDATE, KINDS, due
from memory_fabric.redaction import redact
from memory_fabric.store import file_states
from memory_fabric.store.history import candidates
from memory_fabric.store.history.changes import who
from memory_fabric.store.history.resolve import version_of
from memory_fabric.store.memory import Memory
from memory_fabric.text import neutralised
from memory_fabric.viewer.overview import Edge, Node, Overview, Remark, Step, overview

# Of each kind; the totals count all.
MAX_DUE = 200
# Newest records among which near duplicates are looked for: comparing takes time, and the page is
# read again after each change.
MAX_COMPARED = 500

SCOPES = {"project": "team", "user": "user"}
BOTH = "both"


def graph(memory: Memory, now: str, name: str = "") -> dict[str, Any]:
    """The parts of a picture for a drawing: entities without observations, relations, what is left
    out. Raises as `picture`.
    """
    contents = overview(memory, name=name, only_graph=True)
    parts = {
        "entities": [_entity(node, now) for node in contents.nodes],
        "relations": [_relation(edge) for edge in contents.edges],
        "records": [],
        "left_out": dict(contents.left_out),
    }
    return presentable(parts)


def picture(memory: Memory, now: str, name: str = "") -> dict[str, Any]:
    """Everything that is remembered here, at `now` (ISO 8601), as JSON can hold it; the entity of
    this name in any case.

    Raises StoreUnavailable and DeadlinePassed.
    """
    contents, changed = overview(memory, name=name), file_states.all_changed(memory)
    project = memory.project
    whole = {
        "version": __version__,
        "made_at": now,
        "live": False,
        "project": {"name": project.name, "id": project.id} if project else None,
        "entities": [_entity(node, now) for node in contents.nodes],
        "relations": [_relation(edge) for edge in contents.edges],
        "records": [
            _record(record, contents, now) | {"changed_files": changed.get(record.id, {})}
            for record in contents.records
        ],
        "changes": [_change(step) for step in contents.steps],
        "review": review(memory, now),
        "tiers": [status.as_json(tier) for tier in status.tiers(memory, _seconds(now))],
        "left_out": dict(contents.left_out),
    }
    return presentable(whole)


def presentable(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts without secrets, and every text in them as it may be shown."""
    cleaned: dict[str, Any] = _shown(redact.all_without_secrets(parts, {}))
    return cleaned


def _shown(value: Any) -> Any:
    """The same value with every text in it as it may be shown."""
    if isinstance(value, str):
        return neutralised(value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value


def _entity(node: Node, now: str) -> dict[str, Any]:
    at = max((remark.at for remark in node.remarks), default="") or node.created_at
    trust = max((r.trust for r in node.remarks), key=lambda t: TRUST_ORDER.get(t, -1), default="")
    return {
        "name": node.name,
        "type": node.type,
        "domain": node.domain,
        "scope": BOTH if len(node.stores) > 1 else SCOPES[node.stores[0]],
        "trust": trust,
        "at": at,
        **_age(node.type, at, now),
        "aliases": list(node.aliases),
        "observations": [_observation(remark) for remark in node.remarks],
    }


def _observation(remark: Remark) -> dict[str, Any]:
    return {
        "text": remark.text,
        "at": remark.at,
        "trust": remark.trust,
        "source": remark.source,
        "session": remark.session,
        "agent": remark.agent,
        "domain": remark.domain,
        "scope": SCOPES[remark.store],
        "record": remark.record,
    }


def _relation(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "type": edge.type,
        "at": edge.at,
        "domain": edge.domain,
        "record": edge.record,
    }


def _record(record: Record, seen: Overview, now: str) -> dict[str, Any]:
    age = _age(record.type, record.created_at, now)
    return {
        "id": record.id,
        "short_id": short_id(record.id),
        "type": record.type,
        "what": record.what,
        "worded": worded(record),
        "why": record.why,
        "alternatives": list(record.alternatives),
        "outcome": record.outcome,
        "category": record.category,
        "scope": record.scope,
        "domain": record.domain,
        "trust": record.trust,
        "author": record.author,
        "source": record.source,
        "client": name_in(record.evidence),
        "session": record.session,
        "agent": record.agent,
        "confidence": record.confidence,
        "status": record.status,
        "pinned": record.pinned,
        "at": record.created_at,
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "superseded_by": record.superseded_by,
        "generalizable": record.generalizable,
        "stale": age["stale"] and not record.pinned,
        "days": age["days"],
        "entities": list(seen.about.get(record.id, ())),
        **change_fields(record),
    }


def _change(step: Step) -> dict[str, Any]:
    return {
        "id": step.change.id,
        "short_id": short_id(step.change.id),
        "at": step.change.at,
        "by": who(step.change.by),
        "what": step.what,
        "undone": step.change.undone,
        "entities": list(step.nodes),
        "records": list(step.records),
    }


def _age(kind: str, at: str, now: str) -> dict[str, Any]:
    days = days_between(at, now)
    return {"stale": is_stale(kind, days), "days": None if days is None else int(days)}


def _seconds(now: str) -> float:
    moment = parsed(now)
    return moment.timestamp() if moment else 0.0


def review(memory: Memory, now: str) -> dict[str, Any]:
    """Return what is due at `now`, in the order of the command `review`, and how much of each kind.

    Raises StoreUnavailable and DeadlinePassed.
    """
    due_items = due(memory, now, MAX_COMPARED)
    total = {kind: sum(item.kind == kind for item in due_items) for kind in KINDS}
    items = [item for kind in KINDS for item in [o for o in due_items if o.kind == kind][:MAX_DUE]]
    return {
        "total": total,
        "due": [
            {
                "kind": item.kind,
                "record": item.record.id,
                "others": [record.id for record in item.others],
                "days": item.days,
            }
            for item in items
        ],
        "candidates": [candidate(item.record) for item in items if item.kind == CANDIDATE],
    }


def candidate(record: Record) -> dict[str, Any]:
    """Return a candidate with the words around it and what a change of it must name."""
    return {
        "id": record.id,
        "short_id": short_id(record.id),
        "type": record.type,
        "what": record.what,
        "why": record.why,
        "scope": record.scope,
        "domain": record.domain,
        "trust": record.trust,
        "source": record.source,
        "session": record.session,
        "confidence": record.confidence,
        "at": record.created_at,
        "again": candidates.said_again(record),
        "prompt": str(record.evidence.get(PROMPT) or ""),
        "before": str(record.evidence.get(BEFORE) or ""),
        **change_fields(record),
    }


def change_fields(record: Record) -> Mapping[str, str]:
    """Return the fields of a record that only its changes need."""
    return {"when": str(record.evidence.get(WHEN) or ""), "version": version_of(record)}

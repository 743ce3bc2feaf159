"""Operations on records: remember, strengthen, forget, put back, and their share of the graph.

An active record that is not local adds its text to its entities, too (BR-11). Graph rows that a
record brought carry its id and are deleted with it, unless another record states the same or it was
also stated directly.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.ids import checksum
from memory_fabric.models import (
    AGAIN,
    ALSO,
    CANDIDATE_FROM,
    CONTRADICTS,
    INGEST,
    OTHERS,
    PROMPT,
    QUOTATION,
    STORED_FROM,
    TRUST_ORDER,
    UNSAID,
    WHEN,
    Entity,
    Provenance,
    Record,
    Relation,
    contradict,
    contradicted,
    stated_at,
    text_with_reason,
)
from memory_fabric.store import records
from memory_fabric.store.operations import restore, rows, supersede_effects, tombstones
from memory_fabric.store.record_state import CURRENT
from memory_fabric.text import same_form

Result = tuple[dict[str, Any], list[dict[str, Any]]]

# Above every CRC-32, so that sums of whole texts differ from the older sums of stems.
_OF_TEXTS = 1 << 32
_OWN = f"source <> '{OTHERS}'"


def remember(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Store a record and its share of the graph; a repeat of a known one only strengthens it.

    Result: `record` as stored (None when it was forgotten before), and `repeated`. A candidate
    becomes active when a second session states it, unless it is only heard in a prompt; an `echo`
    of what was said before does not count. A forgotten record comes back only when the user states
    it again later. Records that the payload `supersedes` are closed, if this one may close them. A
    record of the `past`, from an old session, may come again after an undo.
    """
    new = records.from_object(payload["record"])
    past = payload.get("past") is True
    result, inverse = _remembered(c, new, by, echo=payload.get("echo") is True, past=past)
    stored = result["record"]
    if stored is None or not payload.get("supersedes"):
        return result, inverse
    links = supersede_effects.close(c, new, records.from_object(stored), payload["supersedes"])
    closed = {"superseded": [link["id"] for link in links]} if links else {}
    return result | closed, [*supersede_effects.back(links), *inverse]


def _remembered(
    c: sqlite3.Connection, new: Record, by: Provenance, *, echo: bool, past: bool
) -> Result:
    # A shared journal may have returned the record before it was stored here: it is this user's
    # own.
    c.execute("DELETE FROM records WHERE id = ? AND source = ?", (new.id, OTHERS))
    known = _same(c, new)
    if known is None:
        if is_forgotten(c, new):
            return {"record": None, "repeated": False}, []
        over = _closed_repeat(c, new)
        if over is not None:
            return _result(over, repeated=True), []
        status = "active" if new.confidence >= STORED_FROM else "candidate"
        stored = new._replace(status=status)
        change = _replace(c, None, stored, [new.session])
        back = _op("forget", ids=[new.id], **({"bury": False} if past else {}))
        return _result(stored, repeated=False), [back, *change.undo]
    old, seen = known
    echo = echo or _is_weaker_repeat(old, new)
    sessions = seen if echo else list(dict.fromkeys([*seen, new.session]))
    # Without a session it is unknown whether this is another statement or the same one. What is
    # only heard in a prompt waits for the user or a note, however often it is said.
    second = len(sessions) > len(seen) and bool(new.session) and PROMPT not in new.evidence
    stored = _strengthened(old, new, second)
    if not echo:
        stored = _stated_anew(stored._replace(evidence=_with_stated(old, new)), old, new)
    if stored == old and sessions == seen:
        return _result(old, repeated=True), []
    change = _replace(c, old, stored, sessions)
    return _result(stored, repeated=True), [_put_op(old, seen, change.lifted), *change.undo]


def put_record(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Store a record exactly as given, with its graph rows: the inverse of a change to it.

    A forgotten record is not stored: `record` in the result is then None.
    """
    record = records.from_object(payload["record"])
    if tombstones.is_set(c, record.id):
        return {"record": None, "repeated": False}, []
    before = records.find(c, "id = ?", (record.id,))
    seen_in = list(payload["seen_in"])
    old, seen = before[0] if before else (None, [])
    record = supersede_effects.with_current_link(c, record, old)
    change = _replace(c, old, record, seen_in, payload.get("rows"), by)
    result = _result(record, repeated=old is not None)
    if old is None:
        back = _op("forget", ids=[record.id], bury=False)
    else:
        back = _put_op(old, seen, change.lifted)
    return result, [*restore.op(change.groups), back, *change.undo]


def forget(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Delete records with the graph rows that they brought; a tombstone keeps replays from them.

    Nothing of a local record is kept, not even for undo. Without `bury` no tombstone is set, so
    that the record may come again. Records that a deleted record had closed are open again.
    """
    undo, touched, count, tombs, links = [], [], 0, [], []
    bury, only = payload.get("bury") is not False, payload.get("only")
    for id_ in dict.fromkeys(payload["ids"]):
        found = records.find(c, "id = ?", (id_,))
        if only is not None and any(record.domain not in only for record, _ in found):
            continue
        count += len(found)
        key = 0
        for record, seen in found:
            key = _key_sum(record)
            links += supersede_effects.reopen(c, record)
            lifted = _remove_from_graph(c, record)
            touched += [*_names(record), *_named_in(lifted)]
            if record.scope != "local":
                undo.append(_put_op(record, seen, lifted))
        c.execute("DELETE FROM records WHERE id = ?", (id_,))
        if bury and not any(record.scope == "local" for record, _ in found):
            tombs += tombstones.put(c, id_, key, by.at)
    # In reverse order: a row that two of the records stated was deleted with the later one.
    inverse = [*tombstones.op([], tombs), *undo[::-1], *supersede_effects.back(links)]
    return {"deleted": count, "touched": touched}, inverse


class Change(NamedTuple):
    """The changes that replacing a record made to the graph.

    `lifted` are the rows that were removed, or None where the graph was not touched; `groups` take
    back changes to rows of others, `undo` are operations for the rest.
    """

    lifted: Any = None
    groups: tuple[Any, ...] = ()
    undo: tuple[Any, ...] = ()


def _replace(
    c: sqlite3.Connection,
    old: Record | None,
    new: Record,
    sessions: list[str],
    old_rows: Any = None,
    by: Provenance | None = None,
) -> Change:
    """Store the record's row, and its share of the graph where that differs.

    `old_rows` are rows to restore instead of those that the record itself would add.
    """
    if old is not None and old_rows is None and _graph_part(old) == _graph_part(new):
        records.put(c, new, sessions)
        return Change()
    lifted = _remove_from_graph(c, old) if old is not None else rows.nothing()
    records.put(c, new, sessions)
    if old_rows is None:
        return Change(lifted, undo=tuple(tombstones.op(_add_to_graph(c, new))))
    _, groups = restore.put_back(c, old_rows, by or _said_by(new), claim_again=True)
    return Change(lifted, tuple(groups))


def _graph_part(record: Record) -> tuple[Any, ...]:
    """Return the record's share of the graph; empty when it adds nothing, as others' records do."""
    if record.status != "active" or record.scope == "local" or record.source == OTHERS:
        return ()
    return (text_with_reason(record), record.entities, record.relations)


def _add_to_graph(c: sqlite3.Connection, record: Record) -> list[list[Any]]:
    """Add the record's text and relations to the graph; return the tombstones that this lifts."""
    if not _graph_part(record):
        return []
    by, text = _said_by(record), text_with_reason(record)
    guard = tombstones.StatementGuard(c, by)
    for entity in record.entities:
        id_ = _entity_for(c, entity.name, entity.type, by, record.id, guard)
        if id_ is None or _is_refused(c, id_, text, guard):
            continue
        rows.add_texts(c, id_, (text,), by, record.id)
        rows.claim(c, "observations", rows.text_id(c, id_, text) or 0, record.id)
    for relation in record.relations:
        source = _entity_for(c, relation.source, "", by, record.id, guard)
        target = _entity_for(c, relation.target, "", by, record.id, guard)
        if source is None or target is None:
            continue
        rows.add_relation(c, source, relation.type, target, by, record.id)
        edge = rows.relation_id(c, source, relation.type, target)
        rows.claim(c, "relations", edge or 0, record.id)
    return guard.lifted


def _entity_for(
    c: sqlite3.Connection,
    name: str,
    kind: str,
    by: Provenance,
    record: str,
    guard: tombstones.StatementGuard,
) -> int | None:
    """Return the entity that the name means, created if needed; None if it was forgotten.

    Without a `kind` it is the end of a relation.
    """
    known = rows.variant_id(c, name)
    if known is not None:
        return known
    if guard.refuse_entity(name):
        return None
    return rows.add_entity(c, name, kind or rows.type_of_end(name), by, record)


def _is_refused(
    c: sqlite3.Connection, entity: int, text: str, guard: tombstones.StatementGuard
) -> bool:
    if rows.text_id(c, entity, text) is not None:
        return False
    name = c.execute("SELECT name FROM entities WHERE id = ?", (entity,)).fetchone()[0]
    return guard.refuse_text(name, text)


def _remove_from_graph(c: sqlite3.Connection, record: Record) -> rows.Rows:
    """Remove from the graph what only this record states, and leave the rest to other sources.

    Returns all rows that it stated or brought, as they were, for putting them back.
    """
    claimed = rows.claimed(c, record.id)
    rows.unclaim(c, record.id)
    for table in ("observations", "relations"):
        for row in claimed[table]:
            if row["record"] == record.id:
                _hand_over(c, table, row, [id_ for id_ in row["claims"] if id_ != record.id])
    for row in claimed["entities"]:
        _hand_over(c, "entities", row, rows.users_of(c, row["id"]))
    return claimed


def _hand_over(c: sqlite3.Connection, table: str, row: dict[str, Any], sources: list[str]) -> None:
    """Attribute the row to its first remaining source, or delete it if there is none."""
    one = rows.nothing() | {table: [row]}
    if sources:
        rows.hand_to(c, one, sources[0])
    else:
        rows.remove(c, one)


def _said_by(record: Record) -> Provenance:
    """Return the record's own provenance, which its graph rows keep whoever restores them."""
    return Provenance(
        record.source,
        trust=record.trust,
        session=record.session,
        agent=record.agent,
        at=record.created_at,
        domain=record.domain,
    )


def _names(record: Record) -> list[str]:
    ends = [name for r in record.relations for name in (r.source, r.target)]
    return list(dict.fromkeys([*(e.name for e in record.entities), *ends]))


def _named_in(removed_rows: rows.Rows) -> list[str]:
    ends = [row[end] for row in removed_rows["relations"] for end in ("from", "to")]
    return [*(row["entity"] for row in removed_rows["observations"]), *ends]


def _same(c: sqlite3.Connection, new: Record) -> tuple[Record, list[str]] | None:
    """Return the record that this one repeats: the same id, or the same words in its scope and
    domain.

    An open question is never the same as its answer, nor a failure the same as a success. A record
    of others with the same words stays theirs: the new one is stored as this user's own, and
    nothing of theirs is merged into it.
    """
    found = records.find(c, "id = ?", (new.id,)) or records.find(
        c,
        f"key = ? AND scope = ? AND domain = ? AND {CURRENT} AND {_OWN} "
        "AND (type = 'question') = ? AND (scope <> 'local' OR session = ?)",
        (records.key_of(new), new.scope, new.domain, new.type == "question", new.session),
    )
    for pair in found:
        is_it = pair[0].id == new.id or records.have_same_text(pair[0], new)
        if is_it and not contradict(pair[0], new):
            return pair
    return None


def _closed_repeat(c: sqlite3.Connection, new: Record) -> Record | None:
    """Return the closed record that this one repeats from before it was closed, as when a turn is
    read late. The same words said later make a new record.
    """
    found = records.find(
        c,
        f"key = ? AND scope = ? AND domain = ? AND superseded_by <> '' AND valid_to > ? AND {_OWN}",
        (records.key_of(new), new.scope, new.domain, stated_at(new)),
    )
    same = (record for record, _ in found if records.have_same_text(record, new))
    return next((record for record in same if not contradict(record, new)), None)


def _strengthened(old: Record, new: Record, second_sighting: bool) -> Record:
    if _is_weaker_repeat(old, new):
        return old
    confidence = old.confidence if _adds_nothing(old, new) else max(old.confidence, new.confidence)
    active = old.status == "active" or confidence >= STORED_FROM
    if second_sighting and confidence >= CANDIDATE_FROM:
        active, confidence = True, max(confidence, STORED_FROM)
    entities, relations = _named_by_both(old, new)
    ranks = TRUST_ORDER.get(new.trust, 0), TRUST_ORDER.get(old.trust, 0)
    # What a weaker voice adds would be read as the stronger one's.
    adds = ranks[0] >= ranks[1]
    return old._replace(
        confidence=confidence,
        trust=new.trust if ranks[0] > ranks[1] else old.trust,
        why=old.why or (new.why if adds else ""),
        alternatives=old.alternatives or (new.alternatives if adds else ()),
        entities=entities,
        relations=relations,
        generalizable=old.generalizable or new.generalizable,
        pinned=old.pinned or new.pinned,
        status="active" if active else "candidate",
    )


def _stated_anew(stored: Record, old: Record, new: Record) -> Record:
    """Return a known record as the newer one of those that contradicted it, if it is said again."""
    against = [id_ for id_ in contradicted(new) if id_ not in contradicted(old)]
    if not against or stated_at(new) <= stated_at(old) or _is_weaker_repeat(old, new):
        return stored
    evidence = {**stored.evidence, CONTRADICTS: [*contradicted(old), *against]}
    return stored._replace(valid_from=stated_at(new), evidence=evidence)


def _with_stated(old: Record, new: Record) -> Mapping[str, Any]:
    """Add to the evidence of a record what a repeat states beside it, unless its trust is lower."""
    trusts = TRUST_ORDER.get(new.trust, 0), TRUST_ORDER.get(old.trust, 0)
    stated = {key: new.evidence[key] for key in (WHEN, ALSO, QUOTATION) if new.evidence.get(key)}
    if WHEN in stated:
        stated[UNSAID] = new.evidence.get(UNSAID, [])
    again = new.evidence.get(AGAIN)
    if old.status == "candidate" and isinstance(again, int):
        return {**old.evidence, AGAIN: again}
    if not stated or trusts[0] < trusts[1]:
        return old.evidence
    if trusts[0] > trusts[1]:
        return {**old.evidence, **stated}
    if WHEN in old.evidence:
        stated.pop(UNSAID, None)
    return {**stated, **old.evidence}


def _named_by_both(old: Record, new: Record) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """Return entities and relations of the known record, extended by those of the new one if only
    that one gives a reason, or taken from it if the known record has none.
    """
    if old.why or not new.why:
        return old.entities or new.entities, old.relations or new.relations
    known = {entity.name for entity in old.entities}
    more = (entity for entity in new.entities if entity.name not in known)
    return (*old.entities, *more), tuple(dict.fromkeys((*old.relations, *new.relations)))


def _is_weaker_repeat(old: Record, new: Record) -> bool:
    """True if another program repeats a statement of higher trust, or its own: then it must not
    raise confidence or add reasons and names.
    """
    if new.source != INGEST:
        return False
    mine = old.source == INGEST and old.agent == new.agent
    weaker = TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get(old.trust, 0)
    return weaker or (mine and (not new.session or new.session == old.session))


def _adds_nothing(old: Record, new: Record) -> bool:
    """True if the same sentence was read again; entity names known since must not raise its
    confidence.
    """
    same = (old.session, old.source, old.why, old.alternatives)
    return bool(old.session) and same == (new.session, new.source, new.why, new.alternatives)


def is_forgotten(c: sqlite3.Connection, new: Record) -> bool:
    """True if this record or its words were forgotten and this statement may not bring them
    back.
    """
    if tombstones.is_set(c, new.id):
        return True
    row = c.execute(
        "SELECT max(created_at) FROM tombstones WHERE key IN (?, ?)",
        (_key_sum(new), _former_sum(new)),
    ).fetchone()
    # A statement read late may have been made before it was forgotten.
    return row[0] is not None and (new.trust != "user" or stated_at(new) <= row[0])


def _key_sum(record: Record) -> int:
    """Return a number for the record's text: a tombstone must not keep the words themselves."""
    key = f"{record.scope}\n{record.domain}\n{same_form(record.what)}"
    return _OF_TEXTS + checksum(key)


def _former_sum(record: Record) -> int:
    """Return the number that tombstones of earlier releases hold: of the stems, which other texts
    share.
    """
    return checksum(f"{record.scope}\n{record.domain}\n{records.key_of(record)}")


def _result(record: Record, *, repeated: bool) -> dict[str, Any]:
    return {"record": records.as_object(record), "repeated": repeated}


def _put_op(record: Record, seen: list[str], lifted: Any) -> dict[str, Any]:
    return _op("put_record", record=records.as_object(record), seen_in=seen, rows=lifted)


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}

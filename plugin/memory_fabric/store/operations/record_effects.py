"""Records as operations: remembered, strengthened, forgotten, put back; and their graph part.

An active record that is not local says what it says on its entities, too (BR-11). What it brought
into the graph bears its id and goes with it, unless another record says the same or somebody has
stated it himself.
"""

from __future__ import annotations

from memory_fabric.ids import checksum
from memory_fabric.models import (
    CANDIDATE_FROM,
    INGEST,
    OTHERS,
    STORED_FROM,
    TRUST_ORDER,
    Provenance,
    Record,
    contradict,
    said,
    stated_at,
)
from memory_fabric.store import records
from memory_fabric.store.operations import occurrences, restore, rows, supersede_effects, tombstones
from memory_fabric.text import same_form
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Entity, Relation

    Result = tuple[dict[str, Any], list[dict[str, Any]]]

# Above every CRC-32: sums of whole texts are told from sums of stems, which were kept before.
_OF_TEXTS = 1 << 32
OURS = f"source <> '{OTHERS}'"


def remember(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """A record, landed in the graph; a repeat of a known one only strengthens it.

    Result: `record` as stored (None when it was forgotten before), and `repeated`. A candidate
    becomes active when a second session sees it, and a correction counts its turns; an `echo` of
    what was said before is no sighting. What was forgotten comes back only when the user says it
    again, later. Records that the payload `supersedes` are closed, if this one may.
    """
    new = records.from_object(payload["record"])
    told, inverse = _remembered(c, new, by, echo=payload.get("echo") is True)
    stored = told["record"]
    if stored is None or not payload.get("supersedes"):
        return told, inverse
    links = supersede_effects.close(c, new, records.from_object(stored), payload["supersedes"])
    closed = {"superseded": [link["id"] for link in links]} if links else {}
    return told | closed, [*supersede_effects.back(links), *inverse]


def _remembered(c: sqlite3.Connection, new: Record, by: Provenance, *, echo: bool) -> Result:
    # A shared journal may have brought our own words back before we have them again: they are ours.
    c.execute("DELETE FROM records WHERE id = ? AND source = ?", (new.id, OTHERS))
    known = _same(c, new)
    if known is None:
        if is_forgotten(c, new):
            return {"record": None, "repeated": False}, []
        over = _said_before_it_was_over(c, new)
        if over is not None:
            return _told(over, repeated=True), []
        status = "active" if new.confidence >= STORED_FROM else "candidate"
        stored = new._replace(status=status)
        change = _replace(c, None, stored, [new.session])
        return _told(stored, repeated=False), [_op("forget", ids=[new.id]), *change.undo]
    old, seen = known
    echo = echo or _is_hearsay(old, new)
    sessions = seen if echo else list(dict.fromkeys([*seen, new.session]))
    # Nobody knows whether a sighting without a session is another one.
    second = len(sessions) > len(seen) and bool(new.session)
    stored = _strengthened(old, new, second)
    if not echo:
        stored = stored._replace(evidence=occurrences.counted(old, new, new.session in seen))
    if stored == old and sessions == seen:
        return _told(old, repeated=True), []
    change = _replace(c, old, stored, sessions)
    return _told(stored, repeated=True), [_put_op(old, seen, change.lifted), *change.undo]


def put_record(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """A record exactly as given, with its rows of the graph: the inverse of a change to it.

    What was forgotten stays away: `record` in the result is then None.
    """
    record = records.from_object(payload["record"])
    if tombstones.is_set(c, record.id):
        return {"record": None, "repeated": False}, []
    before = records.find(c, "id = ?", (record.id,))
    seen_in = list(payload["seen_in"])
    old, seen = before[0] if before else (None, [])
    record = supersede_effects.standing_links(c, record, old)
    change = _replace(c, old, record, seen_in, payload.get("rows"), by)
    told = _told(record, repeated=old is not None)
    if old is None:
        back = _op("forget", ids=[record.id], bury=False)
    else:
        back = _put_op(old, seen, change.lifted)
    return told, [*restore.op(change.groups), back, *change.undo]


def forget(c: sqlite3.Connection, payload: Mapping[str, Any], by: Provenance) -> Result:
    """Records, with what they brought into the graph; a tombstone keeps replays from them.

    Of a local record nothing stays, not even the way back. Without `bury` there is no tombstone:
    what is taken back that way may come again. What a record had closed is open again.
    """
    undo, touched, gone, graves, links = [], [], 0, [], []
    bury, only = payload.get("bury") is not False, payload.get("only")
    for id_ in dict.fromkeys(payload["ids"]):
        found = records.find(c, "id = ?", (id_,))
        if only is not None and any(record.domain not in only for record, _ in found):
            continue
        gone += len(found)
        key = 0
        for record, seen in found:
            key = _key_sum(record)
            links += supersede_effects.release(c, record)
            lifted = _lift(c, record)
            touched += [*_names(record), *_named_in(lifted)]
            if record.scope != "local":
                undo.append(_put_op(record, seen, lifted))
        c.execute("DELETE FROM records WHERE id = ?", (id_,))
        if bury and not any(record.scope == "local" for record, _ in found):
            graves += tombstones.put(c, id_, key, by.at)
    # Last gone, first back: a row that two of them said went with the later one.
    inverse = [*tombstones.set_again([], graves), *undo[::-1], *supersede_effects.back(links)]
    return {"deleted": gone, "touched": touched}, inverse


class Change(Value):
    """What a change of a record did to the graph.

    `lifted` are the rows that went, or None where the graph was not touched; `groups` take back
    what was changed on rows that others had, `undo` are operations for the rest.
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
    """Put the record's row, and its part of the graph where that differs.

    `old_rows` are rows to put back in the place of what the record would bring itself.
    """
    if old is not None and old_rows is None and _graph_part(old) == _graph_part(new):
        records.put(c, new, sessions)
        return Change()
    lifted = _lift(c, old) if old is not None else rows.nothing()
    records.put(c, new, sessions)
    if old_rows is None:
        return Change(lifted, undo=tuple(tombstones.set_again(_land(c, new))))
    _, groups = restore.put_back(c, old_rows, by or _said_by(new), claim_again=True)
    return Change(lifted, tuple(groups))


def _graph_part(record: Record) -> tuple[Any, ...]:
    """What the record brings into the graph, and that it does: not what others claim."""
    if record.status != "active" or record.scope == "local" or record.source == OTHERS:
        return ()
    return (said(record), record.entities, record.relations)


def _land(c: sqlite3.Connection, record: Record) -> list[list[Any]]:
    """Let the record say what it says on its entities; tombstones that are lifted by that."""
    if not _graph_part(record):
        return []
    by, text = _said_by(record), said(record)
    graves = tombstones.Graves(c, by)
    for entity in record.entities:
        id_ = _meant(c, entity.name, entity.type, by, record.id, graves)
        if id_ is None or _stays_away(c, id_, text, graves):
            continue
        rows.add_texts(c, id_, (text,), by, record.id)
        rows.claim(c, "observations", rows.text_id(c, id_, text) or 0, record.id)
    for relation in record.relations:
        source = _meant(c, relation.source, rows.UNKNOWN_TYPE, by, record.id, graves)
        target = _meant(c, relation.target, rows.UNKNOWN_TYPE, by, record.id, graves)
        if source is None or target is None:
            continue
        rows.add_relation(c, source, relation.type, target, by, record.id)
        edge = rows.relation_id(c, source, relation.type, target)
        rows.claim(c, "relations", edge or 0, record.id)
    return graves.lifted


def _meant(
    c: sqlite3.Connection,
    name: str,
    kind: str,
    by: Provenance,
    record: str,
    graves: tombstones.Graves,
) -> int | None:
    """The entity that the name means, new if there is none; None where it was forgotten."""
    known = rows.variant_id(c, name)
    if known is not None:
        return known
    if graves.refuse_entity(name):
        return None
    return rows.add_entity(c, name, kind, by, record)


def _stays_away(c: sqlite3.Connection, entity: int, text: str, graves: tombstones.Graves) -> bool:
    if rows.text_id(c, entity, text) is not None:
        return False
    name = c.execute("SELECT name FROM entities WHERE id = ?", (entity,)).fetchone()[0]
    return graves.refuse_text(name, text)


def _lift(c: sqlite3.Connection, record: Record) -> rows.Rows:
    """Take out of the graph what only this record says, and leave the rest to others.

    Returns all rows that it said or brought, as they were: put back, they are its own again.
    """
    claimed = rows.claimed(c, record.id)
    rows.unclaim(c, record.id)
    for table in ("observations", "relations"):
        for row in claimed[table]:
            if row["record"] == record.id:
                _leave(c, table, row, [id_ for id_ in row["claims"] if id_ != record.id])
    for row in claimed["entities"]:
        _leave(c, "entities", row, rows.users_of(c, row["id"]))
    return claimed


def _leave(c: sqlite3.Connection, table: str, row: dict[str, Any], heirs: list[str]) -> None:
    """The row to the first of its heirs; without any it goes."""
    one = rows.nothing() | {table: [row]}
    if heirs:
        rows.hand_to(c, one, heirs[0])
    else:
        rows.remove(c, one)


def _said_by(record: Record) -> Provenance:
    """The record's own provenance: who puts it into the graph again did not say it."""
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


def _named_in(gone: rows.Rows) -> list[str]:
    ends = [row[end] for row in gone["relations"] for end in ("from", "to")]
    return [*(row["entity"] for row in gone["observations"]), *ends]


def _same(c: sqlite3.Connection, new: Record) -> tuple[Record, list[str]] | None:
    """The record that this one repeats: its id, or its words in the same scope and domain.

    An open question is never the same as its answer, what failed never the same as what worked.
    What others said in the same words stays theirs: saying it makes it ours, too, and nothing of
    theirs comes along.
    """
    found = records.find(c, "id = ?", (new.id,)) or records.find(
        c,
        f"key = ? AND scope = ? AND domain = ? AND superseded_by = '' AND valid_to = '' AND {OURS} "
        "AND (type = 'question') = ? AND (scope <> 'local' OR session = ?)",
        (records.key_of(new), new.scope, new.domain, new.type == "question", new.session),
    )
    for pair in found:
        is_it = pair[0].id == new.id or records.say_the_same(pair[0], new)
        if is_it and not contradict(pair[0], new):
            return pair
    return None


def _said_before_it_was_over(c: sqlite3.Connection, new: Record) -> Record | None:
    """The closed record that this one repeats from before it was closed: a turn that is read late.

    Said again later it is a new record.
    """
    found = records.find(
        c,
        f"key = ? AND scope = ? AND domain = ? AND superseded_by <> '' AND valid_to > ? AND {OURS}",
        (records.key_of(new), new.scope, new.domain, stated_at(new)),
    )
    same = (record for record, _ in found if records.say_the_same(record, new))
    return next((record for record in same if not contradict(record, new)), None)


def _strengthened(old: Record, new: Record, second_sighting: bool) -> Record:
    if _is_hearsay(old, new):
        return old
    confidence = old.confidence if _adds_nothing(old, new) else max(old.confidence, new.confidence)
    active = old.status == "active" or confidence >= STORED_FROM
    if second_sighting and confidence >= CANDIDATE_FROM:
        active, confidence = True, max(confidence, STORED_FROM)
    entities, relations = _named_by_both(old, new)
    stronger = TRUST_ORDER.get(new.trust, 0) > TRUST_ORDER.get(old.trust, 0)
    return old._replace(
        confidence=confidence,
        trust=new.trust if stronger else old.trust,
        why=old.why or new.why,
        alternatives=old.alternatives or new.alternatives,
        entities=entities,
        relations=relations,
        generalizable=old.generalizable or new.generalizable,
        pinned=old.pinned or new.pinned,
        status="active" if active else "candidate",
    )


def _named_by_both(old: Record, new: Record) -> tuple[tuple[Entity, ...], tuple[Relation, ...]]:
    """What the known record names; of the new one only what its reason brings, or where nothing
    was named.
    """
    if old.why or not new.why:
        return old.entities or new.entities, old.relations or new.relations
    known = {entity.name for entity in old.entities}
    more = (entity for entity in new.entities if entity.name not in known)
    return (*old.entities, *more), tuple(dict.fromkeys((*old.relations, *new.relations)))


def _is_hearsay(old: Record, new: Record) -> bool:
    """Whether another program only says again what somebody else has said, or it itself: it lends
    nobody's words its own confidence, reasons or names.
    """
    if new.source != INGEST:
        return False
    mine = old.source == INGEST and old.agent == new.agent
    weaker = TRUST_ORDER.get(new.trust, 0) < TRUST_ORDER.get(old.trust, 0)
    return weaker or (mine and (not new.session or new.session == old.session))


def _adds_nothing(old: Record, new: Record) -> bool:
    """Whether this is the same sentence read again: the names that it brought itself are known now,
    and make it no surer.
    """
    same = (old.session, old.source, old.why, old.alternatives)
    return bool(old.session) and same == (new.session, new.source, new.why, new.alternatives)


def is_forgotten(c: sqlite3.Connection, new: Record) -> bool:
    """Whether this record, or its words, were forgotten and nobody may bring them back now."""
    if tombstones.is_set(c, new.id):
        return True
    row = c.execute(
        "SELECT max(created_at) FROM tombstones WHERE key IN (?, ?)",
        (_key_sum(new), _former_sum(new)),
    ).fetchone()
    # What is read late was said before it was forgotten.
    return row[0] is not None and (new.trust != "user" or stated_at(new) <= row[0])


def _key_sum(record: Record) -> int:
    """A number for the record's text: a tombstone must not keep the words themselves."""
    key = f"{record.scope}\n{record.domain}\n{same_form(record.what)}"
    return _OF_TEXTS + checksum(key)


def _former_sum(record: Record) -> int:
    """The number in tombstones of earlier releases: that of the stems, which other texts share."""
    return checksum(f"{record.scope}\n{record.domain}\n{records.key_of(record)}")


def _told(record: Record, *, repeated: bool) -> dict[str, Any]:
    return {"record": records.as_object(record), "repeated": repeated}


def _put_op(record: Record, seen: list[str], lifted: Any) -> dict[str, Any]:
    return _op("put_record", record=records.as_object(record), seen_in=seen, rows=lifted)


def _op(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}

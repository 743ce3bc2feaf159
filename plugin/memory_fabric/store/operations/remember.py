"""Operations on records: remember, strengthen, put back, link; and the records' rows in the graph.

An active record that is not local also adds its text to its entities (BR-11). Graph rows that a
record added have the record's id. They are deleted with the record, unless another record states
the same content, or the user stated the content directly.

A link `{"id", "by", "at", "was": {"by", "at"}}` makes the record `by` supersede the record `id` at
the time `at`. If `by` and `at` are empty, `id` becomes valid again. `was` is the former state of
`id`: the link is set only if `id` is still in this state. So repeating an operation has no effect,
and a record that another operation has superseded in the meantime is not changed.
"""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import Any

from memory_fabric import models
from memory_fabric.ids import checksum, short_id
from memory_fabric.models import OTHERS, Payload, Provenance, Record, stated_at
from memory_fabric.store import records
from memory_fabric.store.operations import kind, restore, rows, tombstones
from memory_fabric.store.operations.kind import Kind, Result, Steps, step
from memory_fabric.store.schema import CURRENT
from memory_fabric.text import same_form

Link = dict[str, Any]

OPEN = {"by": "", "at": ""}
# Added to a text's CRC-32, so that keys of texts differ from 0 (no text) and from plain CRC-32s.
_OF_TEXTS = 1 << 32
# To describe changes: evidence that a user's confirmation changes, and fields that users edit.
_KEPT = {models.CONFIRMED, models.CONTRADICTS}
_CHANGED_BY_PEOPLE = ("type", "scope", "why", "status")


def remember(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Store a record and its graph rows; a repetition only strengthens the record that it repeats.
    The result has `record` as stored (None if it was forgotten earlier), and `repeated`. A
    candidate becomes active when a second session states it; a mere prompt, or an `echo` of an
    earlier statement, does not count. A forgotten record returns only if the user states it again
    later. Records listed in `supersedes` are superseded if `models.may_close` permits. `past` marks
    a record from an old session: an undo sets no tombstone for it, so it may be stored again.
    """
    new = records.from_object(payload["record"])
    # Delete the record if it was read from a shared journal, and so stored as another user's.
    c.execute("DELETE FROM records WHERE id = ? AND source = ?", (new.id, OTHERS))
    if (repeated := _same(c, new)) is not None:
        result, inverse = _repeated(c, new, *repeated, echo=payload.get("echo") is True)
    elif is_forgotten(c, new):
        return {"record": None, "repeated": False}, []
    # If a record with this text was superseded, a statement made before that but read only now
    # repeats that record. A statement made later becomes a new record.
    elif closed := _with_same_text(c, new, "superseded_by <> '' AND valid_to > ?", stated_at(new)):
        result, inverse = _result(closed[0], repeated=True), []
    else:
        status = "active" if new.confidence >= models.STORED_FROM else "candidate"
        stored = new._replace(status=status)
        _, undo = _replace(c, None, stored, [new.session])
        unburied = {"bury": False} if payload.get("past") is True else {}
        inverse = [step("forget", ids=[new.id], **unburied), *undo]
        result = _result(stored, repeated=False)
    if not payload.get("supersedes"):
        return result, inverse
    links = _close(c, new, records.from_object(result["record"]), payload["supersedes"])
    superseded = {"superseded": [link["id"] for link in links]} if links else {}
    return result | superseded, [*links_back(links), *inverse]


def _repeated(c: Connection, new: Record, old: Record, seen: list[str], *, echo: bool) -> Result:
    # A program cannot strengthen its own statement by repeating it, nor a more trusted statement.
    is_own = (old.source, old.agent) == (models.INGEST, new.agent)
    is_own = is_own and new.session in ("", old.session)
    weaker = new.source == models.INGEST and (is_own or _rank(new) < _rank(old))
    echo = echo or weaker
    sessions = seen if echo else list(dict.fromkeys([*seen, new.session]))
    # A repetition without a session id may be the same statement, read twice. A repetition in a
    # prompt alone never makes a candidate active: only the user or a note can confirm it.
    second = len(sessions) > len(seen) and bool(new.session) and models.PROMPT not in new.evidence
    stored = old if weaker else _strengthened(old, new, second)
    if not echo:
        later = stated_at(new)[:10] > str(old.evidence.get(models.RESTATED) or stated_at(old))[:10]
        evidence = _with_stated(old, new) | ({models.RESTATED: stated_at(new)} if later else {})
        against = list(dict.fromkeys([*models.contradicted(old), *models.contradicted(new)]))
        if len(against) > len(models.contradicted(old)) and stated_at(new) > stated_at(old):
            # Date the record by its repetition, so that it is newer than what it now contradicts.
            evidence[models.CONTRADICTS] = against
            stored = stored._replace(valid_from=stated_at(new))
        stored = stored._replace(evidence=evidence)
    if stored == old and sessions == seen:
        return _result(old, repeated=True), []
    lifted, undo = _replace(c, old, stored, sessions)
    return _result(stored, repeated=True), [put_op(old, seen, lifted), *undo]


def put_record(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Store a record exactly as given, with its graph rows, unless it was forgotten."""
    record = records.from_object(payload["record"])
    if tombstones.is_set(c, record.id):
        return {"record": None, "repeated": False}, []
    old, seen = next(iter(records.find(c, "id = ?", (record.id,))), (None, []))
    # Keep a stored record's link, which other operations set. For a new record, use the payload's.
    if old is not None:
        record = record._replace(superseded_by=old.superseded_by, valid_to=old.valid_to)
    elif record.superseded_by and not _exists(c, record.superseded_by):
        record = record._replace(superseded_by="", valid_to="")
    old_rows = payload.get("rows")
    put = (old_rows, by) if old_rows is not None else None
    lifted, undo = _replace(c, old, record, list(payload["seen_in"]), put)
    back = put_op(old, seen, lifted) if old else step("forget", ids=[record.id], bury=False)
    inverse = [*undo, back] if put else [back, *undo]
    return _result(record, repeated=old is not None), inverse


def supersede(c: Connection, payload: Payload, by: Provenance) -> Result:
    """Set the links whose records are still in the expected state. The inverse resets the links."""
    fitting = [link for link in payload["links"] if _set(c, link)]
    return {"links": len(fitting)}, links_back(fitting)


def _close(c: Connection, new: Record, stored: Record, ids: Iterable[str]) -> list[Link]:
    """Mark the records `ids` as superseded by `stored`, if `new` may supersede them; return the
    links that were set. `stored` is `new` itself, or the older record that `new` repeats. What
    `new` may supersede depends on its trust; this is checked again here, within the transaction.
    """
    if stored.status != "active":
        return []
    pairs = [pair for id_ in dict.fromkeys(ids) for pair in records.find(c, "id = ?", (id_,))]
    others = [old for old, _ in pairs if old.id != stored.id and old.status == "active"]
    closed = [old.id for old in others if models.may_close(new, old)]
    links = [{"id": i, "by": stored.id, "at": stated_at(new), "was": OPEN} for i in closed]
    return [link for link in links if _set(c, link)]


def reopen(c: Connection, deleted: Record) -> list[Link]:
    """Reopen the records that a deleted one superseded, or link them to its successor, if any."""
    successor = deleted.superseded_by if _exists(c, deleted.superseded_by) else ""
    links = []
    for old, _ in records.find(c, "superseded_by = ?", (deleted.id,)):
        now = {"by": successor, "at": old.valid_to} if successor not in ("", old.id) else OPEN
        links.append({"id": old.id, **now, "was": {"by": deleted.id, "at": old.valid_to}})
    return [link for link in links if _set(c, link)]


def links_back(links: Sequence[Link]) -> Steps:
    """Return the operation that resets these links to their former state; empty without links."""
    back = [link | link["was"] | {"was": {n: link[n] for n in OPEN}} for link in reversed(links)]
    return [step("supersede", links=back)] if back else []


def _set(c: Connection, link: Link) -> bool:
    if link["by"] and not _exists(c, link["by"]):
        return False
    expected = "WHERE id = ? AND superseded_by = ? AND valid_to = ?"
    values = (link["by"], link["at"], link["id"], link["was"]["by"], link["was"]["at"])
    change = f"UPDATE records SET superseded_by = ?, valid_to = ? {expected}"
    return c.execute(change, values).rowcount > 0


def _exists(c: Connection, id_: str) -> bool:
    return bool(id_ and c.execute("SELECT 1 FROM records WHERE id = ?", (id_,)).fetchone())


def _replace(
    c: Connection, old: Record | None, new: Record, sessions: list[str], put: Any = None
) -> tuple[Any, Steps]:
    """Store a record's row; replace its graph rows by new ones or, if `put` is given as (rows,
    provenance), by these rows. Return the former graph rows (None if unchanged), and the steps that
    undo changes of tombstones and of other rows.
    """
    if old is not None and put is None and _graph_part(old) == _graph_part(new):
        records.put(c, new, sessions)
        return None, []
    lifted = remove_from_graph(c, old) if old is not None else rows.nothing()
    records.put(c, new, sessions)
    if put is None:
        return lifted, tombstones.op(_add_to_graph(c, new))
    _, groups = restore.put_back(c, *put, claim_again=True)
    return lifted, restore.op(groups)


def _graph_part(record: Record) -> tuple[Any, ...]:
    """Return the text, entities and relations that a record adds to the graph; () if none."""
    if record.status != "active" or record.scope == "local" or record.source == OTHERS:
        return ()
    return (models.text_with_reason(record), record.entities, record.relations)


def _add_to_graph(c: Connection, record: Record) -> list[list[Any]]:
    if not _graph_part(record):
        return []
    # The graph rows keep the record's provenance even if someone else restores them.
    stated = (record.source, record.trust, record.session, record.agent)
    by = Provenance(*stated, at=record.created_at, domain=record.domain)
    text = models.text_with_reason(record)
    guard = tombstones.StatementGuard(c, by)

    def entity_for(name: str, kind: str = "") -> int | None:
        """Return the entity's row number, and create it if needed; None if it was forgotten."""
        id_ = rows.variant_id(c, name)
        if id_ is not None or guard.refuse_entity(name):
            return id_
        return rows.add_entity(c, name, kind or rows.type_of_end(name), by, record.id)

    for entity in record.entities:
        if (id_ := entity_for(entity.name, entity.type)) is None:
            continue
        is_new = rows.text_id(c, id_, text) is None
        if not (is_new and guard.refuse_text(rows.name_of(c, id_), text)):
            rows.add_texts(c, id_, (text,), by, record.id)
            rows.claim(c, "observations", rows.text_id(c, id_, text) or 0, record.id)
    for relation in record.relations:
        source, target = entity_for(relation.source), entity_for(relation.target)
        if source is not None and target is not None:
            rows.add_relation(c, source, relation.type, target, by, record.id)
            edge = rows.relation_id(c, source, relation.type, target)
            rows.claim(c, "relations", edge or 0, record.id)
    return guard.lifted


def remove_from_graph(c: Connection, record: Record) -> rows.Rows:
    """Delete a record's graph rows, unless other sources state them too; return all its rows."""
    claimed = rows.claimed(c, record.id)
    c.execute("DELETE FROM claims WHERE record = ?", (record.id,))
    for table in ("observations", "relations", "entities"):
        for row in claimed[table]:
            if table == "entities":
                sources = rows.users_of(c, row["id"])
            elif row["record"] == record.id:
                sources = [id_ for id_ in row["claims"] if id_ != record.id]
            else:
                continue
            if sources:
                rows.hand_to(c, rows.nothing() | {table: [row]}, sources[0])
            else:
                rows.remove(c, rows.nothing() | {table: [row]})
    return claimed


def restate(c: Connection, record: Record, seen_in: list[str]) -> Steps:
    """Store a record's graph rows again after an alias was removed. Return the inverse."""
    lifted = remove_from_graph(c, record)
    return [put_op(record, seen_in, lifted), *tombstones.op(_add_to_graph(c, record))]


def names_of(record: Record) -> list[str]:
    """Return the names of all entities in a record, each once."""
    ends = [name for r in record.relations for name in (r.source, r.target)]
    return list(dict.fromkeys([*(e.name for e in record.entities), *ends]))


def _same(c: Connection, new: Record) -> records.Stored | None:
    """Return the record that the new record repeats: one with the same id, or the same text and
    scope. A question does not repeat its answer, and a failure does not repeat a success. Another
    user's record is never repeated, because the new record must be stored as this user's own.
    """
    for old, seen in records.find(c, "id = ?", (new.id,)):
        return None if models.contradict(old, new) else (old, seen)
    where = f"{CURRENT} AND (type = 'question') = ? AND (scope <> 'local' OR session = ?)"
    return _with_same_text(c, new, where, new.type == "question", new.session)


def _with_same_text(c: Connection, new: Record, where: str, *values: Any) -> records.Stored | None:
    """Return this user's record that fulfils `where` and has the text, scope, domain of `new`."""
    where = f"key = ? AND scope = ? AND domain = ? AND source <> '{OTHERS}' AND {where}"
    alike = records.find(c, where, (records.key_of(new.what), new.scope, new.domain, *values))
    same = (pair for pair in alike if records.have_same_text(pair[0], new))
    return next((pair for pair in same if not models.contradict(pair[0], new)), None)


def _rank(record: Record) -> int:
    return models.TRUST_ORDER.get(record.trust, 0)


def _strengthened(old: Record, new: Record, second_sighting: bool) -> Record:
    # Reading a sentence again adds no confidence, even if more of its entities are known by now.
    same = (old.source, old.why, old.alternatives) == (new.source, new.why, new.alternatives)
    quotes = models.QUOTATION in new.evidence.keys() - old.evidence.keys()  # the quotation is new
    adds_nothing = bool(old.session) and old.session == new.session and same and not quotes
    confidence = old.confidence if adds_nothing else max(old.confidence, new.confidence)
    active = old.status == "active" or confidence >= models.STORED_FROM
    if second_sighting and confidence >= models.CANDIDATE_FROM:
        active, confidence = True, max(confidence, models.STORED_FROM)
    entities, relations = old.entities or new.entities, old.relations or new.relations
    if new.why and not old.why:
        names = {entity.name for entity in old.entities}
        entities = (*old.entities, *(e for e in new.entities if e.name not in names))
        relations = tuple(dict.fromkeys((*old.relations, *new.relations)))
    # A less trusted statement adds no text, as the text would seem to have the record's trust.
    adds = _rank(new) >= _rank(old)
    return old._replace(
        confidence=confidence,
        trust=new.trust if _rank(new) > _rank(old) else old.trust,
        why=old.why or (new.why if adds else ""),
        alternatives=old.alternatives or (new.alternatives if adds else ()),
        entities=entities,
        relations=relations,
        generalizable=old.generalizable or new.generalizable,
        pinned=old.pinned or new.pinned,
        status="active" if active else "candidate",
    )


def _with_stated(old: Record, new: Record) -> dict[str, Any]:
    """Return the evidence of `old`, plus that of `new` if `new` is at least as trusted."""
    evidence, times = dict(old.evidence), new.evidence.get(models.AGAIN)
    if old.status == "candidate" and isinstance(times, int):
        return evidence | {models.AGAIN: times}
    keys = models.WHEN, models.ALSO, models.QUOTATION
    stated = {key: new.evidence[key] for key in keys if new.evidence.get(key)}
    if models.LIFTED in evidence and new.source not in models.TYPED:
        stated.pop(models.WHEN, None)  # only the user binds a lifted rule again
    if models.WHEN in stated:
        stated[models.UNSAID] = new.evidence.get(models.UNSAID, [])
    if _rank(new) > _rank(old):
        return evidence | stated
    if models.WHEN in evidence:
        stated.pop(models.UNSAID, None)
    return stated | evidence if stated and _rank(new) == _rank(old) else evidence


def is_forgotten(c: Connection, new: Record) -> bool:
    """Return True for a forgotten id, or a forgotten text that the user has not stated later."""
    if tombstones.is_set(c, new.id):
        return True
    last = "SELECT max(created_at) FROM tombstones WHERE key = ?"
    (at,) = c.execute(last, (key_sum(new),)).fetchone()
    # A statement that arrives only now may have been made before the record was forgotten.
    return at is not None and (new.trust != "user" or stated_at(new) <= at)


def key_sum(record: Record) -> int:
    """Return a checksum of the record's text, for tombstones, which must not contain the text."""
    return _OF_TEXTS + checksum(f"{record.scope}\n{record.domain}\n{same_form(record.what)}")


def _result(record: Record, *, repeated: bool) -> dict[str, Any]:
    return {"record": records.as_object(record), "repeated": repeated}


def put_op(record: Record, seen: list[str], lifted: Any) -> dict[str, Any]:
    """Return the step that restores this version of a record; `lifted` are its graph rows."""
    return step("put_record", record=records.as_object(record), seen_in=seen, rows=lifted)


def _describe_remember(payload: Payload, inverse: Sequence[Payload]) -> str:
    former = kind.former_records(inverse)
    if not inverse:
        return f"did not store {kind.record_phrase(payload['record'])}: it was forgotten before"
    closed = [short_id(link["id"]) for link in kind.parts_of(inverse, "supersede", "links")]
    replaced = f", in place of {kind.named(closed)}" if closed else ""
    # A repetition is not stored, so the description has the id of the first statement.
    first = payload["record"] | ({"id": former[0]["id"]} if former else {})
    # A repetition with the candidate's own id is always the user's decision to keep the candidate.
    is_kept = first == payload["record"] and bool(former) and former[0]["status"] == "candidate"
    verb = "kept" if is_kept else "strengthened" if former else "remembered"
    return f"{verb} {kind.record_phrase(first)}{replaced}"


def _describe_put(payload: Payload, inverse: Sequence[Payload]) -> str:
    new, old = payload["record"], next(iter(kind.former_records(inverse)), None)
    phrase = kind.record_phrase(new)
    if old is None:
        if moved := payload.get("moved_from"):
            return f"moved from scope {moved} to {new['scope']}: {phrase}"
        return f"stored {phrase}"
    if new.get("what") != old.get("what"):
        return f"reworded {phrase}; before: {old['what']}"
    if bool(old.get("pinned")) != bool(new.get("pinned")):
        return f"{'pinned' if new.get('pinned') else 'unpinned'} {phrase}"
    if new.get("superseded_by") and not old.get("superseded_by"):
        return f"superseded {phrase} by {short_id(new['superseded_by'])}"
    changed = [name for name in new if new.get(name) != old.get(name)]
    evidence, before = new.get("evidence") or {}, old.get("evidence") or {}
    others = {key for key in {**evidence, **before} if evidence.get(key) != before.get(key)}
    if models.CONFIRMED in others <= _KEPT and {"trust", "evidence"}.issuperset(changed):
        return f"kept {phrase}"
    fields = [name for name in changed if name in _CHANGED_BY_PEOPLE] or changed
    return f"changed {', '.join(fields) or 'nothing'} of {phrase}"


def _describe_links(payload: Payload, _: Sequence[Payload]) -> str:
    opened = [short_id(link["id"]) for link in payload["links"] if not link["at"]]
    closed = [short_id(link["id"]) for link in payload["links"] if link["at"]]
    parts = (f"opened {kind.named(opened)} again", opened), (f"closed {kind.named(closed)}", closed)
    return kind.joined([phrase for phrase, ids in parts if ids])


_SAID = kind.options(supersedes=[str], echo=bool, past=bool, batch=str)
_PUT = {"seen_in": [str], **kind.options(rows=kind.ROWS, batch=str, told=bool)}
_LINK = {"id": str, "by": str, "at": str, "was": {"by": str, "at": str}}
KINDS = {
    "remember": Kind({"record": kind.RECORD, **_SAID}, remember, _describe_remember),
    "put_record": Kind({"record": kind.RECORD, **_PUT}, put_record, _describe_put),
    "supersede": Kind({"links": [_LINK]}, supersede, _describe_links),
}

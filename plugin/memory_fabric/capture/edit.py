"""Changes to a record that the user asks for: to its words, type, scope and reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric.capture.clauses import reason_and_alternatives
from memory_fabric.capture.identifying_names import for_everybody
from memory_fabric.capture.remember import joined_to_project, stated
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import (
    CONFIRMED,
    CONTRADICTS,
    OTHERS,
    QUOTATION,
    WHEN,
    Provenance,
    Record,
    contradicted,
)
from memory_fabric.store import records
from memory_fabric.store.forget import plan
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.memory import USER_SCOPES, Memory
from memory_fabric.store.operations.remember import OPEN
from memory_fabric.store.schema import CURRENT
from memory_fabric.text import same_form

# What is known of the words of a note: it does not hold for other words.
_OF_THE_WORDS = frozenset((QUOTATION, CONTRADICTS, "noted", "agreed"))


class Stored(NamedTuple):
    """A record with the sessions that stated it and the kind of its database."""

    record: Record
    seen: Sequence[str]
    store: str


class Edit(NamedTuple):
    """The parts of a record to change: None leaves one as it is, '' removes a reason or `when`."""

    text: str | None = None
    type: str | None = None
    scope: str | None = None
    why: str | None = None
    when: str | None = None


class Changed(NamedTuple):
    """A record before and after a change, and the others that were closed in its favour."""

    old: Record
    new: Record
    replaced: tuple[Record, ...] = ()


def editable(memory: Memory, name: str) -> Stored:
    """Return the record that an id or its end names, if it may be changed.

    Raises NotFound, and BadInput for what is no record, or one that cannot be changed.
    """
    try:
        found = Stored(*resolve.record_by_id(memory, name))
    except NotFound:
        _explain(memory, name)
        raise
    record, id_ = found.record, short_id(found.record.id)
    if record.source == OTHERS:
        whose = record.author or "someone else"
        raise _refused(f"{id_} is a memory of {whose}.", "Remember your own with remember.")
    if record.type == "session":
        raise _refused(f"{id_} is the summary of a session.", f"Use forget {id_}, or remember.")
    if record.scope == "local":
        raise _refused(f"{id_} ends with its session.", "Remember it with another scope.")
    if record.superseded_by or record.valid_to:
        by = record.superseded_by and f" by {short_id(record.superseded_by)}"
        raise _refused(f"{id_} was replaced{by}.", "Edit the current one, or undo the change.")
    return found


def _explain(memory: Memory, name: str) -> None:
    """Raise BadInput if the name is that of a turn, an entity or a change."""
    if any(resolve.entities_meant(memory, known) for known in resolve.names_of(memory, name)):
        raise _refused(
            f"{name!r} is an entity, which has no wording of its own.",
            f"Use the id of a memory in why {name!r}, or merge and alias for its names.",
        )
    for find, what, remedy in (
        (plan.by_id, "a turn of a conversation, which stays as it was said", "forget"),
        (changes.by_id, "a change", "undo"),
    ):
        try:
            find(memory, name)
        except FabricError:
            continue
        raise _refused(f"{name} is {what}.", f"memory-fabric {remedy} {name} takes it back.")


def _refused(message: str, remedy: str) -> BadInput:
    return BadInput("id", message, remedy=remedy)


def edited(
    memory: Memory, old: Record, edit: Edit, by: Provenance, closing: Sequence[str] = ()
) -> Record:
    """Return the record with the change; other words are the speaker's, with names of their own.

    Raises BadInput if nothing would change, for a global text that may name somebody, and for words
    that another record has, unless that is one of `closing` (ids).
    """
    what = old.what if edit.text is None else edit.text
    why = old.why if edit.why is None else edit.why
    new = old._replace(
        what=what, why=why, type=edit.type or old.type, scope=edit.scope or old.scope
    )
    if (what, why) != (old.what, old.why):
        new = _restated(memory, old, new, by)
    if edit.when is not None:
        evidence = {**new.evidence, WHEN: edit.when}
        new = new._replace(evidence={key: value for key, value in evidence.items() if value})
    if new.scope != old.scope and memory.project:
        new = new._replace(project=new.project or memory.project.name)
    if (what, why, new.type, new.scope) != (old.what, old.why, old.type, old.scope):
        new = _joined(memory, new)
    if new.scope == "global":
        new = for_everybody(new, memory)
    if new == old:
        raise BadInput(
            "text", f"{short_id(old.id)} says this already.", remedy="Say what to change."
        )
    _require_new_words(memory, new, closing)
    if new.scope != "global":
        now = by.at or timestamp()
        new = new._replace(evidence={**new.evidence, CONFIRMED: now})
    return new


def _restated(memory: Memory, old: Record, new: Record, by: Provenance) -> Record:
    """Return the record as the speaker's own statement, with the names in its new words."""
    words = same_form(new.what)
    unnamed = [name for name in old.alternatives if same_form(name) not in words]
    _, rejected = reason_and_alternatives(new.what)
    alternatives = tuple(dict.fromkeys((*rejected, *unnamed)))
    told = stated(memory, new.what, type=new.type, why=new.why, alternatives=alternatives)
    return new._replace(
        why=told.why,
        entities=told.entities,
        relations=told.relations,
        alternatives=alternatives,
        trust=by.trust,
        source=by.source,
        status="active",
        confidence=max(old.confidence, told.confidence),
        generalizable=told.generalizable,
        evidence={k: v for k, v in old.evidence.items() if k not in _OF_THE_WORDS},
    )


def _joined(memory: Memory, record: Record) -> Record:
    """Return the record with "project chose X" only where its type and scope say so."""
    name = record.project or (memory.project.name if memory.project else "")
    chose = [r for r in record.relations if (r.source, r.type) == (name, "chose")]
    if chose:
        record = record._replace(
            entities=tuple(e for e in record.entities if (e.name, e.type) != (name, "project")),
            relations=tuple(r for r in record.relations if r not in chose),
        )
    return joined_to_project(record, memory)


def _require_new_words(memory: Memory, new: Record, closing: Sequence[str]) -> None:
    """Raise BadInput if another current record of this scope and domain has the same words."""
    known = memory.find_records(
        f"key = ? AND scope = ? AND domain = ? AND id <> ? AND {CURRENT}",
        (records.key_of(new), new.scope, new.domain, new.id),
    )
    for same in known:
        is_no_twin = same.source == OTHERS or same.id in closing
        if records.have_same_text(same, new) and not is_no_twin:
            id_ = short_id(same.id)
            raise _refused(
                f"{id_} says this already.",
                f"memory-fabric edit {id_} --instead-of {short_id(new.id)} makes them one.",
            )


def save(memory: Memory, old: Stored, new: Record, by: Provenance) -> None:
    """Store the changed record; one of another database moves there, with what it had closed.

    Raises StoreUnavailable, and BadInput if the record was forgotten in the other database.
    """
    store = kind_of(memory, new)
    moves = store != old.store
    payload: dict[str, Any] = {"record": records.as_object(new), "seen_in": list(old.seen)}
    payload |= {"moved_from": old.record.scope} if moves else {}
    operation = memory.operation("put_record", payload, by, store)
    if new.scope == "global":
        unnamed = operation.provenance._replace(author="", origin="", session="", agent="")
        operation = operation._replace(provenance=unnamed)
    if memory.apply_now(operation, is_new=True).get("record") is None:
        raise _refused(
            f"{short_id(new.id)} was forgotten in scope {new.scope}.", "Remember it there instead."
        )
    if moves:
        closed = memory.find_records("superseded_by = ?", (new.id,))
        gone = {"ids": [new.id], "bury": False, "moved_to": new.scope}
        memory.write_now("forget", gone, by, store=old.store)
        links = [_link(one, "", one.valid_to) for one in closed if one.valid_to]
        if links:
            memory.write_now("supersede", {"links": links}, by, store=old.store)


def close(memory: Memory, old: Stored, new: Record, by: Provenance) -> None:
    """Close a record in favour of another. Raises StoreUnavailable."""
    successor = new.id if kind_of(memory, new) == old.store else ""
    link = _link(old.record, successor, by.at or timestamp())
    memory.write_now("supersede", {"links": [link]}, by, store=old.store)


def change(
    memory: Memory, name: str, wanted: Edit, instead_of: Sequence[str], by: Provenance
) -> Changed:
    """Change the record that an id or its end names, and close others in its favour.

    Raises NotFound, StoreUnavailable, and BadInput as `edited`, or if it would replace itself.
    """
    old = editable(memory, name)
    closing = [editable(memory, other) for other in instead_of]
    if any(one.record.id == old.record.id for one in closing):
        raise BadInput("instead_of", f"{name} cannot replace itself.", remedy="Name another.")
    new = old.record
    if wanted != Edit():
        new = edited(memory, old.record, wanted, by, [one.record.id for one in closing])
        save(memory, old, new, by)
    for one in closing:
        close(memory, one, new, by)
    return Changed(old.record, new, tuple(one.record for one in closing))


def confirm_all(memory: Memory, names: Sequence[str], by: Provenance) -> list[Record]:
    """Note that the user confirmed the records of these ids; return them as they are now.

    Raises NotFound, StoreUnavailable, and BadInput for a candidate or what cannot be edited.
    """
    chosen = [editable(memory, name) for name in dict.fromkeys(names)]
    for one in chosen:
        if one.record.status == "candidate":
            id_ = short_id(one.record.id)
            raise BadInput("id", f"{id_} is a candidate.", remedy=f"Use candidates --keep {id_}.")
    return [confirm(memory, one, by) for one in chosen]


def confirm(memory: Memory, one: Stored, by: Provenance) -> Record:
    """Note that the user confirmed a record now, so that it is not due for review for a while, and
    that it and what it contradicts, or is contradicted by, both hold.
    """
    id_ = one.record.id
    for other in memory.find_records(f"{CURRENT} AND instr(body, ?) > 0", (id_,)):
        if id_ in contradicted(other):
            left = [old for old in contradicted(other) if old != id_]
            marked = Stored(*resolve.record_by_id(memory, other.id))
            _save_evidence(memory, marked, {CONTRADICTS: left}, by)
    return _save_evidence(memory, one, {CONFIRMED: by.at or timestamp(), CONTRADICTS: []}, by)


def _save_evidence(
    memory: Memory, one: Stored, changed: Mapping[str, Any], by: Provenance
) -> Record:
    evidence = {key: value for key, value in {**one.record.evidence, **changed}.items() if value}
    record = one.record._replace(evidence=evidence)
    payload = {"record": records.as_object(record), "seen_in": list(one.seen)}
    memory.write_now("put_record", payload, by, store=one.store)
    return record


def kind_of(memory: Memory, record: Record) -> str:
    """Return the kind of the database that a record of this scope belongs in."""
    return "user" if record.scope in USER_SCOPES or memory.project is None else "project"


def _link(old: Record, successor: str, at: str) -> dict[str, Any]:
    return {"id": old.id, "by": successor, "at": at, "was": OPEN}

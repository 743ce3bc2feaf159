"""The user's edits of records, and the user's decisions on candidates and contradictions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from memory_fabric import models
from memory_fabric.capture import remember
from memory_fabric.capture.clauses import reason_and_alternatives
from memory_fabric.capture.people import for_everybody
from memory_fabric.errors import BadInput, FabricError, NotFound, StoreUnavailable
from memory_fabric.ids import short_id, timestamp
from memory_fabric.models import Provenance, Record
from memory_fabric.redaction.redact import redact, says_only_secrets
from memory_fabric.rules.bindings import FIRST
from memory_fabric.rules.required import stated_first
from memory_fabric.store import records
from memory_fabric.store.forget import plan
from memory_fabric.store.history import candidates, changes, resolve
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations.remember import OPEN
from memory_fabric.store.queries.conditions import marks
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT
from memory_fabric.text import one_line, same_form, without_controls

# Keys of evidence that becomes invalid when the record's text changes.
_OF_THE_WORDS = frozenset((models.QUOTATION, models.CONTRADICTS, models.PASTED, "noted", "agreed"))
REMEMBERED, FORGOTTEN, KEPT, OPENED = "remembered", "forgotten", "kept", "taken back"
Done = tuple[str, Record]


class Stored(NamedTuple):
    """A record, the ids of the sessions that stated it, and its database: "user" or "project"."""

    record: Record
    seen: Sequence[str]
    store: str


class Edit(NamedTuple):
    """The new fields of a record. None leaves a field unchanged; '' deletes `why` or `when`."""

    text: str | None = None
    type: str | None = None
    scope: str | None = None
    why: str | None = None
    when: str | None = None


class Changed(NamedTuple):
    """A record before and after an edit, and the records that the edited record now replaces."""

    old: Record
    new: Record
    replaced: tuple[Record, ...] = ()


def request(
    *,
    text: str | None = None,
    kind: str | None = None,
    scope: str | None = None,
    why: str | None = None,
    when: str | None = None,
    prefix: str = "",
) -> Edit:
    """Return a validated edit. `prefix` precedes field names in error messages. Raises BadInput."""
    return Edit(
        _words(text, f"{prefix}text", required=True),
        _one_of(kind and models.record_type(kind), f"{prefix}type", models.STATED_TYPES),
        _one_of(scope, f"{prefix}scope", models.LASTING_SCOPES),
        _words(why, f"{prefix}why"),
        _words(when, f"{prefix}when"),
    )


def _words(text: str | None, field: str, *, required: bool = False) -> str | None:
    """Return a text normalised and redacted for storage, or None for None. Raises BadInput."""
    if text is None:
        return None
    text = one_line(without_controls(text))
    if required and not any(map(str.isalnum, text)):
        remedy = "Give a sentence; forget removes a memory."
        raise BadInput(field, f"{field} is empty.", remedy=remedy)
    if len(text) > remember.MAX_TEXT_CHARS:
        message = f"{field} has {len(text)} characters; the limit is {remember.MAX_TEXT_CHARS}."
        raise BadInput(field, message, remedy="Shorten it.")
    if text and says_only_secrets(text):
        message = f"{field} is only a secret, and secrets are not stored."
        raise BadInput(field, message, remedy="State where the secret is kept instead.")
    return redact(text)


def _one_of(value: str | None, field: str, allowed: Sequence[str]) -> str | None:
    if value is not None and value not in allowed:
        local = " A memory of scope local ends with its session." if value == "local" else ""
        message = f"{field} cannot be {value!r}.{local}"
        raise BadInput(field, message, remedy=f"Use {', '.join(allowed)}.")
    return value


def editable(memory: Memory, name: str, *, of_others: bool = False) -> Stored:
    """Return the record with the id `name`. Raises NotFound, or BadInput if it cannot be edited.
    With `of_others`, also return another user's record, which can be confirmed, but not edited.
    """
    try:
        stored = Stored(*resolve.record_by_id(memory, name))
    except NotFound:
        # `name` is no record's id, but may be an entity's name, or the id of a turn or a change.
        if any(resolve.entities_meant(memory, title) for title in resolve.names_of(memory, name)):
            message = f"{name!r} is an entity, which has no wording of its own."
            remedy = f"Use the id of a memory in why {name!r}, or merge and alias for its names."
            raise _refused(message, remedy) from None
        for find, what, verb in (
            (plan.by_id, "a turn of a conversation, which stays as it was said", "forget"),
            (changes.by_id, "a change", "undo"),
        ):
            try:
                find(memory, name)
            except FabricError:
                continue
            remedy = f"memory-fabric {verb} {name} takes it back."
            raise _refused(f"{name} is {what}.", remedy) from None
        raise
    record, id_ = stored.record, short_id(stored.record.id)
    if record.source == models.OTHERS and not of_others:
        whose = record.author or "someone else"
        raise _refused(f"{id_} is a memory of {whose}.", "Remember your own with remember.")
    if record.type == "session":
        raise _refused(f"{id_} is the summary of a session.", f"Use forget {id_}, or remember.")
    if record.scope == "local":
        raise _refused(f"{id_} ends with its session.", "Remember it with another scope.")
    if record.superseded_by or record.valid_to:
        by = record.superseded_by and f" by {short_id(record.superseded_by)}"
        raise _refused(f"{id_} was replaced{by}.", "Edit the current one, or undo the change.")
    return stored


def _refused(message: str, remedy: str) -> BadInput:
    return BadInput("id", message, remedy=remedy)


def edited(
    memory: Memory, old: Record, edit: Edit, by: Provenance, closing: Sequence[str] = ()
) -> Record:
    """Return the edited record, with the trust and source of `by` if its text or reason changed.
    Raises BadInput if nothing would change, if a `global` text may name a person, or if another
    current record of the same scope and domain has this text (unless its id is in `closing`).
    """
    text = old.what if edit.text is None else edit.text
    why = old.why if edit.why is None else edit.why
    new = old._replace(what=text, why=why, type=edit.type or old.type)
    new = new._replace(scope=edit.scope or old.scope)
    new = _restated(memory, old, new, by) if (text, why) != (old.what, old.why) else new
    if edit.when is not None:
        when = edit.when
        if when.startswith(FIRST.rstrip()):  # only `First:` is given: keep the old `When:`
            when = stated_first(str(old.evidence.get(models.WHEN) or ""), when[len(FIRST) :])
        evidence = {**new.evidence, models.WHEN: when}
        new = new._replace(evidence={key: value for key, value in evidence.items() if value})
    if new.scope != old.scope and memory.project:
        new = new._replace(project=new.project or memory.project.name)
    if (text, why, new.type, new.scope) != (old.what, old.why, old.type, old.scope):
        # Remove the relation "PROJECT chose X"; `joined_to_project` adds it again if it holds.
        name = new.project or (memory.project.name if memory.project else "")
        if chosen := [r for r in new.relations if (r.source, r.type) == (name, "chose")]:
            entities = tuple(e for e in new.entities if (e.name, e.type) != (name, "project"))
            others = tuple(r for r in new.relations if r not in chosen)
            new = new._replace(entities=entities, relations=others)
        new = remember.joined_to_project(new, memory)
    new = for_everybody(new, memory) if new.scope == "global" else new
    if new == old:
        message = f"{short_id(old.id)} says this already."
        raise BadInput("text", message, remedy="Say what to change.")
    where = f"key = ? AND scope = ? AND domain = ? AND id <> ? AND {CURRENT}"
    values = (records.key_of(new.what), new.scope, new.domain, new.id)
    for same in memory.find_records(where, values):
        is_no_twin = same.source == models.OTHERS or same.id in closing
        if records.have_same_text(same, new) and not is_no_twin:
            id_ = short_id(same.id)
            remedy = f"memory-fabric edit {id_} --instead-of {short_id(new.id)} makes them one."
            raise _refused(f"{id_} says this already.", remedy)
    if new.scope != "global":
        new = new._replace(evidence={**new.evidence, models.CONFIRMED: by.at or timestamp()})
    return new


def _restated(memory: Memory, old: Record, new: Record, by: Provenance) -> Record:
    """Return `new` with the entities and relations in its text, and trust and source of `by`."""
    words = same_form(new.what)
    unnamed = [name for name in old.alternatives if same_form(name) not in words]
    _, rejected = reason_and_alternatives(new.what)
    over = tuple(dict.fromkeys((*rejected, *unnamed)))
    record = remember.stated(memory, new.what, type=new.type, why=new.why, alternatives=over)
    return new._replace(
        why=record.why,
        entities=record.entities,
        relations=record.relations,
        alternatives=over,
        trust=by.trust,
        source=by.source,
        status="active",
        confidence=max(old.confidence, record.confidence),
        generalizable=record.generalizable,
        evidence={k: v for k, v in old.evidence.items() if k not in _OF_THE_WORDS},
    )


def save(memory: Memory, old: Stored, new: Record, by: Provenance) -> None:
    """Store the changed record, in another database if its new scope requires that. Raises
    StoreUnavailable, and BadInput if the record was forgotten earlier in that scope's database.
    """
    store = remember.kind_of(memory, new)
    moves = store != old.store
    payload: dict[str, Any] = {"record": records.as_object(new), "seen_in": list(old.seen)}
    payload |= {"moved_from": old.record.scope} if moves else {}
    operation = memory.operation("put_record", payload, by, store)
    if new.scope == "global":
        unnamed = operation.provenance._replace(author="", origin="", session="", agent="")
        operation = operation._replace(provenance=unnamed)
    if memory.apply_now(operation, is_new=True).get("record") is None:
        problem = f"{short_id(new.id)} was forgotten in scope {new.scope}."
        raise _refused(problem, "Remember it there instead.")
    if moves:
        closed = memory.find_records("superseded_by = ?", (new.id,))
        moved = {"ids": [new.id], "bury": False, "moved_to": new.scope}
        memory.write_now("forget", moved, by, store=old.store)
        if links := [_link(record, "", record.valid_to) for record in closed if record.valid_to]:
            memory.write_now("supersede", {"links": links}, by, store=old.store)


def change(
    memory: Memory, name: str, wanted: Edit, instead_of: Sequence[str], by: Provenance
) -> Changed:
    """Change the record with the id `name`, and let it replace the records `instead_of`. Raises
    NotFound, StoreUnavailable, and BadInput like `edited` or if the record would replace itself.
    """
    old = editable(memory, name)
    closing = [editable(memory, stored) for stored in instead_of]
    if any(stored.record.id == old.record.id for stored in closing):
        raise BadInput("instead_of", f"{name} cannot replace itself.", remedy="Name another.")
    new = old.record
    if wanted != Edit():
        new = edited(memory, old.record, wanted, by, [stored.record.id for stored in closing])
        save(memory, old, new, by)
    for stored in closing:
        successor = new.id if remember.kind_of(memory, new) == stored.store else ""
        link = _link(stored.record, successor, by.at or timestamp())
        memory.write_now("supersede", {"links": [link]}, by, store=stored.store)
    return Changed(old.record, new, tuple(stored.record for stored in closing))


def confirm_all(memory: Memory, names: Sequence[str], by: Provenance) -> list[Record]:
    """Confirm and return the records with these ids. Raises NotFound and BadInput."""
    chosen = [editable(memory, name, of_others=True) for name in dict.fromkeys(names)]
    for stored in chosen:
        if stored.record.status == "candidate":
            id_ = short_id(stored.record.id)
            raise _refused(f"{id_} is a candidate.", f"Use candidates --keep {id_}.")
    return [confirm(memory, stored, by) for stored in chosen]


def confirm(memory: Memory, stored: Stored, by: Provenance) -> Record:
    """Mark a record as confirmed by the user; clear its contradictions, trust it if imported."""
    id_ = stored.record.id
    for doubted in memory.find_records(f"{CURRENT} AND instr(body, ?) > 0", (id_,)):
        if id_ in models.contradicted(doubted):
            still_contradicted = [old for old in models.contradicted(doubted) if old != id_]
            marked = Stored(*resolve.record_by_id(memory, doubted.id))
            _save_evidence(memory, marked, {models.CONTRADICTS: still_contradicted}, by)
    if models.is_unconfirmed_import(stored.record):
        stored = stored._replace(record=stored.record._replace(trust="user"))
    confirmed = {models.CONFIRMED: by.at or timestamp(), models.CONTRADICTS: []}
    return _save_evidence(memory, stored, confirmed, by)


def _save_evidence(
    memory: Memory, stored: Stored, changed: Mapping[str, Any], by: Provenance
) -> Record:
    evidence = {key: value for key, value in {**stored.record.evidence, **changed}.items() if value}
    record = stored.record._replace(evidence=evidence)
    payload = {"record": records.as_object(record), "seen_in": list(stored.seen)}
    memory.write_now("put_record", payload, by, store=stored.store)
    return record


def _link(old: Record, successor: str, at: str) -> dict[str, Any]:
    return {"id": old.id, "by": successor, "at": at, "was": OPEN}


def decision(memory: Memory, name: str, by: Provenance, *, keep: bool) -> Callable[[], Done]:
    """Look up a candidate; return a function that keeps or drops it. Raises NotFound, BadInput."""
    record = candidates.named(memory, name)

    def decide() -> Done:
        if not keep:
            memory.forget([record.id], by)
            return FORGOTTEN, record
        stored = remember.keep(memory, record, by)
        if stored is None:
            message = "The candidate could not be stored."
            raise StoreUnavailable("", message, remedy="Run memory-fabric doctor.")
        return REMEMBERED, stored

    return decide


def keep(memory: Memory, name: str, by: Provenance) -> Done:
    """Keep the record with this id: store a candidate with the user's trust, reopen a replaced or
    dropped record, or confirm a current one. Raises NotFound, BadInput and StoreUnavailable.
    """
    record, sessions, store = resolve.record_by_id(memory, name)
    if record.status == "candidate":
        return decision(memory, record.id, by, keep=True)()
    if not record.valid_to:
        return KEPT, confirm(memory, editable(memory, record.id), by)
    link = {"id": record.id, **OPEN, "was": {"by": record.superseded_by, "at": record.valid_to}}
    memory.write_now("supersede", {"links": [link]}, by, store=store)
    opened = record._replace(superseded_by="", valid_to="")
    return OPENED, confirm(memory, Stored(opened, sessions, store), by)


def replace(memory: Memory, name: str, by: Provenance) -> tuple[Record, tuple[Record, ...]]:
    """Let a record replace those it contradicts, as the user decided; return (record, replaced)."""
    new = editable(memory, name).record
    ids = models.contradicted(new)
    old = memory.find_records(f"id IN ({marks(ids)}) AND {ACTIVE_CURRENT}", ids)
    if not old:
        message = f"{short_id(new.id)} contradicts nothing on record."
        raise _refused(message, "memory-fabric edit ID --instead-of OTHER closes any other.")
    if new.status == "candidate":
        _, new = decision(memory, new.id, by, keep=True)()
    changed = change(memory, new.id, Edit(), [other.id for other in old], by)
    stored = editable(memory, changed.new.id)
    if new.trust != "user":
        evidence = {models.AGREED: f"replace {short_id(new.id)}", **stored.record.evidence}
        stored = stored._replace(record=stored.record._replace(evidence=evidence))
    return confirm(memory, stored, by), changed.replaced

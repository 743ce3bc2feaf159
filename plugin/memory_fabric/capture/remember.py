"""Storage of texts that were stated deliberately, and of aliases of the entities in them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from memory_fabric import ids, models
from memory_fabric.capture.contradiction import beside, contradicting
from memory_fabric.capture.extract import chosen
from memory_fabric.capture.mentions import KnownNames, aliases_in
from memory_fabric.capture.statement import PURPOSE, statement
from memory_fabric.capture.unreadable import Unread
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.store.memory import USER_SCOPES, Memory
from memory_fabric.store.queries.graph import entities_by_key
from memory_fabric.text import STOPWORDS, cut, name_key, without_controls

MAX_TEXT_CHARS = 16 << 10
# The types of entities that X can have in "project chose X".
CHOSEN_TYPES = frozenset(("technology", "pattern", "tool", "component"))


def state(
    memory: Memory,
    record: Record,
    provenance: Provenance,
    instead_of: Sequence[str] = (),
    *,
    echo: bool = False,
    at: str = "",
    against: Sequence[Record] | None = None,
) -> tuple[Record | None, bool]:
    """Store a deliberately stated record; return it as stored, and True if it is new. Return None
    as the record if it is only a secret, has too low a confidence, or was forgotten. Records with
    ids in `instead_of` are closed if the provenance has enough trust. Records in `against`, which
    the new one contradicts, stay open; by default they are searched for. With `echo`, a repetition
    is not counted. `at` is the timestamp of a statement made in an old session.
    """
    if "[redacted: " in record.what:
        from memory_fabric.redaction.redact import says_only_secrets  # imported if needed

        if says_only_secrets(record.what):
            return None, False
    if record.scope in ("global", "user"):
        from memory_fabric.capture import people  # late: not needed for team records

        if record.scope == "global":
            record = people.for_everybody(record, memory)
        else:
            record = record._replace(entities=people.of_person(record.what, record.entities))
    unread = Unread()
    is_trusted = models.TRUST_ORDER.get(provenance.trust, 0) >= models.TRUST_ORDER["assistant"]
    if against is None and is_trusted:
        contrary = unread.attempt([], contradicting, memory, record)
        against = [old for old in contrary if old.id not in instead_of]
    record = beside(record, against or ())._replace(
        id=record.id or ids.new_id(),
        what=cut(without_controls(record.what), MAX_TEXT_CHARS),
        why=cut(without_controls(record.why), MAX_TEXT_CHARS),
    )
    record = joined_to_project(record, memory)
    stored = memory.remember(record, provenance, instead_of, echo=echo, at=at)
    is_new = stored is not None and stored.id == record.id
    if stored is not None and is_new and stored.confidence >= models.STORED_FROM:
        unread.attempt(None, _learn_aliases, memory, stored, provenance)
    unread.report(memory)
    return stored, is_new


def after(record: Record, named: Sequence[Record]) -> Record:
    """Return a record dated no earlier than those that it names: a clock may have been ahead."""
    latest = max(map(models.stated_at, named), default="")
    is_ahead = latest > (record.valid_from or ids.timestamp())
    return record._replace(valid_from=latest) if is_ahead else record


def stated(
    memory: Memory, text: str, *, type: str = "", why: str = "", alternatives: Sequence[str] = ()
) -> Record:
    """Return the record of a text that was stated deliberately, with names spelled as in memory."""
    unread = Unread()
    kind = models.record_type(type) or "note"
    plain = Record(kind, text, why, tuple(alternatives), confidence=PURPOSE)
    fields: dict[str, Any] = {"type": type, "why": why, "alternatives": alternatives}
    names = KnownNames(memory, f"{text}. {why}")
    record = unread.attempt(plain, partial(statement, text, known=names, **fields))
    unread.report(memory)
    return record


def keep(memory: Memory, candidate: Record, provenance: Provenance) -> Record | None:
    """Store a candidate that the user confirmed, quoting its prompt; None if it is not stored."""
    text, type_, why = candidate.what, candidate.type, candidate.why
    statement_read = stated(memory, text, type=type_, why=why, alternatives=candidate.alternatives)
    record = candidate._replace(
        why=statement_read.why,
        alternatives=statement_read.alternatives,
        entities=candidate.entities or statement_read.entities,
        relations=candidate.relations or statement_read.relations,
        confidence=statement_read.confidence,
    )
    words = str(candidate.evidence.get(models.PROMPT) or "")
    if candidate.trust == "user" and words:
        evidence = {key: value for key, value in candidate.evidence.items() if key != models.PASTED}
        record = record._replace(evidence={**evidence, models.QUOTATION: words})
    return memory.remember(joined_to_project(record, memory), provenance)


def _learn_aliases(memory: Memory, record: Record, provenance: Provenance) -> None:
    names = aliases_in(f"{record.what} {record.why}", [entity.name for entity in record.entities])
    kind = "user" if record.scope in USER_SCOPES else "project"
    database = memory.database(kind, create=False) if record.scope != "local" and names else None
    if database is None:
        return
    for name, aliases in names.items():
        entities = entities_by_key(database, [name, *aliases])
        free = [alias for alias in aliases if name_key(alias) not in entities]
        if free and name_key(name) in entities:
            payload = {"entity": entities[name_key(name)].name, "aliases": free}
            memory.write("alias", payload, provenance, store=kind)


def joined_to_project(record: Record, memory: Memory) -> Record:
    """Return a decision for X with the relation `project chose X` (BR-11), others unchanged."""
    if record.type != "decision" or memory.project is None or record.scope not in ("team", "local"):
        return record
    rejected = {name_key(a) for a in record.alternatives}
    things: list[str] = []
    for name in (entity.name for entity in record.entities if entity.type in CHOSEN_TYPES):
        # A file or variable is not a choice, and an unknown capitalised word may name a person.
        is_file = "." in name and not name.endswith(".")
        is_no_thing = is_file or (name.isupper() and "_" in name) or name.lower() in STOPWORDS
        is_written_so = name.islower() or not name.replace(" ", "").isalpha()
        is_thing = entity_type(name) or (is_written_so and not is_no_thing)
        things += [name] if is_thing and name_key(name) not in rejected else []
    if not (thing := chosen(record.what, things) if things else ""):
        return record
    name = record.project or memory.project.name
    entities = (*record.entities, Entity(name, "project"))
    relations = (*record.relations, Relation(name, "chose", thing))
    return record._replace(entities=entities, relations=relations)


def kind_of(memory: Memory, record: Record) -> str:
    """Return which database stores records of this record's scope: "user" or "project"."""
    return "user" if record.scope in USER_SCOPES or memory.project is None else "project"

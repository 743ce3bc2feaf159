"""Save a text: capture its records, link them to known entities, store them."""

from __future__ import annotations

from memory_fabric import deadline, ids
from memory_fabric.capture.aliases import aliases_in
from memory_fabric.capture.capture import capture
from memory_fabric.capture.closing.older import closed_by
from memory_fabric.capture.confidence import confidence
from memory_fabric.capture.correction_cues import CATEGORY as CORRECTION
from memory_fabric.capture.correction_cues import may_correct
from memory_fabric.capture.known_names import KnownNames
from memory_fabric.capture.polarity import is_denied, is_left
from memory_fabric.capture.unreadable import Unread
from memory_fabric.config import captures
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.models import STORED_FROM, Entity, Provenance, Record, Relation
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.graph import entities_by_key
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.store.operations.occurrences import CORRECTED
from memory_fabric.store.records import have_same_text, key_of
from memory_fabric.text import cut, name_key, without_controls, without_injected, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory_fabric.config import Settings
    from memory_fabric.store.memory import Memory

# The most records of one message; one with more is a paste or a report, not worth saving.
MAX_RECORDS_PER_TEXT = 12
MAX_TEXT_CHARS = 16 << 10
# Words before the sentence that a record keeps: "No, ", "Actually, also ".
MAX_OPENING_CHARS = 40
# The types of entities in "the project chose X".
CHOSEN_TYPES = frozenset(("technology", "pattern", "tool", "component"))


def trust_for(settings: Settings, stated: str) -> str:
    """Return the trust of text captured here; '' if nothing may be captured.

    Text of unattended sessions has the assistant's trust unless configured; in CI nothing is saved.
    """
    if not captures(settings):
        return ""
    return stated if settings.attended or settings.capture_unattended == "full" else "assistant"


def remember_text(
    memory: Memory,
    text: str,
    speaker: str,
    provenance: Provenance,
    said_at: str = "",
    *,
    known_in: str = "",
) -> list[Record]:
    """Store the records of a text; return those that are new and active, in order.

    `speaker` is user, assistant, subagent or summary; `said_at` is the time of the statement, if
    that was earlier than now. A record that the domain `known_in` holds in the same words is
    confirmed there instead of stored in the provenance's domain. Raises StoreUnavailable if
    something could neither be stored nor queued.
    """
    # Before names are extracted: a name alone would not look like a secret.
    text = without_secrets(without_injected(text))
    unread = Unread()
    found = found_in(text, speaker, KnownNames(memory, text), unread)
    unread.report(memory)
    found = [record._replace(valid_from=said_at) for record in found]
    if known_in in ("", provenance.domain):
        return store(memory, found, provenance, text)
    known = [record for record in found if _is_known(memory, record, known_in)]
    new = store(memory, [r for r in found if r not in known], provenance, text)
    return [*store(memory, known, provenance._replace(domain=known_in), text), *new]


def _is_known(memory: Memory, record: Record, domain: str) -> bool:
    """Return True if a domain holds the record in the same words."""
    same = "key = ? AND scope = ? AND domain = ? AND superseded_by = '' AND valid_to = ''"
    found = memory.find_records(same, (key_of(record), record.scope, domain))
    return any(have_same_text(known, record) for known in found)


def found_in(
    text: str, speaker: str, known: Mapping[str, str] = {}, unread: Unread | None = None
) -> list[Record]:
    """Return the records and candidates of one text, including a user's corrections.

    Nothing is stored. Unreadable sentences are counted in `unread`.
    """
    unread = unread or Unread()
    found = capture(text, speaker=speaker, known=known, unread=unread)
    if speaker == "user" and may_correct(text):
        # late: only with one of its cues
        from memory_fabric.capture.corrections import corrections, joined

        corrected = unread.attempt([], corrections, text, known)
        found = unread.attempt(found, joined, found, corrected)
    return _most_certain(found)


def store(
    memory: Memory, found: Sequence[Record], provenance: Provenance, text: str = ""
) -> list[Record]:
    """Store records, each with what it closes; return those that are new and active.

    `text` is their source, if any: the opening of a sentence may contain more than the record.
    """
    stated = []
    for record in found:
        deadline.current().check("the last record")
        stated.append(state(memory, record, provenance, text))
    return [
        record
        for record, is_new in stated
        if record is not None and is_new and record.confidence >= STORED_FROM
    ]


def state(
    memory: Memory, record: Record, provenance: Provenance, text: str = ""
) -> tuple[Record | None, bool]:
    """Store one record as `store` does; return it as saved, and True if it is new.

    The record is None if it was forgotten and must not be restored, if it is too uncertain, or if
    nothing but a secret was said.
    """
    if "[redacted: " in record.what:
        from memory_fabric.redaction.redact import (
            says_only_secrets,
        )  # late: only for stated records

        if says_only_secrets(record.what):
            return None, False
    id_, unread = record.id or ids.new_id(), Unread()
    if record.scope == "global":
        from memory_fabric.capture.identifying_names import (
            for_everybody,
        )  # late: rare, and never in a hook

        record = for_everybody(record, memory)
    record = joined_to_project(_bounded(record)._replace(id=id_), memory)
    opened = unread.attempt((), opening, text, record.what)
    stored = _remembered(memory, record, provenance, opened, unread)
    is_new = stored is not None and stored.id == id_
    if stored is not None and is_new and stored.confidence >= STORED_FROM:
        unread.attempt(None, _learn_aliases, memory, stored, provenance)
    unread.report(memory)
    return stored, is_new


def keep(memory: Memory, candidate: Record, provenance: Provenance) -> Record | None:
    """Store a candidate as a record, since the user confirmed it; it closes what it replaces."""
    sure = confidence(explicit=True, by_user=True, reason=bool(candidate.why))
    record = candidate._replace(confidence=max(candidate.confidence, sure))
    unread = Unread()
    closed = unread.attempt([], closed_by, memory, record, provenance)
    unread.report(memory)
    return memory.remember(record, provenance, closed)


def _remembered(
    memory: Memory, record: Record, by: Provenance, opened: tuple[str, ...], unread: Unread
) -> Record | None:
    """Store the record, or confirm the one that it repeats; a correction is counted."""
    said_at, is_correction = record.valid_from, record.category == CORRECTION
    unsure = record.confidence < STORED_FROM
    if not (unsure or is_correction or said_at):
        closed = unread.attempt([], closed_by, memory, record, by, opened)
        return memory.remember(record, by, closed)
    from memory_fabric.capture import witnesses  # late: new statements of a prompt have none

    at = said_at or by.at or ids.timestamp()
    if is_correction:
        record = record._replace(evidence={CORRECTED: [at]})
        opened = (*opened, "no")
    record = unread.attempt(record, witnesses.in_known_words, memory, record, by)
    # A record from this same session has closed already what it closes.
    stands = witnesses.stands(memory, record, by)
    closed = [] if stands else unread.attempt([], closed_by, memory, record, by, opened)
    echo = (unsure or bool(said_at)) and witnesses.is_echo(memory, record, by, said_at)
    stored = memory.remember(record, by, closed, echo=echo)
    if stored is not None and is_correction:
        witnesses.propose(memory, stored, at)
    return stored


def _most_certain(found: Sequence[Record]) -> list[Record]:
    """Return the records that one message may have, in order; candidates only if there are few."""
    sure = [r for r in found if r.confidence >= STORED_FROM][:MAX_RECORDS_PER_TEXT]
    free = MAX_RECORDS_PER_TEXT - len(sure)
    candidates = [r for r in found if r.confidence < STORED_FROM][:free]
    return [r for r in found if r in sure or r in candidates]


def opening(text: str, what: str) -> tuple[str, ...]:
    """Return the words before a record in its sentence, such as "no" or "also", in lower case."""
    place = text.find(what) if text and what else -1
    before = text[max(0, place - MAX_OPENING_CHARS) : max(0, place)]
    for stop in (". ", "! ", "? ", "\n"):
        before = before.rpartition(stop)[2]
    return tuple(words(before))


def _learn_aliases(memory: Memory, record: Record, provenance: Provenance) -> None:
    """Save the other names that the record's own text gives its entities; taken names stay."""
    found = aliases_in(f"{record.what} {record.why}", [entity.name for entity in record.entities])
    if not found or record.scope == "local":
        return
    kind = "user" if record.scope in USER_SCOPES else "project"
    database = memory.database(kind, create=False)
    if database is None:
        return
    for name, aliases in found.items():
        known = entities_by_key(database, [name, *aliases])
        free = [alias for alias in aliases if name_key(alias) not in known]
        if free and name_key(name) in known:
            payload = {"entity": known[name_key(name)].name, "aliases": free}
            memory.write("alias", payload, provenance, store=kind)


def joined_to_project(record: Record, memory: Memory) -> Record:
    """Return a decision with the relation `project chose X` for its first entity (BR-11)."""
    if record.type != "decision" or memory.project is None or record.scope not in ("team", "local"):
        return record
    rejected = {name_key(a) for a in record.alternatives}
    chosen = next(
        (
            e.name
            for e in record.entities
            if e.type in CHOSEN_TYPES and name_key(e.name) not in rejected and _is_a_thing(e.name)
        ),
        "",
    )
    if not chosen or is_denied(record.what) or is_left(record.what):
        return record
    name = record.project or memory.project.name
    return record._replace(
        entities=(*record.entities, Entity(name, "project")),
        relations=(*record.relations, Relation(name, "chose", chosen)),
    )


def _is_a_thing(name: str) -> bool:
    """Return True for a known thing, or a name written like one.

    Plain capitals may be a town, a person or a company.
    """
    return bool(entity_type(name)) or not name.replace(" ", "").isalpha() or name.islower()


def _bounded(record: Record) -> Record:
    return record._replace(
        what=cut(without_controls(record.what), MAX_TEXT_CHARS),
        why=cut(without_controls(record.why), MAX_TEXT_CHARS),
    )

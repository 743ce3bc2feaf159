"""From a text to what is stored of it: captured, joined to known entities, given to the store."""

from __future__ import annotations

from memory_fabric import ids
from memory_fabric.fabric.aliases import aliases_in
from memory_fabric.fabric.capture import capture
from memory_fabric.fabric.closing.older import closed_by
from memory_fabric.models import STORED_FROM, Entity, Provenance, Record, Relation
from memory_fabric.store.graph import entities_by_key
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.text import cut, name_key, without_injected, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings
    from memory_fabric.store.memory import Memory

# What one message may bring; more is a paste, or a report that should be read, not remembered.
MAX_RECORDS_PER_TEXT = 12
MAX_TEXT_CHARS = 16 << 10
# Names are looked up for so many words of a text; the memory of a name is a bonus, not a duty.
MAX_WORDS_LOOKED_UP = 400
# "No, ", "Actually, also ": what may stand before the sentence that a record keeps.
MAX_OPENING_CHARS = 40
# What "the project chose X" may be about.
CHOSEN_TYPES = frozenset(("technology", "pattern", "tool", "component"))


def trust_for(settings: Settings, stated: str) -> str:
    """The trust that captured text deserves here; empty when nothing may be captured.

    Unattended sessions speak with the assistant's trust unless configured; CI is not remembered.
    """
    if settings.ci or not settings.writes:
        return ""
    if settings.attended or settings.capture_unattended == "full":
        return stated
    return "assistant" if settings.capture_unattended == "low" else ""


def remember_text(
    memory: Memory, text: str, speaker: str, provenance: Provenance, said_at: str = ""
) -> list[Record]:
    """Store what the text holds; returns the records that are new and active, in order.

    `speaker` is user, assistant, subagent or summary; `said_at` is when it was said, if that was
    earlier than now. Raises StoreUnavailable when something could
    neither be stored nor queued.
    """
    text = without_injected(text)
    known = known_names(memory, text)
    found = capture(text, speaker=speaker, known=known)[:MAX_RECORDS_PER_TEXT]
    found = [record._replace(valid_from=said_at) for record in found]
    return store(memory, found, provenance, text)


def store(
    memory: Memory, found: Sequence[Record], provenance: Provenance, text: str = ""
) -> list[Record]:
    """Store records, each with what it closes; returns those that are new and active.

    `text` is what they were found in, if they were: how a sentence opens may say more than it.
    """
    new = []
    for record in found:
        id_ = ids.new_id()
        record = _joined_to_project(_bounded(record)._replace(id=id_), memory)
        closed = closed_by(memory, record, provenance, opening(text, record.what))
        stored = memory.remember(record, provenance, closed)
        if stored is not None and stored.id == id_ and stored.confidence >= STORED_FROM:
            new.append(stored)
            _learn_aliases(memory, stored, provenance)
    return new


def opening(text: str, what: str) -> tuple[str, ...]:
    """The words that open the sentence in which a record was found: "no", "also"; lower case."""
    place = text.find(what) if text and what else -1
    before = text[max(0, place - MAX_OPENING_CHARS) : max(0, place)]
    for stop in (". ", "! ", "? ", "\n"):
        before = before.rpartition(stop)[2]
    return tuple(words(before))


def _learn_aliases(memory: Memory, record: Record, provenance: Provenance) -> None:
    """Note what the record's own text calls its entities otherwise; what is taken stays."""
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


def known_names(memory: Memory, text: str) -> dict[str, str]:
    """Name key to name of the known entities that the text may speak of."""
    parts = words(text[:MAX_TEXT_CHARS])[:MAX_WORDS_LOOKED_UP]
    pairs = [parts[i] + parts[i + 1] for i in range(len(parts) - 1)]
    keys = [k for k in dict.fromkeys([*parts, *pairs]) if len(k) > 1]
    found: dict[str, str] = {}
    for database in reversed(memory.databases()):
        found |= {key: e.name for key, e in entities_by_key(database, keys).items()}
    return found


def _joined_to_project(record: Record, memory: Memory) -> Record:
    """A decision with `project chose X` for the first thing it is about (BR-11)."""
    if record.type != "decision" or memory.project is None or record.scope not in ("team", "local"):
        return record
    rejected = {name_key(a) for a in record.alternatives}
    chosen = next(
        (
            e.name
            for e in record.entities
            if e.type in CHOSEN_TYPES and name_key(e.name) not in rejected
        ),
        "",
    )
    if not chosen:
        return record
    name = memory.project.name
    return record._replace(
        entities=(*record.entities, Entity(name, "project")),
        relations=(*record.relations, Relation(name, "chose", chosen)),
    )


def _bounded(record: Record) -> Record:
    return record._replace(
        what=cut(record.what, MAX_TEXT_CHARS), why=cut(record.why, MAX_TEXT_CHARS)
    )

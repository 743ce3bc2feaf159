"""The choice of what is stored of a reading, and the reasons for the rest."""

from __future__ import annotations

from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.events import is_machine_text
from memory_fabric.importing.items import (
    EMPTY,
    FORGOTTEN,
    KNOWN,
    MAX_WHAT_CHARS,
    NOISE,
    SECRET,
    TWICE,
    Item,
    Left,
    LeftOut,
    Reading,
)
from memory_fabric.models import IMPORTED, INSTRUCTIONS, LINE, PLACE, Provenance, Record, Relation
from memory_fabric.recall.agent_domains import domain_for
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store import graph, records
from memory_fabric.store.memory import USER_SCOPES, Memory
from memory_fabric.store.operations.record_effects import is_forgotten
from memory_fabric.store.record_state import CURRENT
from memory_fabric.text import cut, same_form, without_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from memory_fabric.store.database import Database

# Imported text is not the user's word: other programs and their models wrote it.
SOURCE, TRUST = "import", "tool"
# Beginnings of what clients write into conversations by themselves.
_MACHINE = ("<system-reminder", "<claude-mem-context", "Caveat: The messages below")
CHUNK = 400


class Choice(NamedTuple):
    """The records to store, relations between entities, and what is left out and why."""

    records: tuple[Record, ...] = ()
    relations: tuple[Relation, ...] = ()
    left: tuple[LeftOut, ...] = ()


def choose(memory: Memory, reading: Reading, source: str, now: str) -> Choice:
    """Choose what is new of a reading. `source` is the key of its kind; `now` is ISO 8601.

    Nothing is written. Raises StoreUnavailable.
    """
    left = Left()
    left.extend(reading.left)
    found: dict[tuple[str, str], Record] = {}
    for item in sorted(reading.items, key=lambda one: one.at or now):
        record = record_of(item, source, memory, now)
        because = worthless(record)
        if because:
            left.add(because, item.what if because != SECRET else "")
            continue
        key = (record.scope, same_form(record.what))
        if key in found:
            left.add(TWICE, record.what)
        else:
            found[key] = record
    new = _new(memory, list(found.values()), left)
    return Choice(tuple(new), _unknown(memory, reading.relations), left.all)


def _unknown(memory: Memory, relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """Return the relations that memory does not have."""
    stored = [graph.read_graph(db).relations for db in memory.databases()] if relations else ()
    known = {relation for some in stored for relation in some}
    return tuple(relation for relation in relations if relation not in known)


def record_of(item: Item, source: str, memory: Memory, now: str, domain: str = "") -> Record:
    """Return the record of a statement as it would be stored: redacted, with its source.

    Its domain is that of this folder unless another is given.
    """
    what = cut(without_controls(without_secrets(item.what)), MAX_WHAT_CHARS).strip()
    # Instructions are told with the name of their file.
    program = item.place if source == INSTRUCTIONS and item.place else source
    stated = {IMPORTED: program, PLACE: item.place, "also": item.also, "project": item.project}
    evidence: dict[str, Any] = {name: text for name, text in stated.items() if text}
    evidence |= {LINE: item.line} if item.line else {}
    evidence |= {INSTRUCTIONS: item.place} if source == INSTRUCTIONS else {}
    at = min(item.at, now) if item.at else now
    return Record(
        type=item.type,
        what=what,
        why=without_controls(item.why),
        entities=item.entities,
        category=item.category,
        confidence=item.confidence,
        id=ids.id_for(f"{source}\n{item.key}"),
        trust=TRUST,
        source=SOURCE,
        scope=item.scope if memory.project else "user",
        domain=domain or domain_for(memory.settings).name,
        project=memory.project.name if memory.project and item.scope == "team" else "",
        created_at=at,
        valid_from=at,
        evidence=evidence,
    )


def worthless(record: Record) -> str:
    """Return the reason why a text is worth nothing; '' if it may be."""
    bare = record.what.strip()
    if not bare or bare == "[private]":
        return EMPTY
    if bare.startswith(_MACHINE) or is_machine_text(bare):
        return NOISE
    if "[redacted: " in bare:
        # late: only for redacted texts
        from memory_fabric.redaction.redact import says_only_secrets

        if says_only_secrets(bare):
            return SECRET
    told = [word for word in bare.split() if "/" not in word and sum(map(str.isalpha, word)) > 1]
    is_dense = any(c.isalpha() and not c.isascii() for c in bare)
    return "" if told or is_dense else NOISE


def _new(memory: Memory, found: Sequence[Record], left: Left) -> list[Record]:
    """Return the records that memory does not have, in any words of the same form, and that were
    not forgotten.
    """
    by_store: dict[str, list[Record]] = {}
    for record in found:
        by_store.setdefault(store_of(record), []).append(record)
    new: list[Record] = []
    for store, some in by_store.items():
        database = memory.database(store, create=False)
        if database is None:
            new += some
            continue
        for start in range(0, len(some), CHUNK):
            part = some[start : start + CHUNK]
            known_ids, known_texts = _known(database, part)
            for record in part:
                text = (record.scope, record.domain, same_form(record.what))
                if record.id in known_ids or text in known_texts:
                    left.add(KNOWN, record.what)
                elif is_forgotten(database.connection, record):
                    left.add(FORGOTTEN)
                else:
                    new.append(record)
    return sorted(new, key=lambda record: record.created_at)


def _known(
    database: Database, part: Sequence[Record]
) -> tuple[set[str], set[tuple[str, str, str]]]:
    marks = ", ".join("?" * len(part))
    rows = database.rows(
        f"SELECT id FROM records WHERE id IN ({marks})", [record.id for record in part]
    )
    texts = database.rows(
        f"SELECT scope, domain, what FROM records WHERE key IN ({marks}) AND {CURRENT}",
        [records.key_of(record) for record in part],
    )
    return {row[0] for row in rows}, {(a, b, same_form(what)) for a, b, what in texts}


def store_of(record: Record) -> str:
    """Return the database of a record by its scope."""
    return "user" if record.scope in USER_SCOPES else "project"


def provenance(memory: Memory, domain: str = "") -> Provenance:
    """Return who says what is imported: another program, whose words nobody confirmed."""
    return Provenance(SOURCE, trust=TRUST, domain=domain or domain_for(memory.settings).name)

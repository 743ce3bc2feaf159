"""The records that a note replaces: named by an id, or in their own words."""

from __future__ import annotations

from memory_fabric import ids
from memory_fabric.store.fts_query import match_expression
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.store.record_state import CURRENT
from memory_fabric.store.records import about, key_of
from memory_fabric.text import STOPWORDS, same_form, stem, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory

# The types that a note may name in words; a session record is never meant.
TYPES = (
    "decision", "preference", "constraint", "pattern", "antipattern", "problem", "solution",
    "blocker", "question", "note",
)  # fmt: skip
MIN_ID_CHARS = 6
MAX_LOOKED_AT = 8
# The share of a stated record's words that a quotation of the same prompt has.
MOSTLY = 0.8
# The source of what prompts state.
_PROMPT = "prompt"
_HEX = frozenset("0123456789abcdef-")
_OPEN = f"{CURRENT} AND scope <> 'local'"


def id_in(name: str) -> str:
    """Return the id that `Instead of:` or `Dropped:` names, without brackets; '' if it is words."""
    bare = name.strip(" []`.'\"").lower().removeprefix("record:")
    return bare if len(bare) >= MIN_ID_CHARS and _HEX.issuperset(bare) else ""


def named(memory: Memory, name: str, text: str) -> list[Record]:
    """Return the current record that `name` means; empty if it is none for certain.

    Words mean the record that says just this, else one that holds them all and that shares more
    with the note `text`, if given: "npm" alone does not mean every record about npm.
    """
    id_ = id_in(name)
    if id_:
        return list(memory.find_records(f"{_OPEN} AND id LIKE ?", ("%" + id_,), 2))[:1]
    sought = _stems(name)
    if not sought or (not text and len(sought) < 2):
        return []
    matching = _matching(memory, name)
    words_of_name = same_form(name)
    for record in matching:
        if same_form(record.what) == words_of_name:
            return [record]
    beside = _stems(text) - sought
    found = []
    for record in matching:
        own = _stems(record.what)
        if sought <= own and (not text or (own & beside)):
            shared = len(own & beside) + len(sought & own)
            found.append((shared, record.status == "active", record))
    found.sort(key=lambda entry: entry[:2], reverse=True)
    if len(found) > 1 and found[0][:2] == found[1][:2]:
        return []  # either could be meant
    return [record for *_, record in found[:1]]


def said_again(memory: Memory, quotation: str, by: Provenance, note: Record) -> list[Record]:
    """Return the records that this session's prompts stated with the words that a note quotes."""
    quoted = _stems(quotation)
    stated = memory.find_records(f"{_OPEN} AND source = ? AND session = ?", (_PROMPT, by.session))
    return [
        record
        for record in stated
        if key_of(record) != key_of(note)
        and (own := _stems(record.what))
        and len(own & quoted) >= MOSTLY * len(own)
    ]


def alternatives(instead_of: str) -> tuple[str, ...]:
    """Return the rejected alternative that `Instead of:` names in words."""
    return () if not instead_of or id_in(instead_of) else (instead_of.strip(" .'\"“”"),)


def nearest(memory: Memory, sentence: str) -> Record | None:
    """Return the record most surely on the same subject as a sentence of the user; or None.

    At least two content words are shared, or the one that names an entity of the record.
    """
    sought = _stems(sentence)
    best, most = None, 1
    for record in _matching(memory, sentence):
        if record.status != "active":
            continue
        shared = sought & _stems(f"{record.what} {' '.join(record.alternatives)}")
        names = {stem(word) for entity in record.entities for word in words(entity.name)}
        weight = len(shared) + bool(shared & names)
        if weight > most:
            best, most = record, weight
    return best


def candidate(memory: Memory, id_: str) -> Record | None:
    """Return the waiting candidate with this id."""
    found = named(memory, id_, "")
    return found[0] if found and found[0].status == "candidate" else None


def discard(memory: Memory, old: Record, by: Provenance, *, bury: bool = True) -> None:
    """Delete a candidate that was dropped or, without `bury`, what a note says in its place: its
    words may come again.
    """
    memory.write("forget", {"ids": [old.id], "bury": bury}, by, store=kind_of(memory, old))


def share_subject(a: Record, b: Record) -> bool:
    """Return True if two records share a content word."""
    return bool(_stems(a.what) & _stems(f"{b.what} {' '.join(b.alternatives)}"))


def kind_of(memory: Memory, record: Record) -> str:
    """Return the kind of the database that holds a record."""
    return "user" if record.scope in USER_SCOPES or memory.project is None else "project"


def line(record: Record) -> str:
    """Return a record as notices name it: its id and its words."""
    return f"{ids.short_id(record.id)}: {record.what}"


def _matching(memory: Memory, text: str) -> list[Record]:
    query = match_expression(terms(text)[:12])
    if not query:
        return []
    found = []
    for database in memory.databases():
        found += about(database, query, TYPES, MAX_LOOKED_AT, candidates=True)
    return found


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOPWORDS)

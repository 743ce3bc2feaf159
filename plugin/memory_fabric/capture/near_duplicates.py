"""Detection of records that say the same in nearly the same words."""

from __future__ import annotations

from memory_fabric.capture.clauses import over_in
from memory_fabric.capture.subject import subject
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.language.concepts import concepts
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.recall.dedupe import FILLERS, is_decisive
from memory_fabric.recall.parse import parse
from memory_fabric.store.fts_query import match_expression
from memory_fabric.store.memory import USER_SCOPES
from memory_fabric.store.records import about
from memory_fabric.text import same_form, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory

# The best matches are compared.
MAX_KNOWN = 20


def in_known_words(memory: Memory, record: Record, by: Provenance) -> Record:
    """Return the record in the words of a current one that says the same, if there is one."""
    query = parse(record.what, plain=True)
    match = match_expression([word for c in concepts(query) for word in c.spellings])
    try:
        kind = "user" if record.scope in USER_SCOPES else "project"
        database = memory.database(kind, create=False)
        if database is None or not match:
            return record
        known = about(database, match, [record.type], MAX_KNOWN)
    except (DeadlinePassed, StoreUnavailable):
        return record
    domain = record.domain if record.domain != "general" else by.domain
    session = by.session or record.session
    one = record._replace(domain=domain)
    for old in known:
        within_reach = old.scope != "local" or old.session == session
        if within_reach and old.outcome == record.outcome and says_the_same(one, old):
            return record._replace(what=old.what)
    return record


def says_the_same(a: Record, b: Record) -> bool:
    """Return True if two records of one scope and domain are the same statement.

    Their words are the same in the same order except for fillers and endings, and none that denies,
    counts or names differs; or both choose the same thing over the same other one for the same
    purpose.
    """
    if (a.scope, a.domain) != (b.scope, b.domain):
        return False
    return _near(a, b) or _same_choice(a, b)


def _near(a: Record, b: Record) -> bool:
    left, right = words(a.what), words(b.what)
    telling = set(left) ^ set(right)
    names = {word for r in (a, b) for e in r.entities for word in words(e.name)}
    if any(is_decisive(word, names) or entity_type(word) for word in telling):
        return False
    if left == right and _named(a.what) != _named(b.what):
        return False
    stems = [[stem(w) for w in some if w not in FILLERS] for some in (left, right)]
    return stems[0] == stems[1] if any(stems) else left == right


def _named(text: str) -> frozenset[str]:
    """Return the names with inner capitals or signs, such as `nodeA` and `C++`."""
    parts = (part.rstrip(",;:.!?)”'\"`").lstrip("(“'\"`") for part in same_form(text).split())
    return frozenset(part for part in parts if not part.islower() or not part.isalnum())


def _same_choice(a: Record, b: Record) -> bool:
    """Return True for equal choices: "Use pnpm, not npm" and "we use pnpm instead of npm here"."""
    left, right = _rejected(a), _rejected(b)
    return bool(left) and left == right and _taken(a, left) == _taken(b, right)


def _rejected(record: Record) -> frozenset[str]:
    return frozenset(subject(" ".join(record.alternatives or over_in(record.what))))


def _taken(record: Record, rejected: frozenset[str]) -> frozenset[str]:
    return frozenset(subject(record.what)) - rejected

"""The records that contradict a new one: told with it, and never closed by it.

Few and certain: both state something of the same subject, once to do it and once not to, once that
it worked and once that it failed, or with another value; or one of them rejects what the other one
takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memory_fabric.capture.changed_value import Sentence, is_changed, sentences
from memory_fabric.capture.clauses import over_in, without_reason
from memory_fabric.capture.opposites import MAX_SHOWN, opposed
from memory_fabric.capture.polarity import is_denied, is_left
from memory_fabric.capture.subject import key_of, subject
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.language.concepts import concepts
from memory_fabric.models import CONTRADICTS, RECORD_TYPES, Record, stated_at, verdict
from memory_fabric.models import contradicted as contradicts
from memory_fabric.patterns import pattern
from memory_fabric.recall.parse import parse
from memory_fabric.store.conditions import match_expression
from memory_fabric.store.memory import Memory
from memory_fabric.store.records import about
from memory_fabric.text import STOPWORDS, stem, words

# The best matches are compared: a record on the same subject shares its rare words.
MAX_LOOKED_AT = 30
# Words that say only that something is to be done, or not.
_MODALS = STOPWORDS | frozenset(
    "use uses used using always never must shall avoid forbidden allowed longer please let".split()
)
_CLAUSES = (
    r"[;.!?]\s+|, (?:but |and )?(?=use\b|we use\b|never\b|do not\b|don't\b|always\b)|[。；！]"
)
# Both may hold: one is for a time, a trial, or comes in addition.
_PARTIAL = r"\b(?:also|too|except|unless|for now|temporar\w+|until|trial|experiment\w*)\b"


class _Said(NamedTuple):
    """The statement of a record, as stems of words.

    `does` is to be done, `denies` is not; `takes` are the subjects of `does`, without the names it
    rejects (`rejects`), and `first` the first words of the subject. `whole` is all of it, in which
    another value is looked for.
    """

    does: tuple[frozenset[str], ...] = ()
    takes: tuple[frozenset[str], ...] = ()
    denies: tuple[frozenset[str], ...] = ()
    rejects: tuple[frozenset[str], ...] = ()
    first: tuple[str, ...] = ()
    whole: tuple[Sentence, ...] = ()


def beside(record: Record, against: Sequence[Record]) -> Record:
    """Return the record with the mark that it contradicts these, which stay beside it."""
    if not against:
        return record
    ids = dict.fromkeys((*contradicts(record), *(old.id for old in against)))
    return record._replace(evidence={**record.evidence, CONTRADICTS: list(ids)})


def contradicting(memory: Memory, record: Record) -> list[Record]:
    """Return current records that contradict this one, nearest first, at most three; mostly none.

    A database that cannot be read contributes none.
    """
    query = parse(" ".join([record.what, *record.alternatives]), plain=True)
    match = match_expression([word for c in concepts(query) for word in c.spellings])
    if not match:
        return []
    known: list[Record] = []
    for database in memory.databases():
        try:
            known += about(database, match, sorted(RECORD_TYPES), MAX_LOOKED_AT)
        except (DeadlinePassed, StoreUnavailable) as error:
            memory.fail(f"contradictions ({database.kind}): {error}")
    seen = [old for old in known if old.scope != "local" or old.session == record.session]
    return contradicted(record, seen)


def contradicted(record: Record, known: Sequence[Record]) -> list[Record]:
    """Return those of the known records that contradict this one, nearest first; pure."""
    found = opposed(record, list(known))
    one = _said(record)
    disagreeing = [
        old
        for old in known
        if old.id != record.id and old not in found and _disagree(one, _said(old))
    ]
    disagreeing.sort(key=stated_at, reverse=True)
    return [*found, *disagreeing][:MAX_SHOWN]


def is_choice_against(record: Record, old: Record) -> bool:
    """Return True if they disagree on what to do, not on how it turned out: one may replace it."""
    return _disagree(_said(record), _said(old))


def _said(record: Record) -> _Said:
    if verdict(record) == "failed" or record.type in ("question", "session", "problem", "blocker"):
        return _Said()
    text = without_reason(record.what)
    if pattern(_PARTIAL).search(text):
        return _Said()
    rejected = tuple(record.alternatives) or over_in(text)
    dropped = frozenset(subject(" ".join(rejected)))
    does, takes, denies = [], [], []
    for clause in pattern(_CLAUSES).split(text):
        if is_denied(clause) or (is_left(clause) and not rejected):
            denies.append(_content(clause))
        else:
            does.append(_content(clause) - dropped)
            takes.append(frozenset(subject(clause)) - dropped)
    first = tuple(one for one in subject(text) if one not in dropped)[:2]
    rejects = tuple(s for name in rejected if (s := frozenset(subject(name))))
    denied = tuple(filter(None, denies))
    taken = tuple(filter(None, takes))
    return _Said(tuple(does), taken, denied, rejects, first, sentences(record.what))


def _content(clause: str) -> frozenset[str]:
    """Return the stems of all words of a clause but those that say whether it is to be done."""
    return frozenset(stem(key_of(word)) for word in words(clause) if word not in _MODALS)


def _disagree(a: _Said, b: _Said) -> bool:
    return (
        _forbids(a, b)
        or _forbids(b, a)
        or _rejects(a, b)
        or _rejects(b, a)
        or is_changed(a.whole, b.whole)
    )


def _forbids(a: _Said, b: _Said) -> bool:
    """Return True if `a` forbids what `b` does; a narrower prohibition is only an exception."""
    return any(denied <= done for denied in a.denies for done in b.does)


def _rejects(a: _Said, b: _Said) -> bool:
    """Return True if `a` rejects what `b` takes, for a purpose that may be the same."""
    for rejected in a.rejects:
        for taken in b.takes:
            if not (rejected <= taken and rejected & set(b.first)):
                continue
            mine = frozenset().union(*a.takes) - rejected - set(a.first[:1])
            theirs = taken - rejected
            if not mine or not theirs or mine & theirs:
                return True
    return False

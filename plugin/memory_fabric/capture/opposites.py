"""Find records to the contrary: the same thing, once said to work and once to have failed.

Told to whoever states the newer one; nothing is closed by it. Few and sure: both must speak first
of the same thing, and share most of what the shorter one says of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memory_fabric.capture.clauses import over_in, without_reason
from memory_fabric.capture.polarity import is_denied
from memory_fabric.capture.subject import key_of, subject
from memory_fabric.ids import short_id
from memory_fabric.models import Record, contradict, stated_at, verdict
from memory_fabric.recall.render import low_trust_of
from memory_fabric.text import cut, one_line, words

MAX_SHOWN, MAX_LINE_CHARS = 3, 240
# What a choice can be about; places where it is applied (components) are shared by opposites of all
# kinds, and by much else.
SUBJECTS = frozenset(("technology", "pattern", "tool"))
# The share of the shorter one's words that both hold; more where neither names a known thing.
MIN_SHARE, MIN_SHARE_UNNAMED = 0.5, 0.6
MIN_WORDS, MIN_WORDS_UNNAMED = 2, 3
ARTICLES = frozenset(("a", "an", "the", "any"))


class _Subject(NamedTuple):
    """The subjects of a record: keys of known things in the order named, stems, the first two.

    `versions` are numbers behind a name (Redis 6), `lacking` what it was tried without.
    """

    names: tuple[str, ...] = ()
    stems: frozenset[str] = frozenset()
    opening: tuple[str, ...] = ()
    versions: Mapping[str, str] = {}
    lacking: frozenset[str] = frozenset()


def opposed(record: Record, known: list[Record]) -> list[Record]:
    """Those of the known records that say the opposite, nearest first, then newest; pure."""
    subject = _subject(record)
    found = [
        (_nearness(subject, _subject(old)), stated_at(old), old)
        for old in known
        if old.id != record.id and contradict(record, old)
    ]
    near = sorted((one for one in found if one[0]), key=lambda one: one[:2], reverse=True)
    return [old for _, _, old in near[:MAX_SHOWN]]


def as_line(record: Record, max_chars: int = MAX_LINE_CHARS) -> str:
    """`earlier, 2026-01-03: failed: Offset pagination … (1a2b3c4d)`."""
    what = cut(one_line(record.what), max_chars)
    claimed = low_trust_of(record) if record.trust == "foreign" else ""
    marks = ", ".join(filter(None, (short_id(record.id), claimed)))
    return f"earlier, {stated_at(record)[:10]}: {outcome_of(record)}: {what} ({marks})"


def outcome_of(record: Record) -> str:
    """Return the outcome in a word: failed, worked, or the type of what is followed."""
    if verdict(record) == "failed":
        return "failed"
    worked = record.outcome == "success" or record.type == "pattern"
    return "worked" if worked else record.type


def _subject(record: Record) -> _Subject:
    """Return what the record is for or against; nothing where it is followed and only forbids."""
    text = without_reason(record.what)
    rejected = frozenset(map(key_of, (*record.alternatives, *over_in(text))))
    followed = verdict(record) == "worked"
    if followed and is_denied(text):
        return _Subject()
    named = [e for e in record.entities if e.type in SUBJECTS]
    names = tuple(key_of(e.name) for e in named if key_of(e.name) not in rejected)
    told = subject(text)
    if followed:
        left = [*record.alternatives, *(e.name for e in named if key_of(e.name) in rejected)]
        dropped = set(subject(" ".join(left)))
        told = [word for word in told if word not in dropped]
    opening = tuple(told[:2])
    return _Subject(names, frozenset(told), opening, _versions(text), _lacking(text))


def _versions(text: str) -> dict[str, str]:
    """Numbers that tell a release, by the name before them; a `v` in front is left out.

    A name has a capital: "took 40 minutes" tells no release.
    """
    found = {}
    before = ""
    for word in text.split():
        word = word.strip(",;:()")
        number = word.removeprefix("v")
        if before and number.replace(".", "").isdigit() and (before[0].isupper() or number != word):
            found[before.lower()] = number
        before = word
    return found


def _lacking(text: str) -> frozenset[str]:
    """Stems of what stands behind "without"."""
    said = words(text)
    behind = [next((w for w in said[at + 1 :] if w not in ARTICLES), "") for at in _withouts(said)]
    return frozenset(subject(" ".join(behind)))


def _withouts(said: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(said) if word == "without"]


def _is_other_try(a: _Subject, b: _Subject) -> bool:
    """Return True if the two tell of other releases, or one of doing without what the other has."""
    if any(b.versions.get(name, number) != number for name, number in a.versions.items()):
        return True
    return a.lacking != b.lacking and a.lacking | b.lacking <= a.stems & b.stems


def _nearness(a: _Subject, b: _Subject) -> float:
    """The share of words in common, 0 where they do not surely speak of the same."""
    if _is_other_try(a, b):
        return 0.0
    fewest, shared = min(len(a.stems), len(b.stems)), len(a.stems & b.stems)
    share = shared / fewest if fewest else 0.0
    if a.names and b.names:
        first_in_both = a.names[0] in b.names and b.names[0] in a.names
        alike = share == 1 or (shared >= MIN_WORDS and share >= MIN_SHARE)
        return share if first_in_both and alike else 0.0
    same_opening = len(a.opening) == MIN_WORDS and set(a.opening) == set(b.opening)
    alike = shared >= MIN_WORDS_UNNAMED and share >= MIN_SHARE_UNNAMED
    return share if same_opening or alike else 0.0

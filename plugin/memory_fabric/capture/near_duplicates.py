"""Detection of records that say the same in nearly the same words; pure."""

from __future__ import annotations

from memory_fabric.capture.closing.statements import reading
from memory_fabric.language.vocabulary import entity_type
from memory_fabric.recall.dedupe import FILLERS, is_decisive
from memory_fabric.text import same_form, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from memory_fabric.models import Record


def twin(record: Record, known: Iterable[Record]) -> Record | None:
    """Return the first of the known records that says the same as this one."""
    return next((old for old in known if says_the_same(record, old)), None)


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
    left, right = reading(a), reading(b)
    if not (left.taken and right.taken and left.settled and right.settled):
        return False
    rejected = [frozenset().union(*r.left, *r.away) for r in (left, right)]
    taken = [frozenset().union(*r.taken) for r in (left, right)]
    return (
        bool(rejected[0])
        and rejected[0] == rejected[1]
        and taken[0] == taken[1]
        and (left.use == right.use)
    )

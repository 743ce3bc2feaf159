"""Which older records a new one closes. Precision first: closing wrongly is worse than not closing.

A record closes another only where it surely speaks of the same choice: it leaves behind exactly
what the older one took, sets another value for the same thing, or takes it back. What both are for
decides in doubt: "for sessions" and "for the analytics" do not close one another. What is said to
come beside ("also"), what is partial ("but keep"), planned, supposed or told of others closes
nothing.
"""

from __future__ import annotations

from memory_fabric.capture.closing.changes import Change, change, holds_old_value
from memory_fabric.capture.closing.departures import Departure, departure, something_stays
from memory_fabric.capture.closing.descriptions import Description, described
from memory_fabric.capture.closing.leavings import COMPARED, MOVED
from memory_fabric.capture.closing.statements import (
    Reading,
    is_beside,
    is_partial,
    is_settled,
    reading,
)
from memory_fabric.capture.closing.wording import KINDS, clauses, content_stems, plain
from memory_fabric.language.patterns import pattern
from memory_fabric.models import STORED_FROM, may_close
from memory_fabric.text import stem
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record

# What may close another, and what may be closed so; questions and problems have rules of their own
# (answers).
CLOSING = frozenset("decision constraint preference note".split())
CLOSABLE = frozenset("decision constraint preference pattern note".split())
CORRECTIONS = frozenset(("no", "nope", "wrong", "correction", "scratch"))
_TOLD_OF_OTHERS = (
    r"^(?:they|he|she|(?:the |our |a )?(?:customers?|clients?|vendors?|competitors?)(?:'s?)?) "
)
ADDITIONS = frozenset("also additionally besides addition plus".split())


class _Newer(Value):
    """A new record as it is compared with each older one."""

    read: Reading
    leaves: tuple[Departure, ...]
    changed: Change | None
    corrects: bool


class _Hit(Value):
    """An older record that is closed: what it is for, and whether only its value tells so."""

    record: Record
    use: frozenset[str]
    by_value_alone: bool = False


def closes(new: Record, older: Sequence[Record], *, said: Sequence[str] = ()) -> list[Record]:
    """Those of the older open records that the new one closes, in the order given.

    `said` are the words with which its sentence was opened ("no", "also"), lower case.
    """
    newer = _newer(new, said)
    if newer is None:
        return []
    hit = [
        found
        for old in older
        if old.type in CLOSABLE and old.id != new.id and may_close(new, old)
        if (found := _hit(newer, old))
    ]
    return _unambiguous(newer, hit)


def speaks(new: Record, said: Sequence[str] = ()) -> bool:
    """Whether a record could close anything at all: then it is worth asking for older ones."""
    newer = _newer(new, said)
    if newer is None:
        return False
    read = newer.read
    told = read.settled and (read.left or read.away or read.slot or read.taken)
    return bool(told or newer.leaves or newer.changed)


def _newer(new: Record, said: Sequence[str]) -> _Newer | None:
    opened = _opened(new, said)
    if new.type not in CLOSING or new.confidence < STORED_FROM or ADDITIONS & opened:
        return None
    read = reading(new)
    if read.left and something_stays(new.what):
        read = read._replace(settled=False)
    told = _told(new)
    changed = next((found for found in map(change, told) if found), None)
    leaves = tuple(found for found in map(departure, told) if found)
    return _Newer(read, leaves, changed, bool(CORRECTIONS & opened))


def _told(new: Record) -> list[str]:
    """The clauses that say what holds for us, of a text that leaves nothing in part."""
    if something_stays(new.what):
        return []
    told = clauses(new.what)
    if not told or not is_settled(told[0]) or is_beside(told[0]):
        return []
    return [c for c in told if is_settled(c) and not is_beside(c) and not is_partial(c)]


def _opened(new: Record, said: Sequence[str]) -> frozenset[str]:
    """The words that open the sentence, with one that the record itself begins with: "No, we"."""
    first, comma, _ = new.what[:24].partition(",")
    return frozenset((*said, first.strip().lower() if comma else ""))


def _hit(newer: _Newer, old: Record) -> _Hit | None:
    before = reading(old)
    if newer.read.settled and _closes(newer.read, before, corrects=newer.corrects):
        return _Hit(old, before.use)
    text = plain(old.what)
    if newer.changed and is_settled(text) and holds_old_value(text, newer.changed):
        return _Hit(old, frozenset(), not (newer.changed.subject or newer.changed.name))
    for over in newer.leaves:
        found = _described(over, before, old, text)
        if found and _is_over(over, found):
            return _Hit(old, found.use)
    return None


def _described(over: Departure, before: Reading, old: Record, text: str) -> Description | None:
    """What the older one is for, where it describes as chosen what is over."""
    if over.verb:
        return _done(over, text)
    if pattern(_TOLD_OF_OTHERS).match(text):
        return None
    entities = [e.name for e in old.entities if e.type in KINDS]
    found = described(text, over.left, entities)
    if before.taken and _is_all(before, over.left) and not before.listed:
        return Description(before.use, before.use) if found is None else found
    first = before.taken[0] if before.taken else frozenset()
    leads = not first or any(first & gone for gone in over.left)
    return found if found and (leads or found.role) else None


def _done(over: Departure, text: str) -> Description | None:
    """ "Icons are inlined by svgr" before "icons are no longer inlined"."""
    match = pattern(r"^(?:the |our |all )*(?P<subject>.{3,60}?) (?:is|are) (?P<verb>\w+) ").match(
        text
    )
    if not match or stem(match["verb"].lower()) != over.verb:
        return None
    subject = content_stems(match["subject"])
    return Description(subject, subject) if subject == over.subject else None


def _is_over(over: Departure, old: Description) -> bool:
    """Whether it is over for what the older one is for: saying nothing is for everything, a part
    of many things is not all of them, and what is only compared must be for the same.
    """
    if not over.use:
        return not (over.how is COMPARED and old.use)
    if not old.use:
        return False
    if over.use <= old.use:
        return not (old.thing - over.use and old.many and not over.use & old.thing)
    return bool(old.thing) and old.thing <= over.use and not old.many


def _closes(new: Reading, old: Reading, *, corrects: bool) -> bool:
    return (
        _leaves(new, old, corrects=corrects)
        or _forbids(new, old)
        or _allows(new, old)
        or _sets_anew(new, old)
        or (corrects and _corrects(new, old))
    )


def _leaves(new: Reading, old: Reading, *, corrects: bool) -> bool:
    """Left behind is exactly what the older one took, and for as much as it took it.

    "No, we use X here, not Y" corrects what was said of Y, whatever it was said for.
    """
    if not new.left or not _is_all(old, new.left) or not _names_the_rest(new, old):
        return False
    if new.how is COMPARED and not (corrects and not new.use):
        return _same_use(new, old)
    return _covers(new, old)


def _is_all(old: Reading, left: Sequence[frozenset[str]]) -> bool:
    return bool(old.taken) and all(any(one & gone for gone in left) for one in old.taken)


def _names_the_rest(new: Reading, old: Reading) -> bool:
    """Whatever else the older one is about, the new one names, too."""
    about = {key for one in (*old.taken, *old.left) for key in one}
    return old.named - about <= new.named


def _covers(new: Reading, old: Reading) -> bool:
    """Whether the new one is for all that the older one is for; saying nothing is for all."""
    if not new.use:
        return True
    if old.listed:
        return new.use == old.use
    return bool(old.use) and new.use <= old.use


def _same_use(new: Reading, old: Reading) -> bool:
    if not new.use or not old.use:
        return not new.use and not old.use
    return _covers(new, old)


def _forbids(new: Reading, old: Reading) -> bool:
    """ "Don't use X for Y" after "use X for Y"."""
    return bool(new.away) and _is_all(old, new.away) and new.use == old.use


def _allows(new: Reading, old: Reading) -> bool:
    """ "Use X for Y" after "don't use X for Y"."""
    if not (new.taken and old.away) or old.taken or new.use != old.use:
        return False
    return all(any(one & gone for one in new.taken) for gone in old.away)


def _sets_anew(new: Reading, old: Reading) -> bool:
    """Another value for the same thing, or "changed it from this value"."""
    if new.slot and old.slot:
        return new.slot == old.slot and new.value != old.value
    if old.slot and new.how is MOVED:
        subject = {part for part in old.slot if part not in ("#", "is", "default")}
        return any(old.value in gone for gone in new.left) and new.use == subject
    return False


def _corrects(new: Reading, old: Reading) -> bool:
    """ "No, we use X for Y" after "we use Z for Y"."""
    if len(new.taken) != 1 or len(old.taken) != 1 or new.left or old.listed or new.listed:
        return False
    return bool(new.use) and new.use == old.use and not new.taken[0] & old.taken[0]


def _unambiguous(newer: _Newer, hit: Sequence[_Hit]) -> list[Record]:
    """Without those of several uses, where a move or correction did not say which it is about.

    Uses of which one says all that the other says are one; a value alone may be that of one only.
    """
    if sum(found.by_value_alone for found in hit) > 1:
        hit = [found for found in hit if not found.by_value_alone]
    named = [found.use for found in hit if found.use]
    several = any(not (one <= other or other <= one) for one in named for other in named)
    moves = (newer.read.how is MOVED or newer.corrects) and not newer.read.use
    moves |= any(over.how is MOVED and not over.use for over in newer.leaves)
    if not moves or not several:
        return [found.record for found in hit]
    return [found.record for found in hit if not found.use]

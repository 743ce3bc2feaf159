"""Which older records a new one closes. Precision first: closing wrongly is worse than not closing.

A record closes another only where it surely speaks of the same choice: it leaves behind exactly
what the older one took, sets another value for the same thing, or takes it back. What both are for
decides in doubt: "for sessions" and "for the analytics" do not close one another. What is said to
come beside ("also"), what is partial ("but keep"), planned, supposed or told of others closes
nothing.
"""

from __future__ import annotations

from memory_fabric.fabric.leavings import COMPARED, MOVED, WHOLLY
from memory_fabric.fabric.statements import Reading, reading
from memory_fabric.models import STORED_FROM, may_close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record

# What may close another, and what may be closed so; questions and problems have rules of their own
# (answers).
CLOSING = frozenset("decision constraint preference note".split())
CLOSABLE = frozenset("decision constraint preference pattern note".split())
CORRECTIONS = frozenset(("no", "nope", "wrong", "correction", "scratch"))
ADDITIONS = frozenset("also additionally besides addition plus".split())


def closes(new: Record, older: Sequence[Record], *, said: Sequence[str] = ()) -> list[Record]:
    """Those of the older open records that the new one closes, in the order given.

    `said` are the words with which its sentence was opened ("no", "also"), lower case.
    """
    if new.type not in CLOSING or new.confidence < STORED_FROM or ADDITIONS & _opened(new, said):
        return []
    read = reading(new)
    if not read.settled:
        return []
    corrects = bool(CORRECTIONS & _opened(new, said))
    found = [
        (old, reading(old))
        for old in older
        if old.type in CLOSABLE and old.id != new.id and may_close(new, old)
    ]
    hit = [(old, before) for old, before in found if _closes(read, before, corrects=corrects)]
    return _unambiguous(read, hit)


def speaks(new: Record, said: Sequence[str] = ()) -> bool:
    """Whether a record could close anything at all: then it is worth asking for older ones."""
    if new.type not in CLOSING or new.confidence < STORED_FROM or ADDITIONS & _opened(new, said):
        return False
    read = reading(new)
    return read.settled and bool(read.left or read.away or read.slot or read.taken)


def _opened(new: Record, said: Sequence[str]) -> frozenset[str]:
    """The words that open the sentence, with one that the record itself begins with: "No, we"."""
    first, comma, _ = new.what[:24].partition(",")
    return frozenset((*said, first.strip().lower() if comma else ""))


def _closes(new: Reading, old: Reading, *, corrects: bool) -> bool:
    return (
        _leaves(new, old)
        or _forbids(new, old)
        or _allows(new, old)
        or _sets_anew(new, old)
        or (corrects and _corrects(new, old))
    )


def _leaves(new: Reading, old: Reading) -> bool:
    """Left behind is exactly what the older one took, and for as much as it took it."""
    if not new.left or not _is_all(old, new.left) or not _names_the_rest(new, old):
        return False
    if new.how is COMPARED:
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


def _unambiguous(read: Reading, hit: Sequence[tuple[Record, Reading]]) -> list[Record]:
    """Without those of several uses, where a move did not say which of them it is about."""
    uses = {before.use for _, before in hit if before.use}
    if read.how is not MOVED or read.use or len(uses) < 2 or read.how is WHOLLY:
        return [old for old, _ in hit]
    return [old for old, before in hit if not before.use]

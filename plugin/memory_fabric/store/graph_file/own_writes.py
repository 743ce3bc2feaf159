"""What our own writing changed in a mirrored file a short while ago.

A program that writes the whole file may have read it before that: what its content lacks of ours it
has never seen, and what it brings back it does not know to be gone. Parts of lines (an entity with
its type, an observation, a relation) are known by digests, so no text of a memory stands in the
note of it. Times are seconds since 1970; nothing here knows files or a clock.
"""

from __future__ import annotations

import hashlib
import json

from memory_fabric.models import Entity
from memory_fabric.store.graph_file import exchange
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from memory_fabric.models import Relation
    from memory_fabric.store.database import Database

    # When it came by our writing for the first and for the last time.
    Times = tuple[float, float]

KEY = "mirror-recent"
# So long another program may take from reading the whole file to writing it: the reference server
# needs milliseconds, on a loaded machine or with a large file seconds.
WINDOW_S = 5.0
# What is written back comes by our writing again. Where somebody means it and takes it out each
# time, he has his way after so long.
LONGEST_S = 60.0


class Ours(Value):
    """Digests of the parts that we added and removed, as far as they may be unknown to a writer."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


class Recent(Value):
    """Digests of the parts that we added and removed, with their times."""

    added: Mapping[str, Times] = {}
    removed: Mapping[str, Times] = {}

    def unknown_at(self, written_s: float) -> Ours:
        """What somebody who wrote the file at this time may not have seen."""
        return Ours(_young(self.added, written_s), _young(self.removed, written_s))

    def after(self, before: Iterable[bytes], lines: Iterable[bytes], now_s: float) -> Recent:
        """The same once we have written `lines` where `before` stood, without what is too old."""
        old, new = set(before), set(lines)
        was = parts_of(map(exchange.read, old - new))
        is_ = parts_of(map(exchange.read, new - old))
        return Recent(
            _renewed(self.added, is_ - was, was - is_, now_s),
            _renewed(self.removed, was - is_, is_ - was, now_s),
        )


def of(db: Database) -> Recent:
    """What is noted in the database."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return Recent()
    noted = json.loads(row[0])
    return Recent(*({part: (a, b) for part, (a, b) in some.items()} for some in noted))


def keep(db: Database, recent: Recent) -> None:
    """Note it in the database, for every process that serves the file. Raises StoreUnavailable."""
    noted = (KEY, json.dumps(recent))
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", noted)


def of_entity(name: str, kind: str) -> str:
    """The digest of an entity as such."""
    return _digest(name, kind)


def of_observation(name: str, text: str) -> str:
    """The digest of what is said of an entity."""
    return _digest("said", name, text)


def of_relation(relation: Relation) -> str:
    """The digest of a relation."""
    return _digest("relation", relation.source, relation.type, relation.target)


def parts_of(items: Iterable[Entity | Relation | None]) -> set[str]:
    """The digests of all parts of these items."""
    found = set()
    for item in items:
        if isinstance(item, Entity):
            found.add(of_entity(item.name, item.type))
            found |= {of_observation(item.name, text) for text in item.observations}
        elif item is not None:
            found.add(of_relation(item))
    return found


def _digest(*words: str) -> str:
    return hashlib.blake2b(repr(words).encode(), digest_size=8).hexdigest()


def _young(some: Mapping[str, Times], written_s: float) -> frozenset[str]:
    return frozenset(part for part, times in some.items() if _is_young(times, written_s))


def _is_young(times: Times, written_s: float) -> bool:
    """Whether a content of this time may be by one who had not seen it.

    What was written before it came cannot know it; but a copy from long ago that somebody puts in
    place is meant as it is.
    """
    first_s, last_s = times
    return written_s - last_s < WINDOW_S and abs(written_s - first_s) < LONGEST_S


def _renewed(
    some: Mapping[str, Times], come: set[str], gone: set[str], now_s: float
) -> dict[str, Times]:
    left = {
        part: times for part, times in some.items() if part not in gone and _is_young(times, now_s)
    }
    return left | {part: (left.get(part, (now_s, now_s))[0], now_s) for part in come}

"""Recent changes that this server itself made to a mirrored file.

A program that writes the whole file may have read it before such a change: what it lacks was not
deleted on purpose, and what it restores was not added on purpose. Parts of lines (an entity with
its type, an observation, a relation) are stored as digests, so no text of a memory is kept. Times
are seconds since 1970; this module reads neither files nor the clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memory_fabric.models import Entity, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.graph_file import exchange

# Times of the first and the last own write of it.
Times = tuple[float, float]

KEY = "mirror-recent"
# The time that another program may take from reading to writing the whole file: the reference
# server needs milliseconds, on a loaded machine or with a large file seconds.
WINDOW_S = 5.0
# A part that another program removes after every own write is finally removed after this time.
LONGEST_S = 60.0


class Ours(NamedTuple):
    """Digests of own additions and removals that a writer may not have seen."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


class Recent(NamedTuple):
    """Digests of own additions and removals, with their times."""

    added: Mapping[str, Times] = {}
    removed: Mapping[str, Times] = {}

    def unknown_at(self, written_s: float) -> Ours:
        """Return the changes that a program which wrote the file at this time may not have seen."""
        return Ours(_young(self.added, written_s), _young(self.removed, written_s))

    def after(self, before: Iterable[bytes], lines: Iterable[bytes], now_s: float) -> Recent:
        """Return the state after replacing `before` by `lines`, without entries that are
        too old.
        """
        old, new = set(before), set(lines)
        was = parts_of(map(exchange.read, old - new))
        is_ = parts_of(map(exchange.read, new - old))
        return Recent(
            _renewed(self.added, is_ - was, was - is_, now_s),
            _renewed(self.removed, was - is_, is_ - was, now_s),
        )


def load(db: Database) -> Recent:
    """Return the recent changes that are saved in the database."""
    row = db.row("SELECT value FROM meta WHERE key = ?", (KEY,))
    if row is None:
        return Recent()
    noted = json.loads(row[0])
    return Recent(*({part: (a, b) for part, (a, b) in some.items()} for some in noted))


def save(db: Database, recent: Recent) -> None:
    """Save them in the database, for every process that serves the file. Raises
    StoreUnavailable.
    """
    noted = (KEY, json.dumps(recent))
    with db.transaction() as c:
        c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", noted)


def of_entity(name: str, kind: str) -> str:
    """Return the digest of an entity without its observations."""
    return _digest(name, kind)


def of_observation(name: str, text: str) -> str:
    """Return the digest of an observation."""
    return _digest("said", name, text)


def of_relation(relation: Relation) -> str:
    """Return the digest of a relation."""
    return _digest("relation", relation.source, relation.type, relation.target)


def parts_of(items: Iterable[Entity | Relation | None]) -> set[str]:
    """Return the digests of all parts of these items."""
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
    """True if content written at this time may come from a program that had not seen the change.

    Content that was written before the change cannot include it; but an old copy that someone
    restores counts as it is.
    """
    first_s, last_s = times
    return written_s - last_s < WINDOW_S and abs(written_s - first_s) < LONGEST_S


def _renewed(
    some: Mapping[str, Times], added: set[str], removed: set[str], now_s: float
) -> dict[str, Times]:
    left = {
        part: times
        for part, times in some.items()
        if part not in removed and _is_young(times, now_s)
    }
    return left | {part: (left.get(part, (now_s, now_s))[0], now_s) for part in added}

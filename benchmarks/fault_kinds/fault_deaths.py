"""Fault 4: `kill -9` at any moment while writing, and what the next server finds."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator

from damage import Damage, Row, Scale, known_afterwards, short, write_many
from driver import Ours, Side, Theirs

# The same moments every time, as far as a machine repeats itself.
SEED = 4
# While calls go on, and after them, when the other tiers and the mirrored file follow.
SOON_S, LATE_S = 0.2, 1.6
WRITES_PER_ROUND = 30


def killed(folder: str, scale: Scale) -> Iterator[Row]:
    """Rounds in which a server is killed while it writes; each begins by reading everything."""
    rounds, file = scale.rounds, os.path.join(folder, "file", "memory.jsonl")
    ours = _killed(Ours(os.path.join(folder, "ours")), rounds)
    theirs = None
    if scale.reference:
        theirs = _killed(Theirs(os.path.join(folder, "theirs")), rounds)
    yield Row(4, f"kill -9 while writing, {rounds} rounds", ours, theirs)
    mirrored = Ours(os.path.dirname(file), file)
    yield Row(4, f"the same with MEMORY_FILE_PATH, {rounds} rounds", _killed(mirrored, rounds))


def _killed(side: Side, rounds: int) -> Damage:
    chance = random.Random(SEED)
    told: set[str] = set()
    lost: set[str] = set()
    for number in range(rounds):
        server = side.start()
        lost |= told - server.graph().keys()
        moment = threading.Timer(chance.uniform(0, chance.choice((SOON_S, LATE_S))), server.kill)
        moment.start()
        told |= set(write_many(server, f"round-{number}", WRITES_PER_ROUND))
        moment.join()
        server.stop()
    known, message = known_afterwards(side)
    strays = _strays(side.folder)
    broken = [f"{len(strays)} stray temporary files"] if strays else []
    return Damage(
        acknowledged=len(told),
        lost=len(told - known.keys()),
        # What a fresh server could not read at once, though a later one may.
        unreadable=len(lost),
        message=short(message or ", ".join(strays), side.folder),
        broken=tuple(broken),
    )


def _strays(folder: str) -> list[str]:
    """Files that somebody wrote beside another and never finished."""
    walked = (name for _, _, names in os.walk(folder) for name in names)
    return [name for name in walked if ".tmp" in name or name.endswith("-journal")]

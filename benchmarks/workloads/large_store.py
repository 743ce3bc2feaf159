"""A memory of any size: statements of real prose about entities, relations, records, old turns.

`build` makes the world that benchmarks/hooks.py measures in, with `size` observations: a tenth as
many entities, a twentieth relations, a fiftieth turns of past sessions, a two-hundredth records.
Journals and search indexes are written as in use. The same size gives the same store.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workloads import hooks_store
from workloads.docstrings import PLACES, Prose, read_prose

if TYPE_CHECKING:
    from memory_fabric.models import Entity, Record, Relation
    from memory_fabric.store.memory import Memory

# What there is for one of these.
OBSERVATIONS_PER_ENTITY, OBSERVATIONS_PER_RELATION = 10, 20
OBSERVATIONS_PER_TURN, OBSERVATIONS_PER_RECORD = 50, 200
MOST_OBSERVATIONS = 80
TURNS_PER_SESSION = 100
USER_OBSERVATIONS = 1_000
# Below so many observations: files of prose that are read, and records of each kind.
SMALL, SMALL_FILES, SMALL_RECORDS = 1_000, 10, 10
RELATIONS = "calls uses extends tests replaces raises".split()
KINDS = "decision constraint antipattern solution pattern problem".split()


def build(folder: str, size: int) -> None:
    """Make a world in `folder` whose project remembers `size` observations.

    A small one, as in tests, has little prose and few of the records that hooks tell.
    """
    is_small = size < SMALL
    prose = read_prose(SMALL_FILES if is_small else None)
    memory = hooks_store.opened(folder)
    memory.refresh()
    for store, observations in (("project", size), ("user", min(size, USER_OBSERVATIONS))):
        add_graph(memory, prose, store, observations)
    add_turns(memory, prose, size // OBSERVATIONS_PER_TURN)
    for record in records(prose, size // OBSERVATIONS_PER_RECORD):
        from memory_fabric.models import Provenance

        memory.remember(record, Provenance("assistant"))
    hooks_store.add_records(memory, SMALL_RECORDS if is_small else hooks_store.RECORDS)
    memory.flush()
    memory.close()
    if memory.failures:
        raise SystemExit(f"the store could not be built: {memory.failures}")
    hooks_store.note_elsewhere(folder)


def add_graph(memory: Memory, prose: Prose, store: str, observations: int) -> None:
    """Add entities with so many observations in all, and relations between them, as an import."""
    from memory_fabric.models import Provenance
    from memory_fabric.store import write

    count = observations // OBSERVATIONS_PER_ENTITY
    names = [name_of(prose, number)[0] for number in range(count)]
    relations = relations_of(names, store, observations // OBSERVATIONS_PER_RELATION)
    entities = entities_of(prose, store, observations)
    for items in (entities, relations):
        for kind, payload in write.create_operations(items):
            result = memory.write(kind, payload, Provenance("import", trust="tool"), store=store)
            if result.get("queued"):
                raise SystemExit(f"the store could not be built: {result}")


def entities_of(prose: Prose, store: str, observations: int) -> Iterator[Entity]:
    """Entities with ten observations each on average, some with many."""
    from memory_fabric.models import Entity

    chance = random.Random(f"{store} {observations}")
    count = observations // OBSERVATIONS_PER_ENTITY
    left = observations
    for number in range(count):
        others = count - number - 1
        mean = left / (others + 1)
        size = min(MOST_OBSERVATIONS, 1 + int(chance.expovariate(1 / (mean - 0.5))))
        size = min(size, left - others) if others else left
        left -= size
        name, kind = name_of(prose, number)
        texts: dict[str, None] = {}
        while len(texts) < size:
            texts[prose.statement(chance)] = None
        yield Entity(name, kind, tuple(texts))


def name_of(prose: Prose, number: int) -> tuple[str, str]:
    """Name and type of the n-th entity: what the standard library has, then its uses."""
    name, kind = prose.names[number * 7919 % len(prose.names)]
    use = number // len(prose.names)
    return (f"{name} in {PLACES[use % len(PLACES)]}" if use else name), kind


def relations_of(names: list[str], seed: str, count: int) -> Iterator[Relation]:
    """Relations between entities, each once."""
    from memory_fabric.models import Relation

    chance = random.Random(f"relations {seed} {count}")
    found: dict[tuple[str, str, str], None] = {}
    while len(found) < count:
        found[chance.choice(names), chance.choice(RELATIONS), chance.choice(names)] = None
    for source, kind, target in found:
        yield Relation(source, kind, target)


def add_turns(memory: Memory, prose: Prose, count: int) -> None:
    """Add turns of past sessions, as their transcripts are read in."""
    from memory_fabric.models import Provenance
    from memory_fabric.store.conversations import sessions

    chance = random.Random(f"turns {count}")
    for start in range(0, count, TURNS_PER_SESSION):
        session = f"00000000-0000-4000-9000-{start:012d}"
        day = f"2026-{1 + start // TURNS_PER_SESSION % 6:02d}-{1 + start // 600 % 28:02d}"
        turns = [
            {
                "id": f"00000000-0000-4000-8000-{number:012d}",
                "session": session,
                "role": "assistant" if number % 2 else "user",
                "text": " ".join(prose.statement(chance) for _ in range(chance.randrange(1, 6))),
                "place": "",
                "created_at": f"{day}T{number % 24:02d}:{number % 60:02d}:00.000000Z",
            }
            for number in range(start, min(count, start + TURNS_PER_SESSION))
        ]
        sessions.touch(memory.session_database(), session, turns[0]["created_at"])
        by = Provenance("transcript", session=session)
        if memory.write("add_episodes", {"episodes": turns}, by, store="project").get("queued"):
            raise SystemExit("the store could not be built: its turns were queued")


def records(prose: Prose, count: int) -> Iterator[Record]:
    """Decisions, rules and what worked or failed, every tenth with a reason and entities."""
    from memory_fabric.models import Entity, Record

    chance = random.Random(f"records {count}")
    for number in range(count):
        name, kind = name_of(prose, chance.randrange(len(prose.names)))
        yield Record(
            KINDS[number % len(KINDS)],
            f"{prose.statement(chance)} (note {number})",
            why="" if number % 10 else chance.choice(prose.sentences),
            entities=() if number % 10 else (Entity(name, kind),),
            confidence=0.8,
        )


if __name__ == "__main__":
    build(os.path.abspath(sys.argv[1]), int(sys.argv[2]))

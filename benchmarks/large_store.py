"""A memory of any size: statements of real prose about entities, relations, records, old turns.

`build` makes the world that benchmarks/hooks.py measures in, with `size` observations: a tenth as
many entities, a twentieth relations, a fiftieth turns of past sessions, a two-hundredth records.
Journals and search indexes are written as in use. The same size gives the same store.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import hooks_store
from docstrings import PLACES, Prose, read_prose

if TYPE_CHECKING:
    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

# What there is for one of these.
OBSERVATIONS_PER_ENTITY, OBSERVATIONS_PER_RELATION = 10, 20
OBSERVATIONS_PER_TURN, OBSERVATIONS_PER_RECORD = 50, 200
MOST_OBSERVATIONS = 80
# What one operation brings.
ENTITIES_PER_BATCH = RELATIONS_PER_BATCH = TURNS_PER_SESSION = 100
USER_OBSERVATIONS = 1_000
RELATIONS = "calls uses extends tests replaces raises".split()
KINDS = "decision constraint antipattern solution pattern problem".split()


def build(folder: str, size: int) -> None:
    """Make a world in `folder` whose project remembers `size` observations."""
    prose = read_prose()
    memory = hooks_store.opened(folder)
    memory.refresh()
    for store, observations in (("project", size), ("user", USER_OBSERVATIONS)):
        add_graph(memory, prose, store, observations)
    add_turns(memory, prose, size // OBSERVATIONS_PER_TURN)
    for record in records(prose, size // OBSERVATIONS_PER_RECORD):
        from memory_fabric.models import Provenance

        memory.remember(record, Provenance("assistant"))
    hooks_store.add_records(memory)
    memory.flush()
    memory.close()
    if memory.failures:
        raise SystemExit(f"the store could not be built: {memory.failures}")
    hooks_store.note_elsewhere(folder)


def add_graph(memory: Memory, prose: Prose, store: str, observations: int) -> None:
    """Add entities with so many observations in all, and relations between them."""
    from memory_fabric.models import Provenance

    by = Provenance("import")
    names: list[str] = []
    began = time.monotonic()
    for batch in entity_batches(prose, store, observations):
        names += [entity["name"] for entity in batch]
        _write(memory, "create_entities", {"entities": batch}, by, store)
        if len(names) % 5_000 == 0:
            print(
                f"{store}: {len(names):,} entities, {time.monotonic() - began:.0f} s",
                file=sys.stderr,
            )
    for relations in relation_batches(names, store, observations // OBSERVATIONS_PER_RELATION):
        _write(memory, "create_relations", {"relations": relations}, by, store)


def entity_batches(prose: Prose, store: str, observations: int) -> Iterator[list[dict[str, Any]]]:
    """Entities with ten observations each on average, some with many."""
    chance = random.Random(f"{store} {observations}")
    batch: list[dict[str, Any]] = []
    left = observations
    for number in range(observations // OBSERVATIONS_PER_ENTITY):
        entities_left = observations // OBSERVATIONS_PER_ENTITY - number
        count = min(
            MOST_OBSERVATIONS, 1 + int(chance.expovariate(1 / (left / entities_left - 0.5)))
        )
        count = left if entities_left == 1 else min(count, left - entities_left + 1)
        left -= count
        name, kind = name_of(prose, number)
        texts: dict[str, None] = {}
        while len(texts) < count:
            texts[prose.statement(chance)] = None
        batch.append({"name": name, "entityType": kind, "observations": list(texts)})
        if len(batch) == ENTITIES_PER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def name_of(prose: Prose, number: int) -> tuple[str, str]:
    """Name and type of the n-th entity: what the standard library has, then its uses."""
    name, kind = prose.names[number * 7919 % len(prose.names)]
    use = number // len(prose.names)
    return (f"{name} in {PLACES[use % len(PLACES)]}" if use else name), kind


def relation_batches(names: list[str], seed: str, count: int) -> Iterator[list[dict[str, str]]]:
    """Relations between entities, each once."""
    chance = random.Random(f"relations {seed} {count}")
    found: dict[tuple[str, str, str], None] = {}
    while len(found) < count:
        found[chance.choice(names), chance.choice(RELATIONS), chance.choice(names)] = None
    rows = [{"from": f, "relationType": r, "to": t} for f, r, t in found]
    for start in range(0, count, RELATIONS_PER_BATCH):
        yield rows[start : start + RELATIONS_PER_BATCH]


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
        _write(memory, "add_episodes", {"episodes": turns}, by, "project")


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


def _write(memory: Memory, kind: str, payload: dict[str, Any], by: Any, store: str) -> None:
    result = memory.write(kind, payload, by, store=store)
    if result.get("queued"):
        raise SystemExit(f"the store could not be built: {result}")


if __name__ == "__main__":
    build(os.path.abspath(sys.argv[1]), int(sys.argv[2]))

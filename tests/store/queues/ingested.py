"""Texts that tests put into the queue of what other programs bring in."""

from __future__ import annotations

from memory_fabric.ids import timestamp
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Accepted, Claimed

BY = Provenance("ingest", trust="tool")
NOW = 1_800_000_000.0
LEASE_S = 60.0


def accepted(memory: Memory, *ingests: Ingest) -> list[Accepted]:
    told = ingest_queue.accept(memory, ingests, BY._replace(at=timestamp(NOW)))
    found = [one for one in told if isinstance(one, Accepted)]
    assert len(found) == len(told)
    return found


def one(memory: Memory, text: str = "We use Redis.", **fields: str) -> str:
    return accepted(memory, Ingest(text, **fields))[0].id  # type: ignore[arg-type]


def claimed(memory: Memory, worker: str = "w1", now: float = NOW) -> Claimed:
    found = ingest_queue.claim(memory, worker, now, LEASE_S)
    assert found is not None
    return found

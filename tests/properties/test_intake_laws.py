"""Laws of the intake: whatever workers, clock and deaths do, a text has one owner and one end."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Accepted
from store.support import World
from thorough import examples

BY = Provenance("ingest", trust="tool")
LEASE_S = 10.0
WORKERS = ("w1", "w2", "w3")
worker = st.sampled_from(WORKERS)


class Queue(RuleBasedStateMachine):
    """Three workers, some of which die with a text in hand, and a clock that jumps."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = World(Path(self.folder.name)).memory()
        self.now = 1_800_000_000.0
        self.held: dict[str, tuple[str, float]] = {}
        self.accepted: list[str] = []
        self.done: set[str] = set()
        self.keys: dict[str, str] = {}

    def teardown(self) -> None:
        self.memory.close()
        self.folder.cleanup()

    @rule(key=st.sampled_from(["", "a", "b"]))
    def accept(self, key: str) -> None:
        (told,) = ingest_queue.accept(self.memory, [Ingest("text", idempotency_key=key)], BY)
        assert isinstance(told, Accepted)
        assert told.repeated == (key in self.keys)
        if key:
            assert self.keys.setdefault(key, told.id) == told.id
        if not told.repeated:
            self.accepted.append(told.id)

    @rule(name=worker)
    def claim(self, name: str) -> None:
        found = ingest_queue.claim(self.memory, name, self.now, LEASE_S)
        if found is None:
            return
        _, until = self.held.get(found.id, ("", 0.0))
        assert until <= self.now + 0.001, "claimed from its owner"
        assert found.id not in self.done
        assert found.attempts <= ingest_queue.MAX_ATTEMPTS
        self.held[found.id] = (name, self.now + LEASE_S)

    @rule(name=worker, ends=st.sampled_from(["finish", "fail", "give back", "note"]))
    def end(self, name: str, ends: str) -> None:
        for id_ in self.accepted:
            is_his = self.held.get(id_, ("", 0.0))[0] == name
            if ends == "finish":
                done = ingest_queue.finish(self.memory, id_, name, {})
                self.done |= {id_} if done else set()
            elif ends == "fail":
                done = ingest_queue.fail(self.memory, id_, name, "boom", self.now)
            elif ends == "give back":
                done = ingest_queue.give_back(self.memory, id_, name, "full", self.now)
            else:
                done = ingest_queue.save_progress(self.memory, id_, name, {}, self.now + LEASE_S)
            assert done == is_his
            if is_his and ends == "note":
                self.held[id_] = (name, self.now + LEASE_S)
            elif is_his:
                del self.held[id_]

    @rule(seconds=st.sampled_from([1.0, 11.0, 100.0, 5000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def retry_the_dead(self) -> None:
        dead = [one.id for one in ingest_queue.listed(self.memory, ("dead",))]
        assert ingest_queue.retry(self.memory, dead, self.now) == len(dead)

    @invariant()
    def nothing_is_lost(self) -> None:
        texts = {
            one.id: one.state for one in ingest_queue.listed(self.memory, ingest_queue.STATES, 1000)
        }
        assert list(texts) == self.accepted
        assert {id_ for id_, state in texts.items() if state == "done"} == self.done
        dead = {id_ for id_, state in texts.items() if state == "dead"}
        self.held = {id_: held for id_, held in self.held.items() if id_ not in dead}
        assert {id_ for id_, state in texts.items() if state == "working"} == set(self.held)
        left = ingest_queue.backlog(self.memory)
        assert left.waiting + left.working + left.dead + len(self.done) == len(self.accepted)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=examples(100, 15), stateful_step_count=40, deadline=None)

"""Machines that exchange through a shared log, interrupted anywhere, end with the same operations.

Each machine reads the log in an order of its own in which an operation follows what its writer
knew. Pushes may arrive without their answer, batches may be read in any size, and twice.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.sharing.replica import heads, outbox, statements
from memory_fabric.sharing.replica.wire import TeamOperation
from sharing.replicas import Home, Log
from store.support import TOOL, USER, create, entity
from thorough import examples

MACHINES = (("ann", "desk"), ("ann", "laptop"), ("bob", "tower"))
TEXTS = ("Use UTC", "Use tabs", "Keep logs for a week")
NAMES = ("api", "Redis")
STEPS = (
    *("say", "forget", "reword", "observe", "unobserve", "alias"),
    *("settle", "push", "lose", "read", "read again", "restart"),
)


class Reader(Home):
    """A machine with its own view of the log: what was delivered to it, and what it knows of."""

    def __init__(self, root: Path, member: str, machine: str, log: CausalLog) -> None:
        super().__init__(root, member, log, machine=machine, key=True)
        self.causal, self.delivered = log, []

    causal: CausalLog
    delivered: list[str]

    def send(self, *, answered: bool) -> None:
        outbox.settle(self.memory, self.database)
        found = outbox.waiting(self.database, 1000)
        self.causal.add(self, [self._proved(one)._replace(author=self.member) for one in found])
        if answered:
            outbox.acknowledge(self.database, [one.op_id for one in found])

    def read(self, choices: list[int]) -> None:
        some = self.causal.deliverable(self, choices)
        self.merge(some)
        self.delivered += [one.op_id for one in some]

    def said(self) -> set[tuple[str, str, str, str]]:
        """All heads as any reader sees them: author, key, id and value."""
        return {
            (head.author, head.key, head.op_id, _as_of_others(head))
            for head in self.heads().values()
            if head.is_own or head.state == heads.THEIRS
        }


class CausalLog(Log):
    """A log whose readers may get operations in any order that respects what writers knew."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, tuple[TeamOperation, frozenset[str]]] = {}

    def add(self, writer: Reader, operations: list[TeamOperation]) -> None:
        for one in operations:
            mine = {id_ for id_, (o, _) in self.known.items() if o.origin == one.origin}
            before = frozenset((*writer.delivered, *mine))
            self.known.setdefault(one.op_id, (one, before))

    def deliverable(self, reader: Reader, choices: list[int]) -> list[TeamOperation]:
        there, found = set(reader.delivered), []
        for choice in choices:
            ready = [
                one
                for id_, (one, before) in self.known.items()
                if id_ not in there and before <= there
            ]
            if not ready:
                break
            found.append(ready[choice % len(ready)])
            there.add(found[-1].op_id)
        return found


def _as_of_others(head: heads.Head) -> str:
    if not head.value:
        return ""
    value = statements.fields(head.kind, head.key, json.loads(head.value))
    return heads.text_of(value)


def act(home: Reader, step: str, number: int) -> None:
    """One step of a machine."""
    text, name = TEXTS[number % len(TEXTS)], NAMES[number % len(NAMES)]
    said = [r for r in home.records().values() if r.source != "journal"]
    if step == "say":
        home.say(f"{text} {number}")
    elif step == "forget" and said:
        home.memory.forget([said[number % len(said)].id], USER)
    elif step == "reword" and said:
        home.say(said[number % len(said)].what, why=f"reason {number}")
    elif step == "observe":
        create(home.memory, entity(name, f"fact {number % 5}"), store="project")
    elif step == "unobserve":
        gone = {"deletions": [{"entityName": name, "observations": [f"fact {number % 5}"]}]}
        home.memory.write("delete_observations", gone, TOOL, store="project")
    elif step == "alias":
        create(home.memory, entity(name), store="project")
        other = {"entity": name, "aliases": [f"{name} {number % 3}"]}
        home.memory.write("alias", other, TOOL, store="project")
    elif step == "settle":
        outbox.settle(home.memory, home.database, limit=1 + number % 3)
    elif step in ("push", "lose"):
        home.send(answered=step == "push")
    elif step == "read":
        home.read([number + i for i in range(1 + number % 4)])
    elif step == "read again" and home.delivered:
        again = home.delivered[-(1 + number % 3) :]
        home.merge([home.causal.known[id_][0] for id_ in again])
    elif step == "restart":
        home.reopen()


@contextmanager
def machines() -> Iterator[list[Reader]]:
    with tempfile.TemporaryDirectory() as folder:
        log = CausalLog()
        found = [Reader(Path(folder), *machine, log) for machine in MACHINES]
        try:
            yield found
        finally:
            for home in found:
                home.memory.close()


@settings(max_examples=examples(100, few=8), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(STEPS), st.integers(0, 40)),
        min_size=5,
        max_size=40,
    )
)
def test_all_machines_end_with_the_same_operations(steps: list[tuple[int, str, int]]) -> None:
    with machines() as homes:
        for number, step, choice in steps:
            act(homes[number], step, choice)
        for _ in range(3):
            for home in homes:
                home.send(answered=True)
                home.read([0] * 10_000)
        assert [home.counts().waiting for home in homes] == [0, 0, 0]
        assert homes[0].said() == homes[1].said() == homes[2].said()
        sent = {one.op_id for one, _ in homes[0].causal.known.values()}
        replaced = {id_ for one, _ in homes[0].causal.known.values() for id_ in one.base}
        assert sent - replaced == {op_id for _, _, op_id, _ in homes[0].said()}
        assert told(homes[0]) == told(homes[1])


def told(home: Home) -> tuple[list[tuple[str, ...]], ...]:
    """Records and graph as they are read, without what differs from machine to machine."""
    return tuple(
        home.database.rows(query)
        for query in (
            "SELECT id, what, why, trust, source, status FROM records ORDER BY id",
            "SELECT e.name, o.text, o.source, o.trust, o.agent FROM observations AS o "
            "JOIN entities AS e ON e.id = o.entity ORDER BY 1, 2",
            "SELECT name, type, said_by FROM entities ORDER BY name",
            "SELECT alias FROM aliases ORDER BY alias",
        )
    )

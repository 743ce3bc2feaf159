"""Rounds with real kills: processes that write and exchange, ended by SIGKILL, a crash of the
server, or a network that is gone in the middle of a batch.

Every process is forked from this one, which has no threads and holds nothing open; all connections
pass a relay, whose count of bytes chooses the moment.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import NamedTuple

from memory_fabric.models import Entity, Provenance, Record
from memory_fabric.sharing.team import keys, sync, ties
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.ties import USER
from memory_fabric.store.memory import Memory
from team_log.cluster import DATABASE, Server
from team_log.comparison import Found, Truth, compare
from team_log.machines import Machine, Statement, Steps
from team_log.proxy import Relay

BY = Provenance("prompt", trust="user", session="s1")
MACHINES = {"laptop": "ann", "desktop": "ann", "bob": "bob", "carl": "carl", "dora": "dora"}
# What ends a process or its connection, and how often of all rounds.
WEIGHTS = {"sender killed": 12, "partition": 5, "server crashed": 2, "nothing": 1}
# Longest life of a process that nothing ends.
LIFE_S = 60.0
# Bytes of an exchange at the beginning; later the largest of the last ones counts.
FIRST_BYTES = 20_000


class Child(NamedTuple):
    """A process of a machine, and the end of the pipe in which it says what it did."""

    pid: int
    said: int
    machine: Machine


class Kills:
    """Machines whose processes are killed."""

    def __init__(self, folder: str, server: Server, seed: int) -> None:
        self._server, self._random = server, random.Random(seed)
        cluster = server.cluster
        sockets = os.path.join(cluster.folder, "relay")
        os.makedirs(sockets)
        self._relay = Relay(sockets, cluster.folder, cluster.port)
        key = Key(self._random.randbytes(32))
        self.machines = [
            Machine(folder, name, member, key if member == "ann" else None)
            for name, member in MACHINES.items()
        ]
        self._paths: dict[str, list[str]] = {}
        for machine in self.machines:
            self._tie(machine)
            kinds = [tie.kind for tie in machine.ties]
            self._paths[machine.name] = [machine.database(kind).path for kind in kinds]
            machine.close()
        self.truth, self.counts = Truth(), Counter[str]()
        self._acknowledged: dict[str, Statement | None] = {}
        self._sizes = [FIRST_BYTES]
        self._number = 0
        self._running: set[int] = set()

    def run(self, rounds: int) -> Found:
        """Run so many rounds, then exchange in peace and compare."""
        for _ in range(rounds):
            self._number += 1
            self._round()
        self._relay.close()
        for machine in self.machines:
            machine.memory = machine.opened()
        for _ in range(3):
            for machine in self.machines:
                connection = machine.connect(self._server)
                assert connection is not None
                machine.exchange(connection, Steps())
        return compare(
            self._server, self.machines, self.truth, self._acknowledged, self._number, self.counts
        )

    def close(self) -> None:
        """Close all machines."""
        for machine in self.machines:
            machine.close()

    def _tie(self, machine: Machine) -> None:
        """Tie a machine as `team join` does, by way of the relay."""
        assert machine.memory.project is not None
        home = machine.memory.settings.home
        cluster = self._server.cluster
        dsn = f"host={self._relay.folder} port={cluster.port} user={machine.member}"
        machine.ties = [
            tie._replace(
                key=USER if tie.key == USER else machine.memory.project.id,
                dsn=f"{dsn} dbname={DATABASE}",
            )
            for tie in machine.ties
        ]
        for tie in machine.ties:
            ties.save(home, tie)
        if machine.key is not None:
            keys.take(home, machine.key.words)

    def _round(self) -> None:
        event = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        self.counts[event] += 1
        chosen = self._random.sample(self.machines, 1 + (self._random.random() < 0.3))
        children = [self._start(machine) for machine in chosen]
        before = self._relay.relayed
        limit = self._random.randrange(max(self._sizes[-4:]))
        self._relay.expect(limit, self._events(children[0])[event])
        self._wait(children)
        if self._relay.is_expecting:
            self.counts["events that came too late"] += event != "nothing"
            self._sizes.append(max(4000, self._relay.relayed - before))
        self._relay.expect(0, None)
        for child in children:
            self._learn(child)

    def _events(self, child: Child) -> Mapping[str, Callable[[], object] | None]:
        def kill() -> None:
            # Somewhere after the answer, too: while it is merged.
            time.sleep(self._random.choice((0.0, 0.0, 0.002, 0.01)))
            if child.pid in self._running:
                os.kill(child.pid, signal.SIGKILL)

        return {
            "sender killed": kill,
            "partition": self._relay.cut,
            "server crashed": self._server.crash,
            "nothing": lambda: None,
        }

    def _start(self, machine: Machine) -> Child:
        reading, writing = os.pipe()
        seed = self._random.random()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.close(reading)
                _live(machine, random.Random(seed), self._number, writing)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        return Child(pid, reading, machine)

    def _wait(self, children: list[Child]) -> None:
        """Relay until all processes have ended."""
        running = self._running = {child.pid for child in children}
        began_s = time.monotonic()
        while running:
            self._relay.step(0.005)
            for pid in list(running):
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    running.discard(pid)
                    self.counts[_ending(status)] += 1
            if time.monotonic() - began_s > LIFE_S:
                for pid in running:
                    os.kill(pid, signal.SIGKILL)
                    self.counts["hung"] += 1
                began_s = time.monotonic()
        self._relay.cut()

    def _learn(self, child: Child) -> None:
        """Read what a process did before it ended, and what was acknowledged to it."""
        with os.fdopen(child.said, encoding="utf-8") as said:
            for line in said.read().split("\n")[:-1]:
                word, id_, text = line.split("\t")
                if word == "said":
                    self.truth.texts[id_], self.truth.reasons[id_] = text, ""
                    self.truth.by[id_] = child.machine.member
                elif word == "failed":
                    self.counts[f"ended by {text}"] += 1
                elif word == "forgetting":  # and perhaps not done
                    self.truth.texts.pop(id_, None)
                elif word == "forgotten":
                    self.truth.forgotten.add(id_)
                    self.truth.texts[id_], self.truth.reasons[id_] = text, ""
                    self.truth.by[id_] = child.machine.member
                    self.truth.unwanted.setdefault(text, set()).add(child.machine.member)
        for path in self._paths[child.machine.name]:
            with closing(sqlite3.connect(path)) as connection:
                sent = connection.execute("SELECT op_id FROM team_heads WHERE state = 'sent'")
                self._acknowledged |= {id_: None for (id_,) in sent}


def _live(machine: Machine, chance: random.Random, number: int, said: int) -> None:
    """Write some memories, say so, and exchange: the life of one process."""
    memory = machine.opened()
    try:
        for turn in range(chance.randrange(5)):
            _write(memory, chance, f"{number}.{turn} of {machine.name}", said)
        for tie in machine.ties:
            result = sync.exchange(memory, tie)
            if result.failure is not None:
                os.write(said, f"failed\t\t{type(result.failure).__name__}\n".encode())
    finally:
        memory.close()


def _write(memory: Memory, chance: random.Random, mark: str, said: int) -> None:
    if chance.random() < 0.25:
        found = memory.find_records(
            "status = 'active' AND scope = 'team' AND source <> 'journal' AND superseded_by = ''"
        )
        if found:
            record = chance.choice(found)
            os.write(said, f"forgetting\t{record.id}\t{record.what}\n".encode())
            memory.forget([record.id], BY)
            os.write(said, f"forgotten\t{record.id}\t{record.what}\n".encode())
        return
    entities = (Entity(f"service-{chance.randrange(30)}", "service"),)
    text = f"Use port {mark}"
    stored = memory.remember(Record("decision", text, confidence=0.9, entities=entities), BY)
    assert stored is not None
    os.write(said, f"said\t{stored.id}\t{text}\n".encode())


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return "processes killed"
    return "processes ended" if os.WEXITSTATUS(status) == 0 else "processes failed"


def run(folder: str, server: Server, rounds: int, seed: int) -> Found:
    """Run rounds with kills on a server."""
    made = Kills(os.path.realpath(folder), server, seed)
    try:
        return made.run(rounds)
    finally:
        made.close()

"""Many homes on one server: some work, the others follow.

Each working home is a process that states something and exchanges, again and again. The idle ones
are followed by one process with the product's own follower, which asks every two seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from multiprocessing.synchronize import Event
from typing import Any, NamedTuple

from memory_fabric.models import Entity, Provenance, Record
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.follower import EVERY_S, Followed
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store.memory import Memory
from team_log.cluster import DATABASE, SPACE, Server
from team_log.machines import Machine
from team_log.processor import cpu_seconds, server_cpu_seconds

BY = Provenance("prompt", trust="user", session="s1")
# Statements between two exchanges of a working home.
STATEMENTS = 20
SPAWNED = multiprocessing.get_context("spawn")


class Idle(NamedTuple):
    """The cost of homes that only ask: processor seconds an hour of each, here and there."""

    homes: int
    seconds: float
    client_s_per_hour: float
    server_s_per_hour: float


class Working(NamedTuple):
    """Working homes beside idle ones: operations pushed a second, and how long it took after the
    last push until the idle homes had read everything.
    """

    homes: int
    seconds: float
    pushed_per_s: float
    caught_up_s: float
    client_s_per_home: float


def names(count: int) -> tuple[str, ...]:
    """Return names for so many members."""
    return tuple(f"member{number:02}" for number in range(count))


def idle(folder: str, server: Server, members: Sequence[str], seconds: float) -> Idle:
    """Let homes follow a log in which nothing happens."""
    stop = SPAWNED.Event()
    process = _started(_follow, folder, server, members, stop)
    time.sleep(3 * EVERY_S)  # until all are connected
    before = cpu_seconds(process.pid or 0), server_cpu_seconds(server)
    time.sleep(seconds)
    after = cpu_seconds(process.pid or 0), server_cpu_seconds(server)
    _end(process, stop)
    hours = seconds / 3600 * len(members)
    spent = [(late - early) / hours for early, late in zip(before, after, strict=True)]
    return Idle(len(members), seconds, *spent)


def working(
    folder: str, server: Server, busy: Sequence[str], others: Sequence[str], seconds: float
) -> Working:
    """Let some homes state and push while others read along."""
    stop, stop_work = SPAWNED.Event(), SPAWNED.Event()
    followers = _started(_follow, folder, server, others, stop)
    time.sleep(3 * EVERY_S)
    before, cpu_before = _count(server), cpu_seconds(followers.pid or 0)
    began = time.perf_counter()
    workers = [_started(_work, folder, server, [name], stop_work) for name in busy]
    time.sleep(seconds)
    for worker in workers:
        _end(worker, stop_work)
    spent, pushed = time.perf_counter() - began, _count(server) - before
    ended = time.perf_counter()
    paths = [_database(folder, name) for name in others]
    while min(_heads(path) for path in paths) < _count(server):
        time.sleep(0.2)
        if time.perf_counter() - ended > 600:
            raise SystemExit("the idle homes do not catch up")
    caught_up = time.perf_counter() - ended
    cpu = (cpu_seconds(followers.pid or 0) - cpu_before) / len(others)
    _end(followers, stop)
    return Working(len(busy) + len(others), spent, pushed / spent, caught_up, cpu)


def _started(
    target: Callable[[str, str, list[str], Event], None],
    folder: str,
    server: Server,
    members: Sequence[str],
    stop: Event,
) -> Any:
    cluster = server.cluster
    dsn = f"host={cluster.folder} port={cluster.port} dbname={DATABASE}"
    process = SPAWNED.Process(target=target, args=(folder, dsn, list(members), stop))
    process.start()
    return process


def _end(process: Any, stop: Event) -> None:
    stop.set()
    process.join(60)


def _opened(folder: str, dsn: str, name: str) -> tuple[Machine, Tie]:
    machine = Machine(folder, name, name)
    assert machine.memory.project is not None
    tie = Tie(machine.memory.project.id, f"{dsn} user={name}", SPACE, name)
    ties.save(machine.memory.settings.home, tie)
    machine.database()
    return machine, tie


def _follow(folder: str, dsn: str, members: list[str], stop: Event) -> None:
    """Follow the ties of these homes, each every two seconds and at its own moment."""
    opened = [_opened(folder, dsn, name) for name in members]
    followed = [Followed(machine.memory, tie) for machine, tie in opened]
    gap_s = EVERY_S / len(followed)
    while not stop.is_set():
        for one in followed:
            began = time.perf_counter()
            one.step(time.time())
            stop.wait(max(0.0, gap_s - (time.perf_counter() - began)))
    for one in followed:
        one.close()


def _work(folder: str, dsn: str, members: list[str], stop: Event) -> None:
    """State something and exchange, as fast as this home can."""
    machine, tie = _opened(folder, dsn, members[0])
    followed = Followed(machine.memory, tie)
    number = 0
    while not stop.is_set():
        for _ in range(STATEMENTS):
            number += 1
            _state(machine.memory, members[0], number)
        followed.step(time.time())
    followed.close()
    machine.close()


def _state(memory: Memory, name: str, number: int) -> None:
    entities = (Entity(f"service-{number % 50}", "component"),)
    text = f"Use port {number} for service {number % 50} of {name}"
    memory.remember(Record("decision", text, confidence=0.9, entities=entities), BY)


def _count(server: Server) -> int:
    with closing(server.superuser()) as connection:
        row = connection.execute(
            "SELECT count(*) FROM memory_fabric.operations WHERE space = %s", (SPACE,)
        ).fetchone()
    return int(row[0]) if row else 0


def _database(folder: str, name: str) -> str:
    projects = os.path.join(folder, name, "memory-fabric", "projects")
    [project] = os.listdir(projects)
    return os.path.join(projects, project, "graph.db")


def _heads(path: str) -> int:
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        row = connection.execute(
            "SELECT count(*) FROM team_heads WHERE state IN ('sent', 'theirs')"
        ).fetchone()
    return int(row[0])

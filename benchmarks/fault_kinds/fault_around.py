"""Faults 8, 9 and 11: what a server depends on changes around it: locks, the clock, the schema."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from damage import (
    Damage,
    Row,
    Scale,
    create,
    damage,
    entity,
    filled,
    unexplained,
    unreadable_meanwhile,
    write_many,
)
from driver import PLUGIN, Ours, Server, answer_of

# A database that is locked is waited for 5 s, then a queue that is locked as long; the rest is for
# a machine with other work.
DATABASE_BOUND_S, QUEUE_BOUND_S = 8.0, 14.0

HOLD_DATABASE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""
HOLD_FILE = """
import fcntl, os, sys
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
# Loaded by Python itself before anything of ours: the clock of the whole process.
CLOCK = """
import os, time
_time, _time_ns, _flag = time.time, time.time_ns, os.environ["CLOCK_IS_BACK"]
def _shift_s():
    return 2 * 24 * 3600 if os.path.exists(_flag) else 0
time.time = lambda: _time() - _shift_s()
time.time_ns = lambda: _time_ns() - _shift_s() * 10**9
"""


def held_locks(folder: str, _scale: Scale) -> Iterator[Row]:
    """A process is stopped while it holds a lock: of the database, of the queue, of both."""
    faults = {
        "database locked by a stopped process": (True, False),
        "queue locked by a stopped process": (False, True),
        "both locked by stopped processes": (True, True),
    }
    # They wait, hardly more: all at once.
    with ThreadPoolExecutor(len(faults)) as pool:
        sides = [Ours(os.path.join(folder, fault)) for fault in faults]
        held = pool.map(lambda side, locks: _held(side, *locks), sides, faults.values())
        yield from (Row(8, fault, suffered) for fault, suffered in zip(faults, held, strict=True))


def clock_set_back(folder: str, scale: Scale) -> Iterator[Row]:
    """The clock goes back two days while two servers write."""
    side = Ours(os.path.join(folder, "ours"))
    flag, clock = os.path.join(folder, "back"), os.path.join(folder, "clock")
    os.makedirs(clock)
    with open(os.path.join(clock, "sitecustomize.py"), "w", encoding="utf-8") as stream:
        stream.write(CLOCK)
    path = os.pathsep.join((clock, PLUGIN))
    environ = {"PYTHONPATH": path, "CLOCK_IS_BACK": flag}
    servers = [side.start(environ=environ) for _ in range(2)]
    told = [name for server in servers for name in _two(server, "before")]
    told += write_many(servers[0], "before", scale.writes // 2)
    with open(flag, "w", encoding="utf-8"):
        pass
    told += write_many(servers[1], "after", scale.writes // 2)
    told += write_many(servers[0], "later", scale.writes // 2)
    for server in servers:
        server.stop()
    broken = [*_disorder(side, told), *_no_undo(side, told[-1], environ)]
    found = damage(side, told[:-1], broken=broken)
    yield Row(9, "clock set back two days while two servers write", found)


def newer_schema(folder: str, scale: Scale) -> Iterator[Row]:
    """A newer release migrates the database under a running server, and is taken back."""
    side = Ours(os.path.join(folder, "ours"))
    before = filled(side)
    server = side.start()
    told = write_many(server, "old", scale.parallel)
    broken: list[str] = []
    with newer(side):
        said = [create(server, f"waiting-{number}") for number in range(scale.parallel)]
        told += [f"waiting-{n}" for n, answer in enumerate(said) if not answer.failed]
        written = {f"waiting-{n}" for n in range(scale.parallel)} & server.graph().keys()
        if written:
            broken.append(f"{len(written)} written into a newer schema")
        broken += unexplained(said[0].note, "newer")
    # The queue follows the next change: nobody has to restart anything.
    told += write_many(server, "new", 1)
    server.stop()
    broken += ["the running server did not drain the queue"] if side.queues() else []
    found = damage(side, told, before, said[0].note, broken)
    yield Row(11, "migrated by a newer release under a running server", found)


@contextmanager
def newer(side: Ours) -> Iterator[None]:
    """A block in which the database is of a newer release: changes wait in the queue."""
    connection = sqlite3.connect(side.database, isolation_level=None)
    [(version,)] = connection.execute("PRAGMA user_version").fetchall()
    connection.execute(f"PRAGMA user_version = {version + 1}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.close()


@contextmanager
def stopped(script: str, path: str) -> Iterator[None]:
    """A block in which a process holds something and does not move; at its end it is killed."""
    holder = subprocess.Popen(
        [sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
        yield
    finally:
        holder.send_signal(signal.SIGCONT)
        holder.kill()
        holder.communicate()


def _held(side: Ours, database: bool, queue: bool) -> Damage:
    before = filled(side)
    lock = os.path.join(side.project, ".claude", "memory", "graph-queue.jsonl.lock")
    server = side.start()
    broken: list[str] = []
    told: list[str] = []
    held = [(HOLD_DATABASE, side.database)] if database else []
    held += [(HOLD_FILE, lock)] if queue else []
    bound_s = QUEUE_BOUND_S if queue else DATABASE_BOUND_S
    with _all_stopped(held):
        began = time.monotonic()
        answer = create(server, "while held")
        took_s = time.monotonic() - began
        if took_s > bound_s:
            broken.append(f"answered after {took_s:.0f} s, at most {bound_s:g}")
        if answer.failed:
            broken.append("refused")
        else:
            told.append("while held")
        broken += unexplained(answer.note, "another process") if database else []
        broken += unreadable_meanwhile(server, before)
    told += write_many(server, "afterwards", 2)
    server.stop()
    return damage(side, told, before, f"after {took_s:.1f} s: {answer.note or 'stored'}", broken)


@contextmanager
def _all_stopped(held: Sequence[tuple[str, str]]) -> Iterator[None]:
    if not held:
        yield
        return
    with stopped(*held[0]), _all_stopped(held[1:]):
        yield


def _two(server: Server, prefix: str) -> list[str]:
    """Two entities in one call, so that one millisecond has several."""
    names = [f"{prefix}-{server.process.pid}-{n}" for n in "ab"]
    call = {"name": "create_entities", "arguments": {"entities": [entity(n) for n in names]}}
    answer = answer_of(server.respond("tools/call", call)[0])
    return [] if answer.failed else names


def _disorder(side: Ours, told: Sequence[str]) -> list[str]:
    """Return the faults of order and identifiers, in words."""
    server = side.start()
    names = list(server.graph())
    server.stop()
    broken = [] if names == list(told) else ["entities are not in creation order"]
    connection = sqlite3.connect(side.database)
    [(count, different)] = connection.execute(
        "SELECT count(id), count(DISTINCT id) FROM operations"
    )
    connection.close()
    return broken if count == different else [*broken, "identifiers repeat"]


def _no_undo(side: Ours, last: str, environ: dict[str, str]) -> list[str]:
    """Return the faults of history and undo while the clock is still back, in words."""
    shown = side.command("history", "--limit", "1", environ=environ)
    broken = [] if last in shown.stdout else [f"history does not begin with {last}: {shown}"]
    side.command("undo", "--last", environ=environ)
    server = side.start(environ=environ)
    known = server.graph()
    server.stop()
    return broken if last not in known else [*broken, "undo --last did not undo the last change"]

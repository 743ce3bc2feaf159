"""Speed of the log itself, and of a new machine that reads a long one."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import NamedTuple

from memory_fabric import ids
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import Position, TeamOperation
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.team.exchange import Exchange
from processes import quantile
from team_log.cluster import SPACE, Server
from team_log.machines import Machine
from team_log.statements import AUTHORS, Words

# A server as one installs it: what it acknowledges survives a power failure.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
    "max_connections": "200",
}
# Rows in one transaction of a bulk load.
CHUNK = 20_000
STAGING = """
    CREATE TEMPORARY TABLE given
        (author name, op_id uuid, kind text, payload text, made_at timestamptz)
"""
APPEND = """
    SELECT count(*) FROM (
        SELECT array_agg(op_id) AS op_ids, array_agg('loaded'::text) AS origins,
            array_agg(kind) AS kinds, array_agg(payload) AS payloads, array_agg(made_at) AS times
        FROM given WHERE author = %s) AS loaded,
    memory_fabric.append(%s, op_ids, origins, kinds, payloads, times)
"""
# Members that push at the same time.
TOGETHER = 5


class Raw(NamedTuple):
    """Operations a second with one connection, pushed by several, too, in batches and one by one;
    and milliseconds of small requests.
    """

    pushed_per_s: float
    together_per_s: float
    ones_together_per_s: float
    pulled_per_s: float
    push_of_one_ms: float
    pull_of_nothing_ms: float


class Bulk(NamedTuple):
    """A new machine that reads a whole log: seconds on the wall and on the processor, which the
    server's are no part of, and bytes for each operation.
    """

    operations: int
    seconds: float
    cpu_seconds: float
    server_bytes: float
    local_bytes: float
    records: int


def raw(server: Server, count: int) -> Raw:
    """Push and pull operations with one connection; push with several."""
    operations = list(_operations(count + 200, seed=1))
    with closing(server.connect(AUTHORS[0])) as connection:
        log = SharedLog(connection, SPACE)
        began = time.perf_counter()
        held = log.push(operations[:count])
        pushed_s = time.perf_counter() - began
        assert len(held) == count
        ones = [_seconds(partial(log.push, [one])) for one in operations[count:]]
        began, position, read = time.perf_counter(), Position(), 0
        while True:
            found, after = log.pull(position)
            if after == position:
                break
            read, position = read + len(found), after
        pulled_s = time.perf_counter() - began
        assert read == count + 200
        nothing = [_seconds(partial(log.pull, position)) for _ in range(200)]
    return Raw(
        count / pushed_s,
        _together(server, count, 500, seed=3),
        _together(server, 1000, 1, seed=4),
        read / pulled_s,
        quantile(ones, 0.5) * 1000,
        quantile(nothing, 0.5) * 1000,
    )


def _together(server: Server, count: int, at_once: int, seed: int) -> float:
    """Return operations a second that several clients push to one space, so many in a request."""
    operations = list(_operations(count, seed))

    def push(number: int) -> None:
        mine = operations[number::TOGETHER]
        with closing(server.connect(AUTHORS[number % len(AUTHORS)])) as connection:
            log = SharedLog(connection, SPACE)
            for start in range(0, len(mine), at_once):
                log.push(mine[start : start + at_once])

    began = time.perf_counter()
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(push, range(TOGETHER)))
    return count / (time.perf_counter() - began)


def bulk(folder: str, server: Server, count: int) -> Bulk:
    """Let a new machine read a log of so many operations."""
    load(server, count)
    machine = Machine(folder, "new", "eve")
    connection = machine.connect(server)
    assert connection is not None
    began, began_cpu = time.perf_counter(), time.process_time()
    log = SharedLog(connection, SPACE)
    outcome = Exchange(machine.memory, machine.ties[0], log, None).run()
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    assert outcome.read == count, outcome
    path = machine.database().path
    found = len(machine.records())
    machine.close()
    size = sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))
    return Bulk(count, seconds, cpu, bytes_on_server(server) / count, size / count, found)


def load(server: Server, count: int, seed: int = 2) -> None:
    """Fill the space with operations of four members, by the server's own triggers."""
    words = Words(seed)
    statements = words.statements(count)
    reading = wire.reading_after("", time.time_ns() // 1_000_000, "loaded")
    with closing(server.superuser()) as connection:
        connection.execute(STAGING)
        connection.execute("GRANT SELECT ON given TO PUBLIC")
        for start in range(0, count, CHUNK):
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("TRUNCATE given")
                with cursor.copy("COPY given FROM STDIN") as copy:
                    for _ in range(min(CHUNK, count - start)):
                        said = next(statements)
                        payload = {"v": 1, "key": said.key, "base": [], "clock": reading}
                        row = json.dumps(payload | {"value": said.value})
                        copy.write_row((said.author, ids.new_id(), said.kind, row, ids.timestamp()))
                for author in AUTHORS:
                    cursor.execute("SELECT set_config('role', %s, true)", (author,))
                    cursor.execute(APPEND, (author, SPACE))
                    cursor.execute("RESET ROLE")
        connection.execute("VACUUM ANALYZE memory_fabric.operations")


def bytes_on_server(server: Server) -> int:
    """Return the bytes of the whole schema, indexes included."""
    with closing(server.superuser()) as connection:
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'memory_fabric' AND c.relkind IN ('r', 'm')"
        ).fetchone()
    return int(row[0]) if row else 0


def _operations(count: int, seed: int) -> Iterator[TeamOperation]:
    reading = ""
    for said in Words(seed).statements(count):
        reading = wire.reading_after(reading, time.time_ns() // 1_000_000, "raw")
        yield TeamOperation(
            op_id=str(uuid.uuid4()),
            origin="raw",
            kind=said.kind,
            key=said.key,
            value=said.value,
            clock=reading,
            made_at=ids.timestamp(),
        )


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began

"""The worker: what waits is worked off, whatever happens to one text, to the store, to itself."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.ingest import parts, worker
from memory_fabric.ingest.worker import TooLong, Worker, limited
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Accepted
from store.support import World, database
from thorough import IS_THOROUGH
from waiting import until

BY = Provenance("ingest", trust="tool")
SUMMARY = "We decided to use {} for sessions because Postgres was too slow."
GIVE_UP_S = 60
LONG = " ".join(f"word{number}" for number in range(6_000))
WORK = """
import os, sys
from memory_fabric.config import read_settings
from memory_fabric.ingest import worker as queue_worker
print("ready", flush=True)
tally = queue_worker.serve(
    read_settings(os.environ, {}), once="once" in sys.argv, parent=int(os.environ.get("PARENT", 0))
)
print(tally.done, flush=True)
"""

FULL = (
    """
import resource, os
most = int(os.environ["MOST"])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
"""
    + WORK
)


class Workplace(World):
    """A world whose processes end with the test, however that ends."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *given: str, strict: bool = False, **environ: str) -> subprocess.Popen[str]:
        process = super().start(*given, strict=strict, **environ)
        self.started.append(process)
        return process


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Workplace]:
    place = Workplace(tmp_path)
    yield place
    for process in place.started:
        process.kill()
        process.communicate()


@pytest.fixture
def memory(world: World) -> Iterator[Memory]:
    memory = world.memory()
    yield memory
    memory.close()


def accept(memory: Memory, *texts: str, **fields: Any) -> list[str]:
    told = ingest_queue.accept(memory, [Ingest(text, **fields) for text in texts], BY)
    return [one.id for one in told if isinstance(one, Accepted)]


def states(memory: Memory) -> list[str]:
    return [queued.state for queued in ingest_queue.listed(memory, ingest_queue.STATES, 10_000)]


def ended(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=GIVE_UP_S)
    assert errors == ""
    return output


def test_a_single_worker_run_processes_waiting_texts_and_writes_the_journals(
    world: World, memory: Memory
) -> None:
    accept(memory, SUMMARY.format("Valkey"), "health-check")
    accept(memory, "The summary", key_decisions=(SUMMARY.format("Redis"),))
    tally = Worker(world.settings()).run(once=True)
    assert (tally.done, tally.failed) == (3, 0)
    assert states(memory) == ["done"] * 3
    journal = Path(memory.journal_of("project")).read_text("utf-8")
    assert journal.count('"kind": "ingest"') == 3
    assert "Redis" in (world.local / "decisions.jsonl").read_text("utf-8")


def test_a_single_worker_run_without_waiting_texts_creates_no_database(world: World) -> None:
    assert Worker(world.settings()).run(once=True).done == 0
    assert not Path(world.memory().path_of("project")).exists()


def test_a_continuous_worker_processes_new_texts_and_exits_on_sigterm(
    world: World, memory: Memory
) -> None:
    process = world.start(WORK)
    accept(memory, SUMMARY.format("Redis"))
    until(lambda: states(memory) == ["done"])
    accept(memory, SUMMARY.format("Valkey"))
    until(lambda: states(memory) == ["done", "done"])
    process.send_signal(signal.SIGTERM)
    assert ended(process).split() == ["ready", "2"]
    assert process.returncode == 0


def test_a_text_that_the_database_rejects_is_marked_dead_after_several_retries(
    world: World, memory: Memory
) -> None:
    cursed, *_ = accept(memory, SUMMARY.format("Cursed"), SUMMARY.format("Redis"))
    database(memory).connection.execute(
        "CREATE TRIGGER refusing BEFORE INSERT ON episodes WHEN NEW.text LIKE '%Cursed%' "
        "BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )
    rounds = [time.time() + n * ingest_queue.MOST_RETRY_S for n in range(ingest_queue.MAX_ATTEMPTS)]

    for now in rounds:
        Worker(world.settings(), now=partial(float, now)).run(once=True)

    assert states(memory) == ["dead", "done"]
    told = ingest_queue.find(memory, cursed)
    assert told is not None and told.attempts == ingest_queue.MAX_ATTEMPTS
    assert "refused" in told.error and str(world.root) not in told.error


def test_concurrent_workers_process_each_text_exactly_once(world: World, memory: Memory) -> None:
    words = [f"word{number} is here now" for number in range(40)]
    accept(memory, *words)
    workers = [world.start(WORK, "once") for _ in range(3)]
    done = sum(int(ended(process).split()[-1]) for process in workers)
    assert done == 40
    assert states(memory) == ["done"] * 40
    rows = database(memory).rows("SELECT text, count(*) FROM episodes GROUP BY text")
    assert sorted(rows) == sorted((text, 1) for text in words)


def test_a_worker_exits_when_its_parent_has_exited(world: World, memory: Memory) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    process = world.start(WORK, PARENT=str(parent.pid))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    parent.kill()
    parent.wait()
    assert ended(process).split() == ["0"]


def test_a_text_of_a_killed_worker_is_processed_by_another_after_the_lease_ends(
    world: World, memory: Memory
) -> None:
    (id_,) = accept(memory, SUMMARY.format("Redis"))
    assert ingest_queue.claim(memory, "killed", time.time(), 30.0) is not None
    assert Worker(world.settings()).run(once=True).done == 0
    later = Worker(world.settings(), now=lambda: time.time() + 31)
    assert later.run(once=True).done == 1
    queued = ingest_queue.find(memory, id_)
    assert queued is not None
    assert queued.attempts == 2


def test_a_text_that_always_times_out_does_not_block_other_texts(
    world: World, memory: Memory
) -> None:
    (slow,) = accept(memory, SUMMARY.format("Redis"))
    clock, limit_s = [time.time()], 0.02

    def now() -> float:
        """Return the time; not before the limit has passed if a text is being processed."""
        while 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= limit_s:
            continue
        return clock[0]

    for _ in range(ingest_queue.MAX_ATTEMPTS):
        hurried = Worker(world.settings(), now=now)
        hurried.limit_s = limit_s
        tally = hurried.run(once=True)
        assert (tally.done, tally.failed) == (0, 1)
        clock[0] += ingest_queue.MOST_RETRY_S
    queued = ingest_queue.find(memory, slow)
    assert queued is not None
    assert queued.state == "dead"
    assert "longer than" in queued.error
    accept(memory, "a harmless text comes")
    assert Worker(world.settings(), now=lambda: clock[0]).run(once=True).done == 1
    assert slow in (world.home / "logs" / "memory-fabric.log").read_text("utf-8")


def test_a_harmless_text_is_processed_after_a_megabyte_of_hostile_text(
    world: World, memory: Memory
) -> None:
    parted = 1 if IS_THOROUGH else 4  # a megabyte each, or together
    hostile = [
        ("a" * 30 + "because ") * (26_000 // parted),
        "we decided to use " * (58_000 // parted),
        "((((" * (250_000 // parted),
        ("- " * 50 + "\n") * (10_000 // parted),
    ]
    ids = accept(memory, *hostile, "and then a harmless text comes")
    hurried = Worker(world.settings())
    hurried.limit_s = 3.0
    tally = hurried.run(once=True)
    assert tally.done + tally.failed == 5
    last = ingest_queue.find(memory, ids[-1])
    assert last is not None
    assert last.state == "done"


def test_the_time_limit_of_a_worker_lets_an_open_transaction_finish(memory: Memory) -> None:
    accept(memory, "some words to begin")
    connection = database(memory).connection
    limit_s = 2.0  # to begin in
    with pytest.raises(TooLong), limited(memory, limit_s):
        with database(memory).transaction() as c:
            until_s = time.monotonic() + limit_s + 0.1

            def is_over() -> bool:
                c.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('kept', 'whole')")
                return time.monotonic() > until_s

            until(is_over)
        while True:
            pass
    assert not connection.in_transaction
    assert database(memory).rows("SELECT value FROM meta WHERE key = 'kept'") == [("whole",)]


def test_a_time_limit_stops_code_that_catches_every_exception(memory: Memory) -> None:
    with pytest.raises(TooLong), limited(memory, 0.01):
        try:
            while True:
                pass
        except Exception:  # noqa: BLE001 - as around a module that is read from the cache
            return


def test_a_time_limit_interrupts_a_database_query(memory: Memory) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
    with pytest.raises(TooLong), limited(memory, 0.1):
        database(memory).rows(endless)
    with pytest.raises(TooLong), limited(memory, 0.1):
        database(memory).connection.execute(endless).fetchall()


def test_texts_wait_while_the_disk_is_full_and_are_processed_later(
    world: World, memory: Memory
) -> None:
    (id_,) = accept(memory, SUMMARY.format("Redis") + "\n---\n" + LONG)
    turns = 1 + len(LONG) // parts.MAX_TURN_CHARS + 1
    size = Path(memory.path_of("project") + "-wal").stat().st_size
    process = world.start(FULL, MOST=str(size + 16_384))
    log = world.home / "logs" / "memory-fabric.log"
    until(lambda: log.exists() and "queue: " in log.read_text("utf-8"))
    queued = ingest_queue.find(memory, id_)
    assert queued is not None
    assert queued.state in ("waiting", "working")
    assert queued.attempts <= 1
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
    until(lambda: states(memory) == ["done"])
    process.send_signal(signal.SIGTERM)
    assert ended(process).split()[-1] == "1"
    assert database(memory).rows("SELECT count(*) FROM episodes") == [(turns,)]


def test_a_disk_error_does_not_count_as_a_failed_attempt_to_process_a_text(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (id_,) = accept(memory, SUMMARY.format("Redis"))

    def failing(*_: object) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(worker, "try_once", failing)
    with pytest.raises(OSError, match="Input/output"):
        Worker(world.settings()).run(once=True)

    queued = ingest_queue.find(memory, id_)
    assert queued is not None and (queued.state, queued.attempts) == ("waiting", 0)


def test_a_text_that_causes_an_unexpected_error_fails_with_its_traceback_kept(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (id_,) = accept(memory, SUMMARY.format("Redis"))

    def failing(*_: object) -> bool:
        raise KeyError("odd")

    monkeypatch.setattr(worker, "try_once", failing)
    tally = Worker(world.settings()).run(once=True)

    assert (tally.done, tally.failed) == (0, 1)
    queued = ingest_queue.find(memory, id_)
    assert queued is not None
    assert (queued.state, queued.attempts, queued.error) == ("waiting", 1, "KeyError: 'odd'")
    logs = "".join(path.read_text("utf-8") for path in (world.home / "logs").iterdir())
    assert f"queue: attempt 1 at {id_}: KeyError: 'odd'" in logs and "in failing" in logs


def test_an_error_of_the_store_is_logged_once_until_the_store_works_again(
    world: World, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "RETRY_S", 0.0)
    monkeypatch.setattr(worker, "POLL_S", 0.0)
    accept(memory, SUMMARY.format("Redis"))
    now_s = time.time()
    times = iter([None, None, *[now_s] * 50, None, None])  # None: the disk fails

    def now() -> float:
        at_s = next(times, 0.0)
        if at_s is None:
            raise OSError("disk gone")
        if at_s == 0.0:
            one.stop()
        return now_s

    one = Worker(world.settings(), now=now)
    assert one.run().done == 1

    log = (world.home / "logs" / "memory-fabric.log").read_text("utf-8")
    assert log.count("queue: disk gone") == 2


def test_a_replaced_database_is_reopened(world: World, memory: Memory) -> None:
    accept(memory, SUMMARY.format("Redis"))
    path = Path(memory.path_of("project"))
    process = world.start(WORK)
    until(lambda: states(memory) == ["done"])
    with closing(sqlite3.connect(path.with_suffix(".copy"))) as copy:
        database(memory).connection.backup(copy)
    for ending in ("-wal", "-shm"):
        os.unlink(f"{path}{ending}")
    os.replace(path.with_suffix(".copy"), path)
    accept(memory, SUMMARY.format("Valkey"))
    until(lambda: states(memory) == ["done", "done"])
    process.send_signal(signal.SIGTERM)
    assert ended(process).split()[-1] == "2"


def test_a_worker_waits_until_a_locked_database_is_free(world: World, memory: Memory) -> None:
    accept(memory, SUMMARY.format("Redis"))
    process = world.start(WORK)
    with database(memory).transaction():
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    until(lambda: states(memory) == ["done"])
    process.send_signal(signal.SIGTERM)
    assert ended(process).strip() == "1"


def test_texts_wait_while_memory_is_switched_off(world: World, memory: Memory) -> None:
    accept(memory, SUMMARY.format("Redis"))
    assert Worker(world.settings(MEMORY_FABRIC="off")).run(once=True).done == 0
    assert states(memory) == ["waiting"]


def test_a_damaged_database_is_rebuilt_and_its_texts_are_processed(
    world: World, memory: Memory
) -> None:
    accept(memory, SUMMARY.format("Redis"), SUMMARY.format("Valkey"))
    memory.flush()
    path = Path(memory.path_of("project"))
    memory.close()
    path.write_bytes(b"no database" * 1000)
    assert Worker(world.settings()).run(once=True).done == 2
    assert list(path.parent.glob("graph.db.corrupt-*"))
    assert states(world.memory()) == ["done", "done"]

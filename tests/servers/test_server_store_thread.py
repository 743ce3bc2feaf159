"""The thread that owns the memory: order, errors, what it does when nobody asks, and its end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.servers import store_thread
from memory_fabric.servers.store_thread import StoreThread, Watch
from memory_fabric.store.memory import Memory
from servers.mcp_clients import SAID_BY, run, settings

WAIT_S = 60
ENTITY = {"entities": [{"name": "api", "entityType": "t", "observations": ["o"]}]}


def test_jobs_on_the_store_thread_run_in_the_order_of_their_requests(tmp_path: Path) -> None:
    order: list[int] = []
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    async def story() -> None:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(store.ask, lambda _, n=number: order.append(n))

    run(story)

    assert order == list(range(20))
    assert store.close(WAIT_S)


def test_a_long_read_does_not_block_the_event_loop(tmp_path: Path) -> None:
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))
    threads: list[str] = []
    let_go = threading.Event()

    def long_read(_: Memory) -> None:
        threads.append(threading.current_thread().name)
        assert let_go.wait(WAIT_S)

    async def story() -> None:
        await store.ask(lambda memory: None)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: store.ask(long_read, at_once=False))
            group.start_soon(anyio.to_thread.run_sync, let_go.set)

    run(story)

    assert threads == ["store"]
    assert store.close(WAIT_S)


def test_a_read_without_concurrent_requests_runs_in_the_thread_of_the_caller(
    tmp_path: Path,
) -> None:
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")), answers_one=True)

    async def asked() -> list[str]:
        def named(_: Memory) -> str:
            return threading.current_thread().name

        return [await store.ask(named, at_once=False) for _ in range(2)]

    # The first call opens the memory in the thread that owns it.
    assert anyio.run(asked) == ["store", threading.current_thread().name]
    assert store.close(WAIT_S)


def test_a_failed_memory_operation_raises_its_error_and_the_next_one_succeeds(
    tmp_path: Path,
) -> None:
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    def failing(_: Memory) -> None:
        raise StoreUnavailable("graph.db", "no")

    async def story() -> None:
        with pytest.raises(StoreUnavailable):
            await store.ask(failing)
        assert await store.ask(lambda memory: type(memory)) is Memory

    run(story)
    assert store.close(WAIT_S)


def test_after_opening_the_memory_has_failed_the_next_call_tries_again(tmp_path: Path) -> None:
    attempts: list[int] = []

    def opened() -> Memory:
        attempts.append(1)
        if len(attempts) == 1:
            raise StoreUnavailable("home", "not yet")
        return Memory.open(settings(tmp_path / "home"))

    store = StoreThread(opened)

    async def story() -> None:
        with pytest.raises(StoreUnavailable):
            await store.ask(lambda memory: None)
        await store.ask(lambda memory: None)

    run(story)
    assert len(attempts) == 2
    assert store.close(WAIT_S)


def test_a_memory_can_be_opened_before_the_first_call(tmp_path: Path) -> None:
    opened = threading.Event()

    def open_memory() -> Memory:
        opened.set()
        return Memory.open(settings(tmp_path / "home"))

    store = StoreThread(open_memory)

    store.begin()

    assert opened.wait(WAIT_S)
    assert store.close(WAIT_S)


def test_an_error_while_opening_the_memory_early_is_raised_by_the_first_call(
    tmp_path: Path,
) -> None:
    attempts: list[int] = []

    def failing() -> Memory:
        attempts.append(1)
        raise StoreUnavailable("home", "not at all")

    store = StoreThread(failing)
    store.begin()

    async def story() -> None:
        with pytest.raises(StoreUnavailable, match="not at all"):
            await store.ask(lambda memory: None)

    run(story)
    assert len(attempts) == 2
    assert store.close(WAIT_S)


class Watched(Memory):
    """A memory that says when its other tiers were written."""

    flushed = threading.Event()

    def flush(self) -> None:
        super().flush()
        self.flushed.set()


def test_the_files_beside_the_database_are_written_when_the_server_is_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 0.01)
    Watched.flushed.clear()
    store = StoreThread(lambda: Watched.open(settings(tmp_path / "home")))

    async def story() -> None:
        await store.ask(lambda m: m.write("create_entities", ENTITY, SAID_BY), changes=True)

    run(story)

    assert Watched.flushed.wait(WAIT_S)
    (journal,) = (tmp_path / "home" / "projects").glob("*/operations.jsonl")
    assert b"create_entities" in journal.read_bytes()
    assert store.close(WAIT_S)


def test_the_files_beside_the_database_are_written_when_the_memory_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 3600)
    Watched.flushed.clear()
    store = StoreThread(lambda: Watched.open(settings(tmp_path / "home")))

    async def story() -> None:
        await store.ask(lambda memory: None)
        assert not Watched.flushed.is_set()
        await store.ask(lambda m: m.write("create_entities", ENTITY, SAID_BY), changes=True)

    run(story)

    assert store.close(WAIT_S)
    assert Watched.flushed.is_set()


def test_the_files_beside_the_database_are_written_even_while_requests_keep_arriving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 3600)
    monkeypatch.setattr(store_thread, "LATEST_S", 0.05)
    Watched.flushed.clear()
    store = StoreThread(lambda: Watched.open(settings(tmp_path / "home")))

    async def story() -> None:
        await store.ask(lambda m: m.write("create_entities", ENTITY, SAID_BY), changes=True)
        with anyio.fail_after(WAIT_S):
            while not Watched.flushed.is_set():
                await store.ask(lambda memory: None)

    run(story)

    assert store.close(WAIT_S)


def test_the_files_beside_the_database_are_written_before_another_project_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 3600)
    monkeypatch.setattr(store_thread, "LATEST_S", 3600)
    Watched.flushed.clear()
    has_moved = False
    store = StoreThread(
        lambda: Watched.open(settings(tmp_path / "home")),
        moved=lambda memory: has_moved,
    )

    async def story() -> None:
        nonlocal has_moved
        await store.ask(lambda m: m.write("create_entities", ENTITY, SAID_BY), changes=True)
        assert not Watched.flushed.is_set()
        has_moved = True
        await store.ask(lambda memory: None)
        assert Watched.flushed.is_set()

    run(story)

    assert store.close(WAIT_S)


def test_closing_the_store_thread_waits_no_longer_than_the_timeout(tmp_path: Path) -> None:
    go_on = threading.Event()
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    async def story() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(store.ask, lambda _: go_on.wait(WAIT_S))
            await anyio.lowlevel.checkpoint()

            assert not store.close(0.01)
            go_on.set()

    run(story)
    assert store.close(WAIT_S)


def test_a_job_that_is_no_longer_wanted_is_not_run(tmp_path: Path) -> None:
    ran: list[str] = []
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    store.submit(lambda _: ran.append("a"), lambda *_: ran.append("a done"), wanted=lambda: False)
    store.submit(lambda _: ran.append("b"), lambda *_: ran.append("b done"), wanted=lambda: True)

    assert store.close(WAIT_S)
    assert ran == ["b", "b done"]


def test_an_error_in_passing_on_a_result_is_printed_and_the_next_job_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values: list[object] = []
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    store.submit(lambda _: 1, lambda *_: 1 / 0)
    store.submit(lambda _: 2, lambda value, error: values.extend((value, error)))

    assert store.close(WAIT_S)
    assert values == [2, None]
    assert capsys.readouterr().err.startswith("memory-fabric: ZeroDivisionError: ")


def test_a_read_waits_for_jobs_that_were_asked_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 3600)
    monkeypatch.setattr(store_thread, "LATEST_S", 3600)
    names: list[str] = []
    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")))

    def named(_: Memory) -> None:
        names.append(threading.current_thread().name)

    async def story() -> None:
        await store.ask(named)  # opens the memory
        await store.ask(named)
        await store.ask(named, changes=True)
        await store.ask(named, at_once=False)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: store.ask(named, at_once=False))
            group.start_soon(store.ask, named)
        await store.ask(named)

    run(story)

    here = threading.current_thread().name
    assert names == ["store", here, "store", "store", "store", "store", here]
    assert store.close(WAIT_S)


def test_a_check_that_fails_fails_the_job_and_not_the_next_one(tmp_path: Path) -> None:
    checks = iter((StoreUnavailable("folder", "It is missing."), None))

    def check() -> None:
        if problem := next(checks):
            raise problem

    store = StoreThread(lambda: Memory.open(settings(tmp_path / "home")), check=check)

    async def story() -> None:
        with pytest.raises(StoreUnavailable, match="It is missing"):
            await store.ask(lambda memory: None)
        assert await store.ask(lambda memory: 7) == 7

    run(story)
    assert store.close(WAIT_S)


class WatchedStore(StoreThread):
    """A store that records the thread of each job's request."""

    def __init__(self, home: Path) -> None:
        super().__init__(lambda: Memory.open(settings(home)))
        self.threads: list[threading.Thread] = []
        self.requested = threading.Semaphore(0)

    def submit(self, job: Any, done: Any, *, changes: bool = False, wanted: Any = None) -> None:
        self.threads.append(threading.current_thread())
        super().submit(job, done, changes=changes, wanted=wanted)
        self.requested.release()


def test_one_thread_watches_for_all_subscribers_and_ends_with_the_last_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_thread, "EVERY_S", 0.001)
    store = WatchedStore(tmp_path / "home")
    told = threading.Event()
    watch = Watch(store, told.set)

    watch.start((("graph.db", 7),))  # the memory has changed since
    assert told.wait(WAIT_S) and watch.told == ()
    told.clear()
    watch.start(None)
    watch.stop()
    for _ in range(3):
        assert store.requested.acquire(timeout=WAIT_S)
    assert not told.is_set()  # nothing has changed again
    watch.stop()
    (thread,) = set(store.threads)
    thread.join(WAIT_S)
    assert not thread.is_alive()
    watch.start(())
    while len(set(store.threads)) < 2:
        assert store.requested.acquire(timeout=WAIT_S)
    watch.stop()

    assert not told.is_set()
    assert store.close(WAIT_S)


def test_a_look_for_changes_that_fails_is_printed_and_tells_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store_thread, "EVERY_S", 0.001)
    failed, told = threading.Event(), threading.Event()

    def opened() -> Memory:
        failed.set()
        raise StoreUnavailable("graph.db", "no")

    store = StoreThread(opened)
    watch = Watch(store, told.set)
    watch.start(None)
    assert failed.wait(WAIT_S)
    watch.stop()

    assert store.close(WAIT_S)
    assert not told.is_set()
    assert capsys.readouterr().err.startswith("memory-fabric: watching: no\n")

"""The thread that owns the memory: order, errors, what it does when nobody asks, and its end."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest

from memory_fabric.errors import StoreUnavailable
from memory_fabric.servers import store_thread
from memory_fabric.servers.store_thread import StoreThread
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

"""Readers over real HTTP: questions side by side, a reader that ends, changes, and the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from starlette.responses import Response

import forked
import waiting
from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.servers.http.project_stores import ReaderPool
from memory_fabric.store.memory import Memory
from servers.http.http_server import GIVE_UP_S, Reply, Serving, serving

RECALL, ASKED = "/v1/memory/recall", "/v1/memory/recall?q=which+pagination+do+the+orders+use"
MARK = "multiprocessing.spawn"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell of whose project something is remembered."""
    shell = Shell(tmp_path_factory.mktemp("read"))
    shell.remember("Use cursor-pagination for the orders-api")
    return shell


@pytest.fixture(scope="module")
def lasting_server(shell: Shell) -> Iterator[Serving]:
    """A server that no test ends."""
    with serving(shell, "--workers", "2", starts_python=True) as found:
        yield found


@pytest.fixture
def server(lasting_server: Serving) -> Serving:
    """A server whose two readers run, also after they were killed."""
    return with_readers(lasting_server)


@pytest.fixture
def own_server(shell: Shell) -> Iterator[Serving]:
    """A server of a test's own whose two readers run."""
    with serving(shell, "--workers", "2", starts_python=True) as found:
        yield with_readers(found)


def with_readers(server: Serving) -> Serving:
    """Ask a server until its two readers run."""
    with ThreadPoolExecutor(4) as clients:

        def run() -> bool:
            # Only overlapping questions start one; what starts needs no more of them.
            if len(readers(server)) < 2:
                ask(server, clients, 4)
            return len(readers(server)) == 2 and all(map(waits, readers(server)))

        waiting.until(run, "two readers that wait for questions")
        ask(server, clients, 4)  # the server has read that they are ready
    return server


@pytest.fixture
def clients() -> Iterator[ThreadPoolExecutor]:
    """Threads that ask at the same time."""
    with ThreadPoolExecutor(8) as found:
        yield found


def readers_of(process: int) -> list[int]:
    """Return the ids of the readers among the children of a process."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children if MARK in command_of(int(child))]


def readers(server: Serving) -> list[int]:
    return readers_of(server.process.pid)


def command_of(process: int) -> str:
    """Return the command line of a process; empty when it is gone, or waits for its parent."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def waits(reader: int) -> bool:
    """True if a reader has opened the memory, and waits for a question from its pipe."""
    files = Path(f"/proc/{reader}/fd")
    try:
        opened = {file.name: os.readlink(file) for file in files.iterdir()}
        call = Path(f"/proc/{reader}/syscall").read_text().split()
    except OSError:
        return False
    reads_from = opened.get(str(int(call[1], 16)), "") if len(call) > 1 else ""
    has_memory = any(path.endswith("graph.db") for path in opened.values())
    return has_memory and reads_from.startswith("pipe:")


def ask(server: Serving, clients: ThreadPoolExecutor, number: int) -> list[Reply]:
    """Ask so many times at once, and return the answers."""
    return [one.result(GIVE_UP_S) for one in begin(server, clients, number)]


def begin(server: Serving, clients: ThreadPoolExecutor, number: int) -> list[Future[Reply]]:
    return [clients.submit(server.get, ASKED) for _ in range(number)]


def test_all_reader_processes_give_the_same_answer(
    server: Serving, clients: ThreadPoolExecutor
) -> None:
    first, _ = readers(server)
    os.kill(first, signal.SIGSTOP)
    asked = begin(server, clients, 4)
    others, held = set(asked), set(asked)
    while len(held) > 1:
        _, held = wait(held, GIVE_UP_S, FIRST_COMPLETED)
    os.kill(first, signal.SIGCONT)

    answers = [one.result(GIVE_UP_S) for one in others]

    assert {one.status for one in answers} == {200}
    assert len({one.body for one in answers}) == 1
    assert "cursor-pagination" in answers[0].json["results"][0]["text"]


def test_a_killed_reader_process_is_replaced_and_its_questions_are_answered(
    server: Serving, clients: ThreadPoolExecutor
) -> None:
    before = readers(server)
    for reader in before:
        os.kill(reader, signal.SIGSTOP)
    asked = begin(server, clients, 6)
    os.kill(before[0], signal.SIGKILL)
    os.kill(before[1], signal.SIGCONT)

    answers = [one.result(GIVE_UP_S) for one in asked]
    while before[0] in readers(server) or len(readers(server)) < 2:
        answers += ask(server, clients, 2)

    assert {one.status for one in answers} == {200}
    assert before[1] in readers(server)


def test_the_server_answers_after_every_reader_was_killed(
    server: Serving, clients: ThreadPoolExecutor
) -> None:
    for reader in readers(server):
        os.kill(reader, signal.SIGKILL)

    answers = ask(server, clients, 8)

    assert {one.status for one in answers} <= {200, 503}
    assert [one.status for one in ask(server, clients, 4)] == [200] * 4


def test_a_change_through_the_server_is_visible_to_every_reader_at_once(
    server: Serving, clients: ThreadPoolExecutor
) -> None:
    for number in range(5):
        (record,) = server.ask("/api/picture")["records"]
        text = f"Use cursor-pagination of size {number} for the orders-api"
        about = {"id": record["id"], "version": record["version"]}
        body = json.dumps({"action": "edit", "record": about, "text": text})
        changed = server.post("/api/changes", body, key=server.key)

        answers = ask(server, clients, 6)

        assert changed.status == 200, changed.body
        assert [text in one.json["results"][0]["text"] for one in answers] == [True] * 6


def test_invalid_requests_are_refused_and_do_not_affect_the_reader_processes(
    server: Serving, clients: ThreadPoolExecutor
) -> None:
    before = readers(server)
    wrong = [clients.submit(server.get, f"{RECALL}?limit=0&q=x") for _ in range(4)]
    locked = [clients.submit(server.get, ASKED, key="none") for _ in range(4)]

    assert {(one.result().status, one.result().json["error"]["field"]) for one in wrong} == {
        (400, "limit")
    }
    assert {one.result().status for one in locked} == {401}
    assert readers(server) == before


def hang(_memory: Memory) -> None:
    """Never answer."""
    threading.Event().wait()


def test_a_reader_that_hangs_is_killed_and_its_question_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_fabric.servers.http.project_stores.ANSWER_S", 0.5)
    settings = read_settings({"HOME": str(tmp_path)}, {})

    async def asked() -> list[int]:
        pool = ReaderPool(settings, 2)
        begun = asyncio.Event()

        async def inside() -> Response:
            begun.set()
            while len(pool._readers) < 2:  # with none running, the third would be answered inside
                await asyncio.sleep(0)  # no test sleeps, but the pool must go on
            return Response(status_code=204)

        first = asyncio.ensure_future(pool.answer(hang, "", inside))
        await begun.wait()
        second = await pool.answer(hang, "", inside)
        with pytest.raises(StoreUnavailable, match="that answered this question ended"):
            await pool.answer(hang, "", inside)
        await pool.end()
        return [(await first).status_code, second.status_code]

    assert asyncio.run(asked()) == [204, 204]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_reader_process_outlives_the_server(own_server: Serving, number: int) -> None:
    family = readers(own_server)

    own_server.end(number)
    waiting.until(lambda: not any(MARK in command_of(reader) for reader in family))

    assert len(family) == 2


def test_a_server_with_one_worker_starts_no_reader_process(
    shell: Shell, clients: ThreadPoolExecutor
) -> None:
    with serving(shell, "--workers", "1") as server:
        answers = ask(server, clients, 8)

        assert {one.status for one in answers} == {200}
        assert readers(server) == []


def test_questions_asked_one_after_another_start_no_reader_process(shell: Shell) -> None:
    with serving(shell, "--workers", "2") as server:
        answers = [server.get(ASKED) for _ in range(5)]

        assert {one.status for one in answers} == {200}
        assert readers(server) == []


def test_the_serve_command_refuses_an_invalid_number_of_workers(shell: Shell) -> None:
    words = ["serve", "--port", "0", "--workers", "33"]
    done = forked.run(words, shell.environ, shell.project, GIVE_UP_S)

    assert done.returncode == 2 and "from 1 to 32" in done.stderr

"""A server that is killed, a disk that is full, a worker that dies: what was answered 202 stays."""

from __future__ import annotations

import os
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cli.shell import Shell
from memory_fabric.servers.http.routes import LOOK_EVERY_S
from servers.http.http_server import INGEST, Reply, Serving, serving
from waiting import until

SENDERS, KILL_AFTER = 8, 30
MANY = 160
PAGE = 4096
ENOUGH_REFUSED = 5


def child_of(server: Serving) -> int:
    """The worker of a server, once there is one."""
    path = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    found: list[int] = []

    def started() -> bool:
        found.extend(int(one) for task in path.parents[1].iterdir() for one in _children_of(task))
        return bool(found)

    until(started, "a worker is started")
    return found[0]


def _children_of(task: Path) -> list[str]:
    try:
        return (task / "children").read_text("utf-8").split()
    except FileNotFoundError:
        return []


def runs(process: int) -> bool:
    """True if the process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def looked_at_anew(server: Serving) -> list[Reply]:
    """Return the answers to "ready?" until the server has looked at the disk at least twice."""
    replies, began = [], time.monotonic()

    def is_over() -> bool:
        replies.append(server.get("/readyz", key="none"))
        return time.monotonic() - began >= 2 * LOOK_EVERY_S

    until(is_over)
    return replies


def sent_until_refused(server: Serving) -> list[Reply]:
    """Return the answers to texts of 4 KB, of which the last few were refused."""
    replies: list[Reply] = []
    while sum(reply.status != 202 for reply in replies) < ENOUGH_REFUSED:
        assert len(replies) < 300, "the disk is never full"
        replies.append(server.send(f"{len(replies)} " + "many words " * 400))
    return replies


def is_done(server: Serving, id_: str) -> bool:
    """True if a text was processed."""
    return bool(server.get(f"{INGEST}/{id_}").json["state"] == "done")


def sent_until_killed(server: Serving) -> list[str]:
    """The ids of all texts that were answered 202 while the server was killed."""
    taken: list[str] = []

    def send(number: int) -> None:
        if len(taken) >= KILL_AFTER and server.process.poll() is None:
            server.process.kill()
        try:
            reply = server.send(f"Text {number} about the invoices", idempotency_key=f"k{number}")
        except OSError:
            return  # it was killed
        except Exception as error:  # noqa: BLE001 - half an answer is none
            assert "http.client" in type(error).__module__
            return
        if reply.status == 202:
            taken.append(reply.json["id"])

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, range(MANY)))
    return taken


def test_a_killed_server_loses_no_accepted_text_and_a_resent_text_is_stored_once(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    with serving(shell) as server:
        taken = sent_until_killed(server)
    with serving(shell) as server:
        states = [server.get(f"{INGEST}/{id_}", key="none").status for id_ in taken]
        again = [
            server.send(f"Text {number} about the invoices", idempotency_key=f"k{number}").json[
                "id"
            ]
            for number in range(MANY // 4)
        ]

    assert KILL_AFTER <= len(taken) < MANY
    assert set(states) == {200}
    assert len(set(again)) == MANY // 4


def test_a_server_on_a_full_disk_loses_nothing_and_recovers(tmp_path: Path) -> None:
    shell = Shell(tmp_path)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150 * PAGE, resource.RLIM_INFINITY))

    with serving(shell, prepare=limit) as server:
        replies = sent_until_refused(server)
        ready = looked_at_anew(server)
        taken = [one.json["id"] for one in replies if one.status == 202]
        readable = {server.get(f"{INGEST}/{id_}", key="none").status for id_ in taken}
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        later = server.send("There is room again")
        until(lambda: server.get("/readyz", key="none").status == 200, "it is ready again")

    refused = next(one for one in replies if one.status != 202)
    assert taken and {one.status for one in replies} == {202, 503}
    assert refused.code == "unavailable" and int(refused.headers["retry-after"]) > 0
    assert {one.status for one in ready} == {503}
    assert str(tmp_path) not in ready[0].body.decode()
    assert readable == {200}
    assert later.status == 202


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_worker_process_ends_if_its_server_ends(tmp_path: Path, number: int) -> None:
    with serving(Shell(tmp_path)) as server:
        server.send("We use PostgreSQL for the invoices.")
        worker = child_of(server)

        server.end(number)

        until(lambda: not runs(worker))


def test_the_server_replaces_a_killed_worker_and_processes_texts(tmp_path: Path) -> None:
    with serving(Shell(tmp_path)) as server:
        server.send("We use PostgreSQL for the invoices.")
        os.kill(child_of(server), signal.SIGKILL)

        id_ = server.send("We use Redis for the sessions.").json["id"]

        until(lambda: is_done(server, id_))
        assert server.get("/readyz", key="none").status == 200


def test_texts_still_queued_when_a_server_is_killed_are_processed_by_the_next_server(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    with serving(shell) as server:
        id_ = server.send("We decided to use PostgreSQL for the invoices.").json["id"]
        server.end(signal.SIGKILL)
    with serving(shell) as server:
        until(lambda: is_done(server, id_))

    assert "PostgreSQL" in shell.run("recall", "invoices").out

"""A turn's end in one home, forwarded to our own server in another, is remembered there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cli.shell import Shell
from memory_fabric.store.queues import spool
from replay.hook_runner import TESTS, HookRunner
from servers.http.http_server import Serving, serving
from waiting import until

SAID = "We decided to use PostgreSQL for the ledger because analytics needs window functions."
PRIVATE = "<private>Ann is ill.</private>"


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    return HookRunner(tmp_path / "sender")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "receiver")


def forward(hooks: HookRunner, server: Serving, key: str, **fields: str) -> dict[str, object]:
    """The status of forwarding when a turn has ended and nothing waits any more."""
    stop = hooks.recorded(TESTS / "events" / "Stop.json")
    url = f"http://127.0.0.1:{server.port}"
    named = {"MEMORY_FABRIC_FORWARD_URL": url, "MEMORY_FABRIC_FORWARD_KEY": key}
    result = hooks.run({**stop, "last_assistant_message": f"{SAID} {PRIVATE}", **fields}, named)
    assert result.status == 0
    home = str(hooks.memory)
    until(lambda: not spool.waiting(home), "the item goes once it has arrived")
    return spool.backlog(home, f"{url}/v1/memory/ingest")._asdict()


def test_a_decision_in_a_forwarded_event_can_be_recalled_from_the_server(
    hooks: HookRunner, shell: Shell
) -> None:
    key = shell.run("serve", "--new-key", "laptop").out.split()[-1]
    with serving(shell) as server:
        noted = forward(hooks, server, key)
        until(
            lambda: "The queue is empty" in shell.run("queue").out, "the worker has worked it off"
        )
        found = shell.run("recall", "which database for the ledger?").out
        server.end(signal.SIGINT)  # its worker ends with it

    assert noted["rejected"] == 0 and noted["last_success"]
    assert "window functions" in found
    assert "Ann is ill" not in found
    held = [p for p in shell.memory.rglob("*") if p.is_file() and b"Ann is ill" in p.read_bytes()]
    assert held == []


def test_an_event_is_kept_and_an_error_reported_if_the_server_refuses_the_key(
    hooks: HookRunner, shell: Shell
) -> None:
    shell.run("serve", "--new-key", "laptop")
    home = str(hooks.memory)
    with serving(shell) as server:
        stop = hooks.recorded(TESTS / "events" / "Stop.json")
        url = f"http://127.0.0.1:{server.port}"
        named = {"MEMORY_FABRIC_FORWARD_URL": url, "MEMORY_FABRIC_FORWARD_KEY": "another"}
        hooks.run(stop, named)
        until(lambda: bool(spool.backlog(home, url).last_error), "the refusal is noted")

    assert "refuses the key (401)" in spool.backlog(home, url).last_error
    assert len(spool.waiting(home)) == 1


def test_an_event_that_is_sent_twice_is_stored_once(hooks: HookRunner, shell: Shell) -> None:
    with serving(shell) as server:
        forward(hooks, server, "")
        [path] = [hooks.memory / "forward" / "state.json"]
        path.unlink()  # as a kill between the answer and the note of it leaves it
        noted = forward(hooks, server, "")
        until(
            lambda: "The queue is empty" in shell.run("queue").out, "the worker has worked it off"
        )
        done = shell.run("queue", "--done", "--json")
        server.end(signal.SIGINT)

    assert noted["rejected"] == 0
    assert len(done.json["texts"]) == 1

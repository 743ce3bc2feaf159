"""Hooks find the socket of a client's server, and run in their own process without one."""

from __future__ import annotations

import os
import posix
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import waiting
from memory_fabric import live_client
from replay.hook_runner import HookRunner
from servers.live_server import LiveServer

STATED = "We decided to use PostgreSQL for the orders of the shop because it is simpler."


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    made = HookRunner(tmp_path)
    (made.project / ".git").mkdir()
    return made


@pytest.mark.parametrize("ends", [LiveServer.stop, LiveServer.kill])
def test_a_second_server_of_a_client_takes_over_hook_events_when_the_first_ends(
    hooks: HookRunner, ends: Callable[[LiveServer], None]
) -> None:
    with LiveServer(hooks.environ) as first, LiveServer(hooks.environ) as second:
        ends(first)
        waiting.until(second.is_warm)
        hooks.say("Thanks.")
        waiting.until(lambda: second.ways() == "W")
    assert list(second.folder.glob("*.sock")) == []


def test_the_first_server_of_a_client_answers_after_the_second_has_ended(hooks: HookRunner) -> None:
    with LiveServer(hooks.environ) as first:
        with LiveServer(hooks.environ):
            pass
        hooks.say("Thanks.")
        waiting.until(lambda: first.ways() == "W")


def test_the_next_server_removes_the_socket_of_a_killed_server(hooks: HookRunner) -> None:
    with LiveServer(hooks.environ) as server:
        server.kill()
        assert hooks.say(STATED).reply and server.ways() == "N"
        left = server.folder / "999999999-1-1-elsewhere.sock"
        left.touch()
        ours = next(iter(server.folder.glob(f"{os.getpid()}-*.sock"))).name
        gone = server.folder / f"999999999-{ours.partition('-')[2]}"
        gone.touch()
        (server.folder / "rehearsal-999999999").mkdir()
    with LiveServer(hooks.environ) as server:
        assert hooks.say("Thanks.").status == 0
        waiting.until(lambda: server.ways() == "NW")
        waiting.until(lambda: not gone.exists())
        assert left.exists()  # of another namespace: nobody here knows
    assert list(server.folder.glob("rehearsal-*")) == []


def test_hooks_reach_the_server_of_a_memory_folder_with_a_very_long_path(tmp_path: Path) -> None:
    hooks = HookRunner(tmp_path / "x")
    hooks.environ["MEMORY_FABRIC_HOME"] = str(tmp_path / ("deep" * 25) / ("deep" * 25))
    with LiveServer(hooks.environ) as server:
        assert hooks.say(STATED).reply
        waiting.until(lambda: server.ways() == "W")


def refuse_by_mode(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)


def refuse_by_kind(folder: Path) -> None:
    folder.write_text("")


@pytest.mark.parametrize("refuse", [refuse_by_mode, refuse_by_kind])
def test_hooks_run_in_their_own_process_if_no_socket_can_be_created(
    hooks: HookRunner, refuse: Callable[[Path], None]
) -> None:
    hooks.memory.mkdir()
    refuse(hooks.memory / "live")
    with LiveServer(hooks.environ, warm=False) as server:
        assert server.ask(2, "tools/list", {})["result"]
        assert hooks.say(STATED).reply
    assert "hooks are not answered here" in server.errors


def test_hooks_do_not_use_a_socket_owned_by_another_user(
    hooks: HookRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = hooks.memory / "live"
    folder.mkdir(parents=True)
    name = live_client.client_name(os.getpid())
    with socket.socket(socket.AF_UNIX) as listening:
        live_client.with_address(listening.bind, os.fsencode(folder), name)
        listening.listen()
        monkeypatch.setattr(posix, "geteuid", lambda: os.getuid() + 1)

        with pytest.raises(PermissionError):
            live_client.connected(os.fsencode(folder), name)


def test_hooks_use_no_server_if_the_proc_folder_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(path: bytes) -> bytes:
        raise FileNotFoundError(path)

    monkeypatch.setattr(live_client, "_content", gone)
    event = live_client.Event(b"", "")
    assert live_client._handed(event, b"/nowhere", b"") == live_client.NO_PLACE


def test_hook_events_do_not_close_the_connection_from_a_second_server(
    hooks: HookRunner,
) -> None:
    with LiveServer(hooks.environ) as server:
        name = live_client.client_name(os.getpid())
        with closing(live_client.connected(os.fsencode(server.folder), name)) as second:
            second.sendall(live_client.HOLD)
            for _ in range(10):  # more than the server has threads
                server.said(b'{"hook_event_name": "SessionStart"}')
            second.setblocking(False)
            with pytest.raises(BlockingIOError):
                second.recv(1)

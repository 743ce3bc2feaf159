"""The server on a Unix socket: for its owner only, found again after a crash, gone at the end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.servers.http.listen_sockets import SocketFile
from servers.http.http_server import GIVE_UP_S, INGEST, Serving, serving


class Local(http.client.HTTPConnection):
    """A connection through a socket in the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=GIVE_UP_S)
        self._path = path

    def connect(self) -> None:
        """Open it."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(GIVE_UP_S)
        self.sock.connect(str(self._path))


def asked(path: Path, method: str, address: str, body: Any = None, **headers: str) -> Any:
    """Status and JSON of an answer."""
    connection = Local(path)
    content = None if body is None else json.dumps(body)
    connection.request(method, address, content, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    told = answer.status, json.loads(answer.read())
    connection.close()
    return told


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the path for the socket."""
    return tmp_path / "fabric.sock"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell beside it."""
    return Shell(tmp_path / "shell")


@pytest.fixture
def server(shell: Shell, place: Path) -> Iterator[Serving]:
    """A server on the socket."""
    with serving(shell, "--socket", str(place)) as found:
        assert found.process.stdout is not None
        found.key = found.process.stdout.readline().split()[-1]
        yield found


def test_it_takes_texts_and_reads_with_the_key_of_the_start(server: Serving, place: Path) -> None:
    assert server.address == str(place)
    assert asked(place, "POST", INGEST, {"session_summary": "health-check"})[0] == 202
    assert asked(place, "GET", "/api/status")[0] == 401
    assert asked(place, "GET", "/api/status", Authorization=f"Bearer {server.key}")[0] == 200


def test_names_and_origins_are_compared_there_too(server: Serving, place: Path) -> None:
    assert asked(place, "GET", "/healthz", Host="localhost:80")[0] == 200
    assert asked(place, "GET", "/healthz", Host="evil.example")[0] == 403
    assert asked(place, "GET", "/healthz", Origin="http://evil.example")[0] == 403


def test_the_socket_is_for_its_owner_only_and_gone_at_the_end(server: Serving, place: Path) -> None:
    assert place.stat().st_mode & 0o777 == 0o600

    assert server.end(signal.SIGTERM) == (0, "")
    assert not place.exists()


def test_a_start_that_is_refused_leaves_no_socket(shell: Shell, place: Path) -> None:
    done = shell.run("serve", "--socket", str(place), "--allow-host", "https://a.example")

    assert done.status == 2 and "is not a valid name for a Host header" in done.err
    assert not place.exists()


def test_a_start_that_can_tell_nobody_leaves_no_socket(shell: Shell, place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "memory_fabric.cli", "serve", "--socket", str(place)]
    done = subprocess.run(
        command,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=shell.environ,
        cwd=shell.project,
        timeout=GIVE_UP_S,
        check=False,
    )
    os.close(writer)

    assert done.returncode != 0 and b"Traceback" not in done.stderr
    assert not place.exists()


def test_what_is_closed_twice_leaves_the_socket_of_a_successor(place: Path) -> None:
    first = SocketFile(str(place))
    first.close()
    second = SocketFile(str(place))

    first.close()

    assert place.exists()
    for one in (first, second):
        one.close()
        one.socket.close()
    assert not place.exists()


def test_a_socket_of_a_server_that_was_killed_is_replaced(
    server: Serving, shell: Shell, place: Path
) -> None:
    server.end(signal.SIGKILL)
    assert place.exists()

    with serving(shell, "--socket", str(place)):
        assert asked(place, "GET", "/healthz")[0] == 200


def test_a_socket_that_somebody_listens_on_is_left_to_him(
    server: Serving, shell: Shell, place: Path
) -> None:
    done = shell.run("serve", "--socket", str(place))

    assert (done.status, done.out) == (1, "")
    assert f"Another server listens on {place}" in done.err
    assert asked(place, "GET", "/healthz")[0] == 200


def test_a_file_in_the_place_is_left_alone(shell: Shell, place: Path) -> None:
    place.write_text("mine", "utf-8")

    done = shell.run("serve", "--socket", str(place))

    assert done.status == 1 and "is not a socket" in done.err
    assert place.read_text("utf-8") == "mine"


@pytest.mark.parametrize("path", ["missing/fabric.sock", "a" * 200])
def test_a_place_that_cannot_be_had_is_one_line(shell: Shell, tmp_path: Path, path: str) -> None:
    done = shell.run("serve", "--socket", str(tmp_path / path))

    assert done.status == 1
    assert len(done.err.splitlines()) == 1 and "cannot be listened on" in done.err

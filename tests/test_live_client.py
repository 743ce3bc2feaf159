"""The functions by which a hook finds and reaches a running server."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from memory_fabric import live_client


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({b"HOME": b"/h"}, b"/h/.claude/memory-fabric/live"),
        ({b"HOME": b"/h", b"CLAUDE_CONFIG_DIR": b"/c"}, b"/c/memory-fabric/live"),
        ({b"HOME": b"/h", b"CLAUDE_CONFIG_DIR": b""}, b"/h/.claude/memory-fabric/live"),
        ({b"HOME": b"/h", b"MEMORY_FABRIC_HOME": b"/m"}, b"/m/live"),
        ({b"HOME": b"/h", b"MEMORY_FABRIC_HOME": b"~/m"}, b"/h/m/live"),
        ({b"MEMORY_FABRIC_HOME": b"m"}, b""),
        ({b"MEMORY_FABRIC_HOME": b"~other/x"}, b""),
        ({b"MEMORY_FABRIC_HOME": b"/a/../m"}, b""),
        ({b"MEMORY_FABRIC_HOME": b"/a/.."}, b""),
        ({b"MEMORY_FABRIC_HOME": b"/a/..b"}, b"/a/..b/live"),
        ({}, b""),
    ],
)
def test_the_folder_of_servers_is_in_the_memory_home(
    environ: dict[bytes, bytes], folder: bytes
) -> None:
    assert live_client.live_folder(environ) == folder


def test_the_identity_of_the_code_depends_on_its_folder_and_its_version() -> None:
    assert live_client.identity("/p", "1") == live_client.identity("/p", "1")
    others = {live_client.identity("/p", "2"), live_client.identity("/q", "1")}
    assert len(others - {live_client.identity("/p", "1")}) == 2


def test_each_process_has_a_name_of_its_own() -> None:
    own = live_client.client_name(os.getpid())
    # The 22nd field (man 5 proc), the 20th behind the name of the program.
    started_at = Path("/proc/self/stat").read_bytes().rpartition(b") ")[2].split()[19]

    assert own == live_client.client_name(os.getpid())
    assert own.startswith(b"%d-%s-" % (os.getpid(), started_at))
    assert own.endswith(b"-" + os.uname().nodename.encode())
    with pytest.raises(OSError):
        live_client.client_name(0)


def test_the_file_of_how_events_were_answered_is_emptied_at_its_maximum_size(
    tmp_path: Path,
) -> None:
    folder = os.fsencode(tmp_path)
    live_client.note(folder + b"/none", b"W")
    live_client.note(folder, b"W")
    live_client.note(folder, b"N")
    ways = tmp_path / "ways"
    noted, mode = ways.read_bytes(), ways.stat().st_mode & 0o777

    ways.write_bytes(b"W" * (live_client.MAX_WAYS_BYTES - 1))
    live_client.note(folder, b"W")
    size = ways.stat().st_size
    live_client.note(folder, b"W")

    assert (noted, mode) == (b"WN", 0o600)
    assert (size, ways.stat().st_size) == (live_client.MAX_WAYS_BYTES, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["ways"]


def test_a_socket_whose_path_is_too_long_is_addressed_through_its_folder() -> None:
    used: list[bytes] = []
    most = live_client.MAX_PATH_BYTES - len(b"//.sock")

    live_client.with_address(used.append, b"/", b"x" * most)
    live_client.with_address(used.append, b"/", b"x" * (most + 1))

    assert used[0] == b"//" + b"x" * most + b".sock"
    assert used[1].startswith(b"/proc/self/fd/")
    assert used[1].endswith(b"/" + b"x" * (most + 1) + b".sock")


def test_exactly_the_requested_bytes_are_received() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"abcdef")
        assert live_client.received(other, 0) == b""
        assert live_client.received(other, 4) == b"abcd"
        one.close()
        with pytest.raises(ConnectionError):
            live_client.received(other, 4)


def test_a_server_that_did_not_answer_counts_as_hanging_for_a_while(tmp_path: Path) -> None:
    folder, mark = os.fsencode(tmp_path), tmp_path / "s.hung"
    assert not live_client._is_hung(folder, b"s")
    live_client._mark_hung(folder, b"s")
    assert live_client._is_hung(folder, b"s") and not live_client._is_hung(folder, b"t")
    assert mark.stat().st_mode & 0o777 == 0o600

    marked_at = mark.stat().st_mtime
    for moved_s in (-live_client.HUNG_S - 1, 60):
        os.utime(mark, (marked_at + moved_s,) * 2)
        assert not live_client._is_hung(folder, b"s")

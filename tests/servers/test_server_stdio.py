"""Lines from the client on standard input, and to the client on standard output."""

from __future__ import annotations

import os
import select

import pytest

from memory_fabric.servers.mcp import stdio_server
from memory_fabric.servers.mcp.stdio_server import Output, lines

WAIT_S = 60


@pytest.mark.parametrize("has_poll", [True, False])
def test_responses_to_a_slow_client_are_sent_in_order_without_blocking_the_server(
    monkeypatch: pytest.MonkeyPatch, *, has_poll: bool
) -> None:
    if not has_poll:  # as on Windows
        monkeypatch.delattr(select, "poll")
    read, write = os.pipe()
    output = Output(write, lambda: None)
    sent = [f"{number} {'x' * 5000}\n".encode() for number in range(100)]

    for line in sent:  # far more than a pipe holds
        output.send(line)
    received = []
    for line in lines(read):
        received.append(line + b"\n")
        if len(received) == len(sent):
            break

    assert received == sent
    output.wait(WAIT_S)
    os.close(write)
    os.close(read)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"a\nbc\n\nd", [b"a", b"bc", b"", b"d"]),
        (b"abcde\n", [b"abcde", b""]),
        (b"\n", [b"", b""]),
        (b"", [b""]),
    ],
)
def test_whole_lines_are_read_from_pieces_of_any_size(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, expected: list[bytes]
) -> None:
    for at_once in (1, 2, 3, 100):
        monkeypatch.setattr(stdio_server, "READ_BYTES", at_once)
        read, write = os.pipe()
        os.write(write, sent)
        os.close(write)

        assert list(lines(read)) == expected
        os.close(read)


def test_an_input_that_cannot_be_read_counts_as_ended() -> None:
    folder = os.open(os.curdir, os.O_RDONLY)

    assert list(lines(folder)) == [b""]

    os.close(folder)


def test_a_closed_output_is_logged_once() -> None:
    read, write = os.pipe()
    os.close(read)
    noticed: list[str] = []
    output = Output(write, lambda: noticed.append("gone"))

    for _ in range(3):
        output.send(b"answer\n")

    assert noticed == ["gone"]
    os.close(write)

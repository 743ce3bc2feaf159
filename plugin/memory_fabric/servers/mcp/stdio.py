"""Standard input as lines, and standard output that no work waits for."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

READ_BYTES = 1 << 16
# What a pipe takes in one piece where it takes anything at all (POSIX says at least 512).
PIECE_BYTES = 4096


def lines(handle: int) -> Iterator[bytes]:
    """Every line until the input ends, the last one also without its end; of any length."""
    begun: list[bytes] = []
    while data := _read(handle):
        *ended, unfinished = data.split(b"\n")
        if ended:
            yield b"".join([*begun, ended[0]])
            yield from ended[1:]
            begun = []
        begun.append(unfinished)
    yield b"".join(begun)


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, READ_BYTES)
    except OSError:  # it was closed before we began, or is no place to read from
        return b""


class Output:
    """Lines on their way to the client, each whole, in the order they were sent.

    What the client takes at once is written by whoever sends it. Where it reads too slowly, a
    thread of its own waits for it, so that requests are read and worked on all the same; `gone` is
    called, once, when it reads no longer.
    """

    def __init__(self, handle: int, gone: Callable[[], None]) -> None:
        self._handle, self._gone = handle, gone
        self._lines: list[bytes] = []
        self._busy = False
        self._written = threading.Condition()
        self._takes = _test_of(handle)

    def send(self, line: bytes) -> None:
        """Write a line, now or as soon as the client reads."""
        with self._written:
            self._lines.append(line)
            if self._busy:
                return  # whoever writes now takes it along
            self._busy = True
        self._write(wait=False)

    def wait(self, timeout_s: float) -> None:
        """Return when all is written, or when the time is over."""
        with self._written:
            self._written.wait_for(lambda: not self._busy, timeout_s)

    def _write(self, *, wait: bool) -> None:
        try:
            while remaining := self._next():
                while remaining:
                    if not wait and not self._takes():
                        with self._written:
                            self._lines.insert(0, bytes(remaining))
                        slow = {"wait": True}
                        threading.Thread(target=self._write, kwargs=slow, daemon=True).start()
                        return
                    piece = remaining if wait else remaining[:PIECE_BYTES]
                    remaining = remaining[os.write(self._handle, piece) :]
        except OSError as error:
            # It stays busy: what is sent from now on is for nobody.
            print(f"memory-fabric: the client is gone: {error}", file=sys.stderr)  # noqa: T201
            self._gone()

    def _next(self) -> memoryview | None:
        with self._written:
            whole = b"".join(self._lines)
            self._lines.clear()
            if not whole:
                self._busy = False
                self._written.notify_all()
        return memoryview(whole) if whole else None


def _test_of(handle: int) -> Callable[[], bool]:
    """Return a test whether the handle takes bytes at once; Windows cannot tell for a pipe."""
    if not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(handle, select.POLLOUT)
    return lambda: bool(poll.poll(0))


def claimed_output() -> int:
    """A private handle of standard output, which itself now leads to standard error (MEM-20).

    Raises OSError where there is no standard output.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    handle = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # started without standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return handle

"""Ports of this machine that nothing takes while a test does not listen on them."""

from __future__ import annotations

import itertools
import os
import socket

# The system hands out ports from 32768 to whoever asks for any; so it never does these.
FIRST, LAST = 12_000, 32_000
# Workers of pytest, whose ids are near, begin apart.
_numbers = itertools.count(os.getpid() * 50)


def free_port() -> int:
    """Return the number of a port on which nothing listens."""
    for number in _numbers:
        port = FIRST + number % (LAST - FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("the numbers never end")

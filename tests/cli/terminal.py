"""The command line in a real terminal, for what asks or draws."""

from __future__ import annotations

import io
import sys
from typing import Any

import pexpect

from cli.shell import GIVE_UP_S, Shell

# How often Ctrl-C is pressed, and how long its effect is waited for.
PRESSES, AGAIN_S = 12, 10


class TerminalStream(io.StringIO):
    """A stream in memory that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def start(shell: Shell, *words: str, **variables: str) -> Any:
    """`memory-fabric` with these words on a terminal of its own, in the project's folder."""
    return pexpect.spawn(
        sys.executable,
        ["-m", "memory_fabric.cli", *words],
        env={**shell.environ, "TERM": "xterm", **variables},
        cwd=str(shell.project),
        encoding="utf-8",
        timeout=GIVE_UP_S,
        dimensions=(40, 160),
    )


def finish(terminal: Any) -> tuple[int, str]:
    """The exit code, and what was on the screen since the last answer."""
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal.exitstatus, terminal.before


def interrupt(terminal: Any) -> None:
    """Press Ctrl-C at a question until the process has ended.

    Python's line editor misses one that comes just before it waits for keys; people press again.
    """
    for _ in range(PRESSES):
        terminal.sendintr()
        if terminal.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=AGAIN_S) == 0:
            return
    raise AssertionError("Ctrl-C has no effect")

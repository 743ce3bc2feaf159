"""Whole processes, timed from start to end: what every benchmark of a hook is made of."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    """One process: seconds on the wall and on the processor, peak memory in MB, its stdout."""

    seconds: float
    cpu_seconds: float
    memory_mb: float
    output: bytes


def interpreter() -> str:
    """The real interpreter, as the launcher would remember it."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def timed(
    command: Sequence[str],
    environ: Mapping[str, str],
    data: bytes,
    folder: str,
    statuses: Container[int] = (0,),
) -> Sample:
    """One process from start to end, its stdin and stdout files; one of these exit statuses."""
    given, taken = os.path.join(folder, "stdin"), os.path.join(folder, "stdout")
    with open(given, "wb") as file:
        file.write(data)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    began = time.perf_counter()
    process = os.posix_spawn(
        command[0],
        list(command),
        environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, taken, flags, 0o600),
        ],
    )
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status) not in statuses:
        raise SystemExit(f"{' '.join(command)} ended with wait status {status}")
    with open(taken, "rb") as file:
        output = file.read()
    # Linux counts in KB, macOS in bytes.
    divisor = 1 << 20 if sys.platform == "darwin" else 1 << 10
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return Sample(seconds, cpu_seconds, usage.ru_maxrss / divisor, output)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

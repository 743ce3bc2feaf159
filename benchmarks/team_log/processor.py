"""Processor time of processes, which other work on the machine does not change. Linux only."""

from __future__ import annotations

import os

from team_log.cluster import Server

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Places in /proc/PID/stat after the name: own time, and that of children that ended.
PARENT, OWN, OF_CHILDREN = 1, (11, 12), (13, 14)


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, without its children."""
    fields = _fields(str(pid))
    return sum(int(fields[place]) for place in OWN) / TICKS_PER_S


def family_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and its children, those that ended included."""
    ticks = sum(int(_fields(str(pid))[place]) for place in (*OWN, *OF_CHILDREN))
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = _fields(name)
        if fields and int(fields[PARENT]) == pid:
            ticks += sum(int(fields[place]) for place in OWN)
    return ticks / TICKS_PER_S


def server_cpu_seconds(server: Server) -> float:
    """Return the processor time of all processes of a PostgreSQL."""
    path = os.path.join(server.cluster.data_folder, "postmaster.pid")
    with open(path, encoding="utf-8") as file:
        return family_cpu_seconds(int(file.readline()))


def _fields(name: str) -> list[str]:
    """Return the fields after the name; none for a process that has ended."""
    try:
        with open(f"/proc/{name}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []

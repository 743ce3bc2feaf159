"""Hooks with and without the session's server, side by side, in bare starts of Python.

    python3 benchmarks/warm.py                          1k and 10k observations in the project
    python3 benchmarks/warm.py --sizes 100000 --runs 50
    python3 benchmarks/warm.py --servers 10             the memory of so many servers

Each event is answered by the server and by a process of its own in turn, with a bare start
(`python -I -S -c pass`) between. The stores are built by the product's own write function.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from processes import interpreter, quantile
from workloads.hooks_store import ROOT, bind, build, environ_of, error_of

sys.path[:0] = [os.path.join(ROOT, "plugin"), os.path.join(ROOT, "tests")]

from servers.live_server import LiveServer  # noqa: E402 - found only now

LAUNCH = os.path.join(ROOT, "hooks", "launch")
WARM = "W"
EVENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "prompt": (
        "",
        {"hook_event_name": "UserPromptSubmit", "prompt": "How does billing use Redis?"},
    ),
    "prompt with a cue": (
        "",
        {"hook_event_name": "UserPromptSubmit", "prompt": "Always run make check, please."},
    ),
    "call with rules": (
        "rules",
        {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
    ),
    "fix": (
        "fixes",
        {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "error": error_of(3),
        },
    ),
    "agent": ("", {"hook_event_name": "SubagentStart", "agent_id": "a", "agent_type": "engineer"}),
    "Stop": ("", {"hook_event_name": "Stop", "last_assistant_message": "Done."}),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; always status 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--servers", type=int, default=0)
    parser.add_argument("--client", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.client:
        be_client({**os.environ, **environ_of(options.client)})
        return 0
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            build(folder, size, 100)
            bind(folder, on=True)
            # What was built is written into the journal once.
            environ = {**os.environ, **environ_of(folder)}
            once("cold", *EVENTS["Stop"], environ)
            if options.servers:
                print_memory(folder, options.servers)
            else:
                compare(environ, size, options.runs)
    return 0


def compare(environ: dict[str, str], size: int, runs: int) -> None:
    """Print a row for each event: the median and the 95th percentile, warm and cold."""
    print(f"\n{size:,} observations, bare starts: median (p95)")
    with LiveServer(environ) as server:
        for name, (kind, event) in EVENTS.items():
            taken: dict[str, list[float]] = {"warm": [], "cold": [], "bare": []}
            before = len(server.ways())
            for run in range(runs):
                for way, seconds in taken.items():
                    data = {"session_id": f"{name}-{way}-{run}", **event}
                    seconds.append(once(way, kind, data, environ))
            bare = quantile(taken["bare"], 0.5)
            warm, cold = (
                f"{quantile(taken[way], 0.5) / bare:.2f} ({quantile(taken[way], 0.95) / bare:.2f})"
                for way in ("warm", "cold")
            )
            answered = server.ways()[before:].count(WARM)
            print(
                f"{name:18} warm {warm:14} cold {cold:14} bare {bare * 1000:.1f} ms, "
                f"{answered} of {runs} by the server"
            )


def once(way: str, kind: str, event: dict[str, Any], environ: dict[str, str]) -> float:
    """Run one process; return its seconds."""
    words = [interpreter(), "-I", "-S", "-c", "pass"]
    if way != "bare":
        words = [LAUNCH, *([kind] if kind else [])]
    if way == "cold":  # a path that needs resolving: no server is looked for
        home = environ["MEMORY_FABRIC_HOME"]
        environ = {**environ, "MEMORY_FABRIC_HOME": f"{home}/../{os.path.basename(home)}"}
    began = time.perf_counter()
    subprocess.run(
        words, input=json.dumps(event).encode(), env=environ, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - began


def print_memory(folder: str, count: int) -> None:
    """Print the memory that so many clients' servers share, each after some events."""
    command = [sys.executable, os.path.abspath(__file__), "--client", folder]
    clients = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    servers = [int(client.stdout.readline()) for client in clients if client.stdout]
    shares = [_proportional_kb(server) for server in servers]
    print(f"{count} servers: {sum(shares) / 1024:.0f} MB PSS, one {max(shares) / 1024:.0f} MB")
    for client in clients:
        client.communicate("")


def be_client(environ: dict[str, str]) -> None:
    """Start a server as a client does, fire some events, print its process, wait for the end."""
    with LiveServer(environ) as server:
        for run in range(5):
            for name, (kind, event) in EVENTS.items():
                once("warm", kind, {"session_id": f"{os.getpid()}-{name}-{run}", **event}, environ)
        print(server.pid, flush=True)
        sys.stdin.read()


def _proportional_kb(process: int) -> int:
    with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


if __name__ == "__main__":
    sys.exit(main())

"""From a statement on one machine until another tells it, with the hooks and processes of both."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_fabric.setup import packages
from team.homes import Home, made
from team.postgres import ANN, BOB, Cluster

# The longest that a statement may take while a server runs on the other machine.
MOST_S = 5.0
GIVE_UP_S = 60.0
# As bin/memory-fabric starts it: no packages, no site folder.
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from memory_fabric.servers.mcp.stdio_server import main; main()"
)
TECHNOLOGIES = "Kafka Redis Flink Spark Airflow Vault Consul Envoy Istio Loki Tempo Avro".split()


def measured(folder: str, samples: int) -> tuple[list[float], list[float]]:
    """Return seconds until told: with an MCP server there, and from a session's start without."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.make_roles()
        with cluster.database() as database:
            dsn = made(cluster, database, Path(folder))
            ann, bob = (Home(Path(folder), user, user) for user in (ANN, BOB))
            ann.join(dsn[ANN])
            bob.join(dsn[BOB])
            with _serving(bob):
                follow = bob.home / "team" / f"{bob.project_id}.follow.lock"
                _until(follow.exists, "the server follows")
                followed = [_followed(ann, bob, number) for number in range(samples)]
            return followed, [_detached(ann, bob, number) for number in range(samples)]
    finally:
        cluster.remove()


def _followed(ann: Home, bob: Home, number: int) -> float:
    name = _state(ann, number, "rollups")
    return _until(lambda: _is_told(bob, f"Do the rollups {number} use {name}?", name), name)


def _detached(ann: Home, bob: Home, number: int) -> float:
    """Return the seconds from a session's start until a prompt tells what was stated before."""
    name = _state(ann, number, "archives")
    _until(lambda: ann.waiting == 0, "it is sent")
    bob.event("SessionStart", f"start-{number}", source="startup")
    return _until(lambda: _is_told(bob, f"Do the archives {number} use {name}?", name), name)


def _state(ann: Home, number: int, thing: str) -> str:
    name = TECHNOLOGIES[number % len(TECHNOLOGIES)]
    session = f"{thing}-{number}"
    ann.event("SessionStart", session, source="startup")
    said = f"Done.\n\nNoted decision: The {thing} {number} use {name}"
    ann.event("Stop", session, last_assistant_message=said)
    return name


def _is_told(home: Home, question: str, name: str) -> bool:
    context = home.hooks.say(question, f"s{time.monotonic_ns()}").context
    return f"use {name}" in context and ANN in context


def _until(condition: Callable[[], bool], what: str) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > GIVE_UP_S:
            raise SystemExit(f"never happened: {what}")
        time.sleep(0.05)
    return time.monotonic() - began


@contextmanager
def _serving(home: Home) -> Iterator[None]:
    """Run the MCP server of a home."""
    plugin = os.path.join(home.hooks.root, "plugin")
    server = subprocess.Popen(
        [packages.base_interpreter(), "-I", "-S", "-c", PROGRAM, plugin],
        env=home.hooks.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(30)

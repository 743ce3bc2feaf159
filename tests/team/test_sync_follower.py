"""The thread of the MCP server: what one machine states, another is told within seconds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from memory_fabric.config import read_settings
from memory_fabric.setup import packages
from memory_fabric.sharing.team import follower
from memory_fabric.store.memory import Memory
from ports import free_port
from team.homes import Home, made
from team.postgres import ANN, BOB, Cluster
from waiting import GIVE_UP_S, until

# As bin/memory-fabric starts it: no packages, no site folder.
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from memory_fabric.servers.mcp.stdio_server import main; main()"
)


@contextmanager
def serving(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """An MCP server of the home, which ends with its input."""
    server = subprocess.Popen(
        [packages.base_interpreter(), "-I", "-S", "-c", PROGRAM, f"{home.hooks.root}/plugin"],
        env=home.hooks.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield server
    finally:
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(GIVE_UP_S) == 0


def test_a_running_server_brings_a_colleagues_decision_into_prompts_within_half_a_minute(
    ann: Home, bob: Home
) -> None:
    with serving(bob):
        follow = bob.home / "team" / f"{bob.project_id}.follow.lock"
        until(follow.exists, "bob's server follows")
        ann.event("SessionStart", source="startup")
        ann.event(
            "Stop", last_assistant_message="Done.\n\nNoted decision: The order events use Kafka"
        )
        began_s = time.monotonic()
        until(
            lambda: "Kafka" in bob.hooks.say("Do the order events use Kafka?", "s").context,
            "bob is told",
        )
        took_s = time.monotonic() - began_s

    # Some two seconds on a quiet machine; it asks again only then where it cannot follow.
    assert took_s < follower.IDLE_S


def test_a_running_server_sends_new_records_without_a_hook(ann: Home, bob: Home) -> None:
    with serving(ann):
        ann.remember("The invoices are kept in Postgres", "--type", "decision")
        until(lambda: ann.waiting == 0, "ann's server sends it")
    bob.sync()

    assert bob.texts("invoices Postgres") != []


def test_a_running_server_syncs_with_the_shared_log(ann: Home, bob: Home) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "memory_fabric.cli", "serve", "--port", str(free_port())],
        env={**bob.hooks.environ, "PYTHONPATH": f"{bob.hooks.root}/plugin"},
        cwd=bob.hooks.project,
        stdout=subprocess.DEVNULL,
    )
    try:
        ann.remember("The order events use Kafka", "--type", "decision")
        ann.sync()
        until(lambda: bob.texts("Kafka") != [], "bob's server reads it")
    finally:
        server.terminate()
        assert server.wait(GIVE_UP_S) == 0


def test_a_second_mcp_server_takes_over_the_sync_after_the_first_is_killed(
    ann: Home, bob: Home
) -> None:
    with serving(bob) as first, serving(bob):
        first.kill()
        first.wait()
        ann.remember("The order events use Kafka", "--type", "decision")
        ann.sync()
        until(lambda: bob.texts("Kafka") != [], "the other server follows")
        first.returncode = 0


def test_the_follower_reconnects_to_a_restarted_server(
    another_cluster: Cluster, tmp_path: Path
) -> None:
    with another_cluster.database() as database:
        dsn = made(another_cluster, database, tmp_path)
        ann, bob = Home(tmp_path, "ann", ANN), Home(tmp_path, "bob", BOB)
        ann.join(dsn[ANN])
        bob.join(dsn[BOB])
        with serving(bob):
            until(lambda: bob.state.asked_at > 0, "bob's server follows")
            another_cluster.stop("immediate")
            until(lambda: bob.state.failures > 0, "bob's server notices")
            another_cluster.start()
            ann.remember("The order events use Kafka", "--type", "decision")
            ann.sync()
            until(lambda: bob.texts("Kafka") != [], "bob's server reads on")


def test_a_running_server_starts_to_sync_a_newly_joined_space_at_the_next_request(
    ann: Home, tmp_path: Path, dsn: dict[str, str]
) -> None:
    bob = Home(tmp_path, "bob", BOB)
    with serving(bob) as server:
        bob.join(dsn[BOB])
        assert server.stdin is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        ann.remember("The order events use Kafka", "--type", "decision")
        ann.sync()
        until(lambda: bob.texts("Kafka") != [], "bob's server follows")


def test_an_mcp_server_without_a_team_loads_no_sharing_module(tmp_path: Path) -> None:
    home = Home(tmp_path, "alone", ANN)
    program = PROGRAM.replace(
        "main()",
        "import os; leave = os._exit; "
        "os._exit = lambda s: (print(*sys.modules, file=sys.stderr, flush=True), leave(s)); "
        "main()",
    )
    done = subprocess.run(
        [packages.base_interpreter(), "-I", "-S", "-c", program, f"{home.hooks.root}/plugin"],
        env=home.hooks.environ,
        input=b"",
        capture_output=True,
        check=False,
        timeout=GIVE_UP_S,
    )

    loaded = set(done.stderr.decode().split())
    assert "memory_fabric.servers.mcp.stdio_server" in loaded
    assert {
        name for name in loaded if name.startswith(("memory_fabric.sharing.team", "psycopg"))
    } == set()


def test_a_follower_notes_only_exchanges_in_which_something_happened(ann: Home, bob: Home) -> None:
    memory = Memory.open(read_settings(ann.hooks.environ, {}))
    followed = follower.Followed(memory, ann.known_tie)
    began_s, noted = time.time(), []

    def step(after_s: float) -> None:
        followed.step(began_s + after_s)
        noted.append(ann.state.ran_at)

    step(0)  # it connects
    step(1)
    ann.remember("The order events use Kafka", "--type", "decision")
    has_work = followed.has_work()
    step(2)
    step(3)
    step(follower.LOOK_S + 4)  # the state of the space is read again
    step(follower.LOOK_S + 5)
    step(-10)  # the clock was set back
    had_work = followed.has_work()
    followed.close()
    memory.close()

    assert (has_work, had_work, followed.has_work()) == (True, False, False)
    assert [after > before for before, after in pairwise(noted)] == [
        False,
        True,
        False,
        True,
        False,
        True,
    ]
    assert ann.state.failures == 0 and ann.state.last_success
    bob.sync()
    assert bob.texts("Kafka") != []

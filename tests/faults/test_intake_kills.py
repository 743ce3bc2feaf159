"""Killed between any two steps: what came in is worked off in the end, once, as if nothing was."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.ingest.worker import Worker
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import ingest_queue
from store.support import World, database
from thorough import stride

GIVE_UP_S = 60
MOST_POINTS = 200
# Kills its own process at the n-th beginning or end of a transaction; 0 only counts them.
BEFORE = """
import os, signal, sys
seen, fatal = [0], int(os.environ["FATAL"])

def trace(statement):
    if statement.startswith(("BEGIN", "COMMIT")):
        seen[0] += 1
        if seen[0] == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

def watched(*given, **named):
    connection = connect(*given, **named)
    connection.set_trace_callback(trace)
    return connection

import _sqlite3
connect, _sqlite3.connect = _sqlite3.connect, watched
import time
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.ingest.worker import Worker
from memory_fabric.store.queues import ingest_queue as intake
from memory_fabric.store.memory import Memory
settings = read_settings(os.environ, {})
"""
WORK = (
    BEFORE
    + """
later_s = float(os.environ["LATER_S"])
Worker(settings, now=lambda: time.time() + later_s).run(once=True)
print(seen[0], flush=True)
"""
)
ACCEPT = (
    BEFORE
    + """
texts = [intake.Ingest(f"We use Redis {n} for sessions.", idempotency_key=str(n)) for n in range(3)]
told = intake.accept(Memory.open(settings), texts, Provenance("ingest", trust="tool"))
print(len(told), flush=True)
print(seen[0], flush=True)
"""
)
TEXTS = (
    Ingest(
        "We use Redis for sessions.\n---\nNoted rule: Valkey keeps the sessions. When: pytest",
        ("Kafka (also called the bus) carries all events because Rabbit lost some",),
        session_id="s1",
        domain="ops",
        project="shop",
    ),
    Ingest(
        "Noted rule: Valkey keeps the sessions. When: pytest\n---\nNever deploy on Fridays.",
        ("Kafka carries all events",),
        session_id="s1",
        domain="ops",
    ),
)


def run(world: World, script: str, fatal: int, later_s: float = 0.0) -> subprocess.Popen[str]:
    process = world.start(script, FATAL=str(fatal), LATER_S=str(later_s))
    _, errors = process.communicate(timeout=GIVE_UP_S)
    assert errors == ""
    return process


def work_on(world: World, later_s: float) -> None:
    """Do what waits, in this process."""
    Worker(world.settings(), now=lambda: time.time() + later_s).run(once=True)


def printed(world: World, script: str) -> list[str]:
    process = world.start(script, FATAL="0", LATER_S="0")
    output, errors = process.communicate(timeout=GIVE_UP_S)
    assert errors == ""
    return output.split()


def remembered(memory: Memory) -> dict[str, Any]:
    """All that memory holds, without the numbers of its rows and times of its own work."""
    db = database(memory)
    return {
        "records": sorted(memory.find_records("1"), key=lambda record: record.id),
        "sightings": sorted(db.rows("SELECT id, sightings FROM records")),
        "turns": db.rows(
            "SELECT uuid, session, role, text, place, agent, domain, project, created_at "
            "FROM episodes ORDER BY uuid"
        ),
        "graph": graph.read_graph(db),
        "observations": sorted(
            db.rows(
                "SELECT e.name, o.text, o.record, o.domain FROM observations AS o "
                "JOIN entities AS e ON e.id = o.entity"
            )
        ),
        "aliases": sorted(db.rows("SELECT alias FROM aliases")),
        "intake": db.rows("SELECT id, state, error FROM intake ORDER BY seq"),
        "results": [p.records for p in ingest_queue.listed(memory, ("done",))],
    }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


def accepted(world: World, kept: Path) -> Path:
    """A copy of the world in which the texts wait."""
    memory = world.memory()
    ingest_queue.accept(memory, TEXTS, Provenance("ingest", trust="tool"))
    memory.close()
    shutil.copytree(world.root, kept, symlinks=True)
    return kept


def put_back(world: World, kept: Path) -> None:
    shutil.rmtree(world.root)
    shutil.copytree(kept, world.root, symlinks=True)


def test_killing_a_worker_between_any_two_steps_does_not_change_the_final_result(
    world: World, tmp_path: Path
) -> None:
    kept = accepted(world, tmp_path / "kept")
    points = int(printed(world, WORK)[-1])
    undisturbed = remembered(world.memory())
    assert 20 < points < MOST_POINTS
    assert [row[1] for row in undisturbed["intake"]] == ["done", "done"]
    assert len(undisturbed["turns"]) == 3
    assert any(record.evidence for record in undisturbed["records"])
    for fatal in range(1, points + 1, stride()):
        put_back(world, kept)
        assert run(world, WORK, fatal).returncode == -signal.SIGKILL
        work_on(world, later_s=1000)
        assert remembered(world.memory()) == undisturbed, f"killed at {fatal}"


def test_a_text_is_processed_even_if_its_worker_is_killed_twice(
    world: World, tmp_path: Path
) -> None:
    kept = accepted(world, tmp_path / "kept")
    printed(world, WORK)
    undisturbed = remembered(world.memory())
    for first, second in ((7, 5), (11, 9), (5, 12)):
        put_back(world, kept)
        run(world, WORK, first)
        run(world, WORK, second, later_s=1000)
        work_on(world, later_s=2000)
        assert remembered(world.memory()) == undisturbed


def test_a_batch_of_texts_is_stored_completely_or_not_at_all_if_the_process_is_killed(
    world: World, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(world.root, kept, symlinks=True)
    told, points = printed(world, ACCEPT)
    assert told == "3"
    for fatal in range(1, int(points) + 1):
        put_back(world, kept)
        assert run(world, ACCEPT, fatal).returncode == -signal.SIGKILL
        memory = world.memory()
        assert ingest_queue.backlog(memory).waiting in (0, 3)
        memory.close()
        assert printed(world, ACCEPT)[0] == "3"
        assert ingest_queue.backlog(world.memory()).waiting == 3

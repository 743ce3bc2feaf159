"""Killed between any two steps: what came in is worked off in the end, once, as if nothing was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.ingest.worker import Worker
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import ingest_queue
from store.support import PLUGIN, World, database
from thorough import stride

GIVE_UP_S = 60
MOST_POINTS = 200
# Answers with a child for each script, so that the modules are loaded once. A child kills itself at
# the n-th beginning or end of a transaction; 0 only counts them.
FORKS = """
import json, os, signal, sys, traceback
seen, fatal = [0], 0

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

for line in sys.stdin:
    script, fatal, later_s, environ = json.loads(line)
    child = os.fork()
    if not child:
        os.environ.update(environ)
        settings = read_settings(os.environ, {})
        try:
            exec(script)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""
WORK = """
Worker(settings, now=lambda: time.time() + later_s).run(once=True)
print(seen[0])
"""
ACCEPT = """
texts = [intake.Ingest(f"We use Redis {n} for sessions.", idempotency_key=str(n)) for n in range(3)]
told = intake.accept(Memory.open(settings), texts, Provenance("ingest", trust="tool"))
print(len(told))
print(seen[0])
"""
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


class Forking:
    """A process that runs each script in a child of its own, which may be killed."""

    def __init__(self, folder: Path) -> None:
        self._errors = folder / "errors.txt"
        with self._errors.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-c", FORKS],
                env={"PYTHONPATH": PLUGIN},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                text=True,
                start_new_session=True,  # so that its children can be ended with it
            )

    def run(
        self, world: World, script: str, fatal: int, later_s: float = 0.0
    ) -> tuple[int, list[str]]:
        """Return the exit status of the child, and the words that it printed."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self._errors.write_bytes(b"")
        self.process.stdin.write(json.dumps([script, fatal, later_s, world.environ]) + "\n")
        self.process.stdin.flush()
        ending = threading.Timer(GIVE_UP_S, os.killpg, (self.process.pid, signal.SIGKILL))
        ending.start()
        words: list[str] = []
        try:
            while words[-2:-1] != ["ended"]:
                line = self.process.stdout.readline()
                assert line, f"the process has ended: {self._errors.read_text()}"
                words += line.split()
        finally:
            ending.cancel()
        assert self._errors.read_text() == ""
        return int(words[-1]), words[:-2]


@pytest.fixture(scope="module")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forking]:
    forking = Forking(tmp_path_factory.mktemp("forking"))
    yield forking
    forking.process.communicate(timeout=GIVE_UP_S)


def work_on(world: World, later_s: float) -> None:
    """Do what waits, in this process."""
    Worker(world.settings(), now=lambda: time.time() + later_s).run(once=True)


def printed(forking: Forking, world: World, script: str) -> list[str]:
    status, words = forking.run(world, script, 0)
    assert status == 0
    return words


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
    world: World, tmp_path: Path, forking: Forking
) -> None:
    kept = accepted(world, tmp_path / "kept")
    points = int(printed(forking, world, WORK)[-1])
    undisturbed = remembered(world.memory())
    assert 20 < points < MOST_POINTS
    assert [row[1] for row in undisturbed["intake"]] == ["done", "done"]
    assert len(undisturbed["turns"]) == 3
    assert any(record.evidence for record in undisturbed["records"])
    for fatal in range(1, points + 1, stride()):
        put_back(world, kept)
        assert forking.run(world, WORK, fatal) == (-signal.SIGKILL, [])
        work_on(world, later_s=1000)
        assert remembered(world.memory()) == undisturbed, f"killed at {fatal}"


def test_a_text_is_processed_even_if_its_worker_is_killed_twice(
    world: World, tmp_path: Path, forking: Forking
) -> None:
    kept = accepted(world, tmp_path / "kept")
    printed(forking, world, WORK)
    undisturbed = remembered(world.memory())
    for first, second in ((7, 5), (11, 9), (5, 12)):
        put_back(world, kept)
        assert forking.run(world, WORK, first) == (-signal.SIGKILL, [])
        assert forking.run(world, WORK, second, later_s=1000) == (-signal.SIGKILL, [])
        work_on(world, later_s=2000)
        assert remembered(world.memory()) == undisturbed


def test_a_batch_of_texts_is_stored_completely_or_not_at_all_if_the_process_is_killed(
    world: World, tmp_path: Path, forking: Forking
) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(world.root, kept, symlinks=True)
    told, points = printed(forking, world, ACCEPT)
    assert told == "3"
    for fatal in range(1, int(points) + 1):
        put_back(world, kept)
        assert forking.run(world, ACCEPT, fatal) == (-signal.SIGKILL, [])
        memory = world.memory()
        assert ingest_queue.backlog(memory).waiting in (0, 3)
        memory.close()
        assert printed(forking, world, ACCEPT)[0] == "3"
        assert ingest_queue.backlog(world.memory()).waiting == 3

"""Several processes write one memory: what was acknowledged is there, whatever dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.store.queries import graph
from store.support import World, create, database, entity, names

WRITER = """
import os, sys
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
memory = Memory.open(read_settings(os.environ, {}))
by = Provenance("mcp", session="s")
for i in range(int(sys.argv[2])):
    name = f"{sys.argv[1]}-{i}"
    item = {"name": name, "entityType": "component", "observations": [f"{name} is written"]}
    result = memory.write("create_entities", {"entities": [item]}, by)
    assert result.get("queued") or result["entities"], result
    print("queued" if result.get("queued") else "stored", name, flush=True)
"""


def acknowledged(output: str) -> list[str]:
    """Names that the writer was told of; a last line without its end is no acknowledgement."""
    return [line.split(" ", 1)[1] for line in output.split("\n")[:-1]]


def stored(world: World) -> list[str]:
    memory = world.memory()
    memory.flush()
    assert memory.failures == []
    return names(graph.read_graph(database(memory)).entities)


def test_concurrent_processes_lose_no_acknowledged_write(tmp_path: Path) -> None:
    world = World(tmp_path)
    processes = [world.start(WRITER, f"p{n}", "50") for n in range(4)]
    told = []
    for process in processes:
        output, errors = process.communicate(timeout=250)
        assert process.returncode == 0, errors
        told += acknowledged(output)
    assert len(told) == 200
    assert sorted(stored(world)) == sorted(told)


@pytest.mark.parametrize("after", [1, 5, 17])
def test_a_killed_process_loses_no_acknowledged_write(tmp_path: Path, after: int) -> None:
    world = World(tmp_path)
    process = world.start(WRITER, "p", "100000")
    assert process.stdout is not None
    output = "".join(process.stdout.readline() for _ in range(after))
    process.kill()
    output += process.stdout.read()  # what was read ahead is in there, too
    process.communicate(timeout=60)
    told = acknowledged(output)
    assert len(told) >= after
    there = stored(world)
    assert set(told) <= set(there)
    assert len(there) <= len(told) + 1
    assert list(world.root.rglob("*.tmp")) == []


def test_a_hook_and_a_server_share_one_memory(tmp_path: Path) -> None:
    world = World(tmp_path)
    memory = world.memory()
    create(memory, entity("mine", "a"))
    world.run(WRITER, "theirs", "1")
    create(memory, entity("mine too", "b"))
    assert names(graph.read_graph(database(memory)).entities) == ["mine", "theirs-0", "mine too"]

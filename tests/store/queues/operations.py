"""Queues of operations, and memories that have to use them."""

from __future__ import annotations

import sqlite3

from memory_fabric.deadline import Deadline, running
from memory_fabric.ids import new_id
from memory_fabric.models import Operation
from memory_fabric.store import journal
from memory_fabric.store.home import signing
from memory_fabric.store.memory import KINDS, Memory
from memory_fabric.store.queries import graph
from store.support import TOOL, World, database, entity, names


def queue(world: World, waiting: Operation) -> None:
    journal.enqueue(str(world.local), waiting, signing.key_of(str(world.home)))


def signed(world: World, line: dict[str, object]) -> dict[str, object]:
    return line | {"signature": signing.signature(line, signing.key_of(str(world.home)))}


def locked(memory: Memory) -> sqlite3.Connection:
    """Another process's transaction that does not end."""
    connection = sqlite3.connect(database(memory).path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def hurried(world: World) -> Memory:
    """A memory as a prompt's hook has it: it waits for nobody."""
    memory = Memory.open(world.settings())
    with running(Deadline(3600, lock_s=0.15, hurried=True)):
        for kind in KINDS:
            memory.database(kind, create=True)
    return memory


def entities(memory: Memory) -> list[str]:
    return names(graph.read_graph(database(memory)).entities)


def operation(name: str, id_: str = "") -> Operation:
    payload = {"entities": [entity(name, "a")]}
    return Operation(id_ or new_id(), "create_entities", payload, TOOL._replace(at="2026"))

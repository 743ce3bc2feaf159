"""A shared log, homes of its members, and the memory of a user in a project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.store.memory import Memory
from sharing.replicas import Home, Log
from store.support import World


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def ann(tmp_path: Path, log: Log) -> Home:
    return Home(tmp_path, "ann", log)


@pytest.fixture
def bob(tmp_path: Path, log: Log) -> Home:
    return Home(tmp_path, "bob", log)


@pytest.fixture
def desk(tmp_path: Path, log: Log) -> Home:
    """A machine with the key of its user."""
    return Home(tmp_path, "ann", log, machine="desk", key=True)


@pytest.fixture
def laptop(tmp_path: Path, log: Log) -> Home:
    """Another machine with that key."""
    return Home(tmp_path, "ann", log, machine="laptop", key=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


@pytest.fixture
def memory(world: World) -> Iterator[Memory]:
    memory = world.memory()
    yield memory
    memory.close()

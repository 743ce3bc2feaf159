"""Fixtures for every test: no real home, no variables of the developer's environment."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from drawn import chance
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.store import base_memory, files
from memory_fabric.store.database import Database, open_database
from thorough import examples

# Variables that change what the product does; a test sets the ones that it is about.
OURS = ("CLAUDE", "MEMORY_FABRIC", "MEMORY_FILE_PATH", "MOE_")
SWITCHES = ("CI",)

# A run in the background may have been started deaf to Ctrl-C; what tests start hears it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Two runs draw the same, and a slow machine is no failure.
hypothesis.settings.register_profile(
    "memory-fabric",
    deadline=None,
    max_examples=examples(),
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("memory-fabric")


def pytest_configure() -> None:
    """Switch off garbage collection while tests are collected: nothing is freed then."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from later garbage collections; to look for garbage among them
    once more takes a second and frees little.
    """
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_real_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put HOME below a file for the whole run, so that a write there raises OSError."""
    guard = tmp_path_factory.mktemp("guard") / "not-a-folder"
    guard.write_text("A test wanted the real home; give it one under tmp_path.\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(OURS) or n in SWITCHES]:
            patch.delenv(name)
        patch.setenv("HOME", str(guard / "home"))
        patch.setenv(PATIENCE, "20")  # hooks that tests start beside each other
        yield


@pytest.fixture(scope="session", autouse=True)
def new_memories_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let each new database of a memory in this process begin as a copy of an empty one.

    Its tables take 7 ms, twice in most tests. Other processes, `open_database` and `repair` make
    theirs as always.
    """
    path = tmp_path_factory.mktemp("template") / "graph.db"
    empty = open_database(str(path), "project", create=True)
    assert empty is not None
    empty.close()
    content = path.read_bytes()

    def open_copy(path: str, kind: str, *, create: bool, **limits: Any) -> Database | None:
        if create and not os.path.exists(path):
            with suppress(OSError):  # as `open_database` will say
                put_new(path, content)
        return open_database(path, kind, create=create, **limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_memory, "open_database", open_copy)
        yield


def put_new(path: str, content: bytes) -> None:
    """Write a file that is whole as soon as it is there. Raises FileExistsError."""
    files.make_folder(os.path.dirname(path))
    beside = Path(f"{path}.{os.getpid()}.new")
    beside.touch(0o600)
    try:
        beside.write_bytes(content)
        os.link(beside, path)
    finally:
        beside.unlink()


@pytest.fixture(autouse=True)
def nothing_left_of_other_tests(request: pytest.FixtureRequest) -> None:
    """Make what a test draws depend on its name alone, and forget which files were refused."""
    chance.seed(request.node.nodeid)
    files.take_refused_files()

"""The status line, made in this process: the folder it describes, and its counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.hooks.session import status_line as module
from memory_fabric.hooks.session.status_line import MAX_NAME_CHARS, status_line
from memory_fabric.models import Record
from store.support import USER, World


def line(world: World, **given: Any) -> str:
    return status_line(json.dumps(given).encode(), world.environ)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_status_line_names_the_project_and_what_is_known(world: World) -> None:
    folder = str(world.project)
    assert line(world, cwd=folder) == "memory billing: nothing yet"

    memory = world.memory()
    for number in range(2):
        memory.remember(Record("decision", f"Use format {number}", confidence=0.9), USER)
    memory.close()

    assert line(world, cwd=folder) == "memory billing: 2 known"
    assert line(world, cwd="/", workspace={"project_dir": folder}) == "memory billing: 2 known"
    assert line(world, cwd=folder, workspace="x", session_id=3) == "memory billing: 2 known"


@pytest.mark.parametrize("given", [{}, {"cwd": ""}, {"cwd": 3}, {"cwd": "a\0b"}, {"workspace": {}}])
def test_the_status_line_is_empty_without_a_folder(world: World, given: dict[str, Any]) -> None:
    assert line(world, **given) == ""


def test_the_status_line_is_empty_for_broken_or_too_much_input(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = json.dumps({"cwd": str(world.project)}).encode()
    monkeypatch.setattr(module, "MAX_INPUT_BYTES", len(given))

    assert status_line(given, world.environ) != ""
    assert status_line(given + b" ", world.environ) == status_line(b"{", world.environ) == ""


def test_the_status_line_shows_that_recall_is_off(world: World) -> None:
    world.home.mkdir(parents=True)
    (world.home / "config.toml").write_text("read = false\n", "utf-8")

    assert line(world, cwd=str(world.project)) == "memory off"


def test_a_long_name_of_a_project_is_cut(tmp_path: Path) -> None:
    world = World(tmp_path, "x" * (MAX_NAME_CHARS + 1))

    assert line(world, cwd=str(world.project)) == f"memory {'x' * MAX_NAME_CHARS}: nothing yet"

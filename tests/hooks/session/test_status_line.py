"""The folder that the status line is about, and the limits of its input and its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.hooks.session import status_line as module
from memory_fabric.hooks.session.status_line import MAX_NAME_CHARS, status_line
from store.support import World


def line(world: World, **given: Any) -> str:
    return status_line(json.dumps(given).encode(), world.environ)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_status_line_is_about_the_project_folder_or_else_the_current_folder(
    world: World,
) -> None:
    folder, expected = str(world.project), "memory billing: nothing yet"

    assert line(world, cwd="/", workspace={"project_dir": folder}) == expected
    assert line(world, cwd=folder, workspace="x", session_id=3) == expected
    assert line(world, cwd="") == ""


def test_the_status_line_is_empty_for_input_above_the_size_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = json.dumps({"cwd": str(world.project)}).encode()
    monkeypatch.setattr(module, "MAX_INPUT_BYTES", len(given))

    assert status_line(given, world.environ) != ""
    assert status_line(given + b" ", world.environ) == ""


def test_the_status_line_cuts_a_long_project_name(tmp_path: Path) -> None:
    world = World(tmp_path, "x" * (MAX_NAME_CHARS + 1))

    assert line(world, cwd=str(world.project)) == f"memory {'x' * MAX_NAME_CHARS}: nothing yet"

"""The house in which the brief's examples are played."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house that nobody has lived in yet."""
    return House(Path(os.path.realpath(tmp_path)))

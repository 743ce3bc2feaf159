"""A simulated client for the tests of the handlers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulated_client import SimulatedClient


@pytest.fixture
def client(tmp_path: Path) -> SimulatedClient:
    """A client in a new project with an empty memory."""
    return SimulatedClient(Path(os.path.realpath(tmp_path)))

"""A project and a machine for the tests of imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing.past import Machine
from memory_fabric.importing.items import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """The project `shop`."""
    (tmp_path / "shop").mkdir()
    home = tmp_path / "home"
    return Here("shop", (str(tmp_path / "shop"),), str(home), str(home / ".claude"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A user's machine without sessions."""
    return Machine(tmp_path)

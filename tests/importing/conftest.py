"""A project for the readers of other programs' memories."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.importing.items import Here


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """The project `shop`."""
    (tmp_path / "shop").mkdir()
    home = tmp_path / "home"
    return Here("shop", (str(tmp_path / "shop"),), str(home), str(home / ".claude"))

"""A new shell for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a new project, with an empty home."""
    return Shell(tmp_path)

"""A new shell for each test, empty or with something in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.doctor.doctoring import DECISION, PLUGIN, USER, configure
from cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in a new project, with an empty home."""
    return Shell(tmp_path)


@pytest.fixture
def enabled(shell: Shell) -> Shell:
    """A shell whose project remembers one thing, with the plugin enabled."""
    shell.remember(DECISION)
    configure(shell, USER, enabledPlugins={PLUGIN: True})
    return shell

"""A repository and two machines that exchange through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sync.repositories import Machine, Repository, pair


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A bare repository that is empty."""
    return Repository(tmp_path)


@pytest.fixture
def machines(tmp_path: Path, repository: Repository) -> tuple[Machine, Machine]:
    """A desk and a laptop, tied to the repository."""
    return pair(tmp_path, repository)


@pytest.fixture
def desk(machines: tuple[Machine, Machine]) -> Machine:
    """The first machine."""
    return machines[0]


@pytest.fixture
def laptop(machines: tuple[Machine, Machine]) -> Machine:
    """The second machine."""
    return machines[1]

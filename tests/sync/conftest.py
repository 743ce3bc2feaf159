"""A repository and two machines that exchange through it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sync.repositories import Machine, Repository, copied, pair


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A bare repository that is empty."""
    return Repository(tmp_path)


@pytest.fixture(scope="session")
def tied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two machines tied to a repository: to copy it takes less than to tie them."""
    folder = tmp_path_factory.mktemp("tied")
    pair(folder, Repository(folder))
    return folder


@pytest.fixture
def machines(tied: Path, tmp_path: Path, repository: Repository) -> tuple[Machine, Machine]:
    """A desk and a laptop, tied to the repository."""
    return copied(tied, tmp_path)


@pytest.fixture
def desk(machines: tuple[Machine, Machine]) -> Machine:
    """The first machine."""
    return machines[0]


@pytest.fixture
def laptop(machines: tuple[Machine, Machine]) -> Machine:
    """The second machine."""
    return machines[1]

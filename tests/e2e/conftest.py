"""Homes for the end-to-end tests: empty, or with the plugin installed as README says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.harness.home import REPOSITORY, Home, clone


@pytest.fixture(scope="session")
def marketplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone of the repository, which is its own marketplace."""
    return clone(tmp_path_factory.mktemp("clone") / "memory-fabric")


@pytest.fixture(scope="session")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that the script makes of this checkout, which is its own marketplace."""
    target = tmp_path_factory.mktemp("package") / "memory-fabric"
    script = str(REPOSITORY / "scripts/package")
    done = subprocess.run([sys.executable, script, target], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def installed_home(tmp_path_factory: pytest.TempPathFactory, packaged: Path) -> Iterator[Home]:
    """A home with the package installed by the client, which others are copied from."""
    home = Home(tmp_path_factory.mktemp("installed") / "machine")
    home.install(packaged)
    yield home
    home.close()


@pytest.fixture
def empty_home(tmp_path: Path) -> Iterator[Home]:
    """A home in which nothing is installed."""
    home = Home(tmp_path / "machine")
    yield home
    home.close()


@contextmanager
def homes(folder: Path, installed: Home) -> Iterator[Callable[[], Home]]:
    """Make homes with the plugin installed; close them at the end.

    A hook fails open, so a broken one looks like a silent one: afterwards the logs must be empty.
    """
    made: list[Home] = []

    def make() -> Home:
        home = Home(folder / f"machine-{len(made)}")
        home.copy_from(installed)
        made.append(home)
        return home

    yield make
    for home in made:
        home.close()
    assert [home.log for home in made if home.log] == []


@pytest.fixture
def new_home(tmp_path: Path, installed_home: Home) -> Iterator[Callable[[], Home]]:
    """Makes homes with the plugin installed, which installs its packages by itself."""
    with homes(tmp_path, installed_home) as make:
        yield make


@pytest.fixture
def home(new_home: Callable[[], Home]) -> Home:
    """A home with the plugin installed and its packages at hand: no test waits for PyPI."""
    home = new_home()
    home.bring_packages()
    return home


@pytest.fixture(scope="module")
def shared_home(
    tmp_path_factory: pytest.TempPathFactory, installed_home: Home
) -> Iterator[Callable[[], Home]]:
    """Makes homes like `home` for fixtures whose sessions several tests of a module ask about."""
    with homes(tmp_path_factory.mktemp("shared"), installed_home) as make:

        def ready() -> Home:
            home = make()
            home.bring_packages()
            return home

        yield ready

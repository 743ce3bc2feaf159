"""The packages of the extra: where they are looked for, and what is said if they are missing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
import pytest

from memory_fabric.setup import packages
from memory_fabric.sharing.team import driver
from team.homes import SPACE, Home, made
from team.postgres import ANN, Cluster

PLUGIN = Path(__file__).parents[2] / "plugin"
SITE = Path(os.path.abspath(psycopg.__file__)).parents[1]


@pytest.fixture
def ann(tmp_path: Path, postgres: Cluster, empty_database: str) -> Home:
    """A home that joined, and does not know the folder of the tests' packages."""
    dsn = made(postgres, empty_database, tmp_path)
    home = Home(tmp_path, "ann", ANN)
    home.join(dsn[ANN])
    home.tie(packages="")
    return home


def test_a_sync_succeeds_after_the_missing_database_driver_is_installed(
    ann: Home,
) -> None:
    ann.remember("The order events use Kafka", "--type", "decision")
    assert ann.work() == 1 and ann.state.cause == "DriverMissing"

    ann.install(driver.TEAM)
    ann.release()

    assert ann.work() == 0
    assert ann.waiting == 0 and ann.state.cause == ""


def test_joining_again_saves_the_folder_of_the_required_packages(
    ann: Home, postgres: Cluster
) -> None:
    [tie] = ann.json("team", "status")
    assert tie["space"] == SPACE
    dsn = ann.known_tie.dsn

    ann.join(dsn)

    assert ann.known_tie.packages == str(SITE)
    assert ann.work() == 0


def test_without_the_plugin_a_missing_database_driver_is_reported_with_a_pip_command(
    tmp_path: Path,
) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from memory_fabric.config import Settings; from memory_fabric.sharing.team import driver; "
        "driver.install(Settings(sys.argv[2], sys.argv[2]))"
    )

    done = subprocess.run(
        [packages.base_interpreter(), "-I", "-S", "-c", program, str(PLUGIN), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    said = done.stderr.splitlines()[-1]
    assert "DriverMissing" in said and "psycopg, cryptography, mnemonic" in said
    assert "pip install '.[team]' in a clone" in said

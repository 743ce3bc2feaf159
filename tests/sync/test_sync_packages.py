"""The exchange by git with the packages of its own extra alone, without a driver of PostgreSQL."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from command_line import ROOT, Done
from memory_fabric.setup import packages
from memory_fabric.sharing.team import driver
from sync.repositories import Machine, Repository
from team.homes import SITE

KAFKA = "The order events use Kafka"
# The command line as the plugin starts it: on an interpreter without packages, with those of
# plugin/requirements.lock.
PROGRAM = (
    "import sys; sys.path[:0] = sys.argv[1:3]; del sys.argv[1:3]; "
    "from memory_fabric.cli.main import main; code = main(); "
    "assert not any(name.partition('.')[0].startswith('psycopg') for name in sys.modules); "
    "sys.exit(code)"
)
FIRST = "annotated_doc markdown_it mdurl pygments rich shellingham typer".split()


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A folder with the packages of the command line."""
    folder = tmp_path / "first"
    folder.mkdir()
    for name in FIRST:
        (folder / name).symlink_to(SITE / name)
    return folder


def run(machine: Machine, first: Path, *words: str, **variables: str) -> Done:
    """Run `memory-fabric` as a process that finds no package but those in `first`."""
    given = (str(ROOT / "plugin"), str(first), *words)
    done = subprocess.run(
        [packages.base_interpreter(), "-I", "-S", "-c", PROGRAM, *given],
        capture_output=True,
        text=True,
        env={**machine.hooks.environ, **variables},
        cwd=machine.hooks.project,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_sync_by_git_works_without_the_postgresql_driver(
    tmp_path: Path, repository: Repository, first: Path
) -> None:
    desk, laptop = Machine(tmp_path, "desk"), Machine(tmp_path, "laptop")
    desk.install(driver.SYNC)
    asked = run(desk, first, "sync", "git", repository.url, "--space", "shop", "--json")
    assert asked.status == 0, asked.err
    laptop.tied(repository, asked.json["words"])

    desk.say(KAFKA)
    assert desk.known_tie.packages == "" and desk.work() == 0
    laptop.now()
    assert laptop.decisions() == [KAFKA]

    laptop.say("Payments are idempotent")
    laptop.now()
    done = run(desk, first, "sync", "now")
    assert done.status == 0, done.err
    assert desk.decisions() == ["Payments are idempotent", KAFKA]
    shown = run(desk, first, "sync", "git", "status")
    assert shown.status == 0 and "2 machines wrote there" in shown.out


def test_sync_by_git_downloads_no_packages_if_those_for_a_team_are_installed(
    tmp_path: Path, repository: Repository, first: Path
) -> None:
    desk = Machine(tmp_path, "desk")
    desk.install(driver.TEAM)

    done = run(desk, first, "sync", "git", repository.url)

    assert done.status == 0, done.err
    assert "Downloading" not in done.out and desk.work() == 0


def test_sync_by_git_lists_only_its_own_missing_packages(
    tmp_path: Path, repository: Repository, first: Path
) -> None:
    desk = Machine(tmp_path, "desk")

    done = run(desk, first, "sync", "git", repository.url, CLAUDE_PLUGIN_DATA="")

    assert done.status != 0
    assert "missing here (cryptography, mnemonic)" in done.err
    assert "memory-fabric sync git again" in done.err and "'.[sync]'" in done.err
    assert "psycopg" not in done.err and "team join" not in done.err


def test_sync_pins_the_package_versions_of_the_team_feature_except_the_postgresql_driver() -> None:
    sync, team = (pins(f"{kind}.lock") for kind in (driver.SYNC, driver.TEAM))

    assert set(sync.items()) < set(team.items())
    assert set(driver.PACKAGES[driver.SYNC]) < set(sync)
    assert not [name for name in sync if name.startswith("psycopg")]


def pins(name: str) -> dict[str, str]:
    """The pins of a lock with their hashes, by package."""
    lock = (ROOT / "plugin" / name).read_text("utf-8")
    return dict(re.findall(r"^([a-z-]+)(==.*(?:\n .*)*)", lock, re.MULTILINE))

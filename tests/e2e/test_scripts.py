"""Scripts that lack something: they fail with the remedy, and never pass by skipping."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.harness.home import REPOSITORY

FILES = (
    "scripts/prepare",
    "scripts/test",
    "tests/requirements.lock",
    "plugin/semantic.lock",
    "plugin/team.lock",
    "tests/e2e/node.lock",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts and their locks alone, in a folder where nothing is prepared."""
    for name in (*FILES, "tests/e2e/package-lock.json", "tests/e2e/newer/package-lock.json"):
        target = tmp_path / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, target)
    return tmp_path / "checkout"


@pytest.fixture
def few_programs(tmp_path: Path) -> Path:
    """A folder for PATH that holds dirname and nothing else."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "dirname").symlink_to(shutil.which("dirname") or "dirname")
    return programs


def test_the_prepare_script_fails_with_a_remedy_if_no_package_index_is_reachable(
    checkout: Path, few_programs: Path
) -> None:
    offline = {"PATH": str(few_programs), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}

    done = subprocess.run(
        [sys.executable, "-I", checkout / "scripts/prepare"],
        env=offline,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "check that pip reaches a package index" in done.stderr.splitlines()[-1]
    assert not (checkout / ".venv/prepared").exists()


def test_the_test_script_fails_with_a_remedy_if_python_is_missing(
    checkout: Path, few_programs: Path
) -> None:
    done = subprocess.run(
        ["/bin/sh", checkout / "scripts/test"],
        env={"PATH": str(few_programs)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "no Python >= 3.11 on PATH" in done.stderr
    assert "apt-get install" in done.stderr

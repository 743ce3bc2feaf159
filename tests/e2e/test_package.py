"""scripts/package: what it makes is small, fit for the plugin directory, and works installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.harness.home import REPOSITORY, Home
from e2e.harness.result import blocks
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
QUESTION = "Which database should the analytics service talk to?"
NEVER = {"tests", "benchmarks", "evals", "pictures", "node_modules", "__pycache__", ".venv", ".git"}


def package(target: Path) -> subprocess.CompletedProcess[str]:
    """Run the script for a folder."""
    command = [sys.executable, str(REPOSITORY / "scripts/package"), str(target)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the script makes of this checkout."""
    target = tmp_path_factory.mktemp("package") / "memory-fabric"
    done = package(target)
    assert done.returncode == 0, done.stderr
    return target


def files_of(folder: Path) -> list[Path]:
    """The files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_package_passes_the_strict_checks_of_the_plugin_directory(
    empty_home: Home, packaged: Path
) -> None:
    said = empty_home.claude(
        "plugin", "validate", "--profile", "directory", "--strict", str(packaged)
    )

    assert "Validation passed" in said and "nothing to report" in said


def test_the_installed_package_is_small_and_its_hooks_answer(
    empty_home: Home, packaged: Path
) -> None:
    home = empty_home
    home.install(packaged)
    home.bring_packages()
    installed = home.program.parents[1]

    files = files_of(installed)
    home.session(Script(prompts=(DECISION,)))
    [request, *_] = home.session(Script(prompts=(QUESTION,))).main_texts

    assert len(files) <= 700 and sum(path.stat().st_size for path in files) <= 8_000_000
    assert {part for path in files for part in path.relative_to(installed).parts} & NEVER == set()
    assert any("PostgreSQL" in block for block in blocks(request))
    assert home.log == ""


def test_no_page_of_the_package_links_to_what_is_left_out(packaged: Path) -> None:
    dead = [
        (page.relative_to(packaged), target)
        for page in packaged.rglob("*.md")
        for target in re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]

    assert dead == []


def test_a_second_package_replaces_the_first(packaged: Path) -> None:
    (packaged / "plugin/leftover.py").write_text("")

    done = package(packaged)

    assert done.returncode == 0 and not (packaged / "plugin/leftover.py").exists()


def test_a_folder_with_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ann")

    done = package(tmp_path)

    assert done.returncode == 1 and str(tmp_path) in done.stderr
    assert (tmp_path / "letter.txt").read_text() == "Dear Ann"


@pytest.mark.parametrize("place", [".", "..", "docs/package"])
def test_the_checkout_itself_is_never_written_over(place: str) -> None:
    done = package(REPOSITORY / place)

    assert done.returncode == 1 and "name another folder" in done.stderr
    assert not (REPOSITORY / "docs/package").exists()

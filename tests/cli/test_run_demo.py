"""scripts/demo: the story of two days through the real hooks."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.shell import ROOT
from cli.terminal import TerminalStream
from memory_fabric.cli import demo as story
from memory_fabric.hooks.table import PATIENCE


def bare_environment(folder: Path) -> dict[str, str]:
    """An environment with an empty home, a Python without packages, and a scratch folder."""
    for name in ("home", "scratch"):
        (folder / name).mkdir()
    python: str = sys._base_executable  # type: ignore[attr-defined]
    return {
        "PATH": os.defpath,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "scratch"),
        "MEMORY_FABRIC_PYTHON": python,
        PATIENCE: "20",
    }


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    return bare_environment(tmp_path)


def tell(environ: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in any folder."""
    return subprocess.run(
        [ROOT / "scripts/demo"], env=environ, cwd=cwd, capture_output=True, text=True, timeout=120
    )


class Told(NamedTuple):
    """The demo as it ended, and what was left in its folders."""

    done: subprocess.CompletedProcess[str]
    left: list[Path]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("demo")
    done = tell(bare_environment(folder), folder)
    return Told(done, [path for path in folder.rglob("*") if path.parent != folder])


def test_the_demo_shows_two_days_of_work_and_the_install_commands(demo: Told) -> None:
    done = demo.done

    assert done.returncode == 0, done.stdout + done.stderr
    _, _, tuesday = done.stdout.partition("Tuesday")
    told = " ".join(tuesday.split())
    assert story.RULED in told and story.CHOSEN in told and story.LESSON in told
    assert f"“{story.RULE}” (noted as: " in told and "(in MEMORY.md)" in told
    [id_] = re.findall(r"note Instead of: ([0-9a-f]{8})\.", told)
    assert f"replaces {id_}: “{story.DECISION}” (noted as: " in told
    [corrected] = re.findall(r"\$ memory-fabric why ([0-9a-f]{8})", told)
    assert f"Undone: remembered decision {corrected}" in told
    assert done.stdout.count("✓") == 8 and "✗" not in done.stdout
    for fact in ("why: ", "said by: you", "entities: ", "stored in: "):
        assert f"\n{fact}" in done.stdout
    # The commands that README gives for a clone.
    assert (
        "To install it: scripts/package dist/memory-fabric, then\n"
        f"  claude plugin marketplace add {ROOT}/dist/memory-fabric\n"
        "  claude plugin install memory-fabric@memory-fabric\n"
    ) in done.stdout


def test_the_demo_fits_two_screens_of_80_columns(demo: Told) -> None:
    shown = demo.done.stdout.replace(str(ROOT), "/clone").splitlines()

    assert max(map(len, shown)) <= 80
    assert len(shown) <= 72
    assert not [line for line in shown if "\033" in line]


def test_the_demo_leaves_no_files_behind(demo: Told) -> None:
    assert demo.left == []


def test_the_demo_fails_if_memory_is_switched_off(bare: dict[str, str], tmp_path: Path) -> None:
    done = tell(bare | {"MEMORY_FABRIC": "off"}, tmp_path)

    assert done.returncode == 1
    assert "✗ Monday's rule and decision are known" in done.stdout
    assert done.stdout.count("✓") == 1  # an unrelated prompt is told nothing
    assert "The demo failed. MEMORY_FABRIC turns it off" in done.stdout


def test_the_demo_fails_when_a_hook_fails(bare: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "plugin-folder"
    shutil.copytree(ROOT / "plugin", root / "plugin", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "hooks.json", root)
    (root / "hooks").mkdir()
    (root / "hooks/launch").write_text("#!/bin/sh\necho broken >&2\nexit 7\n", "utf-8")
    (root / "hooks/launch").chmod(0o755)
    module = [bare["MEMORY_FABRIC_PYTHON"], "-m", "memory_fabric.cli.demo"]
    environ = bare | {"PYTHONPATH": str(root / "plugin"), "CLAUDE_PLUGIN_ROOT": str(root)}

    done = subprocess.run(module, env=environ, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1
    assert "✗ SessionStart works (exit code 7: broken)" in done.stdout


def test_the_demo_fails_without_the_plugin_folder(bare: dict[str, str], tmp_path: Path) -> None:
    module = [bare["MEMORY_FABRIC_PYTHON"], "-m", "memory_fabric.cli.demo"]
    environ = bare | {"PYTHONPATH": str(ROOT / "plugin"), "CLAUDE_PLUGIN_ROOT": str(tmp_path)}

    done = subprocess.run(module, env=environ, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 1 and not done.stdout
    assert "hooks.json" in done.stderr


def test_the_demo_names_the_required_python_version_if_python_is_missing(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("dirname", "sh"):
        found = next(p for p in os.defpath.split(":") if os.path.exists(os.path.join(p, name)))
        (programs / name).symlink_to(os.path.join(found, name))
    nowhere = {"PATH": str(programs), "HOME": str(tmp_path), "MEMORY_FABRIC_PYTHON_PLACES": "/none"}

    done = tell(nowhere, tmp_path)

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr


@pytest.mark.parametrize(("columns", "width"), [("200", 80), ("60", 60), ("20", 40)])
def test_the_demo_wraps_its_lines_to_the_screen_but_not_too_narrowly(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", screen)

    story.say("a" + " b" * 200)
    story.say("a" + " b" * 200, story.BOLD, label="Claude")

    lines = screen.getvalue().splitlines()
    labelled = [line for line in lines if line.startswith(" ")]
    assert labelled[0].startswith(" Claude   a b") and labelled[1].startswith(" " * 10 + "b")
    for wrapped in (lines, labelled):
        assert width - 2 < max(map(len, wrapped)) <= width
    assert "\033" not in screen.getvalue()


def test_the_demo_is_coloured_only_in_a_terminal_without_no_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = TerminalStream()
    monkeypatch.setattr(sys, "stdout", screen)
    story.say("bold", story.BOLD, story.RED)
    story.say("plain")
    monkeypatch.setenv("NO_COLOR", "1")
    story.say("bold", story.BOLD)

    assert screen.getvalue() == "\033[1;31mbold\033[0m\nplain\nbold\n"

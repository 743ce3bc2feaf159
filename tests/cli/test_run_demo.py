"""scripts/demo: the two-session story through the real hooks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.shell import ROOT
from memory_fabric.cli.demo import story


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home, a Python without packages, and a scratch folder."""
    for name in ("home", "scratch"):
        (tmp_path / name).mkdir()
    python: str = sys._base_executable  # type: ignore[attr-defined]
    return {
        "PATH": os.defpath,
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "scratch"),
        "MEMORY_FABRIC_PYTHON": python,
    }


def tell(environ: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the script in any folder."""
    return subprocess.run(
        [ROOT / "scripts/demo"], env=environ, cwd=cwd, capture_output=True, text=True, timeout=120
    )


def test_the_demo_shows_notes_recalled_and_corrected_and_how_to_install(
    bare: dict[str, str], tmp_path: Path
) -> None:
    done = tell(bare, tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    _, _, second = done.stdout.partition("Session 2")
    told = " ".join(second.replace("│", " ").split())
    assert story.RULED in told and story.CHOSEN in told and story.LESSON in told
    [id_] = re.findall(r"note Instead of: ([0-9a-f]{8})\.", told)
    assert f"replaces {id_}: The analytics DB uses MongoDB" in told
    assert "At the end of the summary, list what was settled" in done.stdout
    assert done.stdout.count("Memory notes. When something") == 1
    assert done.stdout.count("✓") == 8 and "✗" not in done.stdout
    assert re.search(r"A prompt's hook took \d+\.\d bare starts of Python", done.stdout)
    assert f"claude plugin marketplace add {ROOT}" in done.stdout
    assert "claude plugin install memory-fabric@memory-fabric" in done.stdout


def test_every_hook_of_the_story_has_its_box(bare: dict[str, str], tmp_path: Path) -> None:
    done = tell(bare, tmp_path)

    for name in ("UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SessionEnd"):
        assert f"╭─ {name} ─" in done.stdout
    for name in ("SessionStart (startup)", "SessionStart (compact)", "SubagentStart"):
        assert f"╭─ {name} ─" in done.stdout
    boxes = [line for line in done.stdout.splitlines() if line.startswith(("╭", "│", "╰"))]
    assert {len(line) for line in boxes} == {100}
    assert "\033" not in done.stdout


def test_the_demo_leaves_nothing_behind(bare: dict[str, str], tmp_path: Path) -> None:
    tell(bare, tmp_path)

    assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_the_demo_fails_when_the_memory_did_not_arrive(
    bare: dict[str, str], tmp_path: Path
) -> None:
    done = tell(bare | {"MEMORY_FABRIC": "off"}, tmp_path)

    assert done.returncode == 1
    assert "✗ session 2 starts with what session 1 noted" in done.stdout
    assert "The memory did not arrive. MEMORY_FABRIC turns it off" in done.stdout


def test_without_a_usable_python_the_demo_names_the_remedy(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("dirname", "sh"):
        found = next(p for p in os.defpath.split(":") if os.path.exists(os.path.join(p, name)))
        (programs / name).symlink_to(os.path.join(found, name))
    nowhere = {"PATH": str(programs), "HOME": str(tmp_path), "MEMORY_FABRIC_PYTHON_PLACES": "/none"}

    done = tell(nowhere, tmp_path)

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr

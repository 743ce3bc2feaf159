"""The wheel: it holds the plugin's folder, so what needs the hooks works without a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launchers.support import ROOT, START
from memory_fabric.clients import hook_files
from memory_fabric.errors import BadInput
from memory_fabric.hooks.table import PATIENCE

pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel, and a home and project of its own."""

    program: Path
    home: Path
    project: Path

    def environ(self) -> dict[str, str]:
        """The variables of a shell, with the plugin's patience on a busy machine alone."""
        patience = {PATIENCE: os.environ[PATIENCE]}
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **patience}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the command line."""
        return subprocess.run(
            [self.program, *arguments],
            env=self.environ(),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def hook(self, command: str) -> dict[str, Any]:
        """The answer of a hook to a session's start."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env=self.environ(),
            cwd=self.project,
            input=START,
            capture_output=True,
        )
        assert done.returncode == 0 and not done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel of this checkout, beside the packages of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    _run([sys.executable, "-m", "venv", "--without-pip", folder / "env"])
    # Builds the wheel and installs it.
    into = ["--python", folder / "env/bin/python"]
    _run([*pip, *into, "install", "--no-deps", "--no-cache-dir", ROOT])
    [site] = folder.glob("env/lib/python*/site-packages")
    assert len([*site.glob("agent_memory_fabric-*.dist-info")]) == 1
    (site / "packages.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    return folder / "env"


def _run(command: list[Any]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    """The wheel's command, in an empty home."""
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home, project / ".git"):
        folder.mkdir(parents=True)
    return Installed(environment / "bin/memory-fabric", home, project)


def test_setup_in_an_installed_wheel_registers_and_removes_working_hooks(
    installed: Installed,
) -> None:
    hooks = installed.home / ".codex/hooks.json"

    written = installed.run("setup", "--client", "codex", "--yes")
    [start] = json.loads(hooks.read_text("utf-8"))["hooks"]["SessionStart"]
    answer = installed.hook(start["hooks"][0]["command"])
    removed = installed.run("setup", "--client", "codex", "--remove", "--yes")

    assert written.returncode == removed.returncode == 0, written.stderr + removed.stderr
    assert "memory-fabric" in answer["systemMessage"]
    assert not hooks.exists()


def test_the_demo_in_the_wheel_runs_and_deletes_its_files(installed: Installed) -> None:
    told = installed.run("demo")

    assert told.returncode == 0, told.stdout + told.stderr
    assert "Nothing is left behind" in told.stdout


def test_doctor_in_the_wheel_finds_no_fault_in_the_hooks(installed: Installed) -> None:
    done = installed.run("doctor", "--prove", "--json")

    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert [check for check in checks.values() if check["state"] == "fault"] == []
    assert done.returncode == 0
    for canary in ("canary comes out", "canary by the server"):
        assert checks[canary]["state"] == "ok"


@pytest.mark.parametrize("client", sorted(hook_files.FILES))
def test_missing_hook_files_are_reported_for_every_client(client: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not installed next to this package"):
        hook_files.changes(client, str(tmp_path), str(tmp_path / "hooks.json"), "", mcp=True)

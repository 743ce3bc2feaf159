"""doctor: an installation that was broken on purpose, and what --fix mends of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.doctor.doctoring import (
    look,
)
from cli.shell import ROOT, Shell
from launchers.support import PYTHON, make_root, old_python, python_without_fts5
from memory_fabric.setup import packages
from waiting import until


@pytest.fixture
def plugin(shell: Shell, tmp_path: Path) -> dict[str, str]:
    """Variables that name a plugin folder and a runtime folder of a test's own."""
    root, data = Path(make_root(str(tmp_path / "plugin-root"))), tmp_path / "data"
    shutil.copy(ROOT / "hooks.json", root)
    (root / "plugin/requirements.lock").write_text("", "utf-8")
    data.mkdir()
    return {"CLAUDE_PLUGIN_ROOT": str(root), "CLAUDE_PLUGIN_DATA": str(data)}


def test_doctor_reports_a_missing_event_in_hooks_json(shell: Shell, plugin: dict[str, str]) -> None:
    path = Path(plugin["CLAUDE_PLUGIN_ROOT"]) / "hooks.json"
    whole = json.loads(path.read_text("utf-8"))
    del whole["hooks"]["Stop"]
    well = look(shell, **plugin)["plugin files"]
    path.write_text(json.dumps(whole), "utf-8")
    broken = look(shell, **plugin)["plugin files"]

    assert well["state"] == "ok"
    assert broken["state"] == "fault" and broken["told"].endswith("name Stop")


def test_doctor_reports_a_non_executable_launcher(shell: Shell, plugin: dict[str, str]) -> None:
    launcher = Path(plugin["CLAUDE_PLUGIN_ROOT"]) / "hooks/launch"
    launcher.chmod(0o644)

    check = look(shell, **plugin)["plugin files"]

    assert check["state"] == "fault" and f"chmod +x {launcher}" in check["remedy"]


def test_doctor_fix_deletes_the_cached_path_of_a_missing_interpreter(
    shell: Shell, plugin: dict[str, str]
) -> None:
    remembered = Path(plugin["CLAUDE_PLUGIN_DATA"]) / "interpreter"
    remembered.write_text("/nowhere/python3\n", "utf-8")

    found = look(shell, **plugin)["hooks' python"]
    fixed = look(shell, "--fix", **plugin)["hooks' python"]

    assert found["state"] == "warning" and found["fixable"] and "/nowhere" in found["told"]
    assert not remembered.exists()
    assert "was deleted" in fixed["mended"][0] and "/nowhere" not in fixed["told"]


@pytest.mark.parametrize(("wrong", "why"), [(old_python, "3.9"), (python_without_fts5, "fts5")])
def test_doctor_reports_a_python_interpreter_that_hooks_cannot_use(
    shell: Shell, plugin: dict[str, str], wrong: Callable[[str], str], why: str
) -> None:
    data = Path(plugin["CLAUDE_PLUGIN_DATA"])
    (data / "interpreter").write_text(wrong(str(data / "python")) + "\n", "utf-8")

    found = look(shell, **plugin)["hooks' python"]
    fixed = look(shell, "--fix", **plugin)["hooks' python"]

    assert found["state"] == "fault" and found["fixable"] and why in found["told"]
    assert fixed["mended"] and not (data / "interpreter").exists()


def test_doctor_accepts_a_python_usable_by_hooks(shell: Shell, plugin: dict[str, str]) -> None:
    (Path(plugin["CLAUDE_PLUGIN_DATA"]) / "interpreter").write_text(PYTHON + "\n", "utf-8")

    assert look(shell, **plugin)["hooks' python"] == {
        "name": "hooks' python",
        "state": "ok",
        "told": PYTHON,
        "remedy": "",
        "area": "Installation",
        "fixable": False,
    }


def test_doctor_fix_restarts_an_interrupted_package_installation(
    shell: Shell, plugin: dict[str, str]
) -> None:
    data = plugin["CLAUDE_PLUGIN_DATA"]
    half = Path(data) / "env-cpython-300-00000000"
    half.mkdir()

    found = look(shell, **plugin)["packages"]
    fixed = look(shell, "--fix", **plugin)["packages"]
    until(lambda: not packages.is_running(data), "the installation ends")

    assert found["state"] == "warning" and found["fixable"] and half.name in found["told"]
    assert "started again" in fixed["mended"][0]
    assert not half.exists()


def test_a_failed_package_installation_is_reported_and_fix_retries_at_once(
    shell: Shell, plugin: dict[str, str]
) -> None:
    data = Path(plugin["CLAUDE_PLUGIN_DATA"])
    why = {"time": "2026-01-01", "environment": "env-x", "reason": "No network.", "remedy": ""}
    (data / "install-error").write_text(json.dumps(why), "utf-8")

    found = look(shell, **plugin)["packages"]
    look(shell, "--fix", **plugin)
    until(lambda: not packages.is_running(str(data)), "the installation ends")

    assert found["state"] == "fault" and "No network." in found["told"]
    assert "No network." not in packages.last_error(str(data))

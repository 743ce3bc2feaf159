"""doctor: the last session, and how its findings are shown."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.doctor.doctoring import (
    LOCAL,
    PROJECT,
    USER,
    configure,
    hooks_for,
    look,
    settings_file,
)
from cli.shell import ROOT, Shell


def test_doctor_shows_the_date_of_the_last_session_in_which_a_hook_ran(enabled: Shell) -> None:
    none = look(enabled)["last session"]
    before = time.time()
    event = {"hook_event_name": "SessionStart", "session_id": "s-1", "source": "startup"}
    enabled.start("hook", stdin=json.dumps(event), CLAUDE_PROJECT_DIR=str(enabled.project))

    seen = look(enabled)["last session"]

    assert none["state"] == "warning" and "no hook has ever run" in none["told"]
    days = {time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (before, time.time())}
    assert seen["state"] == "ok" and any(day in seen["told"] for day in days)


def test_doctor_fix_does_not_change_the_settings_of_claude_code(enabled: Shell) -> None:
    for scope in (USER, PROJECT, LOCAL):
        configure(enabled, scope, hooks=hooks_for("Stop"), disableAllHooks=True)
        settings_file(enabled, scope).chmod(0o644)
    (enabled.user_home / ".claude.json").write_text("{}", "utf-8")
    theirs = [settings_file(enabled, scope) for scope in (USER, PROJECT, LOCAL)]
    theirs.append(enabled.user_home / ".claude.json")
    before = [(path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in theirs]

    look(enabled, "--fix")

    after = [(path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns) for path in theirs]
    assert after == before


def test_doctor_groups_checks_by_area_and_ends_with_a_summary(enabled: Shell) -> None:
    enabled.database.chmod(0o644)

    done = enabled.run("doctor", PYTHONIOENCODING="utf-8")
    mended = enabled.run("doctor", "--fix", PYTHONIOENCODING="utf-8")

    assert done.status == 0
    *lines, last = done.out.splitlines()
    headings = [line for line in lines if not line.startswith(" ")]
    assert headings == ["Installation", "Claude Code", "At work", "Storage"]
    well = sum(line.startswith("  ✓ ok ") for line in lines)
    odd = sum(line.startswith("  ! warning ") for line in lines)
    assert well > 20 and odd > 0
    assert last.startswith(f"{well + odd} checks: {well} fine, {odd} to look at.")
    assert "--fix" in last and "removed other users' rights on " in mended.out


def test_doctor_prints_ascii_symbols_if_the_terminal_lacks_unicode(shell: Shell) -> None:
    done = shell.run("doctor", PYTHONIOENCODING="ascii:backslashreplace")

    assert "+ ok" in done.out and "✓" not in done.out and "\\u2713" not in done.out


def test_doctor_does_not_create_the_data_folder(shell: Shell) -> None:
    data = shell.user_home / "runtime"

    look(shell, CLAUDE_PLUGIN_DATA=str(data))

    assert not data.exists()


def test_doctor_prove_fails_when_the_plugin_folder_is_missing(tmp_path: Path, shell: Shell) -> None:
    shutil.copytree(ROOT / "plugin", tmp_path / "alone/plugin")
    command = [sys.executable, "-m", "memory_fabric.cli", "doctor", "--prove"]
    environ = {**shell.environ, "PYTHONPATH": str(tmp_path / "alone/plugin")}

    done = subprocess.run(command, env=environ, cwd=shell.project, capture_output=True, text=True)

    assert done.returncode == 2 and "claude plugin install" in done.stderr


@pytest.mark.parametrize(
    ("modules", "faults"),
    [
        (
            (
                "hooks/handlers/memory_context.py",
                "hooks/handlers/graph_memory_inject.py",
                "servers/mcp/stdio_server.py",
                "cli/commands/forget.py",
            ),
            {
                "canary comes out",
                "canary at a subagent",
                "canary by the server",
                "canary is forgotten",
            },
        ),
        (
            ("hooks/handlers/auto_remember.py",),
            {"canary by Stop", "canary in decisions.jsonl", "canary in MEMORY.md"},
        ),
    ],
)
def test_a_broken_module_fails_only_the_doctor_checks_that_need_it(
    shell: Shell, tmp_path: Path, modules: tuple[str, ...], faults: set[str]
) -> None:
    root = tmp_path / "broken"
    for name in ("hooks", "plugin"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "hooks.json", root)
    for module in modules:
        (root / "plugin/memory_fabric" / module).write_text("raise OSError('cut')\n", "utf-8")

    checks = look(shell, "--prove", CLAUDE_PLUGIN_ROOT=str(root))

    canary = {name: check for name, check in checks.items() if name.startswith("canary")}
    assert {name for name, check in canary.items() if check["state"] == "fault"} == faults
    assert len(canary) == 9
    assert all("cut" in canary[name]["told"] for name in faults)

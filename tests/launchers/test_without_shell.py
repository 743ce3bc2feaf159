"""hooks/launch.py: what hooks/launch and bin/memory-fabric do, without a shell, as on Windows."""

from __future__ import annotations

import importlib.util
import json
import ntpath
import os
import posixpath
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from launchers.support import PROMPT, PYTHON, ROOT, run
from launchers.test_launch_marks import FOLDER, PROJECT, Launched, launched
from launchers.test_status_line import Bar, bar
from memory_fabric.clients import hook_files, hooks_json, set_up
from memory_fabric.clients.hooks_json import Edited
from memory_fabric.store.home import launch_marks

__all__ = ["bar", "launched"]
FILE = os.path.join(ROOT, "hooks", "launch.py")


@pytest.fixture
def script() -> ModuleType:
    """The launcher as a module, so that its functions can be given Windows's paths."""
    spec = importlib.util.spec_from_file_location("launch_without_shell", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_hook_without_a_shell_answers_like_one_with_a_shell(bar: Bar) -> None:
    asked = {**json.loads(PROMPT), "prompt": "How do the workers use Redis for pagination?"}
    own = ("CLAUDE_PLUGIN_ROOT",)
    environ = {k: v for k, v in bar.hooks.environ.items() if k not in own}

    done = run([PYTHON, "-I", "-S", FILE], environ, json.dumps(asked).encode())

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"The workers use Redis" in done.stdout


def test_a_hook_run_without_a_shell_reads_the_client_option_and_the_event_folder(bar: Bar) -> None:
    place = str(bar.hooks.project)
    event = {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}
    event["cwd"] = place
    own = ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR")
    environ = {k: v for k, v in bar.hooks.environ.items() if k not in own}
    command = [PYTHON, "-I", "-S", FILE, "--client", "codex"]

    done = run(command, environ, json.dumps(event).encode(), place)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Redis" in done.stdout and b"Claude ends a message" not in done.stdout


def test_a_hook_run_without_a_shell_exits_early_if_no_rule_or_fix_exists(
    launched: Launched,
) -> None:
    shell = f"{PYTHON} -I -S"
    launched.plugin.root = str(ROOT)

    def acts(kind: str) -> bool:
        environ = {**launched.plugin.environ(), "CLAUDE_PROJECT_DIR": FOLDER}
        program = f"import sys; sys.path[:0] = [{os.path.dirname(FILE)!r}]; import launch, os; "
        program += f"print(launch.may_act({kind!r}, os.environ))"
        return run([*shell.split(), "-c", program], environ).stdout == b"True\n"

    assert not acts("rules") and not acts("fixes")
    launched.mark("fixes", "projects", PROJECT)
    assert not acts("rules") and acts("fixes")
    launched.mark("rules")
    assert acts("rules")


def test_commands_and_the_server_run_without_a_shell(bar: Bar) -> None:
    command = [PYTHON, "-I", "-S", FILE, "--run"]
    environ = {**bar.hooks.environ, "MEMORY_FABRIC_PYTHON": sys.executable}

    line = run([*command, "statusline"], environ, bar.given())
    listed = run([*command, "recall", "Redis", "--json"], environ)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    server = run([*command, "mcp"], environ, json.dumps(hello).encode() + b"\n")

    assert line.stdout == b"memory project: 1 known\n"
    assert listed.returncode == 0 and b"The workers use Redis" in listed.stdout
    assert json.loads(server.stdout.splitlines()[0])["id"] == 1


def test_a_session_works_with_only_the_system_calls_of_windows(bar: Bar) -> None:
    """Every call that only POSIX has is taken away from Python, and `os.name` says Windows."""
    without_posix = os.path.join(os.path.dirname(__file__), "without_posix.py")
    [environment] = bar.hooks.data.glob("env-*")  # of packages that need not be installed
    (environment / "Scripts").mkdir()
    (environment / "Scripts" / "python.exe").symlink_to(PYTHON)

    def fire(name: str, *arguments: str, session: str = "s1", **fields: Any) -> str:
        event = {"hook_event_name": name, "session_id": session, **fields}
        command = [PYTHON, "-I", "-S", without_posix, FILE, *arguments]
        done = run(command, bar.hooks.environ, json.dumps(event).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    started = fire("SessionStart", source="startup")
    fire("UserPromptSubmit", prompt="From now on, answer in German please.")
    fire("PreToolUse", "rules", tool_name="Bash", tool_input={"command": "ls"})
    noted = fire("Stop", last_assistant_message="Noted fact: The staging shop is in Frankfurt.")
    told = fire("UserPromptSubmit", session="s2", prompt="Where is the staging shop?")
    fire("SessionEnd", reason="other")

    assert "memory-fabric is on" in started and "The workers use Redis" in started
    assert "remembered fact" in noted and "Frankfurt" in told
    assert bar.hooks.log == []
    assert not (bar.hooks.data / "install.lock").exists()
    line = [PYTHON, "-I", "-S", without_posix, FILE, "--run", "statusline"]
    assert run(line, bar.hooks.environ, bar.given()).stdout.startswith(b"memory project: 3 known")


def test_a_hook_with_missing_files_does_not_stop_the_session(tmp_path: Path) -> None:
    alone = tmp_path / "hooks" / "launch.py"
    alone.parent.mkdir()
    alone.write_text(Path(FILE).read_text("utf-8"), "utf-8")

    done = run([PYTHON, "-I", "-S", str(alone)], {}, PROMPT)

    assert (done.returncode, done.stdout) == (0, b"") and b"dispatch.py" in done.stderr


@pytest.mark.parametrize(
    ("folder", "paths", "below"),
    [
        ("/srv/the app/", posixpath, "/srv/the app"),
        ("/", posixpath, ""),
        ("/a/../b", posixpath, None),
        ("a", posixpath, None),
        (r"C:\Users\Ann\the app", ntpath, "/C/Users/Ann/the app"),
        ("C:\\", ntpath, "/C"),
        (r"C:\a\..\b", ntpath, None),
        (r"C:a", ntpath, None),
        (r"\\nas\share\a", ntpath, None),
        ("", ntpath, None),
    ],
)
def test_the_launcher_and_python_agree_on_the_path_of_a_folders_project_file(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: str, paths: Any, below: str | None
) -> None:
    assert script.place_below(folder, paths) == below
    for name in ("splitdrive", "normpath"):
        monkeypatch.setattr(os.path, name, getattr(paths, name))
    monkeypatch.setattr(os, "sep", paths.sep)
    assert launch_marks.is_plain(folder) == (below is not None)
    if below is not None:
        assert launch_marks.place_path("/m", folder).endswith(f"places{below}/@project")


def test_setup_on_windows_registers_python_and_recognises_its_own_hooks(tmp_path: Path) -> None:
    root = str(tmp_path / "memory-fabric")
    os.symlink(ROOT, root)

    groups = set_up.hook_groups(root, "nt")
    text = hooks_json.with_hooks(Edited('{"model": "opus"}'), groups, "settings.json").text

    hooks = [hook for listed in groups.values() for group in listed for hook in group["hooks"]]
    file = os.path.join(root, "hooks", "launch.py")
    words = (os.path.realpath(PYTHON), "-I", "-S", file)
    assert {(hook["command"], *hook["args"][:3]) for hook in hooks} == {words}
    assert {tuple(hook["args"][3:]) for hook in hooks} == {(), ("rules",), ("fixes",)}
    ours = hooks_json.ours_test(hooks_json.LAUNCHER)
    for found in (text, text.replace(file, r"C:\\x\\memory-fabric\\hooks\\launch.py")):
        assert hooks_json.without_hooks(Edited(found), ours, "s").text == '{"model": "opus"}'


def test_commands_for_windows_need_no_unix_shell() -> None:
    hook = hook_files.command("codex", str(ROOT), ["rules"], "nt")

    assert hook == f"{os.path.realpath(PYTHON)} -I -S {FILE} --client codex rules"


def test_the_command_file_for_windows_has_windows_line_endings() -> None:
    text = Path(ROOT, "bin", "memory-fabric.cmd").read_bytes()

    assert text.count(b"\n") == text.count(b"\r\n") > 3
    assert rb'"%~dp0..\hooks\launch.py" --run %*' in text

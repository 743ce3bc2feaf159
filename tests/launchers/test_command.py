"""bin/memory-fabric: how the command and the MCP server come to their Python."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from launchers.conftest import InstalledPlugin
from launchers.support import PROMPT, PYTHON, old_python, run, write
from waiting import until

# Stands where the command line stands: tells what it was given, ends as it is told.
COMMAND_LINE = """\
import json, os, sys
def main():
    report = {"argv": sys.argv, "stdin": sys.stdin.read(), "executable": sys.executable,
              "prefix": sys.prefix, "path": sys.path[0], "pid": os.getpid(),
              "root": os.environ["CLAUDE_PLUGIN_ROOT"], "data": os.environ["CLAUDE_PLUGIN_DATA"]}
    print(json.dumps(report))
    return 7 if "fail" in sys.argv else None
"""


# Stands where the server stands.
SERVER = """\
import json, os, sys
def main():
    print(json.dumps({"executable": sys.executable, "bare": [sys.flags.isolated, sys.flags.no_site],
                      "stdin": sys.stdin.read(), "pid": os.getpid()}))
"""


@pytest.fixture
def ready(plugin: InstalledPlugin) -> InstalledPlugin:
    """A plugin with a command line behind it, and a Python that needs no packages for it."""
    package = os.path.join(plugin.root, "plugin", "memory_fabric")
    write(os.path.join(package, "cli", "__init__.py"), "")
    write(os.path.join(package, "cli", "main.py"), COMMAND_LINE)
    write(os.path.join(package, "servers", "__init__.py"), "")
    write(os.path.join(package, "servers", "mcp", "stdio_server.py"), SERVER)
    write(os.path.join(plugin.root, "plugin", "requirements.lock"), "# needs nothing\n")
    plugin.extra = {"MEMORY_FABRIC_PYTHON": sys.executable, "PIP_CONFIG_FILE": os.devnull}
    return plugin


def call(
    plugin: InstalledPlugin,
    *arguments: str,
    data: bytes = b"",
    without: tuple[str, ...] = (),
    **more: str,
) -> subprocess.CompletedProcess[bytes]:
    """The command, finished."""
    environ = {k: v for k, v in {**plugin.environ(), **more}.items() if k not in without}
    return run([os.path.join(plugin.root, "bin", "memory-fabric"), *arguments], environ, data)


def told(result: subprocess.CompletedProcess[bytes]) -> Mapping[str, Any]:
    """Return what the command line said it was given."""
    found: Mapping[str, Any] = json.loads(result.stdout)
    return found


def test_arguments_stdin_and_exit_code_pass_through_the_launcher(ready: InstalledPlugin) -> None:
    result = call(ready, "recall", "two words", "", "--json", "fail", data=b"from stdin")

    report = told(result)
    assert (result.returncode, result.stderr) == (7, b"")
    assert report["argv"] == ["memory-fabric", "recall", "two words", "", "--json", "fail"]
    assert report["stdin"] == "from stdin"
    assert report["path"] == os.path.join(ready.root, "plugin")
    assert call(ready, "status").returncode == 0


def test_a_configured_python_runs_with_its_own_packages(ready: InstalledPlugin) -> None:
    assert told(call(ready, "status"))["prefix"] == sys.prefix


def test_a_configured_python_that_cannot_run_is_reported(ready: InstalledPlugin) -> None:
    ready.python_on_path()

    result = call(ready, "status", MEMORY_FABRIC_PYTHON="/nonexistent/python")

    assert (result.returncode, result.stdout) == (1, b"")
    assert b"/nonexistent/python" in result.stderr


def test_the_command_finds_the_plugin_if_run_through_a_symlink(ready: InstalledPlugin) -> None:
    links = os.path.join(ready.home, "bin")
    os.makedirs(links)
    os.symlink(os.path.join(ready.root, "bin", "memory-fabric"), os.path.join(links, "inner"))
    os.symlink("inner", os.path.join(links, "memory-fabric"))
    environ = ready.environ()
    del environ["CLAUDE_PLUGIN_ROOT"]

    result = run([os.path.join(links, "memory-fabric"), "status"], environ)

    assert told(result)["root"] == ready.root


def test_the_command_can_be_called_with_a_relative_path(ready: InstalledPlugin) -> None:
    for command, folder in (("./memory-fabric", "bin"), ("bin/memory-fabric", ".")):
        result = run([command], ready.environ(), cwd=os.path.join(ready.root, folder))
        assert told(result)["root"] == ready.root


def test_a_command_run_in_a_shell_uses_the_runtime_folder_of_the_installed_plugin(
    ready: InstalledPlugin,
) -> None:
    folder = os.path.join(ready.home, ".claude", "plugins", "data")
    for name in ("memory-fabric-inline", "memory-fabric-memory-fabric", "other-plugin"):
        write(os.path.join(folder, name, "interpreter"), f"{PYTHON}\n")

    unset = ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA")
    assert told(call(ready, without=unset))["data"] == f"{folder}/memory-fabric-memory-fabric"

    os.unlink(os.path.join(folder, "memory-fabric-memory-fabric", "interpreter"))
    assert told(call(ready, without=unset))["data"] == f"{folder}/memory-fabric-inline"


def test_the_command_ignores_environment_variables_of_another_plugin(
    ready: InstalledPlugin,
) -> None:
    report = told(call(ready, CLAUDE_PLUGIN_ROOT="/somewhere/else"))

    assert report["root"] == ready.root
    assert report["data"] == os.path.join(ready.home, ".claude", "memory-fabric", "runtime")


def test_the_runtime_folder_is_in_the_memory_home_if_no_plugin_is_installed(
    ready: InstalledPlugin,
) -> None:
    home = os.path.join(ready.home, "fabric")

    report = told(call(ready, without=("CLAUDE_PLUGIN_DATA",), MEMORY_FABRIC_HOME=home))

    assert report["data"] == os.path.join(home, "runtime")


def test_the_command_reports_the_required_python_if_none_is_found(plugin: InstalledPlugin) -> None:
    result = call(plugin, "status")

    assert (result.returncode, result.stdout) == (1, b"")
    assert b"Python 3.11 or newer" in result.stderr

    old_python(os.path.join(plugin.path, "python3"))
    assert b"only an older one" in call(plugin, "status").stderr


def test_the_hook_subcommand_runs_the_hook_launcher(ready: InstalledPlugin) -> None:
    ready.python_on_path()

    result = call(ready, "hook", data=PROMPT)

    assert (result.returncode, result.stdout) == (0, b"")
    assert ready.report()["length"] == len(PROMPT)


def test_the_command_installs_missing_packages_and_continues(ready: InstalledPlugin) -> None:
    del ready.extra["MEMORY_FABRIC_PYTHON"]
    ready.python_on_path()

    first = call(ready, "status", data=b"kept")
    second = call(ready, "status")

    assert told(first)["executable"].startswith(os.path.join(ready.data, "env-"))
    assert told(first)["stdin"] == "kept"
    assert b"installing the packages of the commands, once (8 MB" in first.stderr
    assert second.stderr == b""
    assert told(second)["executable"] == told(first)["executable"]


def test_commands_explain_that_packages_are_missing_while_the_server_still_runs(
    ready: InstalledPlugin,
) -> None:
    del ready.extra["MEMORY_FABRIC_PYTHON"]
    ready.python_on_path()
    write(os.path.join(ready.root, "plugin", "requirements.lock"), "tinypkg==1.0\n")
    ready.extra["PIP_NO_INDEX"] = "1"

    result = call(ready, "status")

    assert (result.returncode, result.stdout) == (1, b"")
    assert b"its packages are not installed" in result.stderr
    assert b"install.log" in result.stderr
    assert told(call(ready, "mcp"))["executable"] == PYTHON
    # The hooks need none of it.
    assert ready.run_hook().returncode == 0
    assert ready.report()["executable"] == PYTHON


def test_during_installation_the_server_runs_and_a_command_reports_the_elapsed_time(
    ready: InstalledPlugin,
) -> None:
    ready.extra["MEMORY_FABRIC_PYTHON"] = ""
    write(ready.remembered(), f"{PYTHON}\n")
    with open(os.path.join(ready.data, "install.lock"), "wb") as held:  # an installer at work
        fcntl.flock(held, fcntl.LOCK_EX)
        served = call(ready, "mcp", data=b"asked")
        command = [os.path.join(ready.root, "bin", "memory-fabric"), "status"]
        waiting = subprocess.Popen(command, env=ready.environ(), stderr=subprocess.PIPE)
        assert waiting.stderr
        said = waiting.stderr.readline()
        waiting.kill()
        waiting.communicate(timeout=60)

    assert told(served) == {**told(served), "executable": PYTHON, "bare": [1, 1], "stdin": "asked"}
    assert served.stderr == b""
    assert b"are being installed, since " in said and b" s ago)" in said


def test_ctrl_c_while_waiting_for_packages_ends_the_command_without_a_traceback(
    ready: InstalledPlugin,
) -> None:
    del ready.extra["MEMORY_FABRIC_PYTHON"]
    write(ready.remembered(), f"{PYTHON}\n")
    lock = os.path.join(ready.data, "install.lock")
    command = [os.path.join(ready.root, "bin", "memory-fabric"), "status"]
    with open(lock, "wb") as held:  # as an installer that takes its time
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            command,
            env=ready.environ(),
            stderr=subprocess.PIPE,
            # A shell starts its background jobs deaf to it, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert waiting.stderr
        assert b"are being installed, since" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        rest = waiting.communicate(timeout=60)[1]

    assert (waiting.returncode, rest) == (130, b"")


def test_a_running_program_locks_its_python_environment(ready: InstalledPlugin) -> None:
    del ready.extra["MEMORY_FABRIC_PYTHON"]
    ready.python_on_path()
    first = told(call(ready, "status"))
    environment = os.path.dirname(os.path.dirname(first["executable"]))
    command = [os.path.join(ready.root, "bin", "memory-fabric"), "status"]
    program = (
        "import sys; sys.path.append(sys.argv[1]); import memory_fabric.setup.packages as i; "
        "print(i.held(sys.argv[2]))"
    )

    def held() -> bool:
        source = os.path.join(ready.root, "plugin")
        return b"True" in run([PYTHON, "-I", "-c", program, source, environment], {}).stdout

    server = subprocess.Popen(
        command, env=ready.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    until(held, "the server holds its environment")
    server.communicate(timeout=60)

    assert not held()


def test_the_launcher_process_is_replaced_by_python(ready: InstalledPlugin) -> None:
    command = [os.path.join(ready.root, "bin", "memory-fabric"), "status"]
    process = subprocess.Popen(
        command, env=ready.environ(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    output = process.communicate(timeout=60)[0]

    assert json.loads(output)["pid"] == process.pid

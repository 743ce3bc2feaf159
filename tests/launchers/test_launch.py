"""hooks/launch: which Python it finds, what it remembers, and what it says when there is none."""

from __future__ import annotations

import json
import os
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from launchers.conftest import InstalledPlugin
from launchers.support import (
    PROMPT,
    PYTHON,
    START,
    executable,
    old_python,
    python_without_fts5,
    read,
    run,
    without_root_powers,
    write,
)

# The shells of this machine that could be anyone's /bin/sh; scripts/prepare installs some.
POSSIBLE = ("sh", "dash", "bash", "bash --posix", "busybox sh", "mksh", "yash", "posh", "ksh93")
SHELLS = [
    f"/bin/{shell}"
    for shell in (*POSSIBLE, "zsh --emulate sh")
    if os.path.exists(f"/bin/{shell.split()[0]}")
]


def test_the_first_hook_caches_the_real_python_instead_of_its_shim(
    plugin: InstalledPlugin,
) -> None:
    shim = plugin.python_on_path()

    result = plugin.run_hook()

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert read(plugin.remembered()) == f"{PYTHON}\n"
    assert plugin.report()["executable"] == PYTHON != shim
    assert os.stat(plugin.remembered()).st_mode & 0o077 == 0


def test_a_cached_python_starts_in_isolated_mode_without_a_subprocess(
    plugin: InstalledPlugin,
) -> None:
    write(plugin.remembered(), f"{PYTHON}\n")

    result = plugin.run_hook(PATH="/nonexistent")

    report = plugin.report()
    assert (result.returncode, result.stderr) == (0, b"")
    assert (report["isolated"], report["no_site"], report["child_faults"]) == (1, 1, 0)
    assert report["argv"] == [os.path.join(plugin.root, "hooks", "dispatch.py")]


def test_the_launcher_replaces_a_pipe_found_in_place_of_its_cache_file(
    plugin: InstalledPlugin,
) -> None:
    os.makedirs(os.path.dirname(plugin.remembered()), exist_ok=True)
    os.mkfifo(plugin.remembered())
    plugin.python_on_path()

    result = plugin.run_hook()

    assert (result.returncode, result.stderr) == (0, b"")
    assert read(plugin.remembered()) == f"{PYTHON}\n"


def test_the_launcher_starts_child_processes_to_search_for_python(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()

    plugin.run_hook()

    assert plugin.report()["child_faults"] > 0  # so the zero above means something


def test_the_launcher_searches_again_when_the_cached_interpreter_is_gone(
    plugin: InstalledPlugin,
) -> None:
    write(plugin.remembered(), os.path.join(plugin.home, "removed", "python3.11") + "\n")
    plugin.python_on_path()

    plugin.run_hook()

    assert plugin.report()["executable"] == PYTHON
    assert read(plugin.remembered()) == f"{PYTHON}\n"


@pytest.mark.parametrize("content", ["", "\n", "relative/python", "/\n", "/etc/passwd\n"])
def test_the_launcher_searches_again_when_the_cached_path_is_not_a_program(
    plugin: InstalledPlugin, content: str
) -> None:
    write(plugin.remembered(), content)
    plugin.python_on_path()

    plugin.run_hook()

    assert plugin.report()["executable"] == PYTHON


def test_newer_pythons_are_tried_first_and_broken_ones_are_skipped(
    plugin: InstalledPlugin,
) -> None:
    executable(os.path.join(plugin.path, "python3.14"), "#!/bin/sh\necho not found >&2\nexit 127\n")
    old_python(os.path.join(plugin.path, "python3.13"))
    plugin.python_on_path("python3.12")

    result = plugin.run_hook()

    assert (result.stdout, result.stderr) == (b"", b"")
    assert plugin.report()["executable"] == PYTHON


def test_a_virtual_environment_on_the_path_resolves_to_its_base_python(
    plugin: InstalledPlugin,
) -> None:
    venv = os.path.join(plugin.home, "project", ".venv")
    write(os.path.join(venv, "pyvenv.cfg"), f"home = {os.path.dirname(PYTHON)}\n")
    os.makedirs(os.path.join(venv, "bin"))
    os.symlink(PYTHON, os.path.join(venv, "bin", "python3"))

    plugin.run_hook(PATH=f"{venv}/bin:{plugin.path}")

    assert plugin.report()["executable"] == PYTHON


def test_a_python_not_on_the_path_is_found_in_configured_folders(plugin: InstalledPlugin) -> None:
    places = os.path.join(plugin.home, "py thons")
    os.makedirs(places)
    os.symlink(PYTHON, os.path.join(places, "python3.11"))

    plugin.run_hook(MEMORY_FABRIC_PYTHON_PLACES=f"/nonexistent:{places}")

    assert plugin.report()["executable"] == PYTHON


def test_python_is_also_searched_in_the_folders_of_uv_and_pyenv(plugin: InstalledPlugin) -> None:
    managed = os.path.join(plugin.home, ".local/share/uv/python/cpython-3.12.1-linux/bin/python3")
    versions = os.path.join(plugin.home, ".pyenv/versions/3.13.0/bin/python3")
    for path in (managed, versions):
        executable(path, "")
    listing = (
        '. "$CLAUDE_PLUGIN_ROOT/hooks/find-python.sh"; '
        'try_python() { printf "%s\\n" "$1"; return 1; }; search_places'
    )
    environ = plugin.environ()
    del environ["MEMORY_FABRIC_PYTHON_PLACES"]

    tried = run(["/bin/sh", "-c", listing], environ).stdout.decode().splitlines()

    assert {managed, versions, "/usr/bin/python3.11", "/opt/homebrew/bin/python3"} <= set(tried)


def test_a_configured_python_takes_precedence_over_the_path(plugin: InstalledPlugin) -> None:
    stated = os.path.join(plugin.home, "my python")
    os.symlink(PYTHON, stated)

    plugin.run_hook(MEMORY_FABRIC_PYTHON=stated)

    assert plugin.report()["executable"] == PYTHON


def test_the_launcher_never_runs_python_from_a_relative_folder_in_path(
    plugin: InstalledPlugin,
) -> None:
    project = os.path.join(plugin.home, "project")
    ran = os.path.join(plugin.home, "ran")
    executable(os.path.join(project, "python3"), f"#!/bin/sh\n: > '{ran}'\n")

    result = run(
        [os.path.join(plugin.root, "hooks", "launch")],
        {**plugin.environ(), "PATH": f".:{plugin.path}"},
        PROMPT,
        cwd=project,
    )

    assert result.returncode == 0
    assert not os.path.exists(ran)


def test_eight_megabytes_on_stdin_reach_python_unchanged(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()
    data = b'{"prompt":"' + bytes(range(256)) * 32768 + b'"}'

    for _ in ("slow path", "fast path"):
        plugin.run_hook(data)
        report = plugin.report()
        assert (report["length"], report["checksum"]) == (len(data), zlib.crc32(data))


def test_several_concurrent_first_events_all_reach_python(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()
    paths = [f"{plugin.report_path}.{number}" for number in range(6)]

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda path: plugin.run_hook(REPORT=path), paths))

    assert [result.returncode for result in results] == [0] * 6
    assert all(os.path.exists(path) for path in paths)
    assert os.listdir(plugin.data) == ["interpreter"]


def test_the_runtime_folder_is_in_the_memory_home_if_plugin_variables_are_unset(
    plugin: InstalledPlugin,
) -> None:
    plugin.python_on_path()

    plugin.run_hook(without=("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"))

    report = plugin.report()
    runtime = os.path.join(plugin.home, ".claude", "memory-fabric", "runtime")
    assert (report["root"], report["data"]) == (plugin.root, runtime)
    assert read(os.path.join(runtime, "interpreter")) == f"{PYTHON}\n"


def test_a_configured_memory_home_contains_the_runtime_folder(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()

    plugin.run_hook(without=("CLAUDE_PLUGIN_DATA",), MEMORY_FABRIC_HOME="~/fabric")

    assert plugin.report()["data"] == os.path.join(plugin.home, "fabric", "runtime")


def test_the_launcher_ignores_environment_variables_of_another_plugin(
    plugin: InstalledPlugin,
) -> None:
    plugin.python_on_path()
    others = os.path.join(plugin.home, "others-data")
    os.makedirs(others)

    plugin.run_hook(CLAUDE_PLUGIN_ROOT=plugin.home, CLAUDE_PLUGIN_DATA=others)

    assert plugin.report()["root"] == plugin.root
    assert os.listdir(others) == []


@pytest.mark.parametrize("without", [("CLAUDE_PLUGIN_DATA", "HOME"), ("CLAUDE_PLUGIN_DATA",)])
def test_the_launcher_works_without_any_runtime_folder(
    plugin: InstalledPlugin, without: tuple[str, ...]
) -> None:
    plugin.python_on_path()
    below_a_file = os.path.join(plugin.remembered(), "below")
    write(plugin.remembered(), "")

    result = plugin.run_hook(without=without, MEMORY_FABRIC_HOME=below_a_file)

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert plugin.report()["isolated"] == 1


def test_the_launcher_works_with_a_read_only_runtime_folder(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()
    os.chmod(plugin.data, 0o500)

    command = without_root_powers([os.path.join(plugin.root, "hooks", "launch")])
    result = run(command, {**plugin.environ(), "PATH": f"{plugin.path}:/usr/bin:/bin"}, PROMPT)

    os.chmod(plugin.data, 0o700)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert plugin.report()["isolated"] == 1
    assert os.listdir(plugin.data) == []


def test_a_missing_dispatcher_script_does_not_block_the_prompt(plugin: InstalledPlugin) -> None:
    plugin.python_on_path()
    os.unlink(os.path.join(plugin.root, "hooks", "dispatch.py"))

    result = plugin.run_hook()

    assert (result.returncode, result.stdout) == (0, b"")  # Python's own answer would be exit 2


@pytest.mark.parametrize("event", [START, PROMPT, START.replace(b":", b": ")])
def test_a_missing_python_is_reported_once_with_a_remedy(
    plugin: InstalledPlugin, event: bytes
) -> None:
    results = [plugin.run_hook(event) for _ in range(3)]

    assert [result.returncode for result in results] == [0, 0, 0]
    assert [result.stderr for result in results] == [b"", b"", b""]
    assert [bool(result.stdout) for result in results] == [True, False, False]
    message = json.loads(results[0].stdout)
    assert list(message) == ["systemMessage"]
    assert "Python 3.11 or newer" in message["systemMessage"]


@pytest.mark.parametrize(
    "event",
    [
        b"",
        b"no json",
        b'{"hook_event_name":"PreCompact"}',
        b'{"hook_event_name":"Stop","last_assistant_message":"\\"hook_event_name\\":\\"SessionStart\\""}',
    ],
)
def test_a_missing_python_is_not_reported_for_invalid_or_irrelevant_hook_events(
    plugin: InstalledPlugin, event: bytes
) -> None:
    result = plugin.run_hook(event)

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    assert plugin.run_hook(START).stdout  # and did not use the notice up


def test_one_of_several_concurrent_hooks_prints_the_python_notice(plugin: InstalledPlugin) -> None:
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: plugin.run_hook(START), range(6)))

    assert sum(bool(result.stdout) for result in results) == 1


def test_a_large_event_is_read_completely_if_python_is_missing(plugin: InstalledPlugin) -> None:
    result = plugin.run_hook(PROMPT[:-1] + b',"rest":"' + b"x" * (8 << 20) + b'"}')

    assert result.returncode == 0
    assert json.loads(result.stdout)["systemMessage"]


def test_a_missing_python_is_reported_only_at_session_start_without_a_runtime_folder(
    plugin: InstalledPlugin,
) -> None:
    blocked = write(os.path.join(plugin.home, "file"), "")

    prompt = plugin.run_hook(PROMPT, CLAUDE_PLUGIN_DATA=f"{blocked}/below")
    start = plugin.run_hook(START, CLAUDE_PLUGIN_DATA=f"{blocked}/below")

    assert (prompt.stdout, prompt.stderr, start.stderr) == (b"", b"", b"")
    assert json.loads(start.stdout)["systemMessage"]


def test_an_old_python_is_reported_if_no_newer_python_is_found(plugin: InstalledPlugin) -> None:
    old_python(os.path.join(plugin.path, "python3"))

    message = json.loads(plugin.run_hook().stdout)["systemMessage"]

    assert "only an older one was found" in message


def test_sqlite_without_full_text_search_is_reported(plugin: InstalledPlugin) -> None:
    python_without_fts5(os.path.join(plugin.path, "python3.12"))
    old_python(os.path.join(plugin.path, "python3"))

    message = json.loads(plugin.run_hook().stdout)["systemMessage"]

    assert "FTS5" in message


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("uv", "uv python install"),
        ("brew", "brew install python"),
        ("apt-get", "sudo apt-get install python3"),
        ("dnf", "sudo dnf install python3"),
    ],
)
def test_the_python_notice_shows_the_install_command_for_this_machine(
    plugin: InstalledPlugin, tool: str, command: str
) -> None:
    executable(os.path.join(plugin.path, tool), "#!/bin/sh\nexit 1\n")

    message = json.loads(plugin.run_hook().stdout)["systemMessage"]

    assert command in message


def test_a_python_installed_later_is_used_and_its_removal_is_reported(
    plugin: InstalledPlugin,
) -> None:
    assert plugin.run_hook().stdout
    shim = plugin.python_on_path()

    plugin.run_hook()
    assert plugin.report()["executable"] == PYTHON

    os.unlink(shim)
    write(plugin.remembered(), "/nonexistent/python\n")
    assert plugin.run_hook().stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_launch_script_runs_in_any_posix_shell(plugin: InstalledPlugin, shell: str) -> None:
    plugin.python_on_path()

    command = [*shell.split(), os.path.join(plugin.root, "hooks", "launch")]
    result = run(command, plugin.environ(), PROMPT)

    assert (result.returncode, result.stderr) == (0, b"")
    assert plugin.report()["isolated"] == 1
    assert read(plugin.remembered()) == f"{PYTHON}\n"
    os.unlink(os.path.join(plugin.path, "python3"))
    os.unlink(plugin.remembered())
    told = run(command, plugin.environ(), START)
    assert (told.returncode, told.stderr) == (0, b"")
    assert "none was found" in json.loads(told.stdout)["systemMessage"]

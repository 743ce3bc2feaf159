"""The packages of the command line: what is installed, what is due, and what is in use."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memory_fabric import file_lock
from memory_fabric.setup import install_packages as installer
from memory_fabric.setup import packages
from memory_fabric.setup.packages import BACK_OFF_S, MARKER


class Plugin:
    """A plugin's folder with a lock file, and its folder for data."""

    def __init__(self, folder: Path) -> None:
        self.root, self.data_folder = folder / "plugin-root", folder / "data"
        (self.root / "plugin").mkdir(parents=True)
        self.data_folder.mkdir()
        self.lock = self.root / "plugin" / "requirements.lock"
        self.lock.write_text("tinypkg==1\n", "utf-8")
        self.both = str(self.data_folder), str(self.root)

    @property
    def environment(self) -> Path:
        return Path(packages.folder_of("env", *self.both))

    def install(self, mode: int = 0o755) -> Path:
        """Make an environment as an installation does; return its Python."""
        python = self.environment / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("", "utf-8")
        python.chmod(mode)
        (self.environment / MARKER).touch()
        return python

    def fail(self, age_s: float, environment: str = "") -> None:
        """Note a failure as an installation does, so many seconds ago."""
        path = packages.error_file(self.both[0])
        noted = {"time": "then", "reason": "It  broke.", "remedy": "Mend it."}
        noted |= {"environment": environment or self.environment.name}
        Path(path).write_text(json.dumps(noted), "utf-8")
        os.utime(path, (time.time() - age_s, time.time() - age_s))


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def test_an_environment_is_used_once_it_is_complete_and_its_python_can_run(plugin: Plugin) -> None:
    assert packages.environment_python(*plugin.both) is None
    python = plugin.install()
    assert packages.environment_python(*plugin.both) == str(python)

    python.chmod(0o600)
    is_runnable = packages.environment_python(*plugin.both)
    python.chmod(0o755)
    (plugin.environment / MARKER).unlink()

    assert is_runnable is None
    assert packages.environment_python(*plugin.both) is None


def test_the_folder_of_packages_depends_on_the_lock_file_and_needs_both_folders(
    plugin: Plugin,
) -> None:
    first = plugin.environment
    plugin.lock.write_text("tinypkg==2\n", "utf-8")

    assert first.parent == plugin.data_folder and first.name.startswith("env-")
    assert plugin.environment != first
    assert packages.folder_of("env", "", plugin.both[1]) == ""
    assert packages.folder_of("env", plugin.both[0], "") == ""
    assert packages.folder_of("serve", *plugin.both) == ""


def test_an_installation_is_due_only_while_packages_are_missing(plugin: Plugin) -> None:
    assert packages._is_due(*plugin.both, insist=False)
    plugin.install()
    assert not packages._is_due(*plugin.both, insist=False)
    assert not packages._is_due(*plugin.both, insist=True)
    assert not packages._is_due("", "", insist=True)


@pytest.mark.parametrize(
    ("age_s", "is_due"),
    [(60, False), (BACK_OFF_S - 60, False), (BACK_OFF_S + 60, True), (-60, True)],
)
def test_after_a_failure_an_installation_is_due_again_when_the_back_off_ends(
    plugin: Plugin, age_s: float, is_due: bool
) -> None:
    plugin.fail(age_s)

    assert packages._is_due(*plugin.both, insist=False) is is_due
    assert packages._is_due(*plugin.both, insist=True)


def test_a_failure_of_another_release_does_not_delay_an_installation(plugin: Plugin) -> None:
    plugin.fail(60, environment="env-other")

    assert packages._is_due(*plugin.both, insist=False)


def test_the_last_failure_is_told_with_its_remedy_and_time(plugin: Plugin) -> None:
    assert packages.last_error(plugin.both[0]) == ""
    plugin.fail(60)
    assert packages.last_error(plugin.both[0]) == "It broke. Mend it. (then)"


def test_incomplete_environments_are_those_without_a_marker(plugin: Plugin) -> None:
    plugin.install()
    for name in ("env-b", "env-a", "serve-a"):
        (plugin.data_folder / name).mkdir()

    halves = packages.half_installed(plugin.both[0])

    assert halves == [str(plugin.data_folder / name) for name in ("env-a", "env-b")]
    assert packages.half_installed(str(plugin.data_folder / "none")) == []


def test_an_installation_runs_while_its_lock_is_held(plugin: Plugin) -> None:
    data = plugin.both[0]
    assert not packages.is_running(data)
    lock = packages.acquire(data)
    assert packages.is_running(data)
    with pytest.raises(BlockingIOError):
        packages.acquire(data)
    os.close(lock)

    assert not packages.is_running(data)
    assert (plugin.data_folder / "install.lock").stat().st_mode & 0o777 == 0o600


def test_an_environment_is_held_while_a_program_uses_it(plugin: Plugin, tmp_path: Path) -> None:
    assert not packages.held(str(tmp_path / "none"))
    plugin.install()
    environment = str(plugin.environment)
    assert not packages.held(environment)
    marker = os.open(plugin.environment / MARKER, os.O_RDONLY)
    assert file_lock.take(marker, shared=True)

    assert packages.held(environment)

    os.close(marker)
    assert not packages.held(environment)


def test_files_of_an_installation_have_fixed_places() -> None:
    assert packages.remembered_file("/data") == "/data/interpreter"
    assert packages.remembered_file("") == ""
    assert packages.lock_file("env", "/root") == "/root/plugin/requirements.lock"
    assert packages.lock_file("serve", "/root") == "/root/plugin/serve.lock"


def test_a_stated_python_that_cannot_run_is_reported(
    plugin: Plugin, capfd: pytest.CaptureFixture[str]
) -> None:
    stated = {"MEMORY_FABRIC_PYTHON": str(plugin.lock)}

    assert packages.run(["status"], stated) == 1
    assert packages.main(["status"]) == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first == f"memory-fabric: MEMORY_FABRIC_PYTHON names {plugin.lock}, which cannot be run."
    assert second == "memory-fabric: packages.py is run by bin/memory-fabric."


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        ("Error: No module named venv", "This Python cannot make virtual environments."),
        ("OSError: No space left on device", "The disk is full."),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "A package differs from the one"),
        ("Read timed out.", "The packages could not be fetched."),
        ("No matching distribution found for x", "The package index does not offer"),
        ("[Errno 13] Permission denied: 'x'", "A folder cannot be written."),
        ("Connection broken: No space left", "The disk is full."),
        ("", "The packages could not be installed."),
    ],
)
def test_the_output_of_a_failed_installer_is_explained(printed: str, cause: str) -> None:
    assert installer.explained(printed)[0].startswith(cause)


def test_an_installer_gets_only_variables_that_reach_an_index(tmp_path: Path) -> None:
    environ = {
        "HOME": "/home/ann",
        "PIP_INDEX_URL": "https://index.example",
        "UV_INDEX_WORK_USERNAME": "ann",
        "PIP_TARGET": "/elsewhere",
        "UV_PYTHON": "python2",
        "PYTHONPATH": "/elsewhere",
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "PATH": os.pathsep.join(["/usr/bin", "bin", str(tmp_path / "bin"), str(tmp_path)]),
        "PIP_CONFIG_FILE": "/etc/pip.conf",
    }

    kept = installer.tool_environment(environ)

    assert {"HOME", "PIP_INDEX_URL", "UV_INDEX_WORK_USERNAME"} <= set(kept)
    assert not {"PIP_TARGET", "UV_PYTHON", "PYTHONPATH", "PIP_CONFIG_FILE"} & set(kept)
    assert kept["PATH"].split(os.pathsep)[:-1] == ["/usr/bin"]
    assert installer.tool_environment(environ | {"PIP_CONFIG_FILE": os.devnull})[
        "PIP_CONFIG_FILE"
    ] == (os.devnull)


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ('{"env": {"PIP_INDEX_URL": "x"}}', False),
        ('{"env": {"OTHER": "x"}}', True),
        ("{}", True),
        ("[]", False),
        ("{torn", False),
    ],
)
def test_a_variable_that_the_project_may_have_set_does_not_reach_the_installer(
    tmp_path: Path, file: str, text: str, is_kept: bool
) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / file).write_text(text, "utf-8")
    environ = {"PIP_INDEX_URL": "https://index.example", "CLAUDE_PROJECT_DIR": str(tmp_path)}

    kept = installer.tool_environment(environ | {"HOME": "/home/ann"})

    assert ("PIP_INDEX_URL" in kept) is is_kept
    assert "HOME" in kept


def test_settings_of_a_project_that_are_no_file_are_not_trusted(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    environ = {"PIP_INDEX_URL": "https://index.example", "CLAUDE_PROJECT_DIR": str(tmp_path)}

    assert "PIP_INDEX_URL" not in installer.tool_environment(environ)


def test_the_folder_with_the_users_home_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{"env": {"PIP_INDEX_URL": "x"}}', "utf-8")
    monkeypatch.setenv("HOME", str(home))

    for folder in (home, tmp_path):
        kept = installer.tool_environment(
            {"PIP_INDEX_URL": "https://index.example", "CLAUDE_PROJECT_DIR": str(folder)}
        )
        assert "PIP_INDEX_URL" in kept
        assert kept["PATH"] == str(home / ".local/bin")


def test_a_private_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "error"
    installer._write(str(path), "one", beside="error.new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        installer._write(str(tmp_path / "folder"), "two", beside="folder.new")

    assert (path.read_text("utf-8"), path.stat().st_mode & 0o777) == ("one", 0o600)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["error", "folder"]

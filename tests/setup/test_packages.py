"""The packages of the command line: its environment, failed installations, and variables of pip."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from memory_fabric.setup import install_packages as installer
from memory_fabric.setup import packages
from memory_fabric.setup.packages import BACK_OFF_S, MARKER

INDEX_URL = "https://index.example"


class Plugin:
    """A plugin's folder with a lock file, and its folder for data."""

    def __init__(self, folder: Path) -> None:
        self.root, self.data_folder = folder / "plugin-root", folder / "data"
        (self.root / "plugin").mkdir(parents=True)
        self.data_folder.mkdir()
        self.lock = self.root / "plugin" / "requirements.lock"
        self.lock.write_text("tinypkg==1\n", "utf-8")
        self.folders = str(self.data_folder), str(self.root)

    @property
    def environment(self) -> Path:
        return Path(packages.folder_of("env", *self.folders))

    def usable_python(self) -> str | None:
        return packages.environment_python(*self.folders)

    def install(self) -> Path:
        """Make an environment as an installation does; return its Python."""
        python = self.environment / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch(0o755)
        (self.environment / MARKER).touch()
        return python

    def fail(self, age_s: float) -> None:
        """Record a failure as an installation does, so many seconds ago."""
        failure = {"time": "then", "reason": "It  broke.", "remedy": "Mend it."}
        path = packages.error_file(str(self.data_folder))
        content = json.dumps({**failure, "environment": self.environment.name})
        Path(path).write_text(content, "utf-8")
        os.utime(path, (time.time() - age_s, time.time() - age_s))


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def test_an_environment_is_used_once_it_is_complete_and_its_python_can_run(plugin: Plugin) -> None:
    assert plugin.usable_python() is None
    python = plugin.install()
    assert plugin.usable_python() == str(python)
    assert not packages.start_again(*plugin.folders)

    python.chmod(0o600)
    assert plugin.usable_python() is None

    python.chmod(0o755)
    (plugin.environment / MARKER).unlink()
    assert plugin.usable_python() is None


@pytest.mark.parametrize(
    ("age_s", "is_due"),
    [(60, False), (BACK_OFF_S - 60, False), (BACK_OFF_S + 60, True), (-60, True)],
)
def test_after_a_failure_an_installation_is_due_again_when_the_back_off_ends(
    plugin: Plugin, age_s: float, is_due: bool
) -> None:
    plugin.fail(age_s)

    assert packages._is_due(*plugin.folders, insist=False) is is_due
    assert packages._is_due(*plugin.folders, insist=True)


def test_the_last_failure_is_told_with_its_remedy_and_time(plugin: Plugin) -> None:
    plugin.fail(60)

    assert packages.last_error(str(plugin.data_folder)) == "It broke. Mend it. (then)"


def test_incomplete_environments_are_those_without_a_marker(plugin: Plugin) -> None:
    plugin.install()
    for name in ("env-b", "env-a", "serve-a"):
        (plugin.data_folder / name).mkdir()

    found = packages.half_installed(str(plugin.data_folder))

    assert found == [str(plugin.data_folder / name) for name in ("env-a", "env-b")]
    assert packages.half_installed(str(plugin.data_folder / "none")) == []


def test_a_stated_python_that_cannot_run_is_reported(
    plugin: Plugin, capfd: pytest.CaptureFixture[str]
) -> None:
    assert packages.run(["status"], {"MEMORY_FABRIC_PYTHON": str(plugin.lock)}) == 1

    assert capfd.readouterr().err == (
        f"memory-fabric: MEMORY_FABRIC_PYTHON names {plugin.lock}, which cannot be run.\n"
    )


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
    kept = {"HOME": "/home/ann", "PIP_INDEX_URL": INDEX_URL, "UV_INDEX_WORK_USERNAME": "ann"}
    dropped = {
        "PIP_TARGET": "/elsewhere",
        "UV_PYTHON": "python2",
        "PYTHONPATH": "/elsewhere",
        "PIP_CONFIG_FILE": "/etc/pip.conf",
    }
    folders = ["/usr/bin", "bin", str(tmp_path / "bin"), str(tmp_path)]
    environ = {**kept, **dropped, "CLAUDE_PROJECT_DIR": str(tmp_path)}
    environ["PATH"] = os.pathsep.join(folders)

    given = installer.tool_environment(environ)
    without_file = installer.tool_environment(environ | {"PIP_CONFIG_FILE": os.devnull})

    assert given.items() >= kept.items()
    assert not dropped.keys() & given.keys()
    assert given["PATH"].split(os.pathsep)[:-1] == ["/usr/bin"]
    assert without_file["PIP_CONFIG_FILE"] == os.devnull


@pytest.mark.parametrize(
    ("file", "text", "is_kept"),
    [
        ("settings.json", '{"env": {"PIP_INDEX_URL": "x"}}', False),
        ("settings.local.json", '{"env": {"PIP_INDEX_URL": "x"}}', False),
        ("settings.json", '{"env": {"OTHER": "x"}}', True),
        ("settings.json", "{}", True),
        ("settings.json", "[]", False),
        ("settings.json", None, False),
    ],
)
def test_a_variable_that_the_project_may_have_set_does_not_reach_the_installer(
    tmp_path: Path, file: str, text: str | None, is_kept: bool
) -> None:
    path = tmp_path / ".claude" / file
    path.parent.mkdir()
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text, "utf-8")
    environ = {"PIP_INDEX_URL": INDEX_URL, "CLAUDE_PROJECT_DIR": str(tmp_path), "HOME": "/home/ann"}

    given = installer.tool_environment(environ)

    assert ("PIP_INDEX_URL" in given, "HOME" in given) == (is_kept, True)


@pytest.mark.parametrize("folder", ["home", "."])
def test_the_users_own_settings_are_not_those_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{"env": {"PIP_INDEX_URL": "x"}}', "utf-8")
    monkeypatch.setenv("HOME", str(home))

    given = installer.tool_environment(
        {"PIP_INDEX_URL": INDEX_URL, "CLAUDE_PROJECT_DIR": str(tmp_path / folder)}
    )

    assert (given["PIP_INDEX_URL"], given["PATH"]) == (INDEX_URL, str(home / ".local/bin"))

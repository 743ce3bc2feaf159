"""The background installation: real processes, real venv and pip, a package from loopback."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from launchers.installation_site import Index, Site, version_in
from launchers.support import (
    PYTHON,
    ROOT,
    make_wheel,
    read,
    run,
    without_root_powers,
    write,
)
from memory_fabric.setup import install_packages as installer
from memory_fabric.setup import packages
from ports import free_port
from waiting import until


def closed_port() -> str:
    """An index address on loopback where nobody answers."""
    return f"http://127.0.0.1:{free_port()}/simple"


def test_packages_are_installed_once_by_a_background_process(site: Site) -> None:
    site.use_pip()
    assert site.installed() is None
    assert site.start() is True
    site.finished()

    python = site.installed()
    assert python and python.startswith(os.path.join(site.data, "env-"))
    assert version_in(python) == "1.0"
    assert site.start() is False
    assert site.ask("i.last_error(data)") == ""
    compiled = os.listdir(
        os.path.join(site.root, "plugin", "memory_fabric", "hooks", "__pycache__")
    )
    assert any(name.startswith("dispatcher.") for name in compiled)


def test_starting_an_installation_returns_at_once_and_detaches_the_installer(site: Site) -> None:
    site.index.open.clear()  # it answers nobody from here on

    assert site.start() is True

    pid = site.installer()
    assert os.getsid(pid) != os.getsid(0)
    assert os.readlink(f"/proc/{pid}/fd/0") == os.readlink(f"/proc/{pid}/fd/1") == os.devnull


def test_many_concurrent_starts_run_only_one_installation(site: Site) -> None:
    site.index.open.clear()
    command = site.command("i.start(data, root)")
    starters = [
        subprocess.Popen(command, env=site.environ, stdout=subprocess.PIPE) for _ in range(6)
    ]

    answers = [starter.communicate(timeout=60)[0].strip() for starter in starters]
    site.index.open.set()
    site.finished()

    assert sorted(answers) == [b"false"] * 5 + [b"true"]
    assert len([path for path in site.index.asked if path.startswith("/wheels/")]) == 1
    assert site.installed()


def test_an_installer_that_inherits_no_lock_still_prevents_a_second_installation(
    site: Site,
) -> None:
    source = os.path.join(site.root, "plugin")
    given = [source, site.data, site.root, str(packages.TAKES_IT)]
    command = [site.python, "-I", "-S", "-c", packages.INSTALLER, *given]
    site.index.open.clear()
    with subprocess.Popen(command, env=site.environ) as first:
        assert site.installer() == first.pid
        assert run(command, site.environ).returncode == 0  # and installed nothing
        site.index.open.set()

    assert first.returncode == 0 and site.installed()
    assert len([path for path in site.index.asked if path.startswith("/wheels/")]) == 1


def test_the_path_of_python_in_an_environment_depends_on_the_system() -> None:
    assert packages.python_in("/env", "posix") == "/env/bin/python"
    assert packages.python_in("/env", "nt") == os.path.join("/env", "Scripts", "python.exe")


def test_running_an_installation_command_returns_its_exit_code() -> None:
    assert packages.run_and_wait([PYTHON, "-I", "-S", "-c", "raise SystemExit(7)"]) == 7


@pytest.mark.parametrize("whole_group", [True, False])
def test_after_an_installer_is_killed_the_next_installation_succeeds(
    site: Site, whole_group: bool
) -> None:
    if not whole_group:
        site.use_pip()
    site.index.open.clear()
    assert site.start() is True
    until(lambda: bool(site.index.asked), "pip asks the index")
    pid = site.installer()

    if whole_group:
        os.killpg(pid, signal.SIGKILL)
    else:  # pip lives on and still writes: the lock is its as well
        os.kill(pid, signal.SIGKILL)
        assert site.start() is False
    site.index.open.set()
    site.finished()
    assert site.installed() is None
    assert len(site.environments()) == 1  # the half-built one

    assert site.start() is True
    site.finished()

    python = site.installed()
    assert python and version_in(python) == "1.0"
    assert len(site.environments()) == 1


def test_an_installation_removes_incomplete_environments_of_other_python_versions(
    site: Site,
) -> None:
    write(os.path.join(site.data, "env-cpython-299-00000000", "bin", "python"), "half")

    site.start()
    site.finished()

    assert site.installed()
    assert len(site.environments()) == 1


def test_changed_requirements_create_a_new_environment_and_remove_the_old_one(site: Site) -> None:
    site.start()
    site.finished()
    old = site.installed()

    site.require("2.0")
    assert site.installed() is None
    assert site.start() is True
    site.finished()

    new = site.installed()
    assert new and old and new != old
    assert version_in(new) == "2.0"
    assert not os.path.exists(old)


def test_each_python_interpreter_gets_its_own_environment(site: Site, tmp_path: Path) -> None:
    site.start()
    site.finished()
    old = site.installed()

    site.python = other_interpreter(str(tmp_path / "other"))
    assert site.installed() is None
    assert site.start() is True
    site.finished()

    new = site.installed()
    assert new and old and new != old
    assert version_in(new) == "1.0"


def other_interpreter(prefix: str, without: str = "") -> str:
    """The same Python, installed at another place; as Debian does it, one module may be missing."""
    python = os.path.join(prefix, "bin", os.path.basename(PYTHON))
    library = os.path.dirname(os.__file__)
    here = os.path.join(prefix, "lib", os.path.basename(library))
    os.makedirs(os.path.dirname(python))
    os.makedirs(here)
    shutil.copy(PYTHON, python)
    for name in set(os.listdir(library)) - {without, "site-packages", "__pycache__"}:
        os.symlink(os.path.join(library, name), os.path.join(here, name))
    return python


def test_an_environment_whose_python_was_removed_counts_as_not_installed(site: Site) -> None:
    site.start()
    site.finished()
    python = site.installed()
    assert python
    os.unlink(python)
    os.symlink("/nonexistent/python3", python)

    assert site.installed() is None


def test_an_environment_in_use_by_a_server_survives_an_update(site: Site) -> None:
    site.start()
    site.finished()
    old = site.installed()
    assert old
    marker = os.path.join(os.path.dirname(os.path.dirname(old)), ".complete")

    with open(marker, "rb") as held:  # as the bootstrap of the server does
        fcntl.flock(held, fcntl.LOCK_SH)
        site.require("2.0")
        site.start()
        site.finished()
        assert os.path.exists(old)

    site.require("3.0")
    site.start()
    site.finished()
    assert not os.path.exists(old)
    assert len(site.environments()) == 1


def test_an_installation_without_network_saves_the_error_and_delays_the_next_attempt(
    site: Site,
) -> None:
    site.use_pip()
    offline = closed_port()

    assert site.start(PIP_INDEX_URL=offline) is True
    site.finished()

    told = site.ask("i.last_error(data)")
    assert "could not be fetched" in told
    assert "network" in told
    assert "possible after 10 minutes" in told
    assert site.installed() is None
    assert site.environments() == []
    assert site.start() is False  # backing off
    error = os.path.join(site.data, "install-error")
    assert os.stat(error).st_mode & 0o077 == 0
    assert offline in read(os.path.join(site.data, "install.log"))


def test_a_successful_retry_of_the_installation_deletes_the_saved_error(site: Site) -> None:
    site.start(PIP_INDEX_URL=closed_port())
    site.finished()
    error = os.path.join(site.data, "install-error")
    earlier_s = time.time() - 601
    os.utime(error, (earlier_s, earlier_s))

    assert site.start() is True
    site.finished()

    assert site.installed()
    assert site.ask("i.last_error(data)") == ""
    assert not os.path.exists(error)


def test_a_new_release_is_installed_without_waiting_for_the_back_off(site: Site) -> None:
    site.start(PIP_INDEX_URL=closed_port())
    site.finished()

    site.require("2.0")

    assert site.start() is True


def test_a_package_whose_hash_differs_from_the_lock_file_is_refused(site: Site) -> None:
    site.use_pip()
    make_wheel(site.index.folder, "1.0")
    path = os.path.join(site.index.folder, "tinypkg-1.0-py3-none-any.whl")
    with open(path, "ab") as wheel:
        wheel.write(b"tampered")

    site.start()
    site.finished()

    assert site.installed() is None
    assert "differs from the one this release was tested with" in site.ask("i.last_error(data)")


@pytest.mark.parametrize("content", ["", "no json", "[]", '{"time": 1}'])
def test_an_unreadable_error_file_is_treated_as_no_error(site: Site, content: str) -> None:
    write(os.path.join(site.data, "install-error"), content)

    assert site.ask("i.last_error(data)") == ""
    assert site.start() is True


def test_no_installation_starts_without_a_usable_runtime_folder(site: Site) -> None:
    site.data = os.path.join(write(os.path.join(site.home, "file"), ""), "below")

    assert site.start() is False
    assert site.installed() is None
    assert site.ask("i.wait(data, root, 5)") is None
    site.data = ""
    assert site.start() is False


def test_no_installation_starts_without_a_requirements_file(site: Site) -> None:
    os.unlink(os.path.join(site.root, "plugin", "requirements.lock"))

    assert site.start() is False


def test_waiting_for_packages_starts_and_completes_an_installation(site: Site) -> None:
    assert site.ask("i.wait(data, root, 100)") == site.installed() is not None


def test_a_command_stops_waiting_for_packages_as_soon_as_installation_fails(site: Site) -> None:
    assert site.ask("i.wait(data, root, 1000)", PIP_INDEX_URL=closed_port()) is None
    assert site.ask("i.wait(data, root, 1000)") is None  # backing off
    assert site.ask("i.wait(data, root, 1000, insist=True)") is not None


def test_an_installation_continues_after_a_command_stops_waiting_for_it(site: Site) -> None:
    site.index.open.clear()

    assert site.ask("i.wait(data, root, 0.2)") is None

    site.index.open.set()
    site.finished()
    assert site.installed()


def test_environment_variables_do_not_affect_the_installation(site: Site, tmp_path: Path) -> None:
    site.use_pip()
    elsewhere = str(tmp_path / "elsewhere")

    site.start(PIP_TARGET=elsewhere, PIP_USER="1", PYTHONHOME=elsewhere, VIRTUAL_ENV=elsewhere)
    site.finished()

    python = site.installed()
    assert python and version_in(python) == "1.0"
    assert not os.path.exists(elsewhere)


def test_pip_environment_variables_cannot_add_packages_or_files(site: Site, tmp_path: Path) -> None:
    site.use_pip()
    more = write(str(tmp_path / "more.txt"), "unheard-of==1.0 --hash=sha256:" + "0" * 64 + "\n")
    log, elsewhere = str(tmp_path / "log"), str(tmp_path / "elsewhere")
    config = write(str(tmp_path / "pip.conf"), f"[global]\nlog = {log}\ntarget = {elsewhere}\n")

    site.start(PIP_REQUIREMENT=more, PIP_LOG=log, PIP_CONFIG_FILE=config, PIP_NO_BINARY=":all:")
    site.finished()

    assert site.installed()
    assert not os.path.exists(log) and not os.path.exists(elsewhere)


def test_a_package_index_from_the_project_settings_is_not_used(site: Site, tmp_path: Path) -> None:
    site.use_pip()
    project, theirs = tmp_path / "project", Index(str(tmp_path / "theirs"))
    settings = {"env": {"PIP_EXTRA_INDEX_URL": theirs.url}}
    write(str(project / ".claude/settings.json"), json.dumps(settings))
    session = {"CLAUDE_PROJECT_DIR": str(project), "PIP_EXTRA_INDEX_URL": theirs.url}

    site.start(**session)
    site.finished()
    theirs.server.shutdown()
    theirs.server.server_close()

    assert site.installed()
    assert theirs.asked == []


@pytest.mark.parametrize("content", ["{no json", " " * (2 << 20) + "{}"])
def test_a_package_index_variable_is_ignored_if_project_settings_are_unreadable(
    tmp_path: Path, content: str
) -> None:
    write(str(tmp_path / ".claude/settings.json"), content)
    session = {"CLAUDE_PROJECT_DIR": str(tmp_path), "PIP_INDEX_URL": "http://127.0.0.1:1/simple"}

    assert "PIP_INDEX_URL" not in installer.tool_environment(session)
    assert "PIP_INDEX_URL" in installer.tool_environment({**session, "CLAUDE_PROJECT_DIR": "/usr"})


def test_a_python_without_venv_is_reported_with_a_remedy(site: Site, tmp_path: Path) -> None:
    site.use_pip()
    site.python = other_interpreter(str(tmp_path / "other"), without="ensurepip")

    site.start()
    site.finished()

    assert "python3-venv" in site.ask("i.last_error(data)")


def test_compiled_files_of_a_read_only_plugin_are_written_to_the_runtime_folder(site: Site) -> None:
    package = os.path.join(site.root, "plugin", "memory_fabric")
    os.makedirs(site.data)
    shutil.rmtree(os.path.join(package, "__pycache__"), ignore_errors=True)
    os.chmod(package, 0o500)

    result = run(without_root_powers(site.command("i.start(data, root)")), site.environ)
    assert result.stdout.strip() == b"true"
    site.finished()

    os.chmod(package, 0o700)
    assert site.installed()
    compiled = os.listdir(os.path.join(site.data, "pycache") + package + "/hooks")
    assert any(name.startswith("dispatcher.") for name in compiled)


def test_hooks_find_the_installed_python_without_importing_slow_modules(site: Site) -> None:
    loaded = set(site.ask("[i.environment_python(data, root), list(sys.modules)][1]"))

    heavy = {"subprocess", "venv", "shutil", "typing", "pathlib", "hashlib", "fcntl", "tempfile"}
    assert not loaded & heavy


def test_the_shipped_lock_file_installs_all_packages_that_the_commands_import(site: Site) -> None:
    lock = os.path.join(ROOT, "plugin", "requirements.lock")
    shutil.copy(lock, os.path.join(site.root, "plugin", "requirements.lock"))
    # The machine's own way to the package index, whatever it is.
    site.environ = {**os.environ, "HOME": site.home}

    assert site.start() is True
    site.finished()

    assert site.ask("i.last_error(data)") == ""
    python = site.installed()
    assert python
    size_b = disk_usage(os.path.dirname(os.path.dirname(python)))
    assert round(size_b / 1_000_000) <= packages.SIZE_MB
    assert len(re.findall(r"^[a-z0-9-]+==", read(lock), re.MULTILINE)) <= 8
    imports = run([python, "-I", "-c", IMPORTS, os.path.join(ROOT, "plugin")], {})
    assert imports.returncode == 0, imports.stderr.decode()


# Every module of the command line, and what a command with an option and a wrong one say.
IMPORTS = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import memory_fabric.cli as cli
for module in pkgutil.walk_packages(cli.__path__, "memory_fabric.cli."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from memory_fabric.cli.main import main
assert main(["recall", "--help"]) == 0
assert main(["recall", "--limit", "none"]) == 2
assert main(["completion", "bash"]) == 0
"""


def disk_usage(folder: str) -> int:
    """Bytes that the files and folders under this one take on the disk."""
    paths = [folder]
    for above, folders, files in os.walk(folder):
        paths += (os.path.join(above, name) for name in (*folders, *files))
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


def test_the_installer_ignores_a_lock_file_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "requirements.lock").write_text("somebodys-package==1.0\n")
    monkeypatch.chdir(tmp_path)

    assert packages.start(str(tmp_path / "data"), "") is False
    assert not (tmp_path / "data").exists()

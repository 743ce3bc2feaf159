"""hooks/dispatch.py: opens the package, and fails open when the package is broken."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Callable

import pytest

from launchers.conftest import InstalledPlugin
from launchers.support import PROMPT, PYTHON, ROOT, read, run, without_root_powers, write

SCRIPT = os.path.join(ROOT, "hooks", "dispatch.py")


@pytest.fixture
def ready(plugin: InstalledPlugin) -> InstalledPlugin:
    """A plugin that has found its Python."""
    write(plugin.remembered(), f"{PYTHON}\n")
    return plugin


def test_the_dispatch_script_is_short_and_has_the_syntax_of_python_3_9() -> None:
    source = read(SCRIPT)

    assert len(source.splitlines()) <= 45
    ast.parse(source, feature_version=(3, 9))


def break_by_absence(package: str) -> None:
    shutil.rmtree(package)


def break_by_syntax(package: str) -> None:
    write(os.path.join(package, "hooks", "dispatcher.py"), "def main(:\n")


def break_by_missing_module(package: str) -> None:
    write(os.path.join(package, "hooks", "dispatcher.py"), "from memory_fabric.gone import main\n")


def break_by_exit(package: str) -> None:
    write(
        os.path.join(package, "hooks", "dispatcher.py"),
        "def main(left):\n    raise SystemExit(2)\n",
    )


def break_by_error(package: str) -> None:
    text = 'def main(left):\n    print("half")\n    raise OSError("first\\nsecond \\ud800")\n'
    write(os.path.join(package, "hooks", "dispatcher.py"), text)


BREAKAGES = [
    break_by_absence,
    break_by_syntax,
    break_by_missing_module,
    break_by_exit,
    break_by_error,
]


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_package_only_makes_the_hook_write_one_line_to_the_log(
    ready: InstalledPlugin, breakage: Callable[[str], None]
) -> None:
    breakage(os.path.join(ready.root, "plugin", "memory_fabric"))

    result = ready.run_hook()

    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
    log = os.path.join(ready.data, "memory-fabric.log")
    lines = read(log).splitlines()
    assert len(lines) == 1
    assert " hook: " in lines[0]
    assert os.stat(log).st_mode & 0o077 == 0


@pytest.mark.parametrize("data", ["", "/dev/null/below"])
def test_a_hook_error_is_printed_to_stderr_if_the_log_is_not_writable(
    ready: InstalledPlugin, data: str
) -> None:
    break_by_absence(os.path.join(ready.root, "plugin", "memory_fabric"))
    environ = {**ready.environ(), "CLAUDE_PLUGIN_DATA": data}

    result = run([PYTHON, "-I", "-S", os.path.join(ready.root, "hooks", "dispatch.py")], environ)

    assert (result.returncode, result.stdout) == (0, b"")
    assert len(result.stderr.splitlines()) == 1


def test_the_dispatch_script_exits_with_0_if_no_output_is_writable(ready: InstalledPlugin) -> None:
    break_by_absence(os.path.join(ready.root, "plugin", "memory_fabric"))
    command = f'exec "{PYTHON}" -I -S "{ready.root}/hooks/dispatch.py" <&- >&- 2>&-'

    result = run(["/bin/sh", "-c", command], {**ready.environ(), "CLAUDE_PLUGIN_DATA": ""})

    assert result.returncode == 0


def test_compiled_files_are_stored_beside_a_writable_source(
    ready: InstalledPlugin,
) -> None:
    ready.run_hook()

    assert ready.report()["pycache_prefix"] is None
    assert os.listdir(os.path.join(ready.root, "plugin", "memory_fabric", "__pycache__"))
    assert not os.path.exists(os.path.join(ready.data, "pycache"))


def test_compiled_files_of_a_read_only_plugin_are_stored_in_the_runtime_folder(
    ready: InstalledPlugin,
) -> None:
    package = os.path.join(ready.root, "plugin", "memory_fabric")
    os.chmod(package, 0o500)
    command = without_root_powers([os.path.join(ready.root, "hooks", "launch")])

    result = run(command, {**ready.environ(), "PATH": f"{ready.path}:/usr/bin:/bin"}, PROMPT)

    os.chmod(package, 0o700)
    prefix = os.path.join(ready.data, "pycache")
    assert result.returncode == 0
    assert ready.report()["pycache_prefix"] == prefix
    assert not os.path.exists(os.path.join(package, "__pycache__"))
    assert any(name.startswith("dispatcher.") for name in os.listdir(prefix + package + "/hooks"))

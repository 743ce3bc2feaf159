"""The process that installs packages, and the only code that downloads them.

    packages.start ─▶ main(), detached, by the bare interpreter (-I -S)
    extras.install ─▶ fetch()

Only wheels that a lock names are installed, each verified by its hash, without resolving
dependencies: no code of a package runs during installation, and no build requests further packages.
A package index can refuse, but nothing else. pip and uv use the configuration of the user; of the
environment they keep only the variables that say how to reach an index, except those that the
project's own client settings state.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from memory_fabric.setup import packages
from memory_fabric.setup.packages import MARKER

TOOL_TIMEOUT_S = 900
# Variables that would select another Python.
FOREIGN_VARIABLES = "PYTHONHOME PYTHONPATH VIRTUAL_ENV CONDA_PREFIX __PYVENV_LAUNCHER__".split()
# The variables of pip and uv that say how to reach an index. Others could add requirements, name a
# file to write or a folder to install into.
REACHING_VARIABLES = frozenset(
    """PIP_CERT PIP_CLIENT_CERT PIP_DEFAULT_TIMEOUT PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL
    PIP_NO_CACHE_DIR PIP_NO_INDEX PIP_PROXY PIP_RETRIES PIP_TIMEOUT PIP_TRUSTED_HOST UV_CACHE_DIR
    UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_HTTP_RETRIES UV_HTTP_TIMEOUT
    UV_INSECURE_HOST UV_NATIVE_TLS UV_NO_CACHE UV_NO_INDEX UV_OFFLINE UV_SYSTEM_CERTS""".split()
)
PREFIXES = ("PIP_", "UV_")
# Variables of uv for an index by its number or name, and for its credentials.
REACHING_PREFIX = "UV_INDEX"
# Files of a project that set variables of the client's sessions.
PROJECT_SETTINGS = ("settings.json", "settings.local.json")
MAX_SETTINGS_BYTES = 1 << 20
MAX_PRINTED_BYTES = 1 << 20
WHEELS_ONLY = ("--no-deps", "--only-binary", ":all:", "--no-build-isolation", "--require-hashes")
# The first pip that can install into another interpreter's environment (--python).
PIP_FOR_OTHERS = (22, 3)
PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--retries", "2", "--no-compile")
# Output of the tools, cause and remedy; the first match is reported.
CAUSES = (
    (
        ("ensurepip is not", "'ensurepip'", "No module named venv"),
        "This Python cannot make virtual environments.",
        "Install its venv package (Debian: sudo apt-get install python3-venv) or uv.",
    ),
    (("No space left", "Disk quota"), "The disk is full.", "Free about 150 MB."),
    (
        ("DO NOT MATCH THE HASHES", "ash mismatch"),
        "A package differs from the one this release was tested with, and was not installed.",
        "Check the package index this machine uses.",
    ),
    (
        "onnection|name resolution|error sending request|dns error|etwork|imed out".split("|"),
        "The packages could not be fetched.",
        "Check the network and the package index.",
    ),
    (
        ("No matching distribution", "Could not find a version", "no usable wheels", "no wheels"),
        "The package index does not offer what this release was tested with as a built package"
        " (wheel) for this Python; nothing is built from source.",
        "Check the package index this machine uses.",
    ),
    (("Permission denied", "Read-only file system"), "A folder cannot be written.", ""),
)


class InstallationFailed(Exception):
    """A tool failed; the message is its last output."""


def install(data_dir: str, plugin_root: str, lock: int) -> None:
    """Install the packages for this interpreter and publish them, or record why that failed."""
    os.ftruncate(lock, 0)
    os.lseek(lock, 0, os.SEEK_SET)
    os.write(lock, f"{os.getpid()}\n".encode())
    environment = packages.environment_folder(data_dir, plugin_root)
    if environment is None:
        return
    for path in packages.half_installed(data_dir):
        _remove(path)  # of killed attempts: the lock is held, so no other process installs
    base = packages.base_interpreter()
    try:
        with open(os.path.join(data_dir, "install.log"), "wb", opener=_private) as log:
            tools = Tools(log, lock)

            def prepare() -> None:
                _remove(environment)
                tools.run([base, "-I", "-m", "venv", "--without-pip", environment])

            requirements = packages.lock_file(plugin_root)
            scratch = os.path.join(environment, "pip")
            python = packages.python_in(environment)
            fetch(requirements, tools, prepare, scratch, python=python)
        if hasattr(os, "sync"):
            os.sync()  # after a power failure the marker must not exist without the packages
        _write(os.path.join(environment, MARKER), f"{base}\n", beside=f"{MARKER}.new")
    except (OSError, InstallationFailed) as error:
        _remove(environment)
        _record_error(data_dir, environment, str(error))
    else:
        packages.unlink(packages.error_file(data_dir))
        for name in os.listdir(data_dir):  # of other releases and interpreters
            path = os.path.join(data_dir, name)
            if name.startswith("env-") and path != environment and not packages.held(path):
                packages.unlink(os.path.join(path, MARKER))
                _remove(path)
    # Compile the package where hooks look for `.pyc` files, so that no hook has to.
    import compileall  # imports asyncio and more, and extras compile nothing

    package = os.path.join(plugin_root, "plugin", "memory_fabric")
    if not os.access(package, os.W_OK):
        sys.pycache_prefix = os.path.join(data_dir, "pycache")
    compileall.compile_dir(package, quiet=2)


class Tools:
    """Runs pip and uv in a folder of their own, and logs their output there."""

    def __init__(self, log: BinaryIO, *locks: int) -> None:
        # On Windows children inherit no file: there the lock ends with the installer.
        self._log, self._locks = log, locks if os.name == "posix" else ()
        self._environ = tool_environment(os.environ)
        self.uv = shutil.which("uv", path=os.pathsep.join(_folders(os.environ)))

    def run(self, command: Sequence[str]) -> None:
        """Run a command to its end. Raises InstallationFailed with its output, and OSError."""
        self._log.write(f"$ {' '.join(command)}\n".encode("utf-8", "replace"))
        self._log.flush()
        before = os.fstat(self._log.fileno()).st_size
        try:
            code = subprocess.run(
                command,
                # A pyproject.toml or uv.toml of the project must not steer what is installed.
                cwd=os.path.dirname(self._log.name),
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=self._locks,
                timeout=TOOL_TIMEOUT_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise InstallationFailed(f"timed out after {TOOL_TIMEOUT_S} s") from None
        if code != 0:
            with open(self._log.name, "rb") as printed:
                printed.seek(before)
                raise InstallationFailed(printed.read(MAX_PRINTED_BYTES).decode("utf-8", "replace"))

    def pip_of(self, python: str) -> tuple[int, ...]:
        """Return the version of this interpreter's pip; empty if it has none."""
        command = [python, "-I", "-m", "pip", "--version"]
        result = subprocess.run(
            command, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        _, _, version = result.stdout.decode("utf-8", "replace").partition("pip ")
        return tuple(int(part) for part in version.partition(" ")[0].split(".") if part.isdigit())


def fetch(
    requirements: str,
    tools: Tools,
    prepare: Callable[[], None],
    scratch: str,
    *,
    python: str = "",
    target: str = "",
) -> None:
    """Install the packages of a lock into the environment of `python`, or into the folder `target`.

    Uses uv if it is there and works, else pip: the interpreter's own, or, if that is missing or too
    old, that of a temporary virtual environment at `scratch`. `prepare` creates the empty target.
    Raises InstallationFailed and OSError.
    """
    into = ("--target", target) if target else ()
    options = (*WHEELS_ONLY, *into, "-r", requirements)
    base = packages.base_interpreter()
    if tools.uv:
        try:
            prepare()
            tools.run([tools.uv, "pip", "install", "--python", python or base, *options])
        except InstallationFailed:
            pass  # its output is in the log; pip is tried next
        else:
            return
    prepare()
    try:
        runner = base
        if tools.pip_of(base) < PIP_FOR_OTHERS:
            tools.run([base, "-I", "-m", "venv", scratch])
            runner = packages.python_in(scratch)
        chosen = ("--python", python) if python else ()
        tools.run([runner, "-I", "-m", "pip", *chosen, "install", *PIP_OPTIONS, *options])
    finally:
        _remove(scratch)


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without variables that could steer pip and uv."""
    kept = (n for n in environ if n not in FOREIGN_VARIABLES and not n.startswith(PREFIXES))
    variables = {name: environ[name] for name in kept}
    stated = _stated(_project(environ), environ)
    for name, value in environ.items():
        reaches = name in REACHING_VARIABLES or name.startswith(REACHING_PREFIX)
        if reaches and name not in stated:
            variables[name] = value
    if environ.get("PIP_CONFIG_FILE") == os.devnull:  # it turns pip's configuration off
        variables["PIP_CONFIG_FILE"] = os.devnull
    own = {"PATH": os.pathsep.join(_folders(environ)), "UV_PYTHON_DOWNLOADS": "never"}
    return {**variables, **own, "PIP_NO_COLOR": "1"}


def _stated(project: str, environ: Mapping[str, str]) -> set[str]:
    """Return names of the variables that the project's settings set; all if they cannot be read."""
    names: set[str] = set()
    for file in PROJECT_SETTINGS if project else ():
        path = os.path.join(project, ".claude", file)
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise OSError(f"{path} is not a file")
                stated = json.loads(os.read(handle, MAX_SETTINGS_BYTES)).get("env", {})
                names.update(map(str, stated))
            finally:
                os.close(handle)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return set(environ)
    return names


def _project(environ: Mapping[str, str]) -> str:
    """Return the project's folder, which is not trusted; empty if it is the user's home."""
    try:
        project = os.path.realpath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    except OSError:
        return ""
    return "" if _is_within(os.path.realpath(os.path.expanduser("~")), project) else project


def _folders(environ: Mapping[str, str]) -> list[str]:
    """Return absolute folders of PATH outside of the project, to search for programs."""
    project = _project(environ)
    entries = [*environ.get("PATH", "").split(os.pathsep), os.path.expanduser("~/.local/bin")]
    return [
        folder
        for folder in entries
        if os.path.isabs(folder) and not (project and _is_within(os.path.realpath(folder), project))
    ]


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def explained(printed: str) -> tuple[str, str]:
    """Return cause and remedy of a failure from the tool's output."""
    for needles, words, help_words in CAUSES:
        if any(needle in printed for needle in needles):
            return words, help_words
    return "The packages could not be installed.", ""


def _write(path: str, text: str, *, beside: str) -> None:
    """Replace a private file with a file written beside it. Raises OSError."""
    beside = os.path.join(os.path.dirname(path), beside)
    try:
        with open(beside, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
        os.replace(beside, path)
    except OSError:
        packages.unlink(beside)
        raise


def _record_error(data_dir: str, environment: str, printed: str) -> None:
    reason, remedy = explained(printed)
    again = f"The next attempt is possible after {packages.BACK_OFF_S // 60} minutes;"
    where = os.path.join(data_dir, "install.log")
    error = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "environment": os.path.basename(environment),
        "reason": reason,
        "remedy": f"{remedy} {again} the installer's output is in {where}".lstrip(),
    }
    path = packages.error_file(data_dir)
    try:
        _write(path, json.dumps(error), beside=f"{os.path.basename(path)}.{os.getpid()}")
    except OSError:
        return  # a full disk: the next session tries again without the back-off


def _remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main(data_dir: str, plugin_root: str, lock: str) -> None:
    """Detach from the session and install; without an inherited `lock`, take it here."""
    handle = int(lock)
    if handle == packages.TAKES_IT:
        handle = packages.take_lock(data_dir)
        if handle == packages.TAKES_IT:
            return  # another process installs
    else:
        if os.fork():
            os._exit(0)
        os.setsid()
    os.umask(0o077)
    os.set_inheritable(handle, False)  # only the tools inherit it, by pass_fds
    install(data_dir, plugin_root, handle)

"""Installation of packages; no other module downloads anything from a package index.

    packages.start ─▶ main(), detached, by the bare interpreter (-I -S)
    extras.install ─▶ fetch()

Only the wheels in a lock file are installed, each verified by its hash: no package's code is run,
and no other package is added. pip and uv read the user's configuration files and those environment
variables for index access that the project's .claude/settings*.json do not set.
"""

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
# Environment variables that would make pip and uv use a different Python.
FOREIGN_VARIABLES = "PYTHONHOME PYTHONPATH VIRTUAL_ENV CONDA_PREFIX __PYVENV_LAUNCHER__".split()
# Variables of pip and uv for access to an index. Others could change what is installed, or where.
REACHING_VARIABLES = frozenset(
    """PIP_CERT PIP_CLIENT_CERT PIP_DEFAULT_TIMEOUT PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_INDEX_URL
    PIP_NO_CACHE_DIR PIP_NO_INDEX PIP_PROXY PIP_RETRIES PIP_TIMEOUT PIP_TRUSTED_HOST UV_CACHE_DIR
    UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS UV_HTTP_RETRIES UV_HTTP_TIMEOUT
    UV_INSECURE_HOST UV_NATIVE_TLS UV_NO_CACHE UV_NO_INDEX UV_OFFLINE UV_SYSTEM_CERTS""".split()
)
MAX_SETTINGS_BYTES = MAX_PRINTED_BYTES = 1 << 20
WHEELS_ONLY = ("--no-deps", "--only-binary", ":all:", "--no-build-isolation", "--require-hashes")
# The first version of pip that can install packages for another interpreter (--python).
PIP_FOR_OTHERS = (22, 3)
PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--retries", "2", "--no-compile")
# Phrases in the output of a failed program, with cause and remedy; the first match is used.
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
    """Error if pip, uv or venv fails; its message is the output of the program that failed."""


def install(data_dir: str, plugin_root: str, lock: int) -> None:
    """Install the command line's packages for this Python; write any failure to `error_file`."""
    os.ftruncate(lock, 0)
    os.lseek(lock, 0, os.SEEK_SET)
    os.write(lock, f"{os.getpid()}\n".encode())
    environment = packages.folder_of("env", data_dir, plugin_root)
    if not environment:
        return
    for path in packages.half_installed(data_dir):
        # A killed installer left this folder: no other can run now, as this process has the lock.
        shutil.rmtree(path, ignore_errors=True)
    base = packages.base_interpreter()
    try:
        with open(os.path.join(data_dir, "install.log"), "wb", opener=_private) as log:
            tools = Tools(log, lock)

            def prepare() -> None:
                shutil.rmtree(environment, ignore_errors=True)
                tools.run([base, "-I", "-m", "venv", "--without-pip", environment])

            requirements = packages.lock_file("env", plugin_root)
            scratch = os.path.join(environment, "pip")
            fetch(requirements, tools, prepare, scratch, python=packages.python_in(environment))
        if hasattr(os, "sync"):
            os.sync()  # the packages must be on the disk before the marker is written
        _write(os.path.join(environment, MARKER), f"{base}\n", beside=f"{MARKER}.new")
    except (OSError, InstallationFailed) as error:
        shutil.rmtree(environment, ignore_errors=True)
        reason, remedy = explained(str(error))
        again = f"The next attempt is possible after {packages.BACK_OFF_S // 60} minutes;"
        where = f"the installer's output is in {os.path.join(data_dir, 'install.log')}"
        failure = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "reason": reason}
        failure |= {"environment": os.path.basename(environment)}
        failure |= {"remedy": f"{remedy} {again} {where}".lstrip()}
        path = packages.error_file(data_dir)
        try:
            _write(path, json.dumps(failure), beside=f"{os.path.basename(path)}.{os.getpid()}")
        except OSError:
            pass  # the disk may be full; without the file, the next session retries at once
    else:
        packages.unlink(packages.error_file(data_dir))
        for name in os.listdir(data_dir):  # delete environments of other releases or interpreters
            path = os.path.join(data_dir, name)
            if name.startswith("env-") and path != environment and not packages.held(path):
                packages.unlink(os.path.join(path, MARKER))
                shutil.rmtree(path, ignore_errors=True)
    # Compile this package now, so that hooks need not compile it.
    import compileall  # imported late, since it imports asyncio

    package = os.path.join(plugin_root, "plugin", "memory_fabric")
    if not os.access(package, os.W_OK):
        sys.pycache_prefix = os.path.join(data_dir, "pycache")
    compileall.compile_dir(package, quiet=2)


class Tools:
    """A runner of pip, uv and venv. Its working folder is that of `log`, which gets the output."""

    def __init__(self, log: BinaryIO, *locks: int) -> None:
        # On Windows, pip and uv do not inherit the lock; it is released when this process ends.
        self._log, self._locks = log, locks if os.name == "posix" else ()
        self._environ = tool_environment(os.environ)
        self.uv = shutil.which("uv", path=os.pathsep.join(_folders(os.environ)))

    def run(self, command: Sequence[str]) -> None:
        """Run a command to its end. Raises OSError, and InstallationFailed with the output."""
        self._log.write(f"$ {' '.join(command)}\n".encode("utf-8", "replace"))
        self._log.flush()
        before = os.fstat(self._log.fileno()).st_size
        try:
            code = subprocess.run(
                command,
                # Avoid the project folder: its pyproject.toml or uv.toml could change the result.
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
        """Return the version of an interpreter's pip as a tuple; () if it has no pip."""
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
    """Install a lock file's packages into the environment of `python`, or into the folder `target`.
    uv is tried first, and then pip. If pip is missing or too old, it is installed in `scratch`.
    `prepare` empties the target before each attempt. Raises InstallationFailed, OSError.
    """
    options = (*WHEELS_ONLY, *(("--target", target) if target else ()), "-r", requirements)
    base = packages.base_interpreter()
    if tools.uv:
        try:
            prepare()
            tools.run([tools.uv, "pip", "install", "--python", python or base, *options])
        except InstallationFailed:
            pass  # uv's output is in the log; pip is tried next
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
        shutil.rmtree(scratch, ignore_errors=True)


def tool_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip and uv, without variables that affect what is installed."""
    stated = _set_by_project(environ)

    def is_kept(name: str) -> bool:
        # UV_INDEX_<NAME>_PASSWORD, for example, is a credential for an index.
        if name in REACHING_VARIABLES or name.startswith("UV_INDEX"):
            return name not in stated
        return name not in FOREIGN_VARIABLES and not name.startswith(("PIP_", "UV_"))

    variables = {name: value for name, value in environ.items() if is_kept(name)}
    if environ.get("PIP_CONFIG_FILE") == os.devnull:  # disables configuration files
        variables["PIP_CONFIG_FILE"] = os.devnull
    own = {"PATH": os.pathsep.join(_folders(environ)), "UV_PYTHON_DOWNLOADS": "never"}
    return {**variables, **own, "PIP_NO_COLOR": "1"}


def _set_by_project(environ: Mapping[str, str]) -> set[str]:
    """Return names of variables set by the project's .claude settings; all if one is unreadable."""
    names: set[str] = set()
    project = _project(environ)
    for file in ("settings.json", "settings.local.json") if project else ():
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
    """Return the project's folder, which is not trusted; '' if it contains the user's home."""
    try:
        project = os.path.realpath(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    except OSError:
        return ""
    return "" if _is_within(os.path.realpath(os.path.expanduser("~")), project) else project


def _folders(environ: Mapping[str, str]) -> list[str]:
    """Return the program search path: PATH and ~/.local/bin without relative or project folders."""
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
    """Return the cause of a failure, and a remedy, for the output of a failed program."""
    for needles, words, help_words in CAUSES:
        if any(needle in printed for needle in needles):
            return words, help_words
    return "The packages could not be installed.", ""


def _write(path: str, text: str, *, beside: str) -> None:
    """Write a private file (mode 0600) atomically via a temporary file `beside`. Raises OSError."""
    beside = os.path.join(os.path.dirname(path), beside)
    try:
        with open(beside, "w", encoding="utf-8", opener=_private) as file:
            file.write(text)
        os.replace(beside, path)
    except OSError:
        packages.unlink(beside)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main(data_dir: str, plugin_root: str, lock: str) -> None:
    """Detach and install; `lock` is the inherited lock's descriptor, or TAKES_IT to acquire it."""
    handle = int(lock)
    if handle == packages.TAKES_IT:
        for _ in range(20):  # the process that started this one may still have the lock
            try:
                handle = packages.acquire(data_dir)
                break
            except BlockingIOError:
                time.sleep(packages.POLL_S)
        else:
            return  # another process is installing
    else:
        if os.fork():
            os._exit(0)
        os.setsid()
    os.umask(0o077)
    os.set_inheritable(handle, False)  # only pip, uv and venv may inherit the lock
    install(data_dir, plugin_root, handle)

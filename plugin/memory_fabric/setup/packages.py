"""Packages for the command line, installed once in the background; the MCP server needs none.

    hook ── start() ──▶ detached child ──▶ ${CLAUDE_PLUGIN_DATA}/env-<key>/   .complete comes last
    command ── wait() ─▶ execs <env>/bin/python

The scripts of a virtual environment contain absolute paths, so it is created under its final name.
The marker `.complete` is written after all other files have reached the disk. An environment
without the marker is left over from a failed attempt; the next installation deletes it.

The process that starts the installer acquires `install.lock` without waiting. The installer, pip
and uv inherit it; it is released when the last of them ends. On Windows, the argument TAKES_IT
tells the installer to acquire the lock itself.

bin/memory-fabric runs this file as a script with the bare interpreter (`python -I -S packages.py
--run`), so modules other than `os` and `sys` are imported only when needed, which is also faster.
"""

import os
import sys
from collections.abc import Mapping, Sequence

MARKER = ".complete"
# Seconds until a retry after a failure, so that a machine without network retries rarely.
BACK_OFF_S = 600
# Seconds that a command waits for its packages. The user sees a message, and can press Ctrl-C.
COMMAND_WAIT_S = 300
POLL_S = 0.05
# The download's size, shown to users who wait; tests/launchers/test_installation.py checks it.
SIZE_MB = 8
NOT_STARTED, ANOTHER_RUNS = 0, -1
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON_TAG = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
# Passed instead of the descriptor of a lock: the installer must acquire the lock itself.
TAKES_IT = -1
ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv[:2] = ['memory-fabric'];"
    " from memory_fabric.cli.main import main; sys.exit(main())"
)
INSTALLER = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from memory_fabric.setup.install_packages import main; main(*sys.argv[2:])"
)


# --- for hooks: cheap checks, and starting an installation without waiting for it


def environment_python(data_dir: str, plugin_root: str) -> str | None:
    """Return the Python that has the packages, or None if they are missing; the check is cheap."""
    environment = folder_of("env", data_dir, plugin_root)
    if not environment or not os.path.exists(os.path.join(environment, MARKER)):
        return None
    python = python_in(environment)
    return python if os.access(python, os.X_OK) else None


def python_in(environment: str, system: str = os.name) -> str:
    """Return the path of a virtual environment's Python; `system` is a value of `os.name`."""
    parts = ("bin", "python") if system == "posix" else ("Scripts", "python.exe")
    return os.path.join(environment, *parts)


def start(data_dir: str, plugin_root: str) -> bool:
    """Start a detached process that installs missing packages; return True if it was started."""
    return _start(data_dir, plugin_root, insist=False) > 0


def start_again(data_dir: str, plugin_root: str) -> bool:
    """Start an installation even if the last one has just failed; return True if it started."""
    return _start_and_reap(data_dir, plugin_root, insist=True) > 0


def wait(data_dir: str, plugin_root: str, timeout_s: float, *, insist: bool = False) -> str | None:
    """Install missing packages, and wait up to `timeout_s` seconds for the installation. Return the
    Python that has the packages, or None. With `insist`, ignore one recent failure.
    """
    import time  # imported late: hooks never call this function

    deadline_s = time.monotonic() + timeout_s
    while True:
        python = environment_python(data_dir, plugin_root)
        if python is not None:
            return python
        # With `insist`, ignore a recent failure once: after one start, a new failure ends the wait.
        child = _start_and_reap(data_dir, plugin_root, insist=insist)
        insist = insist and child <= 0
        if child == NOT_STARTED:
            return environment_python(data_dir, plugin_root)
        if time.monotonic() >= deadline_s:
            return None
        time.sleep(POLL_S)


def _start_and_reap(data_dir: str, plugin_root: str, *, insist: bool) -> int:
    child = _start(data_dir, plugin_root, insist=insist)
    if child > 0 and os.name == "posix":
        os.waitpid(child, 0)  # reap the first process: it ends at once, after a fork
    return child


def last_error(data_dir: str) -> str:
    """Return the cause, remedy and time of the last failure; '' if the last attempt succeeded."""
    error = _read_error(data_dir)
    if not error:
        return ""
    return " ".join(f"{error['reason']} {error['remedy']}".split()) + f" ({error['time']})"


def half_installed(data_dir: str) -> list[str]:
    """Return the incomplete environments, including one that is being installed at the moment."""
    try:
        names = sorted(os.listdir(data_dir))
    except OSError:
        return []
    paths = [os.path.join(data_dir, name) for name in names if name.startswith("env-")]
    return [path for path in paths if not os.path.exists(os.path.join(path, MARKER))]


def remembered_file(data_dir: str) -> str:
    """Return the file in which hooks/launch saves its interpreter's path; '' without `data_dir`."""
    return os.path.join(data_dir, "interpreter") if data_dir else ""


def folder_of(kind: str, data_dir: str, plugin_root: str) -> str:
    """Return the folder in `data_dir` for `kind`, which is "env" (the command line) or an extra's
    name. Each Python and lock file has a folder of its own. Return '' if there is no lock file.
    """
    import zlib  # faster to import than hashlib, and sufficient here

    # Refuse empty paths: they mean the current folder, whose files would decide what is installed.
    if not data_dir or not plugin_root:
        return ""
    interpreter = f"{base_interpreter()} {PYTHON_TAG}" if kind == "env" else ""
    try:
        with open(lock_file(kind, plugin_root), "rb") as file:
            key = zlib.crc32(interpreter.encode("utf-8", "surrogateescape"))
            key = zlib.crc32(file.read(), key)
    except OSError:
        return ""
    return os.path.join(os.path.abspath(data_dir), f"{kind}-{PYTHON_TAG}-{key:08x}")


def base_interpreter() -> str:
    """Return the real path of this process's interpreter, not that of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def lock_file(kind: str, plugin_root: str) -> str:
    """Return the path of the lock file, which pins the versions of these packages."""
    name = "requirements" if kind == "env" else kind
    return os.path.join(os.path.abspath(plugin_root), "plugin", f"{name}.lock")


def _start(data_dir: str, plugin_root: str, *, insist: bool) -> int:
    """Start the installer if due. Return its first process's id, NOT_STARTED or ANOTHER_RUNS."""
    if not _is_due(data_dir, plugin_root, insist):
        return NOT_STARTED
    try:
        lock = acquire(data_dir)
    except BlockingIOError:
        return ANOTHER_RUNS
    except OSError:
        return NOT_STARTED
    try:
        # Check again: another process may have finished or failed before the lock was acquired.
        if not _is_due(data_dir, plugin_root, insist):
            return NOT_STARTED
        unlink(error_file(data_dir))  # the error of an earlier attempt
        folders = os.path.abspath(data_dir), os.path.abspath(plugin_root)
        python = base_interpreter()
        command = [python, "-I", "-S", "-c", INSTALLER, SOURCE, *folders]
        if os.name != "posix":
            from memory_fabric import processes

            return processes.start_detached([*command, str(TAKES_IT)], os.environ, os.name)
        os.set_inheritable(lock, True)
        modes = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)
        actions = [(os.POSIX_SPAWN_OPEN, n, os.devnull, mode, 0) for n, mode in enumerate(modes)]
        return os.posix_spawn(python, [*command, str(lock)], os.environ, file_actions=actions)
    except OSError:
        return NOT_STARTED
    finally:
        os.close(lock)


def acquire(data_dir: str) -> int:
    """Acquire `install.lock` and return its descriptor. Raises BlockingIOError if it is locked."""
    from memory_fabric import file_lock  # imported late: only if an installation may start

    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    lock = os.open(_install_lock(data_dir), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if file_lock.take(lock):
            return lock
        raise BlockingIOError(f"another process holds {_install_lock(data_dir)}")
    except OSError:
        os.close(lock)
        raise


def _install_lock(data_dir: str) -> str:
    return os.path.join(data_dir, "install.lock")


def is_running(data_dir: str) -> bool:
    """Return True if an installation is running."""
    try:
        if os.path.exists(_install_lock(data_dir)):
            os.close(acquire(data_dir))
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def error_file(data_dir: str) -> str:
    """Return the path of the file that records the last failed installation."""
    return os.path.join(data_dir, "install-error")


def unlink(path: str) -> None:
    """Delete a file, ignoring errors."""
    try:
        os.unlink(path)
    except OSError:
        return  # already deleted, or cannot be deleted now


def _read_error(data_dir: str) -> dict[str, str]:
    try:
        with open(error_file(data_dir), encoding="utf-8") as file:
            import json  # imported late: only after a failure

            error = json.load(file)
        return {name: str(error[name]) for name in ("time", "environment", "reason", "remedy")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _is_due(data_dir: str, plugin_root: str, insist: bool) -> bool:
    """Return True if packages are missing and, unless `insist`, no attempt has recently failed."""
    folder = folder_of("env", data_dir, plugin_root)
    if not folder or environment_python(data_dir, plugin_root) is not None:
        return False
    import time  # imported late: only if packages are missing

    try:
        age_s = time.time() - os.stat(error_file(data_dir)).st_mtime
    except OSError:
        return True
    # Ignore a failure of another release or interpreter, whose environment has another folder.
    same = _read_error(data_dir).get("environment") == os.path.basename(folder)
    return insist or not (same and 0 <= age_s < BACK_OFF_S)


# --- for bin/memory-fabric: wait for the packages, then start the program


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Wait for the packages, then run the command line in place of this process; 1 on failure."""
    data_dir = environ.get("CLAUDE_PLUGIN_DATA", "")
    plugin_root = environ.get("CLAUDE_PLUGIN_ROOT", "")
    stated = environ.get("MEMORY_FABRIC_PYTHON", "")
    if stated and not os.access(stated, os.X_OK):
        return _say(f"MEMORY_FABRIC_PYTHON names {stated}, which cannot be run.")
    python = stated or environment_python(data_dir, plugin_root) or _awaited(data_dir, plugin_root)
    if not python:
        return 1
    if not stated:
        hold(os.path.dirname(os.path.dirname(python)))
    source = os.path.join(plugin_root, "plugin")
    options = ["-I"]
    if not os.access(os.path.join(source, "memory_fabric"), os.W_OK):
        options += ["-X", f"pycache_prefix={os.path.join(data_dir, 'pycache')}"]
    # argv[0] must be absolute, because Python uses it to find its virtual environment.
    command = [python, *options, "-c", ENTRY, source, *arguments]
    try:
        if os.name != "posix":  # Windows: after exec, the shell would not wait for the command
            return run_and_wait(command)
        os.execv(python, command)
    except OSError as error:
        return _say(f"{python} cannot be run: {error.strerror}.")


def run_and_wait(command: Sequence[str]) -> int:
    """Run a command in this terminal until it ends; return its exit code. Raises OSError."""
    import subprocess

    return subprocess.run(list(command), check=False).returncode


def _awaited(data_dir: str, plugin_root: str) -> str | None:
    import time

    try:
        # The installer writes to the lock file when it starts, so this is its start time.
        began_s = os.stat(_install_lock(data_dir)).st_mtime if is_running(data_dir) else 0.0
    except OSError:
        began_s = 0.0
    if began_s:
        at = time.strftime("%H:%M:%S UTC", time.gmtime(began_s))
        since = f"{at} ({max(0, int(time.time() - began_s))} s ago)"
        _say(f"its packages are being installed, since {since}; waiting for them ...")
    else:
        size = f"{SIZE_MB} MB; usually some seconds"
        _say(f"installing the packages of the commands, once ({size}) ...")
    python = wait(data_dir, plugin_root, COMMAND_WAIT_S, insist=True)
    if python is None:
        reason = last_error(data_dir)  # a failed installer may still run, so read its error first
        if not reason and is_running(data_dir):
            _say(f"not ready after {COMMAND_WAIT_S} s; it continues, try again in a minute.")
        else:
            unusable = f"{data_dir} cannot be used for them."
            reason = reason or (unusable if data_dir else "There is no data folder.")
            _say(f"its packages are not installed. {reason}")
    return python


def _say(text: str) -> int:
    os.write(2, f"memory-fabric: {text}\n".encode("utf-8", "replace"))
    return 1


def hold(environment: str) -> None:
    """Protect an environment from deletion until this process, or a program it executes, ends."""
    from memory_fabric import file_lock

    try:
        marker = os.open(os.path.join(environment, MARKER), os.O_RDONLY)
        file_lock.take(marker, shared=True)
        os.set_inheritable(marker, True)
    except OSError:
        return  # the environment is being deleted, so starting its Python will fail with a message


def held(environment: str) -> bool:
    """Return True if a running process has called `hold` to protect this environment."""
    from memory_fabric import file_lock

    try:
        marker = os.open(os.path.join(environment, MARKER), os.O_RDONLY)
    except OSError:
        return False
    try:
        return not file_lock.take(marker)
    except OSError:
        return True
    finally:
        os.close(marker)


def main(arguments: Sequence[str]) -> int:
    """For bin/memory-fabric: pass the arguments after `--run` to `run`; return the exit code."""
    sys.path.append(SOURCE)
    if arguments[:1] == ["--run"]:
        try:
            return run(arguments[1:], os.environ)
        except KeyboardInterrupt:
            return 130
    return _say("packages.py is run by bin/memory-fabric.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

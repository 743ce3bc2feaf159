"""The packages of the command line, installed once, in the background; the MCP server needs none.

    hook ── start() ──▶ detached child ──▶ ${CLAUDE_PLUGIN_DATA}/env-<key>/   .complete comes last
    command ── wait() ─▶ execs <env>/bin/python

The folder is built under its final name and published by its marker, not by renaming the folder: a
virtual environment writes absolute paths into its scripts, and a renamed one is broken in places.
`.complete` is written beside and moved in by `os.replace` after everything else reached the disk; a
folder without it is a leftover, and whoever holds the lock next removes it.

The lock (`install.lock`, flock) is taken by the starter without waiting and inherited by the child
and by the tools it runs, so it is free exactly when the last of them has ended, however it ended.
macOS: the same calls. Windows (untested): `msvcrt.locking` in the child instead of an inherited
lock, `subprocess.DETACHED_PROCESS` instead of fork and setsid, `Scripts\\python.exe` in the folder.

The child is installer.py. This file is also a script, the bootstrap of bin/memory-fabric, run by
the bare interpreter (`python -I -S installation.py --run`): it imports nothing of ours, and what is
not `os` or `sys` only where it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKER = ".complete"
# Long enough not to pester a machine without network, short enough for "it works after lunch".
BACK_OFF_S = 600
# A person watches the message and may press Ctrl-C.
COMMAND_WAIT_S = 300
POLL_S = 0.05
# Measured by tests/door/test_installation.py; told to those who wait.
SIZE_MB = 20
NOT_STARTED, ANOTHER_RUNS = 0, -1
ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv[:2] = ['memory-fabric'];"
    " from memory_fabric.cli.main import main; sys.exit(main())"
)
INSTALLER = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from memory_fabric.setup.install_packages import main; main(*sys.argv[2:])"
)


# --- for hooks: cheap questions and a quick start


def environment_python(data_dir: str, plugin_root: str) -> str | None:
    """The Python that has the packages, or None; costs two stats and a checksum."""
    environment = environment_folder(data_dir, plugin_root)
    if environment is None or not os.path.exists(os.path.join(environment, MARKER)):
        return None
    python = os.path.join(environment, "bin", "python")
    return python if os.access(python, os.X_OK) else None


def start(data_dir: str, plugin_root: str) -> bool:
    """True when an installation was started; detached, single-flight, not soon after a failure."""
    return _start(data_dir, plugin_root, insist=False) > 0


def wait(data_dir: str, plugin_root: str, timeout_s: float, *, insist: bool = False) -> str | None:
    """The Python that has the packages, as soon as there is one, installed now if nobody has.

    None when it failed (`last_error` says why) or `timeout_s` passed; `insist` tries again even
    shortly after a failure.
    """
    import time  # nobody on the hook path waits

    deadline_s = time.monotonic() + timeout_s
    while True:
        python = environment_python(data_dir, plugin_root)
        if python is not None:
            return python
        child = _start(data_dir, plugin_root, insist=insist)
        if child > 0:
            os.waitpid(child, 0)  # it forks at once; the installer itself is not ours to reap
            insist = False
        elif child == NOT_STARTED:
            return environment_python(data_dir, plugin_root)
        if time.monotonic() >= deadline_s:
            return None
        time.sleep(POLL_S)


def last_error(data_dir: str) -> str:
    """Why the last attempt failed, when, and what helps; empty when it did not fail."""
    found = _read_error(data_dir)
    if not found:
        return ""
    return " ".join(f"{found['reason']} {found['remedy']}".split()) + f" ({found['time']})"


def start_again(data_dir: str, plugin_root: str) -> bool:
    """True when an installation was started; an earlier failure does not hold it back."""
    child = _start(data_dir, plugin_root, insist=True)
    if child > 0:
        os.waitpid(child, 0)  # it forks at once; the installer itself is not ours to reap
    return child > 0


def half_installed(data_dir: str) -> list[str]:
    """Folders that an installation left unfinished; those of one at work are among them."""
    try:
        names = sorted(os.listdir(data_dir))
    except OSError:
        return []
    paths = [os.path.join(data_dir, name) for name in names if name.startswith("env-")]
    return [path for path in paths if not os.path.exists(os.path.join(path, MARKER))]


def remembered_file(data_dir: str) -> str:
    """Where hooks/launch keeps the interpreter that it found; empty without a folder."""
    return os.path.join(data_dir, "interpreter") if data_dir else ""


def environment_folder(data_dir: str, plugin_root: str) -> str | None:
    """Where the packages of this release and interpreter belong; None without a lock file."""
    import zlib  # hashlib costs a bare start; this only tells versions apart, it protects nothing

    # Without a root the path would be relative: the project's own files would say what to install.
    if not data_dir or not plugin_root:
        return None
    try:
        with open(lock_file(plugin_root), "rb") as file:
            requirements = file.read()
    except OSError:
        return None
    kind = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    interpreter = f"{base_interpreter()} {kind}".encode("utf-8", "surrogateescape")
    key = f"{kind}-{zlib.crc32(requirements, zlib.crc32(interpreter)):08x}"
    return os.path.join(os.path.abspath(data_dir), f"env-{key}")


def base_interpreter() -> str:
    """The real interpreter under this process, whether it runs bare or in an environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def lock_file(plugin_root: str) -> str:
    """The pinned packages of the first installation."""
    return os.path.join(os.path.abspath(plugin_root), "plugin", "requirements.lock")


def _start(data_dir: str, plugin_root: str, *, insist: bool) -> int:
    """The id of the process that starts the installer, else NOT_STARTED or ANOTHER_RUNS."""
    environment = environment_folder(data_dir, plugin_root)
    if environment is None or environment_python(data_dir, plugin_root) is not None:
        return NOT_STARTED
    if not insist and _failed_lately(data_dir, environment):
        return NOT_STARTED
    try:
        lock = _acquire(data_dir)
    except BlockingIOError:
        return ANOTHER_RUNS
    except OSError:
        return NOT_STARTED
    try:
        # Between the first look and the lock another process may have finished, or failed.
        if environment_python(data_dir, plugin_root) is not None:
            return NOT_STARTED
        if not insist and _failed_lately(data_dir, environment):
            return NOT_STARTED
        unlink(error_file(data_dir))  # of an earlier attempt: this one must not look failed
        return _spawn(lock, os.path.abspath(data_dir), os.path.abspath(plugin_root))
    except OSError:
        return NOT_STARTED
    finally:
        os.close(lock)


def _acquire(data_dir: str) -> int:
    """A descriptor that holds the lock; raises BlockingIOError when another holds it."""
    import fcntl  # only when an installation may start

    os.makedirs(data_dir, mode=0o700, exist_ok=True)
    lock = os.open(_install_lock(data_dir), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _install_lock(data_dir: str) -> str:
    return os.path.join(data_dir, "install.lock")


def is_running(data_dir: str) -> bool:
    """Whether an installation is at work right now."""
    if not os.path.exists(_install_lock(data_dir)):
        return False
    try:
        os.close(_acquire(data_dir))
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def running_since(data_dir: str) -> str:
    """When the installation at work began, and how long ago; empty when none is at work."""
    import time

    if not is_running(data_dir):
        return ""
    try:
        began_s = os.stat(_install_lock(data_dir)).st_mtime  # the installer writes its id there
    except OSError:
        return ""
    at = time.strftime("%H:%M:%S UTC", time.gmtime(began_s))
    return f"{at} ({max(0, int(time.time() - began_s))} s ago)"


def number_of_packages(plugin_root: str) -> int:
    """How many packages the first installation has."""
    try:
        with open(lock_file(plugin_root), encoding="utf-8") as file:
            return sum("==" in line for line in file)
    except OSError:
        return 0


def _spawn(lock: int, data_dir: str, plugin_root: str) -> int:
    """The id of a process that forks the installer and leaves at once, so nobody must reap that."""
    os.set_inheritable(lock, True)
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    python = base_interpreter()
    return os.posix_spawn(
        python,
        [python, "-I", "-S", "-c", INSTALLER, source, data_dir, plugin_root, str(lock)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )


def error_file(data_dir: str) -> str:
    """Where the last failure is written down."""
    return os.path.join(data_dir, "install-error")


def unlink(path: str) -> None:
    """Remove a file, if it can be."""
    try:
        os.unlink(path)
    except OSError:
        return  # gone already, or not removable: the next attempt meets it again


def _read_error(data_dir: str) -> dict[str, str]:
    try:
        with open(error_file(data_dir), encoding="utf-8") as file:
            import json  # only where an installation failed

            found = json.load(file)
        return {name: str(found[name]) for name in ("time", "environment", "reason", "remedy")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _failed_lately(data_dir: str, environment: str) -> bool:
    import time  # only when an installation is missing

    try:
        age_s = time.time() - os.stat(error_file(data_dir)).st_mtime
    except OSError:
        return False
    # Another release or interpreter has another folder and deserves its own try.
    same = _read_error(data_dir).get("environment") == os.path.basename(environment)
    return same and 0 <= age_s < BACK_OFF_S


# --- the bootstrap of bin/memory-fabric


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Become the program under a Python that has the packages; an exit code when it cannot."""
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
    try:
        # The environment is found from argv[0]: its own absolute path.
        os.execv(python, [python, *options, "-c", ENTRY, source, *arguments])
    except OSError as error:
        return _say(f"{python} cannot be run: {error.strerror}.")


def _awaited(data_dir: str, plugin_root: str) -> str | None:
    since = running_since(data_dir)
    if since:
        _say(f"its packages are being installed, since {since}; waiting for them ...")
    else:
        held = f"{number_of_packages(plugin_root)} packages, {SIZE_MB} MB"
        _say(f"installing what commands need, once ({held}; seconds on a usual line) ...")
    python = wait(data_dir, plugin_root, COMMAND_WAIT_S, insist=True)
    if python is None:
        reason = last_error(data_dir)  # first: a failed installer may not have let go of its lock
        if not reason and is_running(data_dir):
            _say(f"not ready after {COMMAND_WAIT_S} s; it goes on, try this again in a minute.")
        else:
            reason = reason or f"{data_dir or 'No folder'} cannot be used for it."
            _say(f"its packages are not installed. {reason}")
    return python


def _say(text: str) -> int:
    os.write(2, f"memory-fabric: {text}\n".encode("utf-8", "replace"))
    return 1


def hold(environment: str) -> None:
    """Keep a folder of packages from being tidied away while this process, or its exec, lives."""
    import fcntl

    try:
        marker = os.open(os.path.join(environment, MARKER), os.O_RDONLY)
        fcntl.flock(marker, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.set_inheritable(marker, True)
    except OSError:
        return  # it is being removed right now; the program will say so itself


def held(environment: str) -> bool:
    """True if a process holds this folder of packages."""
    import fcntl

    try:
        marker = os.open(os.path.join(environment, MARKER), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(marker)
    return False


def main(arguments: Sequence[str]) -> int:
    """The way in which this file is run as a script."""
    if arguments[:1] == ["--run"]:
        try:
            return run(arguments[1:], os.environ)
        except KeyboardInterrupt:
            return 130
    return _say("installation.py is run by bin/memory-fabric.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

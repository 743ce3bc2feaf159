"""The packages of the server and the command line, installed once, in the background.

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

This file is also a script, run by the bare interpreter (`python -I -S installation.py`) as the
installing child (`--install`) and as the bootstrap of bin/memory-fabric (`--run`): it imports
nothing of ours, and anything that is not `os` or `sys` only where it is needed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

MARKER = ".complete"
# Long enough not to pester a machine without network, short enough for "it works after lunch".
BACK_OFF_S = 600
# The client gives a server 30 s to answer.
SERVER_WAIT_S = 25
# A person watches the message and may press Ctrl-C.
COMMAND_WAIT_S = 300
TOOL_TIMEOUT_S = 900
POLL_S = 0.05
NOT_STARTED, ANOTHER_RUNS = 0, -1
# Settings of the session's shell that would send packages elsewhere or pick another Python.
FOREIGN_VARIABLES = (
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "__PYVENV_LAUNCHER__",
    "PIP_PREFIX",
    "PIP_PYTHON",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
    "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
)
# What the tools' output says, in words a person can act on; the first that fits is told.
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
        (
            "onnection",
            "name resolution",
            "No matching distribution",
            "Could not find a version",
            "error sending request",
            "dns error",
            "etwork",
            "imed out",
        ),
        "The packages could not be fetched.",
        "Check the network and the package index.",
    ),
    (("Permission denied", "Read-only file system"), "A folder cannot be written.", ""),
)
ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.argv[:2] = ['memory-fabric'];"
    " from memory_fabric.cli.main import main; sys.exit(main())"
)


class InstallationFailed(Exception):
    """A tool ended badly; the text is what it printed last."""


# --- for hooks: cheap questions and a quick start


def environment_python(data_dir: str, plugin_root: str) -> str | None:
    """The Python that has the packages, or None; costs two stats and a checksum."""
    environment = _environment(data_dir, plugin_root)
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


def _environment(data_dir: str, plugin_root: str) -> str | None:
    import zlib  # hashlib costs a bare start; this only tells versions apart, it protects nothing

    # Without a root the path would be relative: the project's own files would say what to install.
    if not data_dir or not plugin_root:
        return None
    try:
        with open(_lock_file(plugin_root), "rb") as file:
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


def _lock_file(plugin_root: str) -> str:
    return os.path.join(os.path.abspath(plugin_root), "plugin", "requirements.lock")


def _start(data_dir: str, plugin_root: str, *, insist: bool) -> int:
    """The id of the process that starts the installer, else NOT_STARTED or ANOTHER_RUNS."""
    environment = _environment(data_dir, plugin_root)
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
        _unlink(_error_file(data_dir))  # of an earlier attempt: this one must not look failed
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


def _spawn(lock: int, data_dir: str, plugin_root: str) -> int:
    """The id of a process that forks the installer and leaves at once, so nobody must reap that."""
    os.set_inheritable(lock, True)
    script = os.path.abspath(__file__)
    python = base_interpreter()
    return os.posix_spawn(
        python,
        [python, "-I", "-S", script, "--install", data_dir, plugin_root, str(lock)],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )


def _error_file(data_dir: str) -> str:
    return os.path.join(data_dir, "install-error")


def _read_error(data_dir: str) -> dict[str, str]:
    import json  # only when an installation is missing

    try:
        with open(_error_file(data_dir), encoding="utf-8") as file:
            found = json.load(file)
        return {name: str(found[name]) for name in ("time", "environment", "reason", "remedy")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _failed_lately(data_dir: str, environment: str) -> bool:
    import time  # only when an installation is missing

    try:
        age_s = time.time() - os.stat(_error_file(data_dir)).st_mtime
    except OSError:
        return False
    # Another release or interpreter has another folder and deserves its own try.
    same = _read_error(data_dir).get("environment") == os.path.basename(environment)
    return same and 0 <= age_s < BACK_OFF_S


# --- the detached child


def install(data_dir: str, plugin_root: str, lock: int) -> None:
    """The packages for this interpreter, installed and published; a failure is written down."""
    _write(lock, f"{os.getpid()}\n")
    environment = _environment(data_dir, plugin_root)
    if environment is None:
        return
    _remove_leftovers(data_dir)
    try:
        with open(os.path.join(data_dir, "install.log"), "wb", opener=_private) as log:
            _build(environment, _lock_file(plugin_root), log, lock)
        _publish(environment)
    except (OSError, InstallationFailed) as error:
        _remove(environment)
        _record_error(data_dir, environment, str(error))
    else:
        _unlink(_error_file(data_dir))
        _remove_others(data_dir, environment)
    _compile_source(data_dir, plugin_root)


def _build(environment: str, requirements: str, log: BinaryIO, lock: int) -> None:
    """A virtual environment with the packages: by uv where it works, else by venv and pip."""
    python = os.path.join(environment, "bin", "python")
    base = base_interpreter()
    uv = _find_uv()
    if uv:
        try:
            _tool([uv, "venv", "--no-project", "--python", base, environment], log, lock)
            _tool(
                [uv, "pip", "install", "--python", python, "--require-hashes", "-r", requirements],
                log,
                lock,
            )
            return
        except InstallationFailed:
            _remove(environment)
    _tool([base, "-I", "-m", "venv", environment], log, lock)
    pip = [python, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    _tool([*pip, "--retries", "2", "--require-hashes", "-r", requirements], log, lock)


def _tool(command: Sequence[str], log: BinaryIO, lock: int) -> None:
    import subprocess  # in the child only

    log.write(f"$ {' '.join(command)}\n".encode("utf-8", "replace"))
    log.flush()
    before = os.fstat(log.fileno()).st_size
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    try:
        # In its own folder: a project's pyproject.toml or uv.toml must not steer what is installed.
        code = subprocess.run(
            command,
            cwd=os.path.dirname(log.name),
            env={**kept, "PIP_NO_COLOR": "1", "UV_PYTHON_DOWNLOADS": "never"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
            timeout=TOOL_TIMEOUT_S,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        raise InstallationFailed(f"timed out after {TOOL_TIMEOUT_S} s") from None
    if code != 0:
        with open(log.name, "rb") as printed:
            printed.seek(before)
            raise InstallationFailed(printed.read(1 << 20).decode("utf-8", "replace"))


def _find_uv() -> str | None:
    import shutil  # in the child only

    places = os.pathsep.join((os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin")))
    return shutil.which("uv", path=places)


def _publish(environment: str) -> None:
    os.sync()  # after a power cut the marker must not stand before what it vouches for
    beside = os.path.join(environment, f"{MARKER}.new")
    with open(beside, "w", encoding="utf-8", opener=_private) as file:
        file.write(f"{base_interpreter()}\n")
    os.replace(beside, os.path.join(environment, MARKER))


def _record_error(data_dir: str, environment: str, printed: str) -> None:
    import json
    import time

    reason, remedy = "The packages could not be installed.", ""
    for needles, words, help_words in CAUSES:
        if any(needle in printed for needle in needles):
            reason, remedy = words, help_words
            break
    error = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "environment": os.path.basename(environment),
        "reason": reason,
        "remedy": f"{remedy} It is tried again after {BACK_OFF_S // 60} minutes; what the"
        f" installer printed is in {os.path.join(data_dir, 'install.log')}",
    }
    beside = f"{_error_file(data_dir)}.{os.getpid()}"
    try:
        with open(beside, "w", encoding="utf-8", opener=_private) as file:
            json.dump(error, file)
        os.replace(beside, _error_file(data_dir))
    except OSError:
        _unlink(beside)  # a full disk: the next session tries again without the back-off


def _remove_leftovers(data_dir: str) -> None:
    """What killed attempts left behind; the lock is held, so nobody is building."""
    for path in half_installed(data_dir):
        _remove(path)


def _remove_others(data_dir: str, environment: str) -> None:
    """Environments of other releases and interpreters, but for those a running server holds."""
    for name in os.listdir(data_dir):
        path = os.path.join(data_dir, name)
        if name.startswith("env-") and path != environment and not _held(path):
            _unlink(os.path.join(path, MARKER))
            _remove(path)


def _remove(path: str) -> None:
    import shutil  # in the child only

    shutil.rmtree(path, ignore_errors=True)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # gone already, or not removable: the next attempt meets it again


def _write(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _compile_source(data_dir: str, plugin_root: str) -> None:
    """`.pyc` files of the package, so that no hook compiles; where hooks look for them."""
    import compileall

    package = os.path.join(plugin_root, "plugin", "memory_fabric")
    if not os.access(package, os.W_OK):
        sys.pycache_prefix = os.path.join(data_dir, "pycache")
    compileall.compile_dir(package, quiet=2)


def _become_installer(data_dir: str, plugin_root: str, lock: int) -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    os.set_inheritable(lock, False)  # the tools get it by name, and nothing else of theirs does
    install(data_dir, plugin_root, lock)


# --- the bootstrap of bin/memory-fabric


def run(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Becomes the program under a Python that has the packages; an exit code when it cannot."""
    data_dir = environ.get("CLAUDE_PLUGIN_DATA", "")
    plugin_root = environ.get("CLAUDE_PLUGIN_ROOT", "")
    stated = environ.get("MEMORY_FABRIC_PYTHON", "")
    if stated and not os.access(stated, os.X_OK):
        return _say(f"MEMORY_FABRIC_PYTHON names {stated}, which cannot be run.")
    python = stated or environment_python(data_dir, plugin_root)
    if not python:
        python = _awaited(data_dir, plugin_root, server=list(arguments[:1]) == ["mcp"])
    if not python:
        return 1
    if not stated:
        _hold(os.path.dirname(os.path.dirname(python)))
    source = os.path.join(plugin_root, "plugin")
    options = ["-I"]
    if not os.access(os.path.join(source, "memory_fabric"), os.W_OK):
        options += ["-X", f"pycache_prefix={os.path.join(data_dir, 'pycache')}"]
    try:
        # The environment is found from argv[0]: its own absolute path.
        os.execv(python, [python, *options, "-c", ENTRY, source, *arguments])
    except OSError as error:
        return _say(f"{python} cannot be run: {error.strerror}.")


def _awaited(data_dir: str, plugin_root: str, *, server: bool) -> str | None:
    timeout_s = SERVER_WAIT_S if server else COMMAND_WAIT_S
    _say("installing its packages in the background, once (about 15 s) ...")
    python = wait(data_dir, plugin_root, timeout_s, insist=not server)
    if python is None:
        reason = last_error(data_dir)  # first: a failed installer may not have let go of its lock
        if not reason and is_running(data_dir):
            _say(f"not ready after {timeout_s} s; the installation goes on, start this again soon.")
        else:
            reason = reason or f"{data_dir or 'No folder'} cannot be used for it."
            _say(f"its packages are not installed. {reason}")
    return python


def _say(text: str) -> int:
    os.write(2, f"memory-fabric: {text}\n".encode("utf-8", "replace"))
    return 1


def _hold(environment: str) -> None:
    """Keeps the environment from being tidied away while this process and what it becomes lives."""
    import fcntl

    try:
        marker = os.open(os.path.join(environment, MARKER), os.O_RDONLY)
        fcntl.flock(marker, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.set_inheritable(marker, True)
    except OSError:
        return  # it is being removed right now; the program will say so itself


def _held(environment: str) -> bool:
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
    """The two ways this file is run as a script."""
    if arguments[:1] == ["--install"] and len(arguments) == 4:
        _become_installer(arguments[1], arguments[2], int(arguments[3]))
        return 0
    if arguments[:1] == ["--run"]:
        try:
            return run(arguments[1:], os.environ)
        except KeyboardInterrupt:
            return 130
    return _say("installation.py is run by hooks/launch and bin/memory-fabric.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

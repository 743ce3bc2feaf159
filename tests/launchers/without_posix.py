"""Run hooks/launch.py in a Python that has only what Windows's has: no POSIX calls, no fcntl.

python -I -S without_posix.py LAUNCH_PY [ARGUMENT ...]
"""

from __future__ import annotations

import os
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the documentation of `os` names "Availability: Unix".
UNIX_ONLY = """O_CLOEXEC O_NONBLOCK O_NOFOLLOW O_DIRECTORY fork forkpty posix_spawn posix_spawnp
    setsid getuid geteuid getgid getegid uname statvfs sync waitid killpg getsid setpgid getpgid
    chown lchown pread pwrite fchmod fchown mkfifo nice wait wait3 wait4 sysconf getloadavg
    POSIX_SPAWN_OPEN register_at_fork""".split()
MODULES = ("fcntl", "resource", "pwd", "grp", "termios")
# Of Linux: a lock that belongs to the open file, as on Windows, rather than to the process.
F_OFD_SETLK = 37


def like_msvcrt() -> Any:
    """Return a module like msvcrt: locks of bytes by Linux, and modes of streams that change
    nothing.
    """
    import fcntl
    import struct

    def locking(handle: int, _mode: int, size: int) -> None:
        at = os.lseek(handle, 0, os.SEEK_CUR)
        asked = struct.pack("hhqqhxxxxxx", fcntl.F_WRLCK, os.SEEK_SET, at, size, 0)
        try:
            fcntl.fcntl(handle, F_OFD_SETLK, asked)
        except BlockingIOError as error:
            raise PermissionError(13, "Permission denied") from error

    module = type(sys)("msvcrt")
    vars(module).update(locking=locking, LK_NBLCK=2, setmode=lambda handle, mode: None)
    return module


class Popen(subprocess.Popen[bytes]):
    """A process that takes Windows's flags; one with flags gets a session of its own."""

    def __init__(self, command: list[str], *, creationflags: int = 0, **more: Any) -> None:
        super().__init__(command, start_new_session=bool(creationflags), **more)


def main() -> None:
    """Take away what Windows has not, and run the launcher."""
    path, sys.argv[:] = sys.argv[1], sys.argv[1:]
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    modules: dict[str, Any] = vars(sys)["modules"]
    modules["msvcrt"] = like_msvcrt()
    modules.update(dict.fromkeys(MODULES))
    vars(subprocess)["Popen"] = Popen
    for name in UNIX_ONLY:
        if hasattr(os, name):
            delattr(os, name)
    vars(os).update(name="nt", O_BINARY=0)
    exec(code, {"__name__": "__main__", "__file__": path})


main()

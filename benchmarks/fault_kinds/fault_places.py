"""Faults 5 and 6: places that take nothing: a full disk, a home that cannot be written."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from damage import Damage, Row, Scale, create, damage, filled, unexplained, unreadable_meanwhile
from driver import Gone, Ours, Server, Side, Theirs

DISK_MB = 16
# Large enough to fill what a database has in reserve within a few calls.
TEXT = "x" * 3000
MAX_WRITES, ENOUGH_TROUBLE = 400, 5
# Under the first limit a database cannot grow but a queue can; under the other nothing can.
LIMITS = {"files cannot grow, a queue can": 20_000, "no file can grow": 64}

PR_CAPBSET_DROP = 24
# CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: by them root is above the modes of files.
ABOVE_MODES = (1, 2, 3)
LIBC = ctypes.CDLL(None)


class Disk(Protocol):
    """A place that can be filled up under a running server, and freed again.

    `causes` are the words of which a message about it has to hold one.
    """

    causes: tuple[str, ...]

    def fill(self, server: Server) -> None:
        """Let nothing more be written."""

    def free(self, server: Server) -> None:
        """Let all be written again."""


class Mounted:
    """A small file system of its own in memory."""

    causes: tuple[str, ...] = ("full", "no space")

    def __init__(self, path: str) -> None:
        self._filler = os.path.join(path, "filler")

    def fill(self, _server: Server) -> None:
        """Take every byte that is left."""
        with open(self._filler, "wb", buffering=0) as stream:
            size = 1 << 20
            while size:
                try:
                    stream.write(b"\0" * size)
                except OSError:
                    size //= 2

    def free(self, _server: Server) -> None:
        """Give all of it back."""
        os.unlink(self._filler)


class Limited:
    """A limit on the size of the server's files, where nothing may be mounted."""

    causes: tuple[str, ...] = ("disk", "too large", "written")

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes

    def fill(self, server: Server) -> None:
        """Stop the growth of its files."""
        self._limit(server, self._most_bytes)

    def free(self, server: Server) -> None:
        """Let them grow."""
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: Server, most_bytes: int) -> None:
        pid = server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most_bytes, hard))


def full_disk(folder: str, scale: Scale) -> Iterator[Row]:
    """Disks that fill up under a running server: a small file system, then limits on its files.

    Where nothing may be mounted the limits stand alone.
    """
    if _can_mount(os.path.join(folder, "try")):
        home = os.path.join(folder, "home")
        with _mounted(home) as disk:
            side = _of_home(os.path.join(folder, "project"), home)
            yield Row(5, "full disk under the home", _full(side, disk))
        for fault, is_running in (("fills up", True), ("is full at the first call", False)):
            sides: list[Side] = [Ours(os.path.join(folder, fault, "ours"))]
            sides += [Theirs(os.path.join(folder, fault, "theirs"))] if scale.reference else []
            yield Row(5, f"disk under everything {fault}", *_mounted_full(sides, is_running))
    for fault, most_bytes in LIMITS.items():
        side = Ours(os.path.join(folder, fault))
        yield Row(5, fault, _full(side, Limited(most_bytes)))


def read_only_home(folder: str, scale: Scale) -> Iterator[Row]:
    """A home that became read-only, and then the project, too."""
    side = Ours(os.path.join(folder, "home"))
    yield Row(6, "read-only home", _read_only(side, [side.home], queues=True))
    side = Ours(os.path.join(folder, "all"))
    ours = _read_only(side, [side.home, side.project, side.user], queues=False)
    theirs = None
    if scale.reference:
        folder = os.path.join(folder, "theirs")
        theirs = _read_only(Theirs(folder), [folder], queues=False)
    yield Row(6, "read-only home and project", ours, theirs)


def _mounted_full(sides: Sequence[Side], is_running: bool) -> Iterator[Damage]:
    for side in sides:
        with _mounted(side.folder) as disk:
            # What was made below is under the file system now.
            yield _full(type(side)(side.folder), disk, is_running)


def _full(side: Side, disk: Disk, is_running: bool = True) -> Damage:
    """Writes until five were in trouble, and one after. `is_running`: it had read before."""
    # Where a client keeps its servers' complaints is no concern of theirs.
    side.said = os.devnull
    before = filled(side)
    server = side.start()
    if is_running:
        server.graph()
    told: list[str] = []
    said: list[str] = []
    broken: list[str] = []
    disk.fill(server)
    try:
        for number in range(MAX_WRITES):
            answer = create(server, f"full-{number}", TEXT)
            told += [] if answer.failed else [f"full-{number}"]
            said += [answer.note] if answer.failed or answer.note else []
            if len(said) >= ENOUGH_TROUBLE:
                break
        broken += unreadable_meanwhile(server, before)
        disk.free(server)
        again = create(server, "after", TEXT)
        told += [] if again.failed else ["after"]
        if again.failed or again.note:
            broken.append(f"still in trouble after space was freed: {again.note}")
    except Gone as error:
        broken.append(f"the server failed: {error}")
    server.stop()
    broken += unexplained(" ".join(said), *disk.causes)
    return damage(side, told, before, " / ".join(dict.fromkeys(said)), broken)


def _read_only(side: Side, folders: Sequence[str], *, queues: bool) -> Damage:
    before = filled(side)
    broken: list[str] = []
    with _locked_up(folders):
        server = side.start(prepare=powerless)
        answer = create(server, "later")
        broken += unreadable_meanwhile(server, before)
        server.stop()
    if answer.failed == queues:
        broken.append("refused" if queues else "accepted what could be kept nowhere")
    broken += unexplained(answer.note, "permission")
    told = [] if answer.failed else ["later"]
    return damage(side, told, before, answer.note, broken)


def powerless() -> None:
    """For the child, before it runs: modes of files hold for it, also where we are root."""
    if os.getuid() == 0:
        for capability in ABOVE_MODES:
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@contextmanager
def _locked_up(folders: Sequence[str]) -> Iterator[None]:
    """A block in which nothing in the folders can be written."""
    modes: dict[str, int] = {}
    for folder in folders:
        for at, _, names in os.walk(folder):
            for path in (at, *(os.path.join(at, name) for name in names)):
                modes[path] = os.stat(path).st_mode & 0o777
    for path, mode in reversed(modes.items()):
        os.chmod(path, mode & 0o555)
    try:
        yield
    finally:
        for path, mode in modes.items():
            os.chmod(path, mode)


def _of_home(folder: str, home: str) -> Ours:
    """A project beside a home that lies elsewhere."""
    side = Ours(folder)
    os.rmdir(side.home)
    side.home = home
    return side


@contextmanager
def _mounted(path: str) -> Iterator[Disk]:
    _mount(path)
    try:
        yield Mounted(path)
    finally:
        subprocess.run(["umount", path], check=True)


def _mount(path: str) -> None:
    os.makedirs(path, exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "faults", path],
        check=True,
        capture_output=True,
    )


def _can_mount(path: str) -> bool:
    """True if this machine allows mounting."""
    if os.getuid() or not shutil.which("mount"):
        return False
    try:
        with _mounted(path):
            return True
    except subprocess.CalledProcessError:
        return False

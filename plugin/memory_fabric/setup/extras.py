"""Optional packages, each kind in a folder of its own next to the plugin's environment.

`serve` installs its kind when it is first used, `semantic on` on request. A folder is filled under
another name and published by a rename, so that other processes see it complete or not at all. The
environments of the command line and of the hooks are not changed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from memory_fabric.errors import FabricError
from memory_fabric.setup import packages as installation
from memory_fabric.setup.packages import MARKER
from memory_fabric.store.files import Locked

# Longer than another process needs to download the same packages.
WAIT_S = 900.0
# An unfinished folder that is older belongs to a killed attempt.
LEFTOVER_AFTER_S = 3600
UNFINISHED = "unfinished-"


def lock_file(kind: str, plugin_root: str) -> str:
    """Return the file with the pinned packages of this kind."""
    return os.path.join(plugin_root, "plugin", f"{kind}.lock")


def folder_of(kind: str, data_dir: str, plugin_root: str) -> str:
    """Return the folder of this kind for this interpreter and these pins; empty if there are no
    pins.

    Its name changes with the pins, so that a release with others never runs on the old ones.
    """
    if not data_dir or not plugin_root:
        return ""
    import zlib  # late: no hook needs it before its reply

    try:
        with open(lock_file(kind, plugin_root), "rb") as file:
            pins = zlib.crc32(file.read())
    except OSError:
        return ""
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return os.path.join(os.path.abspath(data_dir), f"{kind}-{python}-{pins:08x}")


def reach(folder: str) -> None:
    """Make a complete folder importable in this process, after everything else on the path."""
    if folder and folder not in sys.path and os.path.exists(os.path.join(folder, MARKER)):
        sys.path.append(folder)
        installation.hold(folder)


def missing(packages: Sequence[str]) -> list[str]:
    """Return those of these packages that cannot be found."""
    from importlib.util import find_spec  # late: no hook needs it

    return [name for name in packages if find_spec(name) is None]


def install(folder: str, lock: str) -> None:
    """Install the packages of a lock into the folder, once even if several processes ask.

    Raises FabricError with the cause and a remedy, OSError, and TimeoutError if another process
    takes too long with it.
    """
    import shutil  # not needed to look for an extra

    with Locked(f"{folder}.lock", WAIT_S):
        if not os.path.exists(os.path.join(folder, MARKER)):
            _fill(folder, lock)
    kind = os.path.basename(folder).partition("-")[0]
    for other in installed(kind, os.path.dirname(folder)):
        if other != folder and not installation.held(other):
            shutil.rmtree(other, ignore_errors=True)


def installed(kind: str, data_dir: str) -> list[str]:
    """Return every folder of this kind, of any release and interpreter."""
    try:
        names = sorted(os.listdir(data_dir)) if data_dir else []
    except OSError:
        return []
    paths = [os.path.join(data_dir, name) for name in names if name.startswith(f"{kind}-")]
    return [path for path in paths if os.path.isdir(path)]


def remove(kind: str, data_dir: str) -> bool:
    """Delete every folder of this kind; return True if there was one. Raises OSError."""
    import shutil

    found = installed(kind, data_dir)
    for folder in found:
        shutil.rmtree(folder)
        installation.unlink(f"{folder}.lock")
    if data_dir:
        _remove_leftovers(data_dir)
    return bool(found)


def _fill(folder: str, lock: str) -> None:
    import shutil
    import tempfile

    from memory_fabric.setup import install_packages

    above = os.path.dirname(folder)
    _remove_leftovers(above)
    unfinished = tempfile.mkdtemp(prefix=UNFINISHED, dir=above)
    target, log = os.path.join(unfinished, "packages"), os.path.join(unfinished, "log")

    def prepare() -> None:
        shutil.rmtree(target, ignore_errors=True)
        os.mkdir(target, 0o700)

    try:
        with open(log, "wb") as printed:
            tools = install_packages.Tools(printed)
            install_packages.fetch(
                lock, tools, prepare, os.path.join(unfinished, "pip"), target=target
            )
        with open(os.path.join(target, MARKER), "w", encoding="utf-8"):
            pass
        shutil.rmtree(folder, ignore_errors=True)  # without its marker it is not in use
        os.rename(target, folder)
    except install_packages.InstallationFailed as error:
        reason, remedy = install_packages.explained(str(error))
        raise FabricError(reason, remedy=f"{remedy} Nothing was changed.".lstrip()) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove_leftovers(data_dir: str) -> None:
    import shutil

    for name in os.listdir(data_dir) if os.path.isdir(data_dir) else ():
        path = os.path.join(data_dir, name)
        if name.startswith(UNFINISHED) and time.time() - os.stat(path).st_mtime > LEFTOVER_AFTER_S:
            shutil.rmtree(path, ignore_errors=True)

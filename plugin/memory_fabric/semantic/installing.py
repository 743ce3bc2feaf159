"""The extra's packages, put into a folder of their own beside the plugin's environment, and away.

The folder is filled under another name and published by a rename: a server that looks meanwhile
sees the whole or nothing. It touches neither the environment nor the hooks; each package is pinned
with hashes, comes as a built wheel, and brings nothing that is not pinned.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from memory_fabric.errors import FabricError
from memory_fabric.installation import FOREIGN_VARIABLES
from memory_fabric.semantic import place

TOOL_TIMEOUT_S = 900
# What a killed attempt left is told from one that runs by its age.
LEFTOVER_AFTER_S = 3600
PREFIX, UNFINISHED = "semantic-", "semantic-new-"
MAX_PRINTED_CHARS = 600


def install(folder: str, lock: str) -> None:
    """Fill the folder with the packages of a lock. Raises FabricError with what the tool said."""
    above = os.path.dirname(folder)
    os.makedirs(above, mode=0o700, exist_ok=True)
    _remove_leftovers(above)
    unfinished = tempfile.mkdtemp(prefix=UNFINISHED, dir=above)
    try:
        _fetch(unfinished, lock)
        with open(os.path.join(unfinished, place.MARKER), "w", encoding="utf-8"):
            pass
        try:
            os.rename(unfinished, folder)
        except OSError:
            # Another was quicker; a folder without its marker is nobody's.
            if not os.path.exists(os.path.join(folder, place.MARKER)):
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    for other in installed(above):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def installed(data_dir: str) -> list[str]:
    """Every folder of the extra, of any release and interpreter."""
    try:
        names = sorted(os.listdir(data_dir)) if data_dir else []
    except OSError:
        return []
    return [
        os.path.join(data_dir, name)
        for name in names
        if name.startswith(PREFIX) and not name.startswith(UNFINISHED)
    ]


def remove(data_dir: str) -> bool:
    """Take every folder of the extra away; whether there was one. Raises OSError."""
    found = installed(data_dir)
    for folder in found:
        shutil.rmtree(folder)
    if data_dir:
        _remove_leftovers(data_dir)
    return bool(found)


def _fetch(target: str, lock: str) -> None:
    options = ["--quiet", "--target", target, "--no-deps", "--only-binary", ":all:"]
    options += ["--require-hashes", "-r", lock]
    places = os.pathsep.join((os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin")))
    uv = shutil.which("uv", path=places)
    pip = [sys.executable, "-I", "-m", "pip", "install", "--no-input"]
    pip += ["--disable-pip-version-check", "--retries", "2"]
    tools = [[uv, "pip", "install", "--python", sys.executable]] if uv else []
    printed = ""
    for tool in [*tools, pip]:
        done = _ran([*tool, *options], target)
        if done is None:
            return
        printed = done
    raise FabricError(
        f"The packages could not be installed: {printed[-MAX_PRINTED_CHARS:]}",
        remedy="Check the network and the package index; nothing was changed.",
    )


def _ran(command: Sequence[str], folder: str) -> str | None:
    """None when the command did its work, else what it printed."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    try:
        done = subprocess.run(
            command,
            # A project's own pyproject.toml or uv.toml must not steer what is installed.
            cwd=folder,
            env={**kept, "PIP_NO_COLOR": "1", "UV_PYTHON_DOWNLOADS": "never"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TOOL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return None if done.returncode == 0 else done.stdout.decode("utf-8", "replace").strip()


def _remove_leftovers(data_dir: str) -> None:
    for name in os.listdir(data_dir) if os.path.isdir(data_dir) else ():
        path = os.path.join(data_dir, name)
        if name.startswith(UNFINISHED) and time.time() - os.stat(path).st_mtime > LEFTOVER_AFTER_S:
            shutil.rmtree(path, ignore_errors=True)

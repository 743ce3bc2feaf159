"""The link to the command in a folder of the user's PATH."""

from __future__ import annotations

import os

from memory_fabric.clients.claude_code import manifest
from memory_fabric.clients.claude_code.manifest import Mark
from memory_fabric.errors import BadInput, NotFound

NAME = "memory-fabric"
PROGRAM = os.path.join("bin", NAME)


def put(home: str, folder: str, root: str) -> tuple[str, bool]:
    """The link in `folder` that leads to the command at `root`, and whether it is new.

    A link of another copy of ours is replaced. Raises BadInput for a foreign file, OSError.
    """
    target, path = os.path.join(root, PROGRAM), os.path.join(folder, NAME)
    if not root or not os.access(target, os.X_OK):
        raise BadInput(
            "--shell",
            "The command is not beside this package.",
            remedy="Run bin/memory-fabric setup --shell in a checkout of memory-fabric.",
        )
    if os.path.lexists(path):
        if not is_ours(home, path):
            raise BadInput(
                "--shell",
                f"{path} is not ours and was left alone.",
                remedy="Move it away, or name another folder with --bin.",
            )
        if os.readlink(path) == target:
            return path, False
        os.unlink(path)
    made = _made(folder)
    os.symlink(target, path)
    known = manifest.mark_of(home, path)
    folders = known.folders if known else ()
    manifest.remember(home, Mark(path, manifest.LINK, target, folders=(*folders, *made)))
    return path, True


def take(home: str, path: str) -> None:
    """Take our link out, and the folder if it was made for it and is empty.

    Raises NotFound where there is none, BadInput for a foreign file, OSError.
    """
    known = manifest.mark_of(home, path)
    if not os.path.lexists(path):
        manifest.forget(home, path)
        raise NotFound(path, f"There is no {path}.", remedy="Name its folder with --bin.")
    if not is_ours(home, path):
        raise BadInput(
            "--shell", f"{path} is not ours and was left alone.", remedy="Remove it yourself."
        )
    os.unlink(path)
    manifest.forget(home, path)
    for folder in reversed(known.folders if known else ()):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def is_ours(home: str, path: str) -> bool:
    """Whether a path is a link to a command of ours, also one that leads nowhere any longer."""
    if not os.path.islink(path):
        return False
    target = os.readlink(path)
    known = manifest.mark_of(home, path)
    root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    return (known is not None and known.command == target) or (
        target.endswith(PROGRAM) and os.path.exists(os.path.join(root, "hooks", "launch"))
    )


def _made(folder: str) -> list[str]:
    """The folders that were made so that this one exists, the outermost first. Raises OSError."""
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    for one in missing:
        os.mkdir(one)
    return missing

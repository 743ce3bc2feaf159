"""Symbolic link to the memory-fabric command in a folder of the user's PATH."""

import os

from memory_fabric.clients import manifest
from memory_fabric.clients.manifest import Mark
from memory_fabric.errors import BadInput, NotFound

NAME = "memory-fabric"
PROGRAM = os.path.join("bin", NAME)


def put(home: str, folder: str, root: str) -> tuple[str, bool]:
    """Create a link to the command of `root` in `folder`; return its path and True if it is new.

    A link to another installation is replaced. Raises OSError, and BadInput if the path is another
    program's file.
    """
    if os.name != "posix":
        text = "Windows makes no links without a right of their own."
        raise BadInput("--shell", text, remedy=f"Add {os.path.join(root, 'bin')} to your PATH.")
    target, path = os.path.join(root, PROGRAM), os.path.join(folder, NAME)
    if not root or not os.access(target, os.X_OK):
        text = "The command is not installed next to this package."
        remedy = "Run bin/memory-fabric setup --shell in a checkout of memory-fabric."
        raise BadInput("--shell", text, remedy=remedy)
    if os.path.lexists(path):
        _expect_ours(home, path, "Move it away, or name another folder with --bin.")
        if os.readlink(path) == target:
            return path, False
        os.unlink(path)
    made = manifest.make_folders(folder)
    os.symlink(target, path)
    before = [name for mark in manifest.marks_of(home, path)[:1] for name in mark.folders]
    manifest.remember(home, Mark(path, manifest.LINK, target, folders=(*before, *made)))
    return path, True


def take(home: str, path: str) -> None:
    """Remove the link, and its folder if setup created the folder and it is now empty.

    Raises NotFound if there is no link, BadInput if it is another program's file, OSError.
    """
    marks = manifest.marks_of(home, path)
    if not os.path.lexists(path):
        manifest.forget(home, path)
        raise NotFound(path, f"There is no {path}.", remedy="Name its folder with --bin.")
    _expect_ours(home, path, "Remove it yourself.")
    os.unlink(path)
    manifest.forget(home, path)
    manifest.remove_empty(marks[0].folders if marks else ())


def _expect_ours(home: str, path: str, remedy: str) -> None:
    """Raise BadInput unless the path is a link to a memory-fabric command; it may be broken."""
    if os.path.islink(path):
        target = os.readlink(path)
        if target in manifest.commands_of(home, path)[:1]:
            return
        root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        if target.endswith(PROGRAM) and os.path.exists(os.path.join(root, "hooks", "launch")):
            return
    text = f"{path} belongs to another program and was left alone."
    raise BadInput("--shell", text, remedy=remedy)

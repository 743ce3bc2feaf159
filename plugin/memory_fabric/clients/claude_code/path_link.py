"""The symbolic link to the command in a folder of the user's PATH."""

import os

from memory_fabric.clients.claude_code import manifest
from memory_fabric.clients.claude_code.manifest import Mark
from memory_fabric.errors import BadInput, NotFound

NAME = "memory-fabric"
PROGRAM = os.path.join("bin", NAME)


def put(home: str, folder: str, root: str) -> tuple[str, bool]:
    """Create the link to the command of `root` in `folder`; return its path and whether it is new.

    A link to another copy is replaced. Raises BadInput for another program's file, OSError.
    """
    if os.name != "posix":
        raise BadInput(
            "--shell",
            "Windows makes no links without a right of their own.",
            remedy=f"Add {os.path.join(root, 'bin')} to your PATH.",
        )
    target, path = os.path.join(root, PROGRAM), os.path.join(folder, NAME)
    if not root or not os.access(target, os.X_OK):
        raise BadInput(
            "--shell",
            "The command is not installed next to this package.",
            remedy="Run bin/memory-fabric setup --shell in a checkout of memory-fabric.",
        )
    if os.path.lexists(path):
        if not is_ours(home, path):
            raise BadInput(
                "--shell",
                f"{path} belongs to another program and was left alone.",
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
    """Remove the link, and its folder if setup created it and it is empty.

    Raises NotFound if there is none, BadInput for another program's file, OSError.
    """
    known = manifest.mark_of(home, path)
    if not os.path.lexists(path):
        manifest.forget(home, path)
        raise NotFound(path, f"There is no {path}.", remedy="Name its folder with --bin.")
    if not is_ours(home, path):
        raise BadInput(
            "--shell",
            f"{path} belongs to another program and was left alone.",
            remedy="Remove it yourself.",
        )
    os.unlink(path)
    manifest.forget(home, path)
    for folder in reversed(known.folders if known else ()):
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)


def is_ours(home: str, path: str) -> bool:
    """True for a link to a command of memory-fabric, even if its target is gone."""
    if not os.path.islink(path):
        return False
    target = os.readlink(path)
    known = manifest.mark_of(home, path)
    root = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    return (known is not None and known.command == target) or (
        target.endswith(PROGRAM) and os.path.exists(os.path.join(root, "hooks", "launch"))
    )


def _made(folder: str) -> list[str]:
    """Create the missing folders down to this one; return them, the outermost first. Raises
    OSError.
    """
    missing: list[str] = []
    while folder and not os.path.lexists(folder):
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    for one in missing:
        os.mkdir(one, 0o755)
    return missing

"""Where a command writes what it made: a file that it must not replace unasked, or a stream."""

from __future__ import annotations

import os

from memory_fabric.errors import BadInput
from memory_fabric.store import files

STREAM = "-"


def write(target: str, content: bytes, force: bool) -> None:
    """Write the file in one step. Raises BadInput where what exists may not be replaced."""
    if os.path.isdir(target):
        raise BadInput("FILE", f"{target} is a folder.", remedy="Name a file in it.")
    if os.path.exists(target) and not os.path.isfile(target):
        raise BadInput(
            "FILE",
            f"{target} is no file: it would be one afterwards.",
            remedy="Name a file, or - for standard output.",
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise BadInput("FILE", f"There is no folder for {target}.")
    still = None if force else lambda: not os.path.lexists(target)
    if (still and not still()) or not files.write_atomic(target, content, still=still):
        raise BadInput("--force", f"{target} exists; nothing was written.", remedy="Say --force.")

"""Write the output file of a command, without replacing an existing one unasked."""

import os
from collections.abc import Iterable

from memory_fabric.errors import BadInput
from memory_fabric.store import files

STREAM = "-"


def write(target: str, content: bytes | Iterable[bytes], force: bool) -> None:
    """Write the file atomically. Raises BadInput if it exists and `force` is not set."""
    if os.path.isdir(target):
        raise BadInput("FILE", f"{target} is a folder.", remedy="Name a file in it.")
    if os.path.exists(target) and not os.path.isfile(target):
        raise BadInput(
            "FILE",
            f"{target} exists and is not a regular file.",
            remedy="Name another file, or - for standard output.",
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise BadInput("FILE", f"The folder of {target} does not exist.")
    still = None if force else lambda: not os.path.lexists(target)
    if (still and not still()) or not files.write_atomic(target, content, still=still):
        raise BadInput(
            "--force", f"{target} exists; nothing was written.", remedy="Use --force to replace it."
        )

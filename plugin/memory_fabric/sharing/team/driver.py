"""The packages of the extra `team`: made importable, and installed.

They are where any package is (`pip install '.[team]'` in a clone), or in the folder that
`memory-fabric team join` fills next to the plugin's own environment. A detached process starts
without the packages of its interpreter, so a tie notes the folder in which they were.
"""

import os
import sys

from memory_fabric.config import Settings
from memory_fabric.setup import extras
from memory_fabric.sharing.team.errors import TeamError

KIND = "team"
PACKAGES = ("psycopg", "cryptography", "mnemonic")
SIZE_MB = 35


class DriverMissing(TeamError):
    """The packages of the extra cannot be found by this interpreter."""


def reach(settings: Settings, noted: str = "") -> None:
    """Make the packages importable. Raises DriverMissing.

    `noted` is the folder in which they were when the tie was made.
    """
    extras.reach(_folder(settings))
    if extras.missing(PACKAGES) and noted and os.path.isdir(noted) and noted not in sys.path:
        sys.path.append(noted)
    missing = extras.missing(PACKAGES)
    if missing:
        raise DriverMissing(
            f"The packages for a shared log are missing here ({', '.join(missing)}).",
            remedy="Run memory-fabric team join again, which installs them, or "
            "pip install '.[team]' in a clone of memory-fabric.",
        )


def install(settings: Settings) -> bool:
    """Install the packages if they are missing; return True if they were.

    Raises DriverMissing, FabricError, OSError, TimeoutError.
    """
    try:
        reach(settings)
        return False
    except DriverMissing:
        if not _folder(settings):
            raise
    extras.install(_folder(settings), extras.lock_file(KIND, settings.plugin_root))
    reach(settings)
    return True


def folder_in_use(settings: Settings) -> str:
    """Return the folder from which the packages come, for the tie to note; empty if it is that of
    the extra, which every process finds.
    """
    import psycopg  # reached before

    folder = os.path.dirname(os.path.dirname(os.path.abspath(psycopg.__file__ or "")))
    return "" if folder == _folder(settings) else folder


def _folder(settings: Settings) -> str:
    return extras.folder_of(KIND, settings.data_dir, settings.plugin_root)

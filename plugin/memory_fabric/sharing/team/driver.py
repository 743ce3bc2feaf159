"""The packages of the extras `team` and `sync`: made importable, and installed.

They are where any package is (`pip install '.[team]'` in a clone), or in the folder that
`memory-fabric team join` or `sync git` fills next to the plugin's own environment; that of `team`
has what `sync` needs, too. A detached process starts without the packages of its interpreter, so a
tie notes the folder in which they were.
"""

import os
import sys

from memory_fabric.config import Settings
from memory_fabric.setup import extras
from memory_fabric.sharing.team.errors import TeamError

# What a log in PostgreSQL needs, and what one in a git repository does.
TEAM, SYNC = "team", "sync"
_SEAL = ("cryptography", "mnemonic")
PACKAGES = {TEAM: ("psycopg", *_SEAL), SYNC: _SEAL}
SIZE_MB = {TEAM: 35, SYNC: 17}
_COMMANDS = {TEAM: "team join", SYNC: "sync git"}


class DriverMissing(TeamError):
    """The packages of the extra cannot be found by this interpreter."""


def reach(settings: Settings, noted: str = "", kind: str = TEAM) -> None:
    """Make the packages of an extra importable. Raises DriverMissing.

    `noted` is the folder in which they were when the tie was made.
    """
    for folder in _folders(settings, kind):
        extras.reach(folder)
    if extras.missing(PACKAGES[kind]) and os.path.isdir(noted) and noted not in sys.path:
        sys.path.append(noted)
    missing = extras.missing(PACKAGES[kind])
    if missing:
        raise DriverMissing(
            f"The packages for this exchange are missing here ({', '.join(missing)}).",
            remedy=f"Run memory-fabric {_COMMANDS[kind]} again, which installs them, or "
            f"pip install '.[{kind}]' in a clone of memory-fabric.",
        )


def install(settings: Settings, kind: str = TEAM) -> None:
    """Install the packages of an extra.

    Raises DriverMissing, FabricError, OSError, TimeoutError.
    """
    folder = _folders(settings, kind)[0]
    if folder:
        extras.install(folder, extras.lock_file(kind, settings.plugin_root))
    reach(settings, kind=kind)


def folder_in_use(settings: Settings, kind: str = TEAM) -> str:
    """Return the folder from which the packages come, for the tie to note; empty if it is that of
    an extra, which every process finds.
    """
    from importlib.util import find_spec  # late: no hook needs it

    spec = find_spec(PACKAGES[kind][0])  # reached before
    assert spec is not None and spec.origin
    folder = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
    return "" if folder in _folders(settings, kind) else folder


def _folders(settings: Settings, kind: str) -> list[str]:
    """Return the folder of the extra, then another one that has its packages."""
    kinds = dict.fromkeys((kind, TEAM))
    return [extras.folder_of(one, settings.data_dir, settings.plugin_root) for one in kinds]

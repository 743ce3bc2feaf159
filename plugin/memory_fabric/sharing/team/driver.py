"""The packages of the extras `team` and `sync`: their installation and import.

They are installed with pip, or else by `memory-fabric team join` or `sync git` in a folder beside
the plugin's environment. The folder of `team` also serves `sync`, whose packages it contains. A
link to a space stores the folder that pip used, because a detached process could not find it.
"""

import os
import sys

from memory_fabric.config import Settings
from memory_fabric.setup import extras
from memory_fabric.sharing.team.errors import TeamError

# The names of the extras for a log in PostgreSQL (team) and in a git repository (sync).
TEAM, SYNC = "team", "sync"
_SEAL = ("cryptography", "mnemonic")
PACKAGES = {TEAM: ("psycopg", *_SEAL), SYNC: _SEAL}
SIZE_MB = {TEAM: 35, SYNC: 17}
_COMMANDS = {TEAM: "team join", SYNC: "sync git"}


class DriverMissing(TeamError):
    """The packages of an extra cannot be imported."""


def reach(settings: Settings, noted: str = "", kind: str = TEAM) -> None:
    """Make packages of an extra importable; `noted` is a fallback folder. Raises DriverMissing."""
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
    """Install the packages of an extra. Raises FabricError, OSError, TimeoutError."""
    folder = _folders(settings, kind)[0]
    if folder:
        extras.install(folder, extras.lock_file(kind, settings.plugin_root))
    reach(settings, kind=kind)


def folder_in_use(settings: Settings, kind: str = TEAM) -> str:
    """Return the folder of packages installed with pip; '' if they are in the extra's folder."""
    from importlib.util import find_spec  # Imported late: hooks do not need it.

    spec = find_spec(PACKAGES[kind][0])  # `reach` has made the package importable
    assert spec is not None and spec.origin
    folder = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
    return "" if folder in _folders(settings, kind) else folder


def _folders(settings: Settings, kind: str) -> list[str]:
    """Return the extra's folder; for `sync`, also that of `team`, which has its packages, too."""
    kinds = dict.fromkeys((kind, TEAM))
    return [extras.folder_of(one, settings.data_dir, settings.plugin_root) for one in kinds]

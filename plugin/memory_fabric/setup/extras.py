"""Optional packages ("extras"), each in its own folder, and the start of the embedding process.

    hook or server ── start_embedding_when_due() ──▶ semantic.measure, detached ──▶ table `vectors`

`serve` installs its extra on first use; the command `semantic on` installs the semantic extra. A
folder is filled under a temporary name and then renamed, so that other processes never see it
incomplete. This module imports no extra itself: hooks use it too, after they have replied.
"""

import os
import sys
import time
from collections.abc import Sequence

from memory_fabric import processes
from memory_fabric.config import Settings, environment
from memory_fabric.errors import FabricError
from memory_fabric.setup import packages as installation
from memory_fabric.setup.packages import MARKER
from memory_fabric.setup.packages import folder_of as folder_of
from memory_fabric.setup.packages import lock_file as lock_file
from memory_fabric.store.database import Database
from memory_fabric.store.files import Locked, names_in

UNFINISHED = "unfinished-"
SEMANTIC = "semantic"
# The embedding process's lock file in the home; its modification time is that of the last start.
LOCK = "embedding.lock"
# Minimum seconds between two starts, because loading the model takes half a second of CPU time.
EVERY_S = 30.0
# SQL for each table: the condition for embedding a row (alias `t`), and in KEYS, the key column.
EMBEDDED = {
    "records": "t.status = 'active'",
    "observations": "t.record = ''",
    "episodes": "t.role = 'user'",
}
KEYS = {"records": "seq", "observations": "id", "episodes": "id"}
# At most this many of the newest keys are checked (in 5 ms). Embedding finds older rows, too.
MAX_KEYS_READ = 5000


def reach(folder: str) -> None:
    """Append an extra's folder to sys.path if it is complete, to make its packages importable."""
    if folder and folder not in sys.path and os.path.exists(os.path.join(folder, MARKER)):
        sys.path.append(folder)
        installation.hold(folder)


def missing(packages: Sequence[str]) -> list[str]:
    """Return the names of the packages that cannot be imported."""
    from importlib.util import find_spec  # imported late: hooks do not need it

    return [name for name in packages if find_spec(name) is None]


def install(folder: str, lock: str) -> None:
    """Install a lock file's packages if missing. Raises FabricError, OSError, TimeoutError."""
    import shutil  # imported late: needed only to install

    # Another process may be installing the same packages; a download takes less than 15 minutes.
    with Locked(f"{folder}.lock", 900.0):
        if not os.path.exists(os.path.join(folder, MARKER)):
            _fill(folder, lock)
    for other in installed(os.path.basename(folder).partition("-")[0], os.path.dirname(folder)):
        if other != folder and not installation.held(other):
            shutil.rmtree(other, ignore_errors=True)


def installed(kind: str, data_dir: str) -> list[str]:
    """Return all folders of this kind of extra: one for each release and interpreter."""
    names = names_in(data_dir) if data_dir else []
    paths = [os.path.join(data_dir, name) for name in names if name.startswith(f"{kind}-")]
    return [path for path in paths if os.path.isdir(path)]


def remove(kind: str, data_dir: str) -> bool:
    """Delete all folders of this kind of extra; return True if there were any. Raises OSError."""
    import shutil

    folders = installed(kind, data_dir)
    for folder in folders:
        shutil.rmtree(folder)
        installation.unlink(f"{folder}.lock")
    if data_dir:
        _remove_leftovers(data_dir)
    return bool(folders)


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
            scratch = os.path.join(unfinished, "pip")
            install_packages.fetch(lock, tools, prepare, scratch, target=target)
        with open(os.path.join(target, MARKER), "w", encoding="utf-8"):
            pass
        shutil.rmtree(folder, ignore_errors=True)  # incomplete, so no process uses it
        os.rename(target, folder)
    except install_packages.InstallationFailed as error:
        reason, remedy = install_packages.explained(str(error))
        raise FabricError(reason, remedy=f"{remedy} Nothing was changed.".lstrip()) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove_leftovers(data_dir: str) -> None:
    import shutil

    for name in names_in(data_dir):
        path = os.path.join(data_dir, name)
        # An unfinished folder this old was left by a process that was killed.
        if name.startswith(UNFINISHED) and time.time() - os.stat(path).st_mtime > 3600:
            shutil.rmtree(path, ignore_errors=True)


def start_embedding_when_due(settings: Settings, databases: Sequence[Database]) -> int:
    """Start the embedding process if it is installed and needed; return its process id, or 0."""
    if not settings.semantic or not settings.writes:
        return 0
    try:
        if 0 <= time.time() - os.stat(os.path.join(settings.home, LOCK)).st_mtime < EVERY_S:
            return 0
    except OSError:
        pass  # the embedding process has never run
    folder = folder_of(SEMANTIC, settings.data_dir, settings.plugin_root)
    is_installed = bool(folder) and os.path.exists(os.path.join(folder, MARKER))
    return start_embedding(settings) if is_installed and any(map(is_due, databases)) else 0


def is_due(database: Database) -> bool:
    """Return True if any of the database's newest memories lacks a vector."""
    for table, condition in EMBEDDED.items():
        key = KEYS[table]
        row = database.row(
            f"SELECT 1 FROM {table} AS t LEFT JOIN vectors AS v ON v.kind = ? AND v.row = t.{key} "
            f"WHERE v.row IS NULL AND {condition} "
            f"AND t.{key} > (SELECT max({key}) FROM {table}) - ? LIMIT 1",
            (table, MAX_KEYS_READ),
        )
        if row is not None:
            return True
    return False


def start_embedding(settings: Settings) -> int:
    """Start the embedding process, which does not end with the session; return its process id."""
    own = {"MEMORY_FABRIC_HOME": settings.home, "CLAUDE_PROJECT_DIR": settings.project_dir}
    own |= {"CLAUDE_PLUGIN_DATA": settings.data_dir, "CLAUDE_PLUGIN_ROOT": settings.plugin_root}
    return processes.start("semantic.measure", {**environment(), **own})

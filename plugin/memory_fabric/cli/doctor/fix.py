"""doctor --fix: repairs that are safe without asking; the client's files are never changed."""

from collections.abc import Callable, Mapping

from memory_fabric.cli.doctor import storage
from memory_fabric.cli.doctor.finding import Sight
from memory_fabric.setup import packages as installation
from memory_fabric.store import files
from memory_fabric.store.health import filesystem, repair
from memory_fabric.store.tiers import sync as upkeep
from memory_fabric.text import first_of

Mend = Callable[[Sight], list[str]]


def permissions(sight: Sight) -> list[str]:
    """Remove other users' rights on the files and folders."""
    changed = filesystem.make_private(filesystem.all_paths(storage.private_folders(sight)))
    return [f"removed other users' rights on {first_of(changed, storage.SHOWN)}"] if changed else []


def interpreter(sight: Sight) -> list[str]:
    """Forget a remembered interpreter that is gone, so that the next hook searches again."""
    path = installation.remembered_file(sight.settings.data_dir)
    filesystem.delete([path])
    return [f"{path} named an interpreter that is gone, and was deleted"]


def packages(sight: Sight) -> list[str]:
    """Start the installation again; it removes an unfinished earlier one."""
    settings = sight.settings
    if installation.start_again(settings.data_dir, settings.plugin_root):
        return ["the installation of the packages was started again, in the background"]
    return []


def leftovers(sight: Sight) -> list[str]:
    """Remove half-written files of killed processes."""
    paths = filesystem.all_paths(storage.private_folders(sight))
    left = filesystem.leftovers(paths, sight.now_s)
    filesystem.delete(left)
    return [f"removed half-written {path}" for path in left]


def indexes(sight: Sight) -> list[str]:
    """Rebuild full-text indexes that do not match their texts."""
    return [
        f"rebuilt {table} in {database.path}"
        for database in sight.memory.databases()
        if not database.newer and not database.read_only
        if files.size_of(database.path) <= storage.MAX_INDEXED_BYTES
        for table in repair.repair_indexes(database)
    ]


def tiers(sight: Sight) -> list[str]:
    """Process the queue, and write journals and MEMORY.md again from the graph."""
    memory = sight.memory
    if not memory.settings.writes:
        return []
    applied = upkeep.drain(memory)
    memory.flush()
    restored = upkeep.restore_journals(memory)
    done = [f"applied {applied} waiting changes"] if applied else []
    done += [f"restored {restored} lost lines of journals"] if restored else []
    return done or ["journals and MEMORY.md are up to date"]


# Repairs by the name of the check. A repair that several checks share runs once.
MENDING: Mapping[str, Mend] = {
    "permissions": permissions,
    "hooks' python": interpreter,
    "packages": packages,
    "leftovers": leftovers,
    "indexes": indexes,
    "queue": tiers,
    "tier graph": tiers,
    "tier local": tiers,
    "tier native": tiers,
}

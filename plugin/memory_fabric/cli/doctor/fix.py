"""doctor --fix: what is safe to mend without asking; the client's own files are never touched."""

from __future__ import annotations

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
    """Rights of others on our files and folders are taken away."""
    changed = filesystem.make_private(filesystem.all_paths(storage.private_folders(sight)))
    return (
        [f"taken from others: the rights on {first_of(changed, storage.SHOWN)}"] if changed else []
    )


def interpreter(sight: Sight) -> list[str]:
    """A remembered interpreter that is gone is forgotten: the next hook looks for another."""
    path = installation.remembered_file(sight.settings.data_dir)
    filesystem.delete([path])
    return [f"{path} named an interpreter that is gone, and is forgotten"]


def packages(sight: Sight) -> list[str]:
    """The installation is started again; it removes what an earlier one left unfinished."""
    settings = sight.settings
    if installation.start_again(settings.data_dir, settings.plugin_root):
        return ["the installation of the packages was started again, in the background"]
    return []


def leftovers(sight: Sight) -> list[str]:
    """Half-written files of killed writers are removed."""
    paths = filesystem.all_paths(storage.private_folders(sight))
    left = filesystem.leftovers(paths, sight.now_s)
    filesystem.delete(left)
    return [f"{path} was left half-written, and is removed" for path in left]


def indexes(sight: Sight) -> list[str]:
    """Full-text indexes that do not fit their texts are made again."""
    return [
        f"{table} in {database.path} is made again"
        for database in sight.memory.databases()
        if not database.newer and not database.read_only
        if files.size_of(database.path) <= storage.MAX_INDEXED_BYTES
        for table in repair.repair_indexes(database)
    ]


def tiers(sight: Sight) -> list[str]:
    """The queue is drained, and journals and MEMORY.md are written again from the graph."""
    memory = sight.memory
    if not memory.settings.writes:
        return []
    applied = upkeep.drain(memory)
    memory.flush()
    restored = upkeep.restore_journals(memory)
    done = [f"{applied} waiting changes are applied"] if applied else []
    done += [f"{restored} lines that the journals had lost are written again"] if restored else []
    return done or ["journals and MEMORY.md are brought up to date"]


# By the name of the check whose finding it mends. Checks that share one are mended once.
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

"""Health checks and repairs of storage: permissions, disk space, queues, backups and tiers."""

import os
from collections.abc import Iterator

from memory_fabric.health import tiers as health
from memory_fabric.health.check import FAULT, OK, WARNING, Finding, Sight, fault, fine, warning
from memory_fabric.sharing.git import location
from memory_fabric.store.files import size_of
from memory_fabric.store.history.resolve import memory_md_file
from memory_fabric.store.projects import link, registry_file
from memory_fabric.store.tiers import sync
from memory_fabric.store.upkeep import backup, filesystem, repair
from memory_fabric.text import first_of, many

TIER_STATES = {health.HEALTHY: OK, health.DEGRADED: WARNING, health.UNAVAILABLE: FAULT}
LEAST_FREE_BYTES = 200 << 20
# Above this size, only `memory-fabric check` checks a database's indexes: checks block writers.
MAX_INDEXED_BYTES = 64 << 20
SHOWN = 3


def home(sight: Sight) -> Finding:
    """Check that the home of the memory is writable."""
    folder = filesystem.nearest(sight.settings.home)
    if os.access(folder, os.W_OK) and os.path.isdir(folder):
        return fine(sight.settings.home)
    return fault(f"{folder} cannot be written", "Check it, or set MEMORY_FABRIC_HOME.")


def identity(sight: Sight) -> Finding:
    """Check that the registry has all projects' keys, and no question about this folder is open."""
    home = sight.settings.home
    cards, registry = registry_file.read_cards(home), registry_file.read_registry(home)
    if hidden := registry_file.missing_keys(cards, registry):
        text = f"the registry lacks keys that projects have: {first_of(hidden, SHOWN)}"
        return warning(text, "memory-fabric check shows details.")
    if question := link.pending_question(sight.memory):
        text, _, remedy = question.partition(". ")
        return warning(text, remedy)
    project = sight.memory.project
    return fine(f"{project.name} ({project.id})" if project else "none here")


def permissions(sight: Sight) -> Finding:
    """Check that no other user can read the memory's files."""
    paths = _private_paths(sight)
    if foreign := filesystem.foreign(paths):
        text = f"belongs to another user: {first_of(foreign, SHOWN)}"
        return fault(text, f'sudo chown -R "$USER" {foreign[0]}')
    if exposed := filesystem.exposed(paths):
        text = f"other users may read or write {first_of(exposed, SHOWN)}"
        return warning(text, "memory-fabric doctor --fix removes their rights.", fixable=True)
    return fine(f"{len(paths)} files and folders, only for their owner")


def make_private(sight: Sight) -> list[str]:
    """Remove other users' permissions on the memory's files and folders."""
    changed = filesystem.make_private(_private_paths(sight))
    return [f"removed other users' rights on {first_of(changed, SHOWN)}"] if changed else []


def _private_paths(sight: Sight) -> list[str]:
    """Return all paths in memory's home and, unless git shares it, in the project's folder."""
    folders, project = [sight.settings.home], sight.memory.project
    if project and not location.is_on(sight.memory) and location.is_hidden(project):
        folders.append(project.local)
    return filesystem.all_paths(folders)


def disk(sight: Sight) -> Finding:
    """Check that enough disk space is free."""
    free = filesystem.free_bytes(sight.settings.home)
    if free is not None and free < LEAST_FREE_BYTES:
        remedy = f"Free some: at least {LEAST_FREE_BYTES >> 20} MB are needed."
        return warning(f"{free >> 20} MB free", remedy)
    return fine("free space is unknown on this system" if free is None else f"{free >> 20} MB free")


def file_system(sight: Sight) -> Finding:
    """Check that the home is not on a network file system, where SQLite's locks are unreliable."""
    kind = filesystem.file_system(sight.settings.home)
    if filesystem.is_shared(kind):
        remedy = "Set MEMORY_FABRIC_HOME to a folder on a disk of this machine."
        return warning(f"{kind}, shared between machines", remedy)
    return fine(kind or "unknown on this system")


def leftovers(sight: Sight) -> Finding:
    """Check for temporary files that killed processes have left."""
    if paths := filesystem.leftovers(_private_paths(sight), sight.now_s):
        remedy = "memory-fabric doctor --fix removes them."
        return warning(f"half-written: {first_of(paths, SHOWN)}", remedy, fixable=True)
    return fine("none")


def delete_leftovers(sight: Sight) -> list[str]:
    """Delete the temporary files that killed processes have left."""
    paths = filesystem.leftovers(_private_paths(sight), sight.now_s)
    for path in paths:
        os.unlink(path)
    return [f"removed half-written {path}" for path in paths]


def queue(sight: Sight) -> Finding:
    """Warn if any changes are still waiting to be written to the graph database."""
    waiting = health.queued(sight.memory.queue_folders(), sight.now_s).number
    text = f"{many(waiting, 'change')} waiting for the graph"
    remedy = "memory-fabric sync applies them."
    return warning(text, remedy, fixable=True) if waiting else fine("nothing waits")


def update_tiers(sight: Sight) -> list[str]:
    """Apply queued changes to the graph, then restore journals and MEMORY.md from the graph."""
    memory = sight.memory
    if not memory.settings.writes:
        return []
    applied = sync.drain(memory)
    memory.flush()
    restored = sync.restore_journals(memory)
    repairs = [f"applied {applied} waiting changes"] if applied else []
    repairs += [f"restored {restored} lost lines of journals"] if restored else []
    return repairs or ["journals and MEMORY.md are up to date"]


def indexes(sight: Sight) -> Finding:
    """Check that the full-text indexes match the indexed rows."""
    unfit, is_large = [], False
    for database in sight.memory.databases():
        if size_of(database.path) > MAX_INDEXED_BYTES:
            is_large = True
        elif not database.newer and not database.read_only:
            tables = repair.mismatched_indexes(database)
            unfit += [f"{table} in {database.path}" for table in tables]
    if unfit:
        text = f"does not match its texts: {first_of(unfit, SHOWN)}; searches miss some"
        return warning(text, "memory-fabric doctor --fix rebuilds it.", fixable=True)
    large = "too large to check here: memory-fabric check does it"
    return fine(large if is_large else "all match their texts")


def rebuild_indexes(sight: Sight) -> list[str]:
    """Rebuild the full-text indexes that do not match the indexed rows."""
    return [
        f"rebuilt {table} in {database.path}"
        for database in sight.memory.databases()
        if not database.newer and not database.read_only
        if size_of(database.path) <= MAX_INDEXED_BYTES
        for table in repair.repair_indexes(database)
    ]


def backups(sight: Sight) -> Finding:
    """Check the age of each database's newest backup."""
    databases = sight.memory.databases()
    if not databases:
        return fine("nothing is stored yet")
    paths = [database.path for database in databases]
    ages_s = {path: age_s for path in paths if (age_s := backup.age_s(path)) is not None}
    if len(ages_s) < len(paths):
        when = "A backup is made at the end of a session, at most one a day."
        return fine(f"none yet of {len(paths) - len(ages_s)} databases. {when}")
    days = max(ages_s.values()) / 86400
    for path, age_s in ages_s.items():
        # Backups may be a week old. Large databases are saved less often: allow LARGE_EVERY_S more.
        if age_s > 7 * 24 * 3600 + (backup.LARGE_EVERY_S if backup.is_large(path) else 0):
            text = f"the newest is {days:.0f} days old"
            return warning(text, "memory-fabric backup makes a new one.")
    return fine(f"the newest is {days:.1f} days old")


def tiers(sight: Sight) -> Iterator[Finding]:
    """Report the state of each of the three tiers, as `memory-fabric status` shows it."""
    for tier in health.tiers(sight.memory, sight.now_s):
        text = "; ".join(problem.reason for problem in tier.findings) or tier.where
        remedy = " ".join(problem.remedy for problem in tier.findings if problem.remedy)
        state = TIER_STATES[tier.state]
        is_native = tier.name == "native" and sight.memory.project
        if is_native and memory_md_file(sight.memory).off_because:
            # Only a warning: the user may disable MEMORY.md, as other tiers have all memories.
            remedy = "Recall works without it; remove the setting to have memories in MEMORY.md."
            state = WARNING
        fixable = any(problem.remedy in health.REPAIRED_BY_SYNC for problem in tier.findings)
        yield Finding(state, text, remedy, fixable, name=f"tier {tier.name}")

"""Checks of storage: permissions, free space, file system, queues, backups, the three tiers."""

import os
from datetime import datetime

from memory_fabric.cli.doctor.finding import FAULT, OK, WARNING, Check, Sight
from memory_fabric.sharing.git import location
from memory_fabric.store import backup, journal
from memory_fabric.store.files import size_of
from memory_fabric.store.health import filesystem, repair, status
from memory_fabric.store.history.resolve import memory_md_file
from memory_fabric.store.projects import link, registry_file
from memory_fabric.store.queues import ingest_queue as intake_store
from memory_fabric.text import first_of, many

TIER_STATES = {status.HEALTHY: OK, status.DEGRADED: WARNING, status.UNAVAILABLE: FAULT}
LEAST_FREE_BYTES = 200 << 20
# A backup is old after a week, or after a week more than a large database waits for one.
OLD_BACKUP_S = 7 * 24 * 3600
# Reading a larger index would delay writers; the command `check` does it.
MAX_INDEXED_BYTES = 64 << 20
# A worker takes seconds, so older files have none.
OLD_INTAKE_S = 15 * 60
SHOWN = 3


def home(sight: Sight) -> Check:
    """Check that memory can be written."""
    path = sight.settings.home
    found = filesystem.nearest(path)
    if os.access(found, os.W_OK) and os.path.isdir(found):
        return Check("home", OK, path)
    return Check(
        "home", FAULT, f"{found} cannot be written", "Check it, or set MEMORY_FABRIC_HOME."
    )


def permissions(sight: Sight) -> Check:
    """Check that only the owner can read what is stored."""
    paths = filesystem.all_paths(private_folders(sight))
    foreign = filesystem.foreign(paths)
    if foreign:
        told = f"belongs to another user: {first_of(foreign, SHOWN)}"
        return Check("permissions", FAULT, told, f'sudo chown -R "$USER" {foreign[0]}')
    exposed = filesystem.exposed(paths)
    if exposed:
        told = f"other users may read or write {first_of(exposed, SHOWN)}"
        remedy = "memory-fabric doctor --fix removes their rights."
        return Check("permissions", WARNING, told, remedy, fixable=True)
    return Check("permissions", OK, f"{len(paths)} files and folders, only for their owner")


def private_folders(sight: Sight) -> list[str]:
    """Return the folders that only the owner may read: all but journals shared by git."""
    project = sight.memory.project
    if project is None or location.is_on(sight.memory) or not location.is_hidden(project):
        return [sight.settings.home]
    return [sight.settings.home, project.local]


def disk(sight: Sight) -> Check:
    """Check the free disk space."""
    free = filesystem.free_bytes(sight.settings.home)
    if free is None:
        return Check("disk", OK, "free space is unknown on this system")
    told = f"{free >> 20} MB free"
    if free < LEAST_FREE_BYTES:
        return Check(
            "disk", WARNING, told, f"Free some: at least {LEAST_FREE_BYTES >> 20} MB are needed."
        )
    return Check("disk", OK, told)


def file_system(sight: Sight) -> Check:
    """Check for network file systems, on which SQLite cannot lock reliably."""
    kind = filesystem.file_system(sight.settings.home)
    if filesystem.is_shared(kind):
        remedy = "Set MEMORY_FABRIC_HOME to a folder on a disk of this machine."
        return Check("file system", WARNING, f"{kind}, shared between machines", remedy)
    return Check("file system", OK, kind or "unknown on this system")


def leftovers(sight: Sight) -> Check:
    """Check for half-written files of killed processes."""
    paths = filesystem.all_paths(private_folders(sight))
    left = filesystem.leftovers(paths, sight.now_s)
    if left:
        remedy = "memory-fabric doctor --fix removes them."
        return Check(
            "leftovers", WARNING, f"half-written: {first_of(left, SHOWN)}", remedy, fixable=True
        )
    return Check("leftovers", OK, "none")


def queue(sight: Sight) -> Check:
    """Check for changes that wait for the graph, even a single one."""
    waiting = 0
    for folder in {sight.memory.queue_folder(kind) for kind in ("project", "user")}:
        try:
            waiting += len(journal.queued(folder)[0])
        except OSError:
            continue  # named by its tier
    if waiting:
        told = f"{waiting} changes wait for the graph"
        return Check("queue", WARNING, told, "memory-fabric sync applies them.", fixable=True)
    return Check("queue", OK, "nothing waits")


def intake(sight: Sight) -> Check:
    """Check for ingested texts that are not processed, or failed."""
    left = intake_store.backlog(sight.memory)
    if left.dead:
        told = f"{many(left.dead, 'ingested text')} failed for good: {left.last_error}"
        remedy = "memory-fabric queue shows them; retry --all tries again, drop --all drops them."
        return Check("intake", WARNING, told, remedy)
    waiting = left.waiting + left.working
    if waiting and _age_s(left.oldest_at, sight.now_s) > OLD_INTAKE_S:
        told = f"{many(waiting, 'ingested text')} not processed, the oldest since"
        told += f" {left.oldest_at}"
        told += f": {left.last_error}" if left.last_error else ""
        return Check("intake", WARNING, told, "memory-fabric queue work --once processes them.")
    return Check("intake", OK, f"waiting: {many(waiting, 'text')}" if waiting else "nothing waits")


def _age_s(at: str, now_s: float) -> float:
    return now_s - datetime.fromisoformat(at).timestamp() if at else 0.0


def indexes(sight: Sight) -> Check:
    """Check that the full-text indexes hold every row."""
    unfit, large = [], []
    for database in sight.memory.databases():
        if size_of(database.path) > MAX_INDEXED_BYTES:
            large.append(database.path)
        elif not database.newer and not database.read_only:
            unfit += [
                f"{table} in {database.path}" for table in repair.mismatched_indexes(database)
            ]
    if unfit:
        told = f"does not match its texts: {first_of(unfit, SHOWN)}; searches miss some"
        remedy = "memory-fabric doctor --fix rebuilds it."
        return Check("indexes", WARNING, told, remedy, fixable=True)
    if large:
        return Check("indexes", OK, "too large to check here: memory-fabric check does it")
    return Check("indexes", OK, "all match their texts")


def backups(sight: Sight) -> Check:
    """Report the age of the newest backups."""
    databases = sight.memory.databases()
    if not databases:
        return Check("backups", OK, "nothing is stored yet")
    ages = {database.path: backup.age_s(database.path) for database in databases}
    known = {path: age_s for path, age_s in ages.items() if age_s is not None}
    told = "A backup is made at the end of a session, at most one a day."
    if len(known) < len(ages):
        return Check("backups", OK, f"none yet of {len(ages) - len(known)} databases. {told}")
    days = max(known.values()) / 86400
    if any(age_s > _old_from_s(path) for path, age_s in known.items()):
        told = f"the newest is {days:.0f} days old"
        return Check("backups", WARNING, told, "memory-fabric backup makes a new one.")
    return Check("backups", OK, f"the newest is {days:.1f} days old")


def _old_from_s(path: str) -> float:
    return OLD_BACKUP_S + (backup.LARGE_EVERY_S if backup.is_large(path) else 0)


def identity(sight: Sight) -> Check:
    """Check the project of this folder, and the registry against the projects' cards."""
    home = sight.settings.home
    hidden = registry_file.missing_keys(
        registry_file.read_cards(home), registry_file.read_registry(home)
    )
    if hidden:
        told = f"the registry lacks keys that projects have: {first_of(hidden, SHOWN)}"
        return Check("project", WARNING, told, "memory-fabric check shows details.")
    asked = link.pending_question(sight.memory)
    if asked:
        told, _, remedy = asked.partition(". ")
        return Check("project", WARNING, told, remedy)
    found = sight.memory.project
    return Check("project", OK, f"{found.name} ({found.id})" if found else "none here")


def tiers(sight: Sight) -> list[Check]:
    """Check the three tiers, as `memory-fabric status` reports them."""
    return [_tier(sight, tier) for tier in status.tiers(sight.memory, sight.now_s)]


def _tier(sight: Sight, tier: status.Tier) -> Check:
    name, told = f"tier {tier.name}", "; ".join(f.reason for f in tier.findings) or tier.where
    remedies = [finding.remedy for finding in tier.findings if finding.remedy]
    state = TIER_STATES[tier.state]
    if tier.name == "native" and sight.memory.project and memory_md_file(sight.memory).off_because:
        # A user may switch the client's memory off, and the other two tiers hold everything.
        remedies = ["Recall works without it; remove the setting to have memories in MEMORY.md."]
        state = WARNING
    mended = any(finding.remedy in status.REPAIRED_BY_SYNC for finding in tier.findings)
    return Check(name, state, told, " ".join(remedies), fixable=mended)

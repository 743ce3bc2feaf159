"""The table of all checks, in the order in which they are shown."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from memory_fabric.cli import environment
from memory_fabric.cli.doctor import client, delivery, fix, installation, running, storage
from memory_fabric.cli.doctor.finding import FAULT, OK, Check, Sight
from memory_fabric.clients import settings
from memory_fabric.errors import FabricError

Looking = Callable[[Sight], Check]
INSTALLATION, CLIENT, WORK, STORAGE, CANARY, RECEIPTS = (
    "Installation",
    "Claude Code",
    "At work",
    "Storage",
    "Canary",
    "Delivery",
)
AREAS = (INSTALLATION, CLIENT, WORK, STORAGE, CANARY, RECEIPTS)
FAILURES = (FabricError, OSError, sqlite3.Error)


def client_version(sight: Sight) -> Check:
    """The version of the client."""
    return client.version_check(delivery.version(sight))


CHECKS: tuple[tuple[str, Looking], ...] = (
    (INSTALLATION, installation.python),
    (INSTALLATION, installation.interpreter),
    (INSTALLATION, installation.packages),
    (INSTALLATION, installation.plugin_files),
    (INSTALLATION, installation.semantic),
    (CLIENT, client_version),
    (CLIENT, client.settings_files),
    (CLIENT, client.hooks),
    (CLIENT, client.plugin_folder),
    (CLIENT, client.hook_events),
    (CLIENT, client.hooks_allowed),
    (CLIENT, client.servers),
    (CLIENT, client.permission_rules),
    (CLIENT, client.variables),
    (WORK, running.switched),
    (WORK, running.last_session),
    (WORK, running.answers),
    (WORK, running.log),
    (WORK, running.receiver),
    (WORK, running.spooled),
    (WORK, running.shared_log),
    (STORAGE, storage.home),
    (STORAGE, storage.identity),
    (STORAGE, storage.permissions),
    (STORAGE, storage.disk),
    (STORAGE, storage.file_system),
    (STORAGE, storage.leftovers),
    (STORAGE, storage.queue),
    (STORAGE, storage.intake),
    (STORAGE, storage.indexes),
    (STORAGE, storage.backups),
)


@contextmanager
def sight() -> Iterator[Sight]:
    """Collect the input of the checks for this folder."""
    with environment.open_memory() as memory:
        layers = tuple(settings.layers(memory.settings))
        yield Sight(environment.settings(), layers, memory, time.time())


def examine(seen: Sight) -> list[Check]:
    """Run all checks of the installation; return each finding with its area."""
    found = [_looked(area, looking, seen) for area, looking in CHECKS]
    return found + _each(STORAGE, "tiers", storage.tiers, seen)


def receipts(seen: Sight) -> list[Check]:
    """Check deliveries against the client's transcripts."""
    return _each(RECEIPTS, "receipts", delivery.checks, seen)


def mend(found: Iterable[Check], seen: Sight) -> dict[str, tuple[str, ...]]:
    """Repair what is safe to repair; return what was done, by the name of the check.

    A repair that fails is returned with its error.
    """
    done: dict[str, tuple[str, ...]] = {}
    taken: set[fix.Mend] = set()
    for check in found:
        mending = fix.MENDING.get(check.name)
        if check.state == OK or not check.fixable or mending is None or mending in taken:
            continue
        taken.add(mending)
        try:
            done[check.name] = tuple(mending(seen))
        except FAILURES as error:
            seen.memory.fail(f"{check.name}: {error}")
    return done


def with_mended(found: Iterable[Check], done: dict[str, tuple[str, ...]]) -> list[Check]:
    """Return the findings with the repairs added."""
    return [replace(check, mended=done.get(check.name, ())) for check in found]


def _looked(area: str, looking: Looking, seen: Sight) -> Check:
    try:
        return replace(looking(seen), area=area)
    except FAILURES as error:
        return _failed(area, looking.__name__.replace("_", " "), error)


def _each(
    area: str, name: str, looking: Callable[[Sight], list[Check]], seen: Sight
) -> list[Check]:
    try:
        return [replace(check, area=area) for check in looking(seen)]
    except FAILURES as error:
        return [_failed(area, name, error)]


def _failed(area: str, name: str, error: Exception) -> Check:
    """Return the finding for a check that failed because its data is damaged."""
    remedy = "memory-fabric check shows the damage."
    return Check(name, FAULT, " ".join(str(error).split()), remedy, area=area)

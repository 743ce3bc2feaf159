"""The table of all health checks with their repairs, in the order in which they are displayed."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memory_fabric.errors import FabricError
from memory_fabric.health import delivery, installation, storage, work
from memory_fabric.health.check import OK, Finding, Sight, fault

AREAS = ("Installation", "Claude Code", "At work", "Storage", "Canary", "Delivery")
INSTALLATION, CLIENT, WORK, STORAGE, CANARY, RECEIPTS = AREAS
FAILURES = (FabricError, OSError, sqlite3.Error)
Mend = Callable[[Sight], list[str]]


class Check(NamedTuple):
    """A health check. `look` returns findings for the report's section `area`. A finding without a
    name of its own is called `name`. `mend`, if it is not None, repairs what the findings report.
    """

    area: str
    name: str
    look: Callable[[Sight], Finding | Iterator[Finding]]
    mend: Mend | None = None


CHECKS = (
    Check(INSTALLATION, "python", installation.python),
    Check(INSTALLATION, "hooks' python", installation.interpreter, installation.forget_interpreter),
    Check(INSTALLATION, "packages", installation.packages, installation.install_packages),
    Check(INSTALLATION, "plugin files", installation.plugin_files),
    Check(INSTALLATION, "semantic", installation.semantic),
    Check(CLIENT, "client version", delivery.client_version),
    Check(CLIENT, "settings files", installation.settings_files),
    Check(CLIENT, "hooks", installation.hooks),
    Check(CLIENT, "plugin folder", installation.plugin_folder),
    Check(CLIENT, "hook events", installation.hook_events),
    Check(CLIENT, "hooks allowed", installation.hooks_allowed),
    Check(CLIENT, "servers", installation.servers),
    Check(CLIENT, "permission rules", installation.permission_rules),
    Check(CLIENT, "variables", installation.variables),
    Check(WORK, "switches", work.switched),
    Check(WORK, "last session", work.last_session),
    Check(WORK, "hooks answered", work.answers),
    Check(WORK, "log", work.log),
    Check(WORK, "forwarding", work.receiver),
    Check(WORK, "forwarded", work.spooled),
    Check(WORK, "shared log", work.shared_log),
    Check(STORAGE, "home", storage.home),
    Check(STORAGE, "project", storage.identity),
    Check(STORAGE, "permissions", storage.permissions, storage.make_private),
    Check(STORAGE, "disk", storage.disk),
    Check(STORAGE, "file system", storage.file_system),
    Check(STORAGE, "leftovers", storage.leftovers, storage.delete_leftovers),
    Check(STORAGE, "queue", storage.queue, storage.update_tiers),
    Check(STORAGE, "intake", work.intake),
    Check(STORAGE, "indexes", storage.indexes, storage.rebuild_indexes),
    Check(STORAGE, "backups", storage.backups),
    Check(STORAGE, "tiers", storage.tiers, storage.update_tiers),
)
DELIVERY = Check(RECEIPTS, "receipts", delivery.checks)


def mend(sight: Sight) -> dict[str, tuple[str, ...]]:
    """Run each fixable finding's repair; return descriptions of the repairs by finding name."""
    repairs: dict[str, tuple[str, ...]] = {}
    tried: set[Mend] = set()
    # Run all checks before the first repair, because a repair could change later findings.
    looked = [(check, finding) for check in CHECKS for finding in findings(check, sight)]
    for check, finding in looked:
        if check.mend is None or finding.state == OK or not finding.fixable or check.mend in tried:
            continue
        tried.add(check.mend)
        try:
            repairs[finding.name] = tuple(check.mend(sight))
        except FAILURES as error:
            sight.memory.fail(f"{finding.name}: {error}")
    return repairs


def findings(check: Check, sight: Sight) -> list[Finding]:
    """Run a health check and return its findings. An error becomes a finding with state FAULT."""
    try:
        seen = check.look(sight)
        findings = [seen] if isinstance(seen, Finding) else list(seen)
    except FAILURES as error:
        findings = [fault(" ".join(str(error).split()), "memory-fabric check shows the damage.")]
    return [f._replace(area=check.area, name=f.name or check.name) for f in findings]

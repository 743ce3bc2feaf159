"""sync, check, repair, backup: bringing the tiers together, and getting a damaged one back."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

import typer

from memory_fabric.cli import environment, forwarding_report, progress, show
from memory_fabric.store import backup as backups
from memory_fabric.store import invariants
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.health import integrity_check
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import KINDS, Memory
from memory_fabric.store.sharing import adoption
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.tiers import sync as tiers

MAX_ORPHANS = 10_000


def sync(as_json: show.AsJson = False) -> int:
    """Bring queue, journal and MEMORY.md up to date now.

    What waits in the queue is applied, and what others shared is taken in. Hooks do the same at
    Stop. Where a receiver is named, what waits to be forwarded is sent (docs/forwarding.md). Exit
    code 1 when something of it failed.
    """
    with environment.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        shown = len(memory_md.shown_ids(resolve.native_notes(memory))) if memory.project else 0
        told, sent, failed = forwarding_report.send(memory.settings)
        failures = [*memory.failures, *failed]
    if as_json:
        show.json_out(
            {
                "drained": drained,
                "restored": restored,
                "in_memory_md": shown,
                "forwarded": sent,
                "failures": failures,
            }
        )
    else:
        show.line(f"{drained} waiting changes applied; {shown} memories stand in MEMORY.md.")
        _tell_restored(restored)
        if told:
            show.line(told)
        _complain(failures)
    return 1 if failures else 0


def check(as_json: show.AsJson = False) -> int:
    """Look for damage and disorder in what is stored; nothing is changed.

    Damage in databases, indexes, journals, queues and backups; to tidy up: entities of which
    nothing is said, names in several spellings. Exit code 1 only for what harms.
    """
    with environment.open_memory() as memory:
        found = integrity_check.findings(memory)
    harms = any(finding.harms for finding in found)
    if as_json:
        show.json_out({"sound": not harms, "findings": [asdict(finding) for finding in found]})
        return int(harms)
    for finding in found:
        place = f" ({finding.where})" if finding.where else ""
        head = "" if finding.harms else "note: "
        show.line(f"{head}{finding.text} {finding.remedy}{place}")
    if not harms:
        show.line("Nothing is damaged.")
    return int(harms)


def repair(
    orphans: Annotated[
        bool,
        typer.Option("--orphans", help="Instead show entities of which nothing is said."),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="With `--orphans`: take them out; `memory-fabric undo` brings them back."
        ),
    ] = False,
    as_json: show.AsJson = False,
) -> int:
    """Rebuild a damaged or lost database, and journals that were lost.

    A damaged or lost database is set aside and rebuilt from its newest sound backup and its
    journal; an index that does not fit is made again. Journals that were lost, with the project's
    folder or in part, are written again from the database, and records that only the project's
    journal has come back where it is proved that they are yours; else it says how many there are.
    """
    if orphans:
        return _without_orphans(yes, as_json)
    with environment.open_memory() as memory:
        for path in _kept(memory):
            mark_suspect(path)
    bar = progress.bar("Rebuilding", quiet=as_json)
    with environment.open_memory(repair=True) as memory, bar as memory.progress:
        sound = [database.path for database in memory.databases()]
        told = list(memory.told)
        lacking = adoption.missing(memory)
        if lacking is not None and lacking.proved:
            came = adoption.adopt(memory, lacking, environment.said_here(), memory.progress)
            told.append(f"{came} records that only {lacking.path} had are back.")
            lacking = adoption.missing(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        failures = list(memory.failures)
    waiting = len(lacking.lines) if lacking is not None else 0
    if as_json:
        counts = {"sound": sound, "rebuilt": told, "restored": restored, "waiting": waiting}
        show.json_out({**counts, "failures": failures})
    else:
        for sentence in told:
            show.line(sentence)
        for path in sound:
            show.line(f"{path} is sound.")
        _tell_restored(restored)
        if lacking is not None:
            show.line(adoption.notice_text(lacking), style="yellow")
        elif not sound and not failures and not told:
            show.line("There is nothing to repair: nothing is stored yet.")
        _complain(failures)
    return 1 if failures else 0


def backup(as_json: show.AsJson = False) -> int:
    """Make a verified copy of each database, in `backups/` beside it; the five newest are kept."""
    with environment.open_memory() as memory, progress.bar("Copying", quiet=as_json) as tell:
        made = [backups.create(database.path, progress=tell) for database in memory.databases()]
        failures = list(memory.failures)
    if as_json:
        show.json_out({"made": made, "failures": failures})
    else:
        for path in made:
            show.line(f"{path} ({os.path.getsize(path) / 1024:.0f} KB)")
        if not made and not failures:
            show.line("There is nothing to copy: nothing is stored yet.")
        _complain(failures)
    return 1 if failures else 0


def _tell_restored(lines: int) -> None:
    if lines:
        show.line(f"{lines} lines that the journals had lost are written again.")


def _without_orphans(yes: bool, as_json: bool) -> int:
    with environment.open_memory() as memory:
        alone = {db.kind: invariants.orphans(db, MAX_ORPHANS) for db in memory.databases()}
        gone = 0
        for kind, names in alone.items() if yes else ():
            if names:
                payload = {"entityNames": names}
                result = memory.write(
                    "remove_orphans", payload, environment.said_here(), store=kind
                )
                gone += int(result.get("deleted", 0))
        if gone:
            memory.flush()
    names = [name for some in alone.values() for name in some]
    if as_json:
        show.json_out({"orphans": names, "removed": gone})
        return 0
    for name in names:
        show.line(name)
    if yes:
        show.line(f"Removed: {gone}. memory-fabric undo --last brings them back.")
    elif names:
        show.line("Nothing is said of these; nothing was changed. Say --yes to take them out.")
    else:
        show.line("Something is said of every entity.")
    return 0


def _kept(memory: Memory) -> list[str]:
    """Paths of databases that exist, or that a backup or journal says should."""
    kinds = KINDS if memory.project else ("user",)
    return [
        path
        for path, journal in ((memory.path_of(kind), memory.journal_of(kind)) for kind in kinds)
        if os.path.exists(path) or os.path.exists(journal) or backups.list_backups(path)
    ]


def _complain(failures: list[str]) -> None:
    for failure in failures:
        show.complain(failure)

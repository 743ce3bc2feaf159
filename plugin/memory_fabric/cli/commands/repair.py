"""repair: rebuild damaged or lost databases and journals."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.store import backup as backups
from memory_fabric.store import invariants
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.memory import KINDS, Memory
from memory_fabric.store.sharing import adoption
from memory_fabric.store.tiers import sync as tiers

MAX_ORPHANS = 10_000


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
        if restored:
            show.line(f"{restored} lines that the journals had lost are written again.")
        if lacking is not None:
            show.line(adoption.sentence(lacking), style="yellow")
        elif not sound and not failures and not told:
            show.line("There is nothing to repair: nothing is stored yet.")
        for failure in failures:
            show.complain(failure)
    return 1 if failures else 0


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
        if os.path.exists(path) or os.path.exists(journal) or backups.every(path)
    ]

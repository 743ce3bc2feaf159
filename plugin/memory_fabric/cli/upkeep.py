"""sync, repair, backup: bringing the tiers together, and getting a damaged one back."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from memory_fabric.cli import here, named, show
from memory_fabric.store import backup as backups
from memory_fabric.store import native, tiers
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.memory import KINDS, Memory

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def sync(as_json: AsJson = False) -> int:
    """Bring queue, journal and MEMORY.md up to date now."""
    with here.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        shown = len(native.shown_ids(named.native_notes(memory))) if memory.project else 0
        failures = list(memory.failures)
    if as_json:
        show.json_out({"drained": drained, "in_memory_md": shown, "failures": failures})
    else:
        show.line(f"{drained} waiting changes applied; {shown} memories stand in MEMORY.md.")
        _complain(failures)
    return 1 if failures else 0


def repair(as_json: AsJson = False) -> int:
    """Rebuild a damaged or lost database.

    From its newest sound backup and its journal; the damaged file is kept beside it.
    """
    with here.open_memory() as memory:
        for path in _kept(memory):
            mark_suspect(path)
    with here.open_memory(repair=True) as memory:
        sound = [database.path for database in memory.databases()]
        told = list(memory.told)
        memory.flush()
        failures = list(memory.failures)
    if as_json:
        show.json_out({"sound": sound, "rebuilt": told, "failures": failures})
    else:
        for sentence in told:
            show.line(sentence)
        for path in sound:
            show.line(f"{path} is sound.")
        if not sound and not failures:
            show.line("There is nothing to repair: nothing is stored yet.")
        _complain(failures)
    return 1 if failures else 0


def backup(as_json: AsJson = False) -> int:
    """Make a verified copy of each database."""
    with here.open_memory() as memory:
        made = [backups.make(database.path) for database in memory.databases()]
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


def _kept(memory: Memory) -> list[str]:
    """Paths of databases that exist, or that a backup or journal says should."""
    kinds = KINDS if memory.project else ("user",)
    return [
        path
        for path, journal in ((memory.path_of(kind), memory.journal_of(kind)) for kind in kinds)
        if os.path.exists(path) or os.path.exists(journal) or backups.every(path)
    ]


def _complain(failures: list[str]) -> None:
    for failure in failures:
        show.complain(failure)

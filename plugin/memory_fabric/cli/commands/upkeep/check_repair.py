"""check and repair: find damage in what is stored, and rebuild it."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.sharing.git import adoption
from memory_fabric.store import backup as backups
from memory_fabric.store import graph
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.health import integrity_check
from memory_fabric.store.memory import KINDS, Memory
from memory_fabric.store.tiers import sync as tiers

MAX_ORPHANS = 10_000


def check(
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Also compare every text of indexes with 50,000 rows or more, and read all "
            "backups; changes wait meanwhile.",
        ),
    ] = False,
    as_json: show.AsJson = False,
) -> int:
    """Check stored data for damage and disorder; change nothing.

    Finds damage in databases, indexes, journals, queues and backups, and notes what to tidy up:
    entities without observations or relations, names in several spellings. Of an index with 50,000
    rows or more the row numbers and samples are compared; of backups above 64 MB the newest is
    read. Exit code 1 only for damage.
    """
    bar = progress.bar("Checking", quiet=as_json)
    with environment.open_memory() as memory, bar as tell:
        found = integrity_check.findings(memory, full=full, progress=tell)
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
        typer.Option(
            "--orphans",
            help="Instead show entities without observations or relations, and those that a "
            "deletion left without relations.",
        ),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="With `--orphans`: remove the first kind; `memory-fabric undo` restores them.",
        ),
    ] = False,
    as_json: show.AsJson = False,
) -> int:
    """Rebuild damaged or lost databases, indexes and journals.

    A damaged database is set aside; it or a lost one is rebuilt from its newest intact backup and
    its journal. An index that does not match its table is rebuilt. Lost journals or lines are
    written again from the database. Records that only the project's journal holds are restored
    if they are proved to be yours; otherwise their number is shown.
    """
    if orphans:
        return _show_orphans(yes, as_json)
    with environment.open_memory() as memory:
        for path in _expected_databases(memory):
            mark_suspect(path)
    bar = progress.bar("Rebuilding", quiet=as_json)
    with environment.open_memory(repair=True) as memory, bar as memory.progress:
        sound = [database.path for database in memory.databases()]
        rebuilt = list(memory.messages)
        missing = adoption.missing(memory)
        if missing is not None and missing.proved:
            restored_records = adoption.adopt(
                memory, missing, environment.provenance(), memory.progress
            )
            rebuilt.append(
                f"{restored_records} records that only {missing.path} held were restored."
            )
            missing = adoption.missing(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        failures = list(memory.failures)
    waiting = len(missing.lines) if missing is not None else 0
    if as_json:
        counts = {"sound": sound, "rebuilt": rebuilt, "restored": restored, "waiting": waiting}
        show.json_out({**counts, "failures": failures})
    else:
        for sentence in rebuilt:
            show.line(sentence)
        for path in sound:
            show.line(f"{path} is intact.")
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if missing is not None:
            show.line(adoption.notice_text(missing), style="yellow")
        elif not sound and not failures and not rebuilt:
            show.line("Nothing to repair: nothing is stored yet.")
        for failure in failures:
            show.warn(failure)
    return 1 if failures else 0


def _show_orphans(yes: bool, as_json: bool) -> int:
    with environment.open_memory() as memory:
        orphans_by_kind = {db.kind: graph.orphans(db, MAX_ORPHANS) for db in memory.databases()}
        left = [name for db in memory.databases() for name in graph.left_alone(db)]
        gone = 0
        for kind, names in orphans_by_kind.items() if yes else ():
            if names:
                payload = {"entityNames": names}
                result = memory.write(
                    "remove_orphans", payload, environment.provenance(), store=kind
                )
                gone += int(result.get("deleted", 0))
        if gone:
            memory.flush()
    names = [name for some in orphans_by_kind.values() for name in some]
    if as_json:
        show.json_out({"orphans": names, "left_alone": left, "removed": gone})
        return 0
    for name in names:
        show.line(graph.shown(name))
    for name in left:
        show.line(f"{graph.shown(name)}: a deletion left it without relations; forget removes it")
    if yes:
        show.line(f"Removed: {gone}. memory-fabric undo --last restores them.")
    elif names:
        show.line(
            "These have no observations or relations; nothing was changed. Use --yes to remove "
            "them."
        )
    else:
        show.line("Every entity has an observation or a relation.")
    return 0


def _expected_databases(memory: Memory) -> list[str]:
    """Return the paths of databases that exist or have a backup or journal."""
    kinds = KINDS if memory.project else ("user",)
    return [
        path
        for path, journal in ((memory.path_of(kind), memory.journal_of(kind)) for kind in kinds)
        if os.path.exists(path) or os.path.exists(journal) or backups.list_backups(path)
    ]

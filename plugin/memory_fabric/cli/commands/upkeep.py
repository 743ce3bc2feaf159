"""sync, check, repair, backup: look after the stored data."""

import os
from dataclasses import asdict

from memory_fabric.cli import environment, progress, show
from memory_fabric.cli.options import AsJson, flag
from memory_fabric.deadline import Deadline
from memory_fabric.health import work
from memory_fabric.hooks import unfinished
from memory_fabric.sharing.git import adoption
from memory_fabric.store import backup as backups
from memory_fabric.store import graph, integrity
from memory_fabric.store.database import mark_suspect
from memory_fabric.store.history import resolve
from memory_fabric.store.memory import KINDS
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.tiers import sync as tiers

MAX_ORPHANS = 10_000


def sync(as_json: AsJson = False) -> int:
    """Bring the queue, the journal and MEMORY.md up to date now.

    Waiting changes are applied, and shared records of others are read. Hooks do the same at Stop.
    If a receiver is configured, waiting items are forwarded (docs/forwarding.md). Exit code 1 if
    any of this failed.
    """
    text = unfinished.finish_late(os.environ, Deadline(), show.warn)
    if text and not as_json:
        show.line(text)
    with environment.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        shown = len(memory_md.shown_ids(resolve.memory_md_file(memory))) if memory.project else 0
        text, forwarded, failed = work.forward(memory.settings)
        failures = [*memory.failures, *failed]
    if as_json:
        counts = {"drained": drained, "restored": restored, "in_memory_md": shown}
        show.json_out({**counts, "forwarded": forwarded, "failures": failures})
    else:
        show.line(f"{drained} waiting changes applied; {shown} memories are in MEMORY.md.")
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if text:
            show.line(text)
        show.warn_all(failures)
    return 1 if failures else 0


def check(
    full: bool = flag(
        "--full",
        "Also compare every text of indexes with 50,000 rows or more, and read all backups; "
        "changes wait meanwhile.",
    ),
    as_json: AsJson = False,
) -> int:
    """Check stored data for damage and disorder; change nothing.

    Finds damage in databases, indexes, journals, queues and backups, and notes what to tidy up:
    entities without observations or relations, names in several spellings. Of an index with 50,000
    rows or more the row numbers and samples are compared; of backups above 64 MB the newest is
    read. Exit code 1 only for damage.
    """
    bar = progress.bar("Checking", quiet=as_json)
    with environment.open_memory() as memory, bar as tell:
        findings = integrity.findings(memory, full=full, progress=tell)
    harms = any(finding.harms for finding in findings)
    if as_json:
        show.json_out({"sound": not harms, "findings": [asdict(finding) for finding in findings]})
        return int(harms)
    for finding in findings:
        place = f" ({finding.where})" if finding.where else ""
        head = "" if finding.harms else "note: "
        show.line(f"{head}{finding.text} {finding.remedy}{place}")
    if not harms:
        show.line("Nothing is damaged.")
    return int(harms)


def repair(
    orphans: bool = flag(
        "--orphans",
        "Instead show entities without observations or relations, and those that a deletion left "
        "without relations.",
    ),
    yes: bool = flag(
        "--yes", "With `--orphans`: remove the first kind; `memory-fabric undo` restores them."
    ),
    as_json: AsJson = False,
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
        for kind in KINDS if memory.project else ("user",):
            path = memory.path_of(kind)
            is_expected = os.path.exists(path) or os.path.exists(memory.journal_of(kind))
            if is_expected or backups.list_backups(path):
                mark_suspect(path)
    bar = progress.bar("Rebuilding", quiet=as_json)
    with environment.open_memory(repair=True) as memory, bar as memory.progress:
        sound = [database.path for database in memory.databases()]
        rebuilt = list(memory.messages)
        missing = adoption.missing(memory)
        if missing is not None and missing.proved:
            by = environment.provenance()
            adopted = adoption.adopt(memory, missing, by, memory.progress)
            rebuilt.append(f"{adopted} records that only {missing.path} held were restored.")
            missing = adoption.missing(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        failures = list(memory.failures)
    if as_json:
        waiting = len(missing.lines) if missing is not None else 0
        counts = {"sound": sound, "rebuilt": rebuilt, "restored": restored, "waiting": waiting}
        show.json_out({**counts, "failures": failures})
    else:
        show.lines((*rebuilt, *(f"{path} is intact." for path in sound)))
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if missing is not None:
            show.line(adoption.notice_text(missing), style="yellow")
        elif not sound and not failures and not rebuilt:
            show.line("Nothing to repair: nothing is stored yet.")
        show.warn_all(failures)
    return 1 if failures else 0


def _show_orphans(yes: bool, as_json: bool) -> int:
    with environment.open_memory() as memory:
        databases = memory.databases()
        orphans = {db.kind: graph.orphans(db, MAX_ORPHANS) for db in databases}
        left = [name for db in databases for name in graph.left_alone(db)]
        gone = 0
        for kind, names in orphans.items():
            if yes and names:
                payload, by = {"entityNames": names}, environment.provenance()
                result = memory.write("remove_orphans", payload, by, store=kind)
                gone += int(result.get("deleted", 0))
        if gone:
            memory.flush()
    names = [name for of_kind in orphans.values() for name in of_kind]
    if as_json:
        return show.json_out({"orphans": names, "left_alone": left, "removed": gone})
    show.lines(map(graph.shown, names))
    reason = "a deletion left it without relations; forget removes it"
    show.lines(f"{graph.shown(name)}: {reason}" for name in left)
    if yes:
        show.line(f"Removed: {gone}. memory-fabric undo --last restores them.")
    elif names:
        text = "These have no observations or relations; nothing was changed."
        show.line(f"{text} Use --yes to remove them.")
    else:
        show.line("Every entity has an observation or a relation.")
    return 0


def backup(as_json: AsJson = False) -> int:
    """Make a verified copy of each database; the newest five are kept.

    They are in `backups/` next to the database.
    """
    with environment.open_memory() as memory, progress.bar("Copying", quiet=as_json) as tell:
        made = [backups.create(database.path, progress=tell) for database in memory.databases()]
        failures = list(memory.failures)
    if as_json:
        show.json_out({"made": made, "failures": failures})
    else:
        show.lines(f"{path} ({os.path.getsize(path) / 1024:.0f} KB)" for path in made)
        if not made and not failures:
            show.line("Nothing to copy: nothing is stored yet.")
        show.warn_all(failures)
    return 1 if failures else 0

"""Status of the three tiers (BR-17): healthy, degraded or unavailable, with reason and remedy."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from memory_fabric.errors import FabricError
from memory_fabric.ids import timestamp
from memory_fabric.sharing.git import adoption, location
from memory_fabric.store import backup, files, journal
from memory_fabric.store.database import Database
from memory_fabric.store.history.resolve import memory_md_file
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import late_events
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import first_of, many

HEALTHY, DEGRADED, UNAVAILABLE = "healthy", "degraded", "unavailable"
DRAIN = "memory-fabric sync applies them."
WRITE_JOURNAL = "memory-fabric repair writes them again."
WRITE_MEMORY_MD = "memory-fabric sync writes it again."
# Remedies that a sync with restored journals carries out.
REPAIRED_BY_SYNC = (DRAIN, WRITE_JOURNAL, WRITE_MEMORY_MD)
MAX_QUEUED = 50
MAX_QUEUED_AGE_S = 3600
COUNTED = ("entities", "observations", "relations", "records", "episodes")
MAX_LINES_NAMED = 5
# Reading a larger backup would take too long; it was verified when it was made.
MAX_VERIFIED_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a tier, its remedy, and the lines of the file that it concerns."""

    state: str
    reason: str
    remedy: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Queue:
    """Changes that wait for the graph: their number, and the age of the oldest in seconds."""

    count: int = 0
    oldest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Backup:
    """The newest backup of the graph; `sound` is None if it was not verified."""

    path: str
    age_s: float
    sound: bool | None


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier: its place, contents, times of use, and problems.

    Times are ISO 8601, empty for never or unknown. `read_at`: for the graph when it last served a
    session, for the others the time of this check if it could read them.
    """

    name: str
    where: str
    counts: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    written_at: str = ""
    read_at: str = ""
    queue: Queue = Queue()
    backup: Backup | None = None

    @property
    def state(self) -> str:
        """The worst state of its findings."""
        states = {finding.state for finding in self.findings}
        return next((s for s in (UNAVAILABLE, DEGRADED) if s in states), HEALTHY)


def tiers(memory: Memory, now_s: float) -> tuple[Tier, Tier, Tier]:
    """Return the status of graph, local journal and MEMORY.md, in this order."""
    return graph_tier(memory, now_s), local_tier(memory, now_s), native_tier(memory, now_s)


def as_json(tier: Tier) -> dict[str, Any]:
    """Return one tier for programs; docs/tiers.md names the fields."""
    found: dict[str, Any] = {
        "tier": tier.name,
        "state": tier.state,
        "where": tier.where,
        "counts": tier.counts,
        "written_at": tier.written_at,
        "read_at": tier.read_at,
        "queue": asdict(tier.queue),
        "findings": [asdict(finding) for finding in tier.findings],
    }
    if tier.name == "graph":
        found["backup"] = asdict(tier.backup) if tier.backup else None
    return found


def graph_tier(memory: Memory, now_s: float) -> Tier:
    """Check the databases: open, readable, backed up, with no long queue."""
    databases = memory.databases()
    findings = [
        Finding(UNAVAILABLE, failure, "memory-fabric repair rebuilds a damaged database.")
        for failure in memory.failures
    ]
    for database in databases:
        if database.newer:
            findings.append(
                Finding(DEGRADED, f"{database.path} was changed by a newer release.", "Restart.")
            )
        elif database.read_only:
            findings.append(
                Finding(DEGRADED, f"{database.path} cannot be written.", "Check its permissions.")
            )
    for path in dict.fromkeys(memory.journal_of(kind) for kind in ("project", "user")):
        findings += _lines(path, journal.MAX_JOURNAL_BYTES)
    folders = _queue_folders(memory)
    newest = _backup(databases, now_s)
    if newest is not None and newest.sound is False:
        reason = f"The newest backup, {newest.path}, cannot be read."
        findings.append(Finding(DEGRADED, reason, "memory-fabric backup makes a new one."))
    counts: dict[str, int] = {}
    for database in databases:
        for name, number in _counts(database).items():
            counts[name] = counts.get(name, 0) + number
    return Tier(
        "graph",
        memory.path_of("project"),
        counts,
        (*findings, *_behind(folders, now_s)),
        _newest(databases, "SELECT max(created_at) FROM operations"),
        _newest(
            databases,
            "SELECT max(at) FROM (SELECT max(created_at) AS at FROM injections "
            "UNION ALL SELECT max(loaded_at) FROM sessions)",
        ),
        _queue(folders, now_s),
        newest,
    )


def local_tier(memory: Memory, now_s: float) -> Tier:
    """Check the project's journal and queues: readable, writable, complete, no long waits."""
    folder = memory.queue_folder("project")
    decisions = location.journal_file(memory)
    findings: list[Finding] = []
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        findings.append(
            Finding(UNAVAILABLE, f"{folder} cannot be written.", "Check its permissions.")
        )
    findings += _lines(decisions)
    folders = _queue_folders(memory)
    for waiting in folders:
        for path in journal.waiting_files(waiting):
            findings += _lines(path)
    asides = [os.path.join(f, name) for f in folders for name in (journal.BAD, journal.REFUSED)]
    home = memory.settings.home
    for aside in (*filter(os.path.exists, asides), *late_events.waiting(home, late_events.REFUSED)):
        reason = f"{aside} holds changes that could not be read or applied."
        findings.append(Finding(DEGRADED, reason, "Look at it, then delete it."))
    late = len(late_events.waiting(home))
    if late:
        findings.append(Finding(DEGRADED, f"{many(late, 'event')} waited too long for it.", DRAIN))
    findings += [*_missing(memory), *_not_in_the_graph(memory)]
    count = _count_lines(decisions)
    queue = _queue(folders, now_s)
    return Tier(
        "local",
        decisions,
        {"lines": count or 0, "queued": queue.count},
        (*findings, *_behind(folders, now_s)),
        _changed_at(decisions),
        timestamp(now_s) if count is not None and os.path.exists(decisions) else "",
        queue,
    )


def native_tier(memory: Memory, now_s: float) -> Tier:
    """Check MEMORY.md: readable, writable, with a complete block."""
    if memory.project is None:
        reason = "There is no project here."
        return Tier("native", "", {"shown": 0}, (Finding(UNAVAILABLE, reason),))
    notes = memory_md_file(memory)
    if notes.off_because:
        return Tier("native", notes.path, {"shown": 0}, (Finding(UNAVAILABLE, notes.off_because),))
    try:
        text = files.read_text(notes.path, memory_md.MAX_READ_BYTES)
    except OSError as error:
        return Tier("native", notes.path, {}, (_unreadable(notes.path, error),))
    findings = []
    begun = text is not None and (memory_md.BEGIN in text or memory_md.BEGIN_JOINED in text)
    if text is not None and begun != (memory_md.END in text):
        findings.append(
            Finding(
                DEGRADED, "One of its memory-fabric markers is missing.", "Delete the other one."
            )
        )
    elif text is None and memory.native_ids(timestamp(now_s)):
        findings.append(Finding(DEGRADED, "The file is missing.", WRITE_MEMORY_MD))
    if text is not None and not os.access(notes.path, os.W_OK):
        reason = "The file cannot be written and is not updated."
        findings.append(Finding(DEGRADED, reason, "Check its permissions."))
    return Tier(
        "native",
        notes.path,
        {"shown": len(memory_md.shown_ids(notes))},
        tuple(findings),
        _changed_at(notes.path) if begun else "",
        timestamp(now_s) if text is not None else "",
    )


def _queue_folders(memory: Memory) -> list[str]:
    """Return the folders in which changes may wait: the project's and the user's."""
    return list(dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")))


def _queue(folders: list[str], now_s: float) -> Queue:
    ages: list[float] = []
    for folder in folders:
        try:
            waiting, _ = journal.queued(folder)
        except OSError:
            continue  # reported with its file
        ages += [_age_s(line, now_s) for line in waiting]
    return Queue(len(ages), max(ages, default=0.0))


def _behind(folders: list[str], now_s: float) -> Iterator[Finding]:
    """Yield a finding for each folder in which too many changes wait, or for too long."""
    for folder in folders:
        queue = _queue([folder], now_s)
        if queue.count > MAX_QUEUED:
            reason = f"{queue.count} changes wait for the graph in {folder}."
        elif queue.oldest_s > MAX_QUEUED_AGE_S:
            hours = queue.oldest_s / 3600
            reason = f"A change in {folder} has waited for the graph for {hours:.0f} h."
        else:
            continue
        yield Finding(DEGRADED, reason, DRAIN)


def _age_s(line: dict[str, object], now_s: float) -> float:
    stated = line.get("provenance")
    at = str(stated.get("at", "")) if isinstance(stated, dict) else ""
    try:
        return now_s - datetime.fromisoformat(at).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0


def _lines(path: str, max_bytes: int = files.MAX_LINES_BYTES) -> Iterator[Finding]:
    """Yield findings for unreadable lines, and for those left by an unfinished git merge."""
    try:
        bad = files.invalid_lines(path, max_bytes)
        marks = set(journal.conflict_markers(path, max_bytes)) if bad else set()
    except OSError as error:
        yield _unreadable(path, error)
        return
    torn = [number for number in bad if number not in marks]
    if marks:
        named = _named(sorted(marks))
        reason = f"{path}: conflict markers of an unfinished merge in {named}."
        remedy = "Delete these lines and keep all others: each is whole and counts once by its id."
        yield Finding(DEGRADED, reason, remedy, tuple(sorted(marks)))
    if torn:
        reason = f"{path}: {many(len(torn), 'line')} unreadable, {_named(torn)}."
        remedy = f"Look at line {torn[0]}; delete what cannot be saved."
        yield Finding(DEGRADED, reason, remedy, tuple(torn))


def _missing(memory: Memory) -> Iterator[Finding]:
    """Yield a finding for records of the graph that their journal has lost."""
    for database in memory.databases():
        try:
            lost = len(
                journal.missing_records(database, location.all_journals(memory, database.kind))
            )
        except (FabricError, OSError):
            continue  # reported with its file or database
        if lost:
            are = "is" if lost == 1 else "are"
            reason = (
                f"{many(lost, 'record')} {are} in the graph but no longer in {journal.DECISIONS}."
            )
            yield Finding(DEGRADED, reason, WRITE_JOURNAL)


def _not_in_the_graph(memory: Memory) -> Iterator[Finding]:
    """Yield a finding for records of the journal that the graph has lost."""
    try:
        found = adoption.missing(memory)
    except (FabricError, OSError):
        return  # reported with its file or database
    if found is not None:
        reason, _, remedy = adoption.notice_text(found).rstrip(".").partition(": ")
        ending = f"{remedy[:1].upper()}{remedy[1:]}." if remedy else ""
        yield Finding(DEGRADED, f"{reason}.", ending)


def _backup(databases: list[Database], now_s: float) -> Backup | None:
    """Return the oldest of the databases' newest backups, which bounds what a loss would cost."""
    newest = [copies[0] for database in databases if (copies := backup.list_backups(database.path))]
    if not newest:
        return None
    path = min(newest, key=os.path.getmtime)
    small = os.path.getsize(path) <= MAX_VERIFIED_BYTES
    sound = all(backup.is_sound(copy) for copy in newest) if small else None
    return Backup(path, now_s - os.path.getmtime(path), sound)


def _newest(databases: list[Database], query: str) -> str:
    found = [row[0] for database in databases if (row := database.row(query)) and row[0]]
    return max(found, default="")


def _changed_at(path: str) -> str:
    try:
        return timestamp(os.path.getmtime(path))
    except OSError:
        return ""


def _count_lines(path: str) -> int | None:
    """Count the readable lines of a journal; None if it cannot be read at all."""
    try:
        return len(files.read_lines(path)[0])
    except OSError:
        return None


def _counts(database: Database) -> dict[str, int]:
    counts = {name: _count(database, f"SELECT count(*) FROM {name}") for name in COUNTED}
    waiting = _count(database, "SELECT count(*) FROM records WHERE status = 'candidate'")
    return counts | {"candidates": waiting}


def _count(database: Database, query: str) -> int:
    row = database.row(query)
    return int(row[0]) if row else 0


def _unreadable(path: str, error: OSError) -> Finding:
    return Finding(
        UNAVAILABLE, f"{path} cannot be read: {error.strerror}.", "Check its permissions."
    )


def _named(numbers: list[int]) -> str:
    shown = first_of(map(str, numbers), MAX_LINES_NAMED)
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"

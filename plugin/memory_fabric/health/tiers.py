"""The states of the three tiers (graph, journal, MEMORY.md), with problems and remedies (BR-17)."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memory_fabric.errors import FabricError
from memory_fabric.ids import timestamp
from memory_fabric.sharing.git import adoption, location
from memory_fabric.store import files, journal
from memory_fabric.store.database import is_writable
from memory_fabric.store.history.resolve import memory_md_file
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts
from memory_fabric.store.queues import late_events
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.upkeep import backup
from memory_fabric.text import first_of, many

HEALTHY, DEGRADED, UNAVAILABLE = "healthy", "degraded", "unavailable"
DRAIN = "memory-fabric sync applies them."
WRITE_JOURNAL = "memory-fabric repair writes them again."
WRITE_MEMORY_MD = "memory-fabric sync writes it again."
PERMISSIONS = "Check its permissions."
# Remedies of problems that `doctor --fix` repairs in the same way as `memory-fabric sync`.
REPAIRED_BY_SYNC = (DRAIN, WRITE_JOURNAL, WRITE_MEMORY_MD)
MAX_QUEUED, MAX_QUEUED_AGE_S = 50, 3600
# Larger backups are not verified again, because that takes long; they were verified when made.
MAX_VERIFIED_BYTES = 256 << 20


class Problem(NamedTuple):
    """A problem of a tier, with a remedy; `lines` are the numbers of a file's invalid lines."""

    state: str
    reason: str
    remedy: str = ""
    lines: tuple[int, ...] = ()


class Queue(NamedTuple):
    """The number of changes waiting to be written to the graph, and the age of the oldest one."""

    number: int = 0
    oldest_s: float = 0.0


class Backup(NamedTuple):
    """The graph's newest backup; `sound` is False if it is damaged, None if it was not verified."""

    path: str
    age_s: float
    sound: bool | None


class Tier(NamedTuple):
    """A tier: path, counts of contents, problems, and ISO times of last write and read, or ''."""

    name: str
    where: str
    counts: dict[str, int] = {}
    findings: tuple[Problem, ...] = ()
    written_at: str = ""
    # For the graph: when a session last read it. For a file: the time of this check, if readable.
    read_at: str = ""
    queue: Queue = Queue()
    backup: Backup | None = None

    @property
    def state(self) -> str:
        """Return the tier's state, which is that of its worst problem."""
        states = {finding.state for finding in self.findings}
        return next((s for s in (UNAVAILABLE, DEGRADED) if s in states), HEALTHY)


def tiers(memory: Memory, now_s: float) -> tuple[Tier, Tier, Tier]:
    """Return the states of the graph, the project's journal and MEMORY.md, in this order."""
    folders = memory.queue_folders()
    queue, behind = queued(folders, now_s), list(_behind(folders, now_s))
    graph = _graph_tier(memory, now_s, queue, behind)
    return graph, _local_tier(memory, now_s, folders, queue, behind), _native_tier(memory, now_s)


def as_json(tier: Tier) -> dict[str, Any]:
    """Return a tier as a dict for JSON; docs/tiers.md documents the fields."""
    fields: dict[str, Any] = {
        "tier": tier.name,
        "state": tier.state,
        "where": tier.where,
        "counts": tier.counts,
    }
    fields |= {"written_at": tier.written_at, "read_at": tier.read_at}
    fields |= {"queue": {"count": tier.queue.number, "oldest_s": tier.queue.oldest_s}}
    fields |= {"findings": [finding._asdict() for finding in tier.findings]}
    backup = {"backup": tier.backup._asdict() if tier.backup else None}
    return fields | (backup if tier.name == "graph" else {})


def _graph_tier(memory: Memory, now_s: float, queue: Queue, behind: list[Problem]) -> Tier:
    databases = memory.databases()
    remedy = "memory-fabric repair rebuilds a damaged database."
    problems = [Problem(UNAVAILABLE, failure, remedy) for failure in memory.failures]
    for database in databases:
        if database.newer:
            reason = f"{database.path} was changed by a newer release."
            problems.append(Problem(DEGRADED, reason, "Restart."))
        elif database.stopgap or (database.read_only and not is_writable(database.path)):
            problems.append(Problem(DEGRADED, f"{database.path} cannot be written.", PERMISSIONS))
    for path in dict.fromkeys(memory.journal_of(kind) for kind in ("project", "user")):
        problems += _lines(path, journal.MAX_JOURNAL_BYTES)
    newest = None
    copies = [copies[0] for d in databases if (copies := backup.list_backups(d.path))]
    if copies:
        path = min(copies, key=os.path.getmtime)  # the oldest of the databases' newest backups
        small = os.path.getsize(path) <= MAX_VERIFIED_BYTES
        sound = all(map(backup.is_sound, copies)) if small else None
        newest = Backup(path, now_s - os.path.getmtime(path), sound)
        if sound is False:
            reason = f"The newest backup, {path}, cannot be read."
            problems.append(Problem(DEGRADED, reason, "memory-fabric backup makes a new one."))
    rows, where = counts.rows_of(databases), memory.path_of("project")
    times = [counts.newest(databases, event) for event in (counts.LAST_CHANGE, counts.LAST_READ)]
    return Tier("graph", where, rows, (*problems, *behind), times[0], times[1], queue, newest)


def _local_tier(
    memory: Memory, now_s: float, folders: list[str], queue: Queue, behind: list[Problem]
) -> Tier:
    folder = memory.queue_folder("project")
    decisions = location.journal_file(memory)
    problems: list[Problem] = []
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        problems.append(Problem(UNAVAILABLE, f"{folder} cannot be written.", PERMISSIONS))
    problems += _lines(decisions)
    for path in (path for folder in folders for path in journal.waiting_files(folder)):
        problems += _lines(path)
    asides = [os.path.join(f, name) for f in folders for name in (journal.BAD, journal.REFUSED)]
    home = memory.settings.home
    for aside in (*filter(os.path.exists, asides), *late_events.waiting(home, late_events.REFUSED)):
        reason = f"{aside} holds changes that could not be read or applied."
        problems.append(Problem(DEGRADED, reason, "Look at it, then delete it."))
    late = len(late_events.waiting(home))
    if late:
        problems.append(Problem(DEGRADED, f"{many(late, 'event')} waited too long for it.", DRAIN))
    problems += _differences(memory)
    try:
        count = len(files.read_lines(decisions)[0])
        is_read = os.path.exists(decisions)
    except OSError:  # `_lines` reports this error
        count, is_read = 0, False
    counts = {"lines": count, "queued": queue.number}
    times = _changed_at(decisions), timestamp(now_s) if is_read else ""
    return Tier("local", decisions, counts, (*problems, *behind), *times, queue)


def _native_tier(memory: Memory, now_s: float) -> Tier:
    if memory.project is None:
        problem = Problem(UNAVAILABLE, "There is no project here.")
        return Tier("native", "", {"shown": 0}, (problem,))
    notes = memory_md_file(memory)
    if notes.off_because:
        return Tier("native", notes.path, {"shown": 0}, (Problem(UNAVAILABLE, notes.off_because),))
    try:
        text = files.read_text(notes.path, memory_md.MAX_READ_BYTES)
    except OSError as error:
        return Tier("native", notes.path, {}, (_unreadable(notes.path, error),))
    problems = []
    begun = text is not None and (memory_md.BEGIN in text or memory_md.BEGIN_JOINED in text)
    if text is not None and begun != (memory_md.END in text):
        reason = "One of its memory-fabric markers is missing."
        problems.append(Problem(DEGRADED, reason, "Delete the other one."))
    elif text is None and memory.native_ids(timestamp(now_s)):
        problems.append(Problem(DEGRADED, "The file is missing.", WRITE_MEMORY_MD))
    if text is not None and not os.access(notes.path, os.W_OK):
        reason = "The file cannot be written and is not updated."
        problems.append(Problem(DEGRADED, reason, PERMISSIONS))
    counts = {"shown": len(memory_md.shown_lines(notes))}
    written_at = _changed_at(notes.path) if begun else ""
    read_at = timestamp(now_s) if text is not None else ""
    return Tier("native", notes.path, counts, tuple(problems), written_at, read_at)


def queued(folders: list[str], now_s: float) -> Queue:
    """Return the number of waiting changes and the oldest one's age; skip unreadable files."""
    ages_s: list[float] = []
    for folder in folders:
        try:
            waiting, _ = journal.queued(folder)
        except OSError:
            continue  # `_lines` reports the unreadable file
        for line in waiting:
            provenance = line.get("provenance")
            at = str(provenance.get("at", "")) if isinstance(provenance, dict) else ""
            try:
                ages_s.append(now_s - datetime.fromisoformat(at).astimezone(UTC).timestamp())
            except ValueError:
                ages_s.append(0.0)
    return Queue(len(ages_s), max(ages_s, default=0.0))


def _behind(folders: list[str], now_s: float) -> Iterator[Problem]:
    for folder in folders:
        queue = queued([folder], now_s)
        if queue.number > MAX_QUEUED:
            reason = f"{many(queue.number, 'change')} waiting for the graph in {folder}."
        elif queue.oldest_s > MAX_QUEUED_AGE_S:
            hours = queue.oldest_s / 3600
            reason = f"A change in {folder} has waited for the graph for {hours:.0f} h."
        else:
            continue
        yield Problem(DEGRADED, reason, DRAIN)


def _lines(path: str, max_bytes: int = files.MAX_LINES_BYTES) -> Iterator[Problem]:
    """Yield the problems of a journal: conflict markers of git merges, and other invalid lines."""
    try:
        bad = files.invalid_lines(path, max_bytes)
        marks = sorted(set(journal.conflict_markers(path, max_bytes))) if bad else []
    except OSError as error:
        yield _unreadable(path, error)
        return
    torn = [number for number in bad if number not in marks]
    if marks:
        reason = f"{path}: conflict markers of an unfinished merge in {_named(marks)}."
        remedy = "Delete these lines and keep all others: each is whole and counts once by its id."
        yield Problem(DEGRADED, reason, remedy, tuple(marks))
    if torn:
        reason = f"{path}: {many(len(torn), 'line')} unreadable, {_named(torn)}."
        remedy = f"Look at line {torn[0]}; delete what cannot be saved."
        yield Problem(DEGRADED, reason, remedy, tuple(torn))


def _differences(memory: Memory) -> Iterator[Problem]:
    """Yield a problem if the graph has records that the journal lacks, or the other way round."""
    for database in memory.databases():
        try:
            journals = location.all_journals(memory, database.kind)
            lost = len(journal.missing_records(database, journals))
        except (FabricError, OSError):
            continue  # other checks report the unreadable file or database
        if lost:
            are = f"{many(lost, 'record')} {'is' if lost == 1 else 'are'}"
            reason = f"{are} in the graph but no longer in {journal.DECISIONS}."
            yield Problem(DEGRADED, reason, WRITE_JOURNAL)
    try:
        missing = adoption.missing(memory)
    except (FabricError, OSError):
        return  # other checks report the unreadable file or database
    if missing is not None:
        reason, _, remedy = adoption.notice_text(missing).rstrip(".").partition(": ")
        ending = f"{remedy[:1].upper()}{remedy[1:]}." if remedy else ""
        yield Problem(DEGRADED, f"{reason}.", ending)


def _changed_at(path: str) -> str:
    try:
        return timestamp(os.path.getmtime(path))
    except OSError:
        return ""


def _unreadable(path: str, error: OSError) -> Problem:
    return Problem(UNAVAILABLE, f"{path} cannot be read: {error.strerror}.", PERMISSIONS)


def _named(numbers: list[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {first_of(map(str, numbers), 5)}"

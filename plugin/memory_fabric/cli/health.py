"""How the three tiers are (BR-17): healthy, degraded or unavailable, why, and what helps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memory_fabric.cli.named import native_notes
from memory_fabric.store import journal, native
from memory_fabric.store.database import Database
from memory_fabric.store.files import read_lines, read_text
from memory_fabric.store.memory import Memory
from memory_fabric.store.sharing import place, reading

HEALTHY, DEGRADED, UNAVAILABLE = "healthy", "degraded", "unavailable"
MAX_QUEUED = 50
MAX_QUEUED_AGE_S = 3600
COUNTED = ("entities", "observations", "relations", "records", "episodes")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, and what helps."""

    state: str
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier: where it lies, what is in it, and what was found."""

    name: str
    where: str
    counts: dict[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> str:
        """The worst of its findings."""
        states = {finding.state for finding in self.findings}
        return next((s for s in (UNAVAILABLE, DEGRADED) if s in states), HEALTHY)


def tiers(memory: Memory, now_s: float) -> tuple[Tier, Tier, Tier]:
    """The state of graph, local journal and native notes, in this order."""
    return graph_tier(memory, now_s), local_tier(memory, now_s), native_tier(memory)


def graph_tier(memory: Memory, now_s: float) -> Tier:
    """The databases: opened, countable, and not behind the queue."""
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
    findings += _behind(memory, now_s)
    counts: dict[str, int] = {}
    for database in databases:
        for name, number in _counts(database).items():
            counts[name] = counts.get(name, 0) + number
    return Tier("graph", memory.path_of("project"), counts, tuple(findings))


def local_tier(memory: Memory, now_s: float) -> Tier:
    """The project's journal and queue: readable, writable, and not waiting for long."""
    folder = memory.queue_folder("project")
    decisions = place.journal_file(memory)
    findings: list[Finding] = []
    counts = {"lines": 0, "queued": 0}
    if os.path.isdir(folder) and not os.access(folder, os.W_OK):
        findings.append(
            Finding(UNAVAILABLE, f"{folder} cannot be written.", "Check its permissions.")
        )
    for key, path in (("lines", decisions), ("queued", os.path.join(folder, journal.QUEUE))):
        try:
            lines, bad = read_lines(path)
        except OSError as error:
            findings.append(_unreadable(path, error))
            continue
        counts[key] = len(lines)
        if bad:
            remedy = f"Look at line {bad[0]}; delete what cannot be saved."
            if reading.has_conflict(path):
                remedy = f"A merge left markers at line {bad[0]}: keep what both sides say."
            findings.append(Finding(DEGRADED, f"{path}: {_many(len(bad))} unreadable.", remedy))
    aside = os.path.join(folder, journal.BAD)
    if os.path.exists(aside):
        findings.append(
            Finding(
                DEGRADED, f"{aside} holds changes that could not be read.", "Look, then delete it."
            )
        )
    return Tier("local", decisions, counts, (*findings, *_behind(memory, now_s)))


def native_tier(memory: Memory) -> Tier:
    """MEMORY.md: readable, our fence whole, and allowed."""
    if memory.project is None:
        return Tier(
            "native", "", {"shown": 0}, (Finding(UNAVAILABLE, "There is no project here."),)
        )
    notes = native_notes(memory)
    if notes.off_because:
        return Tier("native", notes.path, {"shown": 0}, (Finding(UNAVAILABLE, notes.off_because),))
    try:
        text = read_text(notes.path)
    except OSError as error:
        return Tier("native", notes.path, {}, (_unreadable(notes.path, error),))
    findings = []
    if text is not None and (native.BEGIN in text) != (native.END in text):
        findings.append(
            Finding(DEGRADED, "Half of our fence is missing in it.", "Delete the other half.")
        )
    elif text is None and memory.find_records("promoted_at <> ''", limit=1):
        findings.append(Finding(DEGRADED, "It is gone.", "memory-fabric sync writes it again."))
    return Tier("native", notes.path, {"shown": len(native.shown_ids(notes))}, tuple(findings))


def _behind(memory: Memory, now_s: float) -> list[Finding]:
    """Whether changes wait too many or too long for the graph."""
    findings = []
    for folder in dict.fromkeys(memory.queue_folder(kind) for kind in ("project", "user")):
        try:
            waiting, _ = journal.queued(folder)
        except OSError:
            continue  # the local tier names it
        age_s = max((_age_s(line, now_s) for line in waiting), default=0.0)
        if len(waiting) > MAX_QUEUED:
            reason = f"{len(waiting)} changes wait for the graph."
        elif age_s > MAX_QUEUED_AGE_S:
            reason = f"A change has waited for the graph for {age_s / 3600:.0f} h."
        else:
            continue
        findings.append(Finding(DEGRADED, reason, "memory-fabric sync brings them in."))
    return findings


def _age_s(line: dict[str, object], now_s: float) -> float:
    stated = line.get("provenance")
    at = str(stated.get("at", "")) if isinstance(stated, dict) else ""
    try:
        return now_s - datetime.fromisoformat(at).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0


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


def _many(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"

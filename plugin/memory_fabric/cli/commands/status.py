"""status: show the state of the memory."""

import os
import time
from collections.abc import Container
from datetime import datetime
from typing import Any

from memory_fabric import __version__
from memory_fabric.cli import (
    environment,
    forwarding_report,
    live_report,
    show,
    team_report,
    transcripts_report,
)
from memory_fabric.config import transcript_roots
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.hooks.dispatcher import TELLERS
from memory_fabric.importing import past_sessions
from memory_fabric.importing.past_sessions import Session
from memory_fabric.sharing.git import location, shared_journal
from memory_fabric.store.health import status as health
from memory_fabric.store.health import unreadable_counts
from memory_fabric.store.log import late_events
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Backlog
from memory_fabric.text import many

STYLES = {health.HEALTHY: "green", health.DEGRADED: "yellow", health.UNAVAILABLE: "red"}


def status(as_json: show.AsJson = False) -> int:
    """Show the state of tiers, recall, capture, sharing, forwarding.

    Each tier is healthy, degraded or unavailable, with the reason, a remedy and its contents.
    Below are the switches, the number of records by others, the unprocessed texts of other
    programs (memory-fabric queue), the state of forwarding and of the shared log of a team, up to
    when memory has the clients' transcripts, how the latest hook events were answered, and the
    number of sentences that could not be parsed.
    Exit code 1 only if the graph is unavailable.
    """
    with environment.open_memory() as memory:
        now_s = time.time()
        tiers = health.tiers(memory, now_s)
        if as_json:
            show.json_out(_as_json(memory, tiers, now_s))
        else:
            _show(memory, tiers, now_s)
    return 1 if tiers[0].state == health.UNAVAILABLE else 0


def _show(memory: Memory, tiers: tuple[health.Tier, ...], now_s: float) -> None:
    name = f"{memory.project.name} ({memory.project.id})" if memory.project else "none"
    show.line(f"memory-fabric {__version__}, project {name}", style="bold")
    show.line(f"recall is {_on(memory.settings.reads)}, capture is {_on(memory.settings.writes)}")
    show.line(_sharing_line(memory))
    asked = link.pending_question(memory)
    if asked:
        show.line(asked, style="yellow")
    rows = [
        (
            t.name,
            show.styled(t.state, STYLES[t.state]),
            _ago(t.written_at, now_s),
            _ago(t.read_at, now_s),
            _counted(t.counts),
        )
        for t in tiers
    ]
    show.table(("tier", "state", "written", "read", "holds"), rows)
    for tier in tiers:
        for finding in tier.findings:
            show.line(f"{tier.name}: {finding.reason} {finding.remedy}".rstrip())
    show.facts((tier.name, tier.where) for tier in tiers)
    queue, kept = tiers[0].queue, tiers[0].backup
    if queue.count:
        since = _span(queue.oldest_s)
        waits = f"{queue.count} changes wait for the graph, the oldest since {since}."
        show.line(waits, style="yellow")
    for line in _ingest_lines(memory):
        show.line(line, style="yellow")
    set_aside = unreadable_counts.count(memory)
    if set_aside:
        show.line(
            f"{many(set_aside, 'sentence')} could not be parsed, so nothing was remembered of "
            "them; "
            "logs/memory-fabric.log has the details."
        )
    for line in forwarding_report.lines(memory.settings, now_s):
        show.line(line)
    for line in team_report.lines(memory, now_s):
        show.line(line)
    for line in transcripts_report.lines(_transcripts(memory, now_s), now_s):
        show.line(line)
    answered = live_report.line(memory.settings.home)
    if answered:
        show.line(answered)
    for line in _late_lines(memory):
        show.line(line, style="yellow")
    for complaint in memory.settings.complaints:
        show.warn(complaint)
    show.line(_backup_line(kept), style="dim")


def _as_json(memory: Memory, tiers: tuple[health.Tier, ...], now_s: float) -> dict[str, Any]:
    return {
        "version": __version__,
        "project": memory.project._asdict() if memory.project else None,
        "claims": link.pending_question(memory),
        "home": memory.settings.home,
        "reads": memory.settings.reads,
        "writes": memory.settings.writes,
        "sharing": _sharing(memory),
        "intake": _ingest(memory)._asdict(),
        "unread_sentences": unreadable_counts.count(memory),
        "forwarding": forwarding_report.as_json(memory.settings),
        "transcripts": transcripts_report.as_json(_transcripts(memory, now_s), now_s),
        "team": [team_report.as_json(memory, tie) for tie in team_report.ties_here(memory)],
        "hooks": live_report.as_json(memory.settings.home),
        "out_of_time": _late(memory),
        "not_told": sum(_late(memory, TELLERS).values()),
        "complaints": list(memory.settings.complaints),
        "tiers": [health.as_json(t) for t in tiers],
    }


def _transcripts(memory: Memory, now_s: float) -> list[Session]:
    """Return the sessions that clients still have, of all projects."""
    return past_sessions.make(memory.settings, transcript_roots(os.environ), now_s)


def _sharing(memory: Memory) -> dict[str, Any]:
    database = shared_journal.of_project(memory)
    path = location.shared_file(memory.project) if memory.project else ""
    on = location.is_on(memory)
    return {
        "on": on,
        "others": shared_journal.count(memory),
        "unreadable": shared_journal.unreadable(database, path) if on and database else 0,
    }


def _ingest(memory: Memory) -> Backlog:
    """Return the backlog of the ingest queue; empty if the database fails (see its tier)."""
    try:
        return ingest_queue.backlog(memory)
    except (StoreUnavailable, DeadlinePassed):
        return Backlog()


def _late(memory: Memory, work: Container[str] = ()) -> dict[str, int]:
    """Count the hooks that ran out of time, by event; those that left `work` undone, if given."""
    settings = memory.settings
    folders = (os.path.join(settings.home, "logs"), settings.data_dir)
    return late_events((folder for folder in folders if folder), work)


def _late_lines(memory: Memory) -> list[str]:
    late = _late(memory)
    if not late:
        return []
    counted = ", ".join(f"{name} {number}" for name, number in sorted(late.items()))
    lines = [
        f"Hooks that ran out of time and left work to a later event, since the log began: "
        f"{counted}."
    ]
    untold = sum(_late(memory, TELLERS).values())
    if untold:
        lines.append(
            f"Not told what memory knows, for want of time: {many(untold, 'prompt')}, subagents "
            "among them. Run memory-fabric doctor if the machine was not busy with other work."
        )
    return lines


def _ingest_lines(memory: Memory) -> list[str]:
    left, lines = _ingest(memory), []
    if left.waiting or left.working:
        waiting = many(left.waiting + left.working, "text")
        lines.append(
            f"{waiting} of other programs not processed yet: run memory-fabric serve or "
            "memory-fabric queue work --once."
        )
    if left.dead:
        lines.append(
            f"{many(left.dead, 'text')} of other programs could not be processed: "
            "memory-fabric queue shows why."
        )
    return lines


def _sharing_line(memory: Memory) -> str:
    known = _sharing(memory)
    line = f"sharing by git is {_on(known['on'])}"
    if known["others"]:
        number, people = sum(known["others"].values()), len(known["others"])
        line += f", {number} records of {many(people, 'other author')}"
    return line


def _backup_line(kept: health.Backup | None) -> str:
    if kept is None:
        return "No backup yet; at most one a day is made, at the end of a session."
    read = {True: "verified now", False: "unreadable", None: "verified when it was made"}
    return f"The newest backup is {_span(kept.age_s)} old, {read[kept.sound]}."


def _ago(at: str, now_s: float) -> str:
    """Describe the age of an ISO time for people."""
    if not at:
        return "never"
    try:
        age_s = now_s - datetime.fromisoformat(at).timestamp()
    except ValueError:
        return at
    return "now" if age_s < 1 else f"{_span(age_s)} ago"


def _span(seconds: float) -> str:
    """Format a duration in its largest unit: 40 s, 12 min, 3 h, 5 d."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _counted(counts: dict[str, int]) -> str:
    held = [f"{name} {number}" for name, number in counts.items() if number]
    return ", ".join(held) or "nothing yet"


def _on(switch: bool) -> str:
    return "on" if switch else "off"

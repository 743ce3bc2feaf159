"""status: show the state of the memory."""

import os
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from memory_fabric import __version__
from memory_fabric.cli import environment, show, team_report
from memory_fabric.cli.options import AsJson
from memory_fabric.config import transcript_roots
from memory_fabric.health import tiers as health
from memory_fabric.health import work
from memory_fabric.health.tiers import Tier
from memory_fabric.hooks.table import TELLERS
from memory_fabric.importing import past_sessions
from memory_fabric.sharing.git import location, shared_journal
from memory_fabric.store import counts
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.text import many

STYLES = {health.HEALTHY: "green", health.DEGRADED: "yellow", health.UNAVAILABLE: "red"}
READ = {True: "verified now", False: "unreadable", None: "verified when it was made"}


def status(as_json: AsJson = False) -> int:
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


def _show(memory: Memory, tiers: Sequence[Tier], now_s: float) -> None:
    settings, project = memory.settings, memory.project
    name = f"{project.name} ({project.id})" if project else "none"
    show.line(f"memory-fabric {__version__}, project {name}", style="bold")
    switches = f"recall is {show.on(settings.reads)}, capture is {show.on(settings.writes)}"
    sharing = _sharing(memory)
    line, others = f"sharing by git is {show.on(sharing['on'])}", sharing["others"]
    if others:
        line += f", {sum(others.values())} records of {many(len(others), 'other author')}"
    show.lines((switches, line))
    show.lines(filter(None, (link.pending_question(memory),)), "yellow")
    rows = [
        (
            tier.name,
            show.styled(tier.state, STYLES[tier.state]),
            _ago(tier.written_at, now_s),
            _ago(tier.read_at, now_s),
            ", ".join(f"{name} {n}" for name, n in tier.counts.items() if n) or "nothing yet",
        )
        for tier in tiers
    ]
    show.table(("tier", "state", "written", "read", "holds"), rows)
    for tier in tiers:
        show.lines(f"{tier.name}: {f.reason} {f.remedy}".rstrip() for f in tier.findings)
    show.facts((tier.name, tier.where) for tier in tiers)
    queue = tiers[0].queue
    if queue.count:
        since = f"the oldest since {_span(queue.oldest_s)}"
        show.line(f"{queue.count} changes wait for the graph, {since}.", "yellow")
    show.lines(work.ingest_lines(memory), "yellow")
    unread = counts.unread(memory)
    if unread:
        show.line(
            f"{many(unread, 'sentence')} could not be parsed, so nothing was remembered of them; "
            "logs/memory-fabric.log has the details."
        )
    show.lines(work.forwarding_lines(settings, now_s))
    show.lines(team_report.lines(memory, now_s))
    show.lines(work.transcript_lines(_transcripts(memory, now_s), now_s))
    show.lines(filter(None, (work.answers_line(settings.home),)))
    show.lines(work.late_lines(memory, TELLERS), "yellow")
    show.warn_all(settings.complaints)
    backup = tiers[0].backup
    if backup is None:
        show.line("No backup yet; at most one a day is made, at the end of a session.", "dim")
    else:
        show.line(f"The newest backup is {_span(backup.age_s)} old, {READ[backup.sound]}.", "dim")


def _as_json(memory: Memory, tiers: Sequence[Tier], now_s: float) -> dict[str, Any]:
    settings = memory.settings
    return {
        "version": __version__,
        "project": memory.project._asdict() if memory.project else None,
        "claims": link.pending_question(memory),
        "home": settings.home,
        "reads": settings.reads,
        "writes": settings.writes,
        "sharing": _sharing(memory),
        "intake": work.ingested(memory)._asdict(),
        "unread_sentences": counts.unread(memory),
        "forwarding": work.forwarding_as_json(settings),
        "transcripts": work.transcripts_as_json(_transcripts(memory, now_s), now_s),
        "team": [team_report.as_json(memory, tie) for tie in team_report.ties_here(memory)],
        "hooks": work.answers_as_json(settings.home),
        "out_of_time": work.late(memory),
        "not_told": sum(work.late(memory, TELLERS).values()),
        "complaints": list(settings.complaints),
        "tiers": [health.as_json(tier) for tier in tiers],
    }


def _transcripts(memory: Memory, now_s: float) -> list[past_sessions.Session]:
    """Return the sessions that clients still have, of all projects."""
    return past_sessions.make(memory.settings, transcript_roots(os.environ), now_s)


def _sharing(memory: Memory) -> dict[str, Any]:
    database, is_on = shared_journal.of_project(memory), location.is_on(memory)
    path = location.shared_file(memory.project) if memory.project else ""
    return {
        "on": is_on,
        "others": shared_journal.count(memory),
        "unreadable": shared_journal.unreadable(database, path) if is_on and database else 0,
    }


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

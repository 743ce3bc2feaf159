"""Commands status, doctor and worth: the memory's state, its requirements, and its use."""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memory_fabric import __version__, ids
from memory_fabric.cli import environment, show
from memory_fabric.cli.options import AS_JSON, flag, option
from memory_fabric.clients import settings
from memory_fabric.config import MAX_PRICE, transcript_roots
from memory_fabric.errors import BadInput
from memory_fabric.health import checks, work
from memory_fabric.health import tiers as health
from memory_fabric.health.check import FAULT, OK, WARNING, Sight, ago, span
from memory_fabric.health.installation import INSTALL
from memory_fabric.hooks.table import HANDLERS, TELLERS
from memory_fabric.importing import past_sessions
from memory_fabric.models import shown_type
from memory_fabric.sharing.git import location, shared_journal
from memory_fabric.sharing.team import ties
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import link
from memory_fabric.store.queries import counts
from memory_fabric.store.queues import spool
from memory_fabric.text import many

TIER_STYLES = {health.HEALTHY: "green", health.DEGRADED: "yellow", health.UNAVAILABLE: "red"}
READ = {True: "verified now", False: "unreadable", None: "verified when it was made"}
# For each state: its style, its symbol, the symbol as plain ASCII, and a word for its count.
LOOKS = {
    OK: ("green", "✓", "+", "fine"),
    WARNING: ("yellow", "!", "!", "to look at"),
    FAULT: ("red", "✗", "x", "broken"),
}


def status(as_json: bool = AS_JSON) -> int:
    """Show the state of stored data, recall, capture, sharing and forwarding.

    Each tier (the graph, the journal, MEMORY.md) is healthy, degraded or unavailable, with the
    reason, a remedy and its contents. Queues, shared logs, the clients' transcripts and the answers
    to the latest hook events are also shown. Exit code 1 if the graph is unavailable.
    """
    with environment.open_memory() as memory:
        now_s = time.time()
        with show.patience("Reading the memory"):
            tiers = health.tiers(memory, now_s)
            reports = [work.TieReport(memory, t, now_s) for t in ties.joined_by(memory)]
            sessions = past_sessions.make(memory.settings, transcript_roots(os.environ), now_s)
        if as_json:
            settings, project = memory.settings, memory.project
            by_server, others = work.answered(settings.home)
            value: dict[str, Any] = {"version": __version__}
            value |= {"project": project._asdict() if project else None}
            value |= {"claims": link.pending_question(memory)}
            value |= show.fields(settings, "home reads writes") | {"sharing": _sharing(memory)}
            value |= {"intake": work.ingested(memory)._asdict()}
            value |= {"unread_sentences": counts.unread(memory)}
            backlog = spool.backlog(settings.home, settings.forward_url)
            value |= {"forwarding": {"to": spool.shown(settings.forward_url), **backlog._asdict()}}
            unread = dict.fromkeys(s.place.name for s in past_sessions.to_read(sessions))
            past = past_sessions.as_json(sessions, now_s) | {"unread_projects": list(unread)}
            del past["projects"]
            value |= {"transcripts": past}
            value |= {"team": [report.as_json() for report in reports]}
            value |= {"hooks": {"by_server": by_server, "by_processes_of_their_own": others}}
            value |= {"out_of_time": work.late(memory)}
            value |= {"not_told": sum(work.late(memory, TELLERS).values())}
            value |= {"complaints": list(settings.complaints)}
            show.json_out(value | {"tiers": [health.as_json(tier) for tier in tiers]})
        else:
            lines = [line for r in reports for line in (r.headline, *map(str, r.troubles))]
            lines += work.transcript_lines(sessions, now_s)
            _show_status(memory, tiers, (*work.status_lines(memory, now_s, TELLERS), *lines), now_s)
    return 1 if tiers[0].state == health.UNAVAILABLE else 0


def _show_status(
    memory: Memory, tiers: Sequence[health.Tier], lines: Iterable[str], now_s: float
) -> None:
    settings, project = memory.settings, memory.project
    name = f"{project.name} ({project.id})" if project else "none"
    show.line(f"memory-fabric {__version__}, project {name}", style="bold")
    switches = f"recall is {show.on(settings.reads)}, capture is {show.on(settings.writes)}"
    sharing = _sharing(memory)
    line, authors = f"sharing by git is {show.on(sharing['on'])}", sharing["others"]
    if authors:
        line += f", {sum(authors.values())} records of {many(len(authors), 'other author')}"
    show.lines((switches, line))
    show.lines((link.pending_question(memory),), "yellow")
    rows = []
    for tier in tiers:
        state = show.styled(tier.state, TIER_STYLES[tier.state])
        times = (tier.written_at, tier.read_at)
        written, read = (ago(at, now_s) if at else "never" for at in times)
        holds = ", ".join(f"{name} {n}" for name, n in tier.counts.items() if n) or "nothing yet"
        rows.append((tier.name, state, written, read, holds))
    show.table(("tier", "state", "written", "read", "holds"), rows)
    for tier in tiers:
        show.lines(f"{tier.name}: {f.reason} {f.remedy}".rstrip() for f in tier.findings)
    show.facts(*((tier.name, tier.where) for tier in tiers))
    queue = tiers[0].queue
    if queue.number:
        since = f"the oldest since {span(queue.oldest_s)}"
        show.line(f"{many(queue.number, 'change')} waiting for the graph, {since}.", "yellow")
    show.lines(lines)
    show.warn_all(settings.complaints)
    backup = tiers[0].backup
    if backup is None:
        show.line("No backup yet; at most one a day is made, at the end of a session.", "dim")
    else:
        show.line(f"The newest backup is {span(backup.age_s)} old, {READ[backup.sound]}.", "dim")


def _sharing(memory: Memory) -> dict[str, Any]:
    database, is_on = shared_journal.of_project(memory), location.is_on(memory)
    path = location.shared_file(memory.project) if memory.project else ""
    unreadable = shared_journal.unreadable(database, path) if is_on and database else 0
    return {"on": is_on, "others": shared_journal.count(memory), "unreadable": unreadable}


def doctor(
    proof: bool = flag(
        "--prove  Also run a test memory, the canary, through all hooks and the server in a "
        "temporary home. Then **delivery**, by the transcripts of the last 14 days: which prompts "
        "were given memories, sessions without hooks, injections that no transcript shows."
    ),
    fix: bool = flag(
        "--fix  Repair what is safe to repair, show it, and check again: permissions, a missing "
        "interpreter, a failed installation, leftover files, waiting changes, journals, indexes."
    ),
    as_json: bool = flag("--json  Answer in JSON: a list of checks with state and remedy."),
) -> int:
    """Check all that memory depends on, and name remedies.

    **Installation**: the interpreter, packages and plugin files. **Claude Code**: its release,
    settings, hooks, servers, permission rules and variables. **At work**: whether memory is on and
    hooks run, and today's warnings by hooks. **Storage**: permissions, free space, queue, indexes,
    backups, the graph, the journal and MEMORY.md. Exit code 1 for a `fault`, not for a `warning`.
    """
    repairs: dict[str, tuple[str, ...]] = {}
    if fix:
        with sight() as inputs:
            repairs = checks.mend(inputs)
            show.warn_all(inputs.memory.failures)
    with show.patience("Checking"), sight() as inputs:
        findings = [
            finding._replace(mended=repairs.get(finding.name, ()))
            for check in checks.CHECKS
            for finding in checks.findings(check, inputs)
        ]
        if proof:
            from memory_fabric.health.sandbox import prove  # only --prove starts processes

            if not inputs.settings.plugin_root:
                text = "This package is installed without the plugin's hooks."
                raise BadInput("--prove", text, remedy=f"Run {INSTALL}.")
            canary = prove(inputs.settings.plugin_root)
            findings += [finding._replace(area=checks.CANARY) for finding in canary]
            findings += checks.findings(checks.DELIVERY, inputs)
    if as_json:
        show.json_out([finding.as_json() for finding in findings])
    else:
        is_plain = not (sys.stdout.encoding or "").lower().startswith("utf")
        width = max(len(finding.name) for finding in findings)
        for area in checks.AREAS:
            rows = []
            for f in (finding for finding in findings if finding.area == area):
                style, symbol, plain, _ = LOOKS[f.state]
                state = f"{plain if is_plain else symbol} {f.state}".ljust(9)
                head = f"{f.told}. {f.remedy}" if f.remedy else f.told
                text = "\n".join([head, *f.details, *(f"repaired: {fixed}" for fixed in f.mended)])
                rows.append((show.styled(state, style), f.name.ljust(width), text))
            if rows:
                show.line(area, style="bold")
                show.rows(rows)
        numbers = {state: sum(f.state == state for f in findings) for state in LOOKS}
        parts = [f"{number} {LOOKS[state][3]}" for state, number in numbers.items() if number]
        fixable = any(f.fixable and f.state != OK for f in findings)
        hint = " memory-fabric doctor --fix repairs some of it." if fixable else ""
        show.line(f"{len(findings)} checks: {', '.join(parts)}.{hint}")
    return 1 if any(finding.state == FAULT for finding in findings) else 0


@contextmanager
def sight() -> Iterator[Sight]:
    """Collect this folder's settings and files, which the checks of doctor examine."""
    with environment.open_memory() as memory:
        layers = settings.layers(memory.settings)
        yield Sight(environment.settings(), layers, memory, time.time(), tuple(HANDLERS))


def worth(
    days: int = option("N  Only the last so many days.", 30, min=1, max=90),
    price: float | None = option("DOLLARS  For a million tokens.", None, min=0, max=MAX_PRICE),
    as_json: bool = AS_JSON,
) -> int:
    """Show the use and the cost of memory, week by week.

    Counts what this project's sessions were given, by kind and by channel; how often they followed
    rules, fixes and decisions; and what you had to repeat. docs/worth.md says what each figure
    misses. Figures are kept for 90 days. Exit code 3 if no session was given anything.

        memory-fabric worth --price 3 --json
    """
    since = ids.timestamp(time.time() - days * 24 * 3600)
    with environment.open_memory() as memory:
        summary = counts.told_since(memory, since)
        weeks = counts.worth_by_week(memory, since)
        price = memory.settings.token_price if price is None else price
    if as_json:
        rows = [counts.worth_as_json(week) | {"cost": _cost(week.chars, price)} for week in weeks]
        value: dict[str, Any] = {"days": days, **show.fields(summary, "since sessions")}
        value |= {"price_per_million": price or None, "total": _share_as_json(summary.total, price)}
        value |= {"weeks": rows, "figures": {n: means for n, (_, means) in counts.FIGURES.items()}}
        value |= {"limits": counts.LIMITS}
        for name, shares in (("kinds", summary.kinds), ("channels", summary.channels)):
            value |= {name: [_share_as_json(share, price) for share in shares]}
        show.json_out(value)
    else:
        _show_worth(summary, weeks, days, price)
    return 0 if summary.sessions else 3


def _share_as_json(share: counts.Share, price: float) -> dict[str, Any]:
    name = {"name": share.name} if share.name else {}
    size = {"tokens": counts.tokens(share.chars), "cost": _cost(share.chars, price)}
    return name | show.fields(share, "items chars") | size


def _show_worth(
    summary: counts.Summary, weeks: Sequence[counts.WorthOfWeek], days: int, price: float
) -> None:
    if not summary.sessions:
        show.line(f"Nothing was told in the last {days} days.")
        return
    tokens, sessions = counts.tokens(summary.total.chars), many(summary.sessions, "session")
    show.line(f"Told in the last {days} days: {tokens} tokens in {sessions}.")
    dollars = ["dollars"] if price else []

    def size(chars: int) -> list[str]:
        return [str(counts.tokens(chars)), *([f"{_cost(chars, price):.4f}"] if price else [])]

    show.table(
        ["week of", "sessions", "tokens", *dollars, *(name for name, _ in counts.FIGURES.values())],
        [
            [week.monday, str(week.sessions), *size(week.chars)]
            + [f"{c.yes} of {c.n}" if c.n else "—" for c in week.figures.values()]
            for week in weeks
        ],
    )
    show.table(("figure", "counts"), counts.FIGURES.values())
    show.line(counts.LIMITS)
    names = {"protocol": "request for notes", "frame": "headings"}
    for heading, shares in (("kind", summary.kinds), ("channel", summary.channels)):
        rows = [[names.get(k) or shown_type(k), str(n), *size(chars)] for k, n, chars in shares]
        show.table([heading, "items", "tokens", *dollars], rows)
    if not price:
        show.line("For the cost give --price, or worth.price in config.toml.", "dim")
    show.line("Tokens are characters divided by 4.", "dim")


def _cost(chars: int, price: float) -> float | None:
    return round(chars / counts.CHARS_PER_TOKEN * price / 1e6, 6) if price else None

"""Checks of operation: switches, the last session, the hooks' log, forwarding, shared logs."""

import os
import time

from memory_fabric.cli import formatting, forwarding_report, live_report, team_report
from memory_fabric.cli.doctor.finding import OK, WARNING, Check, Sight
from memory_fabric.forwarding import trigger
from memory_fabric.store.files import read_text
from memory_fabric.store.history import trace
from memory_fabric.store.log import LOG_NAME
from memory_fabric.store.queues import spool

LOG_LINES = 200
# Fewer events, mostly of sessions' starts and ends, say nothing.
MIN_EVENTS = 20


def switched(sight: Sight) -> Check:
    """Check that recall and capture are on, and that all settings could be read."""
    now = sight.memory.settings
    off = [name for name, on in (("recall", now.reads), ("capture", now.writes)) if not on]
    if off:
        told = f"off here: {', '.join(off)}"
        return Check("switches", WARNING, told, "memory-fabric on [--here]")
    if now.complaints:
        told = "; ".join(now.complaints)
        return Check("switches", WARNING, told, "See docs/configuration.md.")
    return Check("switches", OK, "recall and capture are on")


def last_session(sight: Sight) -> Check:
    """Check when a hook last ran in this project."""
    kind = "project" if sight.memory.project else "user"
    here = [database for database in sight.memory.databases() if database.kind == kind]
    _, last = trace.span(here)
    if not last:
        remedy = "Start a session here, or start it again: hooks are read at its start."
        return Check("last session", WARNING, "no hook has ever run in this project", remedy)
    return Check("last session", OK, f"a hook last ran on {formatting.when(last)}")


def answers(sight: Sight) -> Check:
    """Check that the session's server answers hooks, where it can."""
    found = live_report.counts(sight.settings.home)
    told = live_report.line(sight.settings.home) or "no server has listened for hooks yet"
    others = sum(found.values()) - found.get(live_report.WARM, 0)
    if others >= MIN_EVENTS and others > found.get(live_report.WARM, 0):
        remedy = "Every event is answered, but slower: see docs/warm.md for each reason."
        return Check("hooks answered", WARNING, told, remedy)
    return Check("hooks answered", OK, told)


def log(sight: Sight) -> Check:
    """Report today's lines of the hooks' log."""
    settings = sight.settings
    folders = [os.path.join(settings.home, "logs"), settings.data_dir]
    texts = [read_text(os.path.join(folder, LOG_NAME)) or "" for folder in folders if folder]
    today = time.strftime("%Y-%m-%d", time.gmtime(sight.now_s))
    recent = [line for text in texts for line in text.splitlines()[-LOG_LINES:]]
    lines = sorted(line for line in recent if line.startswith(today))
    if lines:
        return Check("log", WARNING, f"{len(lines)} lines today, last: {lines[-1]}")
    return Check("log", OK, "nothing today")


def receiver(sight: Sight) -> Check:
    """Check the receiver's address, and that the connection is encrypted."""
    url = sight.settings.forward_url
    if not url:
        return Check("forwarding", OK, "off: nothing leaves this machine")
    if trigger.is_plain(url):
        what = "the key and what is said" if sight.settings.forward_key else "what is said"
        told = f"to {url}, not encrypted: anyone on the network can read {what}"
        return Check("forwarding", WARNING, told, "Use an https address.")
    return Check("forwarding", OK, f"to {url}")


def spooled(sight: Sight) -> Check:
    """Report texts that wait to be forwarded, and those that the receiver refused."""
    settings, name = sight.settings, "forwarded"
    found = spool.backlog(settings.home, settings.forward_url)
    told = forwarding_report.troubles(settings, found, sight.now_s)
    quiet = settings.forward_url and not (found.rejected or found.dropped or found.elsewhere)
    if told and not (quiet and not forwarding_report.is_failing(found)):
        remedies = dict.fromkeys(t.remedy for t in told if t.remedy)
        return Check(name, WARNING, " ".join(t.text for t in told), " ".join(remedies))
    if found.waiting:
        return Check(name, OK, forwarding_report.describe_waiting(found, sight.now_s))
    return Check(name, OK, "nothing waits")


def shared_log(sight: Sight) -> Check:
    """Report when the ties of this project and the user last worked, and what failed since."""
    name = "shared log"
    known = team_report.ties_here(sight.memory)
    if not known:
        return Check(name, OK, "none: nothing is exchanged with a team")
    wrong = [tie for tie in known if team_report.is_bad(sight.memory, tie, sight.now_s)]
    told = [
        trouble for tie in wrong for trouble in team_report.troubles(sight.memory, tie, sight.now_s)
    ]
    if wrong:
        texts = [trouble.text for trouble in told] or [
            f"{tie.space} was not exchanged for a week." for tie in wrong
        ]
        remedies = dict.fromkeys(trouble.remedy for trouble in told if trouble.remedy)
        remedy = " ".join(remedies) or "Run memory-fabric team sync."
        return Check(name, WARNING, " ".join(texts), remedy)
    lines = [team_report.headline(sight.memory, tie, sight.now_s) for tie in known]
    return Check(name, OK, " ".join(lines))

"""Health checks of the memory in use, and the lines that `status` prints on the same subjects."""

import os
import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any

from memory_fabric.clients.transcripts import CLIENTS
from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.forwarding import trigger
from memory_fabric.health.check import Finding, Message, Sight, ago, fine, warning, when
from memory_fabric.importing import past_sessions
from memory_fabric.sharing.replica import heads, space
from memory_fabric.sharing.team import ties
from memory_fabric.store.files import read_text
from memory_fabric.store.history import trace
from memory_fabric.store.home import log as hook_log
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.counts import unread as unread_sentences
from memory_fabric.store.queues import ingest_queue, spool
from memory_fabric.text import first_of, many

MAX_NAMED = 5
# A file in the home with one letter for each hook event, appended by `live_client`: `W` if the
# server answered the event, or else the reason why not (REASONS).
WAYS = os.path.join("live", "ways")
REASONS = {
    "N": "no server listened",
    "B": "it was busy or not ready yet",
    "S": "it did not answer in time",
    "O": "it was of another version",
    "C": "it ended meanwhile",
    "P": "the client's process or memory's home cannot be named",
}
LOCKED = "Nothing was sent: another process is sending or will retry within seconds."
REDIRECT = "Set MEMORY_FABRIC_FORWARD_URL to it and run memory-fabric sync, or delete the items."


def switched(sight: Sight) -> Finding:
    """Check that recall and capture are switched on, and that all settings are valid."""
    settings = sight.memory.settings
    states = (("recall", settings.reads), ("capture", settings.writes))
    off = [name for name, is_on in states if not is_on]
    if off:
        return warning(f"off here: {', '.join(off)}", "memory-fabric on [--here]")
    if settings.complaints:
        return warning("; ".join(settings.complaints), "See docs/configuration.md.")
    return fine("recall and capture are on")


def last_session(sight: Sight) -> Finding:
    """Check that a hook has run in this project, and report the time of the last run."""
    kind = "project" if sight.memory.project else "user"
    _, last = trace.span([db for db in sight.memory.databases() if db.kind == kind])
    if last:
        return fine(f"a hook last ran on {when(last)}")
    remedy = "Start a session here, or start it again: hooks are read at its start."
    return warning("no hook has ever run in this project", remedy)


def log(sight: Sight) -> Finding:
    """Check that hooks have not written warnings to their log today."""
    today = time.strftime("%Y-%m-%d", time.gmtime(sight.now_s))
    texts = [read_text(os.path.join(f, hook_log.LOG_NAME)) or "" for f in _logs(sight.settings)]
    recent = [line for text in texts for line in text.splitlines()[-200:]]
    lines = sorted(line for line in recent if line.startswith(today))
    if lines:
        return warning(f"{many(len(lines), 'line')} today, last: {lines[-1]}")
    return fine("nothing today")


def _logs(settings: Settings) -> list[str]:
    return [folder for folder in (os.path.join(settings.home, "logs"), settings.data_dir) if folder]


def late(memory: Memory, work: Container[str] = ()) -> dict[str, int]:
    """Count timed-out hooks by event; with `work`, only those that left one of its tasks undone."""
    return hook_log.late_events(_logs(memory.settings), work)


def status_lines(memory: Memory, now_s: float, tellers: Container[str]) -> Iterator[str]:
    """Yield `status` lines on waiting, failed and late work; `tellers` are the recall handlers."""
    settings, backlog = memory.settings, ingested(memory)
    if number := backlog.waiting + backlog.working:
        yield (
            f"{many(number, 'text')} of other programs not processed yet: run memory-fabric serve "
            "or memory-fabric queue work --once."
        )
    if backlog.dead:
        texts = f"{many(backlog.dead, 'text')} of other programs could not be processed"
        yield f"{texts}: memory-fabric queue shows why."
    if unread := unread_sentences(memory):
        yield (
            f"{many(unread, 'sentence')} could not be parsed, so nothing was remembered of them; "
            "logs/memory-fabric.log has the details."
        )
    spooled = spool.backlog(settings.home, settings.forward_url)
    if settings.forward_url:
        arrived = spooled.last_success
        last = f"the last arrived {ago(arrived, now_s)}" if arrived else "nothing was sent yet"
        yield f"sessions are forwarded to {spool.shown(settings.forward_url)}; {last}"
    yield from map(str, _forwarding_troubles(settings, spooled, now_s))
    yield answers_line(settings.home)
    if by_event := late(memory):
        counts = ", ".join(f"{name} {number}" for name, number in sorted(by_event.items()))
        yield f"Hooks that ran out of time and left work, since the log began: {counts}."
    if by_event and (untold := sum(late(memory, tellers).values())):
        yield (
            f"Not told what memory knows, for want of time: {many(untold, 'prompt')}, subagents "
            "among them. Run memory-fabric doctor if the machine was not busy with other work."
        )


def ingested(memory: Memory) -> ingest_queue.Backlog:
    """Return the backlog of ingested texts; empty on a database error, which `tiers` reports."""
    try:
        return ingest_queue.backlog(memory)
    except (StoreUnavailable, DeadlinePassed):
        return ingest_queue.Backlog()


def intake(sight: Sight) -> Finding:
    """Check for ingested texts that failed permanently or have waited too long."""
    backlog = ingest_queue.backlog(sight.memory)
    if backlog.dead:
        text = f"{many(backlog.dead, 'ingested text')} failed for good: {backlog.last_error}"
        remedy = "memory-fabric queue shows them; retry --all tries again, drop --all drops them."
        return warning(text, remedy)
    waiting, oldest = backlog.waiting + backlog.working, backlog.oldest_at
    if waiting and oldest:
        age_s = sight.now_s - datetime.fromisoformat(oldest).timestamp()
        # If a text waits for 15 minutes, no worker is running: they process texts within seconds.
        if age_s > 15 * 60:
            text = f"{many(waiting, 'ingested text')} not processed, the oldest since {oldest}"
            text += f": {backlog.last_error}" if backlog.last_error else ""
            return warning(text, "memory-fabric queue work --once processes them.")
    return fine(f"waiting: {many(waiting, 'text')}" if waiting else "nothing waits")


def answers(sight: Sight) -> Finding:
    """Check that the session's MCP server answers most hook events."""
    warm, others = answered(sight.settings.home)
    text = answers_line(sight.settings.home) or "no server has listened for hooks yet"
    # Do not warn if the server missed only a few events: most are session starts and ends.
    if sum(others.values()) < max(20, warm + 1):
        return fine(text)
    return warning(text, "Every event is answered, but slower: see docs/warm.md for each reason.")


def answers_line(home: str) -> str:
    """Return a sentence about how the latest hook events were answered; '' if unknown."""
    warm, others = answered(home)
    if not (warm or others):
        return ""
    why = ", ".join(f"{reason}: {n}" for reason, n in others.items())
    share = f"{warm} of the latest {warm + sum(others.values())} hook events"
    return f"The session's server answered {share}" + (f" ({why})." if why else ".")


def answered(home: str) -> tuple[int, dict[str, int]]:
    """Count the latest hook events: those that the server answered, and the others by reason."""
    try:
        text = read_text(os.path.join(home, WAYS)) or ""
    except OSError:
        text = ""
    others = {reason: text.count(letter) for letter, reason in REASONS.items() if letter in text}
    return text.count("W"), others


def receiver(sight: Sight) -> Finding:
    """Check that the connection for forwarding, if configured, is encrypted."""
    url = sight.settings.forward_url
    shown = spool.shown(url)
    if not url or not trigger.is_plain(url):
        return fine(f"to {shown}" if url else "off: nothing leaves this machine")
    what = "the key and what is said" if sight.settings.forward_key else "what is said"
    text = f"to {shown}, not encrypted: anyone on the network can read {what}"
    return warning(text, "Use an https address.")


def spooled(sight: Sight) -> Finding:
    """Check for items that could not be forwarded, or that the receiver has rejected."""
    backlog = spool.backlog(sight.settings.home, sight.settings.forward_url)
    messages = _forwarding_troubles(sight.settings, backlog, sight.now_s)
    is_bad = backlog.rejected or backlog.dropped or backlog.elsewhere or _is_failing(backlog)
    if messages and (is_bad or not sight.settings.forward_url):
        remedies = dict.fromkeys(message.remedy for message in messages if message.remedy)
        return warning(" ".join(message.text for message in messages), " ".join(remedies))
    return fine(_describe_waiting(backlog, sight.now_s) if backlog.waiting else "nothing waits")


def _forwarding_troubles(settings: Settings, backlog: spool.Backlog, now_s: float) -> list[Message]:
    messages = []
    if backlog.waiting:
        remedy = "memory-fabric sync sends them now."
        if not settings.forward_url:
            remedy = "No receiver is configured: set MEMORY_FABRIC_FORWARD_URL, or delete them."
        messages.append(Message(f"{_describe_waiting(backlog, now_s)}.", remedy))
    if _is_failing(backlog):
        text = f"Forwarding failed {ago(backlog.error_at, now_s)}: {backlog.last_error}"
        if backlog.next_at:
            text += f" The next attempt: {backlog.next_at[:16].replace('T', ' ')} UTC."
        messages.append(Message(text, backlog.remedy))
    for other in backlog.elsewhere:
        text = f"Some items wait for {other}, which is not the configured receiver."
        messages.append(Message(text, REDIRECT))
    if backlog.rejected:
        reason = f", the last: {backlog.refusal.rstrip('.')}." if backlog.refusal else "."
        place = os.path.join(spool.folder_of(settings.home), spool.REJECTED)
        text = f"The receiver rejected {many(backlog.rejected, 'item')}{reason}"
        remedy = f"Read each item with the receiver's response in {place}, then delete it."
        messages.append(Message(text, remedy))
    if backlog.dropped:
        text = f"{many(backlog.dropped, 'time')} the spool was full: nothing was forwarded."
        messages.append(Message(text, "Send or delete the items in it."))
    return messages


def _is_failing(backlog: spool.Backlog) -> bool:
    return bool(backlog.last_error and backlog.waiting and backlog.error_at > backlog.last_success)


def _describe_waiting(backlog: spool.Backlog, now_s: float) -> str:
    return f"{many(backlog.waiting, 'item')} to forward, the oldest {ago(backlog.oldest_at, now_s)}"


def forward(settings: Settings) -> tuple[str, dict[str, int] | None, list[str]]:
    """Forward waiting items; return a sentence, counts (None without a receiver) and failures."""
    counts = {"sent": 0, "rejected": 0, "waiting": len(spool.waiting(settings.home))}
    if not settings.forward_url or not counts["waiting"]:
        return "", counts if settings.forward_url else None, []
    from memory_fabric.forwarding import sender  # imported late: it may use the network

    if not sender.may_send(settings):
        return "", None, ["forward: nothing was sent, because memory is switched off here."]
    try:
        result = sender.send_now(settings, sender.over_network(settings), sender.Clock())
    except TimeoutError:
        return LOCKED, counts, []
    waiting, failures = len(spool.waiting(settings.home)), []
    if result.failure:
        failures.append(f"forward: {result.failure.message} {result.failure.remedy}".rstrip())
    if result.refused:
        failures.append("forward: the receiver rejected some; memory-fabric status says more.")
    text = f"{result.arrived} forwarded, {waiting} still wait, {result.refused} rejected."
    counts = {"sent": result.arrived, "rejected": result.refused, "waiting": waiting}
    return text, counts, failures


class TieReport:
    """A team log's state on this machine; counts are 0 if memory's database cannot be read."""

    def __init__(self, memory: Memory, tie: ties.Tie, now_s: float) -> None:
        self.tie, self._now_s = tie, now_s
        self.state = ties.state_of(memory.settings.home, tie.key)
        self.counts, self._unsent = space.Counts(), ""
        self.demands: list[space.Asked] = []
        self.conflicts: list[space.Conflict] = []
        try:
            self.database = memory.database(tie.kind, create=False)
            if self.database is not None:
                self.counts = space.counts(self.database)
                self.demands = space.asked(self.database)
                self.conflicts = space.conflicts(self.database)
                unsent = heads.where(self.database.connection, "state = 'unsent' LIMIT 1")
                self._unsent = next((head.payload for head in unsent), "") or "no reason is known"
        except FabricError:
            self.database = None

    @property
    def headline(self) -> str:
        """A sentence about the team log, the last exchange with it, and the changes to send."""
        last, oldest = self.state.last_success, self.counts.oldest
        subject = "your own memories" if self.tie.key == ties.USER else "this project"
        exchanged = f"exchanged {ago(last, self._now_s)}" if last else "never exchanged"
        sentence = f"shared log: {subject} in {self.tie.place}, {exchanged}"
        if waits := self.counts.due + self.counts.waiting:
            sentence += f"; {many(waits, 'change')} to send"
            sentence += f", the oldest {ago(oldest, self._now_s)}" if oldest else ""
        return sentence + "."

    @property
    def troubles(self) -> list[Message]:
        """The problems of the link that are known on this machine."""
        state, numbers, name = self.state, self.counts, self.tie.space
        since = ago(state.since, self._now_s) if state.since else "lately"
        failing = f"The exchange with {name} fails, first {since}: {state.last_error}"
        refused = f"The server refuses {many(numbers.unsent, 'change')} of yours: "
        refused += f"{self._unsent.rstrip('.')}."
        again = "Change or forget what is in them; they are then sent anew."
        unread = f"{many(numbers.unread, 'operation')} of {name} cannot be read here."
        update = "Update memory-fabric on this machine, or join with --me and the right words."
        demand = f"{many(numbers.asked, 'demand')} of {name} to erase what you said"
        erase = "memory-fabric forget KEY --purge erases it; team decline KEY keeps it."
        unequal = f"Your machines state {many(numbers.conflicts, 'thing')} differently"
        settle = "A change of it, or forgetting it, settles that."
        possible = (
            (state.cause, failing, state.remedy),
            (numbers.unsent, refused, again),
            (numbers.unread, unread, update),
            (numbers.asked, f"{demand}: nothing was erased.", erase),
            (numbers.conflicts, f"{unequal}; the later state is shown.", settle),
            (state.silent, f"Members who have not read {name} for a week: {state.silent}.", ""),
        )
        return [Message(text, remedy) for is_so, text, remedy in possible if is_so]

    @property
    def is_bad(self) -> bool:
        """True if the user must act, no exchange succeeded for a week, or all exchanges failed."""
        last = self.state.last_success
        needs_user = self.counts.unsent or self.counts.asked or self.state.told
        age_s = self._now_s - datetime.fromisoformat(last).timestamp() if last else 0.0
        return bool(needs_user or (age_s > 7 * 24 * 3600 if last else self.state.cause))

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dict for JSON."""
        tie, state = self.tie, self.state
        scope = "user" if tie.key == ties.USER else "team"
        fields = {"scope": scope, "space": tie.space, "member": tie.member, "me": tie.me}
        names = ("last_success", "failures", "last_error", "remedy")
        fields |= {name: getattr(state, name) for name in names}
        fields |= {"silent": [name for name in state.silent.split(", ") if name]}
        return {**fields, **self.counts._asdict(), "records": dict(self.counts.records)}


def shared_log(sight: Sight) -> Finding:
    """Check the exchange with the team logs to which this project and the user are linked."""
    reports = [TieReport(sight.memory, tie, sight.now_s) for tie in ties.joined_by(sight.memory)]
    bad = [report for report in reports if report.is_bad]
    if not bad:
        headlines = " ".join(report.headline for report in reports)
        return fine(headlines or "none: nothing is exchanged with a team")
    troubles = [trouble for report in bad for trouble in report.troubles]
    texts = [trouble.text for trouble in troubles]
    texts = texts or [f"{report.tie.space} was not exchanged for a week." for report in bad]
    remedies = dict.fromkeys(trouble.remedy for trouble in troubles if trouble.remedy)
    return warning(" ".join(texts), " ".join(remedies) or "Run memory-fabric team sync.")


def transcript_lines(sessions: Sequence[past_sessions.Session], now_s: float) -> list[str]:
    """Return lines for `status` about the sessions that clients have stored on disk, if any."""
    if not sessions:
        return []
    unread = past_sessions.to_read(sessions)
    if not unread:
        left_out = [s for s in sessions if s.state in (past_sessions.GONE, past_sessions.OFF)]
        running = sum(session.state == past_sessions.RUNNING for session in sessions)
        text = f"memory has all {many(len(sessions) - len(left_out), 'session')} of"
        text += f" {clients_of(sessions)} since {sessions[0].transcript.head.began_at[:10]}"
        minutes = past_sessions.RUNNING_S // 60
        text += f", {running} of them changed in the last {minutes} minutes" if running else ""
        why = f"; left out: {len(left_out)} (memory-fabric learn says why)"
        return [text + (why if left_out else "")]
    names = first_of(dict.fromkeys(s.place.name for s in reversed(unread)), MAX_NAMED)
    until = past_sessions.read_until(sessions)[:10]
    read = sum(session.state == past_sessions.READ for session in sessions)
    if read and not until:
        text = f"memory has {read} of {many(len(sessions), 'session')} of {clients_of(sessions)}; "
    elif until:
        text = f"memory has the sessions of {clients_of(sessions)} up to {until}; "
    else:
        text = f"no session of {clients_of(sessions)} from before the installation is read yet; "
    text += f"not read: {many(len(unread), 'session')} of {names} (memory-fabric learn)"
    return [text, *deletions(sessions, now_s)]


def deletions(sessions: Sequence[past_sessions.Session], now_s: float) -> list[str]:
    """Return a list with one sentence on unread sessions that a client will delete, or []."""
    due = [s for s in past_sessions.to_read(sessions) if s.transcript.deleted_s]
    if not due:
        return []
    soon = len(past_sessions.deleted_soon(sessions, now_s))
    first_s = max(now_s, min(session.transcript.deleted_s for session in due))
    day = time.strftime("%Y-%m-%d", time.gmtime(first_s))
    name = CLIENTS[due[0].transcript.client].name
    near = f", {soon} of them within {past_sessions.SOON_DAYS} days" if soon else ""
    sessions_due = many(len(due), "unread session")
    return [f"{name} deletes {sessions_due} from {day} on{near} (cleanupPeriodDays)."]


def clients_of(sessions: Sequence[past_sessions.Session]) -> str:
    """Return the names of the sessions' clients; if there are several, with session counts."""
    count = Counter(CLIENTS[session.transcript.client].name for session in sessions)
    is_one = len(count) == 1
    return ", ".join(name if is_one else f"{name} ({number})" for name, number in count.items())

"""SessionStart: show the project's current records once per session, and run maintenance."""

import json
import os
import time

from memory_fabric import deadline, events, ids
from memory_fabric.config import TIES, trust_for
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.hooks.handlers import instruction_updates
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.hooks.session.ledger import Ledger
from memory_fabric.hooks.session.standing import standing
from memory_fabric.models import OTHERS
from memory_fabric.recall import session_block as blocks
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.setup import packages
from memory_fabric.sharing.git import switch
from memory_fabric.store.conversations import sessions
from memory_fabric.store.conversations.worth import RECORD
from memory_fabric.store.database import Database
from memory_fabric.store.files import open_regular
from memory_fabric.store.home import log
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import own_lines, registry_file
from memory_fabric.store.queries import counts
from memory_fabric.store.queries.conditions import marks

# Maintenance, which precedes the injection of records, may use this share of the event's time.
ORDER_SHARE = 0.5
FIX = "fix:"  # ledger prefix of fixes; not RECORD, so that a failed command shows the fix again
# Limits (records, CPU seconds) on checking if others' new records contradict the user's.
MAX_COMPARED, MAX_COMPARING_S = 20, 0.1
# Limits on reading earlier transcripts while the user waits; a later start reads the remainder.
MAX_SESSIONS, MAX_BYTES, MAX_CHARS = 2, 1 << 20, 16 << 10
# At most this many sessions are examined, to find MAX_SESSIONS that are not running any more.
MAX_LOOKED_AT = 12
UNSEEN_FOR_S = 600
# A session wrongly marked as ended counts as running for a day after its last event: it may idle.
REVIVED_UNSEEN_FOR_S = 24 * 3600


def handle(event: events.Event, context: RequestContext) -> Reply | None:
    """On startup, resume, clear and fork, show the records that the session has not yet been shown.
    Notices report problems, records received by sharing, a weekly summary and, once, a welcome.
    Also install packages in the background, and run maintenance. After a compaction, do nothing.
    """
    if event.text("source") == "compact":
        return None
    memory = context.memory
    packages.start(memory.settings.data_dir, memory.settings.plugin_root)
    limit = deadline.current()
    try:
        with limit.part(ORDER_SHARE):
            _maintain(event, context)
    except DeadlinePassed:
        limit.postpone("order")
    except (FabricError, OSError) as error:  # another process is writing: the next start retries
        memory.fail(f"order: {error}")
    block, _ = session_block(event, context)
    texts = [notice_texts.problem(text, memory.settings) for text in _notices(memory)]
    if log.is_first_time(memory.settings.home, "welcome"):
        # Imported late: needed only at the first session start with this home.
        from memory_fabric.clients.transcripts import earlier
        from memory_fabric.config import transcript_roots
        from memory_fabric.importing import past_sessions, runs

        own = {"HOME": memory.settings.user_home, "CLAUDE_CONFIG_DIR": memory.settings.config_dir}
        roots = transcript_roots(own)
        has_learned = runs.last(memory.settings.home) is not None
        known = past_sessions.make(memory.settings, roots, time.time()) if has_learned else ()
        read = (s.transcript.path for s in known if s.state not in past_sessions.TO_READ)
        sessions_before = earlier(roots, {event.transcript_path, *read})
        texts.append(notice_texts.welcome(memory.settings, sessions_before))
    texts.append(block.notice)
    for name, notice in (("arrivals", _arrived), ("week", _week)):
        try:
            texts.append(notice(event, memory))
        except DeadlinePassed:
            limit.postpone(name)
        except FabricError as error:  # a later session start will show this notice
            memory.fail(f"{name}: {error}")
    return block._replace(notice=" · ".join(filter(None, texts)))


def session_block(event: events.Event, context: RequestContext) -> tuple[Reply, tuple[str, ...]]:
    """Return a reply with records not yet shown to the session, and the records' ledger names."""
    memory = context.memory
    ledger = Ledger(event, context)
    if event.text("source") == "fork":
        parent = _parent(event.transcript_path)
        if parent and parent != event.session:
            ledger.inherit(parent)
    told_names = ledger.seen()
    shown_ids = memory.shown_ids(ledger.started_at)
    from memory_fabric.capture.notes import debt, protocol  # imported late: not for every session

    more = request = question = ""
    told_ids: tuple[str, ...] = ()
    source, settings = event.text("source"), memory.settings
    if protocol.is_told(settings) and protocol.ID not in told_names and source != "resume":
        waiting = debt.of_session(memory, event.session) if source in debt.SOURCES else debt.Debt()
        question = notice_texts.waiting(waiting, settings) if settings.attended else ""
        more, request, told_ids = debt.text(waiting), protocol.PROTOCOL, (protocol.ID, *waiting.ids)
    seen_ids = frozenset(name.removeprefix(RECORD).removeprefix(FIX) for name in told_names)
    chars_used = sum(len(text) + 2 for text in (more, request) if text)
    contents = standing(memory, context.now, shown_ids, seen_ids)
    if any((contents.rules, contents.decisions, contents.known, contents.others)):
        contents = blocks.mark_contents(contents, memory)
    block = blocks.block(contents, blocks.SESSION_CHARS - chars_used, context.now)
    whole = "\n\n".join(part for part in (block.text, more) if part)
    names = tuple((FIX if r.type == "solution" else RECORD) + r.id for r in block.records)
    receipts = ledger.receipt(
        (*names, *told_ids), "session", loaded=True, text=whole, own_words=request
    )
    return Reply(whole, question, own_words=request, receipts=receipts), names


def _maintain(event: events.Event, context: RequestContext) -> None:
    memory = context.memory.whole  # all domains: a queued change may belong to any domain
    from memory_fabric.store.tiers import sync  # imported late: only a session's start needs it

    sync.confirm_shown(memory)
    if not memory.settings.writes:
        return
    database = memory.session_database()
    if event.agent_type or memory.settings.domain or memory.settings.domains.configured:
        # Save the domain for later sessions that read this transcript. Imported late: rarely used.
        from memory_fabric.hooks.session.follow_transcript import launched

        sessions.touch(database, event.session, context.now, event.transcript_path)
        notes = sessions.load_notes(database, event.session)
        launch = launched(memory.settings, event.agent_type, notes)
        sessions.save_notes(database, event.session, {**notes, **launch})
    sync.drain(memory)
    if memory.project is not None and switch.is_on(memory.settings.home, memory.project.id):
        from memory_fabric.sharing.git import shared_journal  # imported late: for shared journals

        try:  # import at most MAX_AT_START records; the Stop hook imports the rest
            shared_journal.import_new(memory, most=shared_journal.MAX_AT_START)
        except (FabricError, OSError) as error:
            memory.fail(f"shared journal: {error}")
    if memory.project is not None and memory.settings.attended:
        _report_missing(memory)
    instruction_updates.at_start(memory)
    _catch_up(event, context)


def _catch_up(event: events.Event, context: RequestContext) -> None:
    """Store unread parts of earlier sessions' transcripts; mark fully read sessions as ended."""
    database, finished = context.memory.session_database(), 0
    unseen_since = ids.timestamp(time.time() - UNSEEN_FOR_S)
    unfinished = sessions.unfinished(database, event.session, unseen_since, MAX_LOOKED_AT)
    for session, path, seen_at in unfinished:
        if event.transcript_path and not os.path.exists(path):
            # If the project's folder was moved, its transcripts were too: look in the new folder.
            moved = os.path.join(os.path.dirname(event.transcript_path), os.path.basename(path))
            path = moved if os.path.exists(moved) else path
        if finished == MAX_SESSIONS:
            break
        if not _may_be_running(database, session, path, seen_at):
            finished += _read_on(context, session, path)


def _read_on(context: RequestContext, session: str, path: str) -> bool:
    """Store more of another session's transcript. Return False if settings or domains forbid it."""
    # Imported late because it is slow, and often all unfinished sessions are still running.
    from memory_fabric.hooks.session import follow_transcript as transcript

    if not trust_for(context.memory.settings, "assistant"):
        return False  # left to a later session that is permitted to store these messages
    database = context.memory.session_database()
    if context.domain.isolated and transcript.PLACE not in sessions.load_notes(database, session):
        return False  # the domain of the other session is unknown
    context = transcript.context_of(context, session)
    memory = context.memory
    if transcript.is_behind(memory, session, path):
        before = transcript.read_to(memory, session)
        transcript.follow(context, session, path, MAX_BYTES, MAX_CHARS, is_here=False)
        if transcript.is_behind(memory, session, path, before):
            return True
    database = memory.session_database()
    notes = sessions.load_notes(database, session) | {"presumed": True}
    sessions.save_notes(database, session, notes, ended_at=context.now)
    return True


def _may_be_running(db: Database, session: str, path: str, seen_at: str) -> bool:
    now_s = time.time()
    try:
        if now_s - os.stat(path).st_mtime < UNSEEN_FOR_S:
            return True
    except (OSError, ValueError):
        return False
    revived = sessions.load_notes(db, session).get("revived")
    return bool(revived) and seen_at > ids.timestamp(now_s - REVIVED_UNSEEN_FOR_S)


def _report_missing(memory: Memory) -> None:
    """Notify once if memory lacks records of the journal or home lacks the project's folder."""
    try:
        is_gone = registry_file.has_lost_card(memory.settings.home, memory.switched_by[1])
        now, before = own_lines.stamps(memory)
        if now == before and not is_gone:
            return
        from memory_fabric.sharing.git import adoption  # imported late: only after changes

        missing_records = adoption.missing(memory, max_bytes=adoption.MAX_AT_START_BYTES)
        if missing_records is not None:
            memory.messages.append(adoption.notice_text(missing_records))
        memory.messages += [adoption.restore_card(memory)] if is_gone else []
        own_lines.save_stamp(memory)
    except OSError as error:
        memory.fail(f"journal (project): {error}")


def _notices(memory: Memory) -> list[str]:
    try:
        place = memory.project.id if memory.project else memory.settings.home
        # In an unattended session nobody reads notices, so they wait for an attended session.
        waiting = log.take(memory.settings.home, place) if memory.settings.attended else []
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
        waiting = []
    failed = packages.last_error(memory.settings.data_dir)
    # Include `complaints`, so that the user sees misspelt isolation settings: they have no effect.
    return [*memory.messages, *memory.settings.complaints, *waiting, *([failed] if failed else [])]


def _week(event: events.Event, memory: Memory) -> str:
    week = counts.week_due(memory, event.text("source"), event.agent_type)
    numbers = ((week.noted, "noted"), (week.replaced, "replaced"), (week.to_review, "to review"))
    parts = [f"{number} {name}" for number, name in numbers if number]
    where = " (/memory-fabric:review)" if week.to_review else ""
    return f"memory-fabric this week: {', '.join(parts)}{where}" if parts else ""


def _arrived(event: events.Event, memory: Memory) -> str:
    """Return a notice about records received by sharing, at most once a day; otherwise ''."""
    home, project = memory.settings.home, memory.project
    shares = project is not None and switch.is_on(home, project.id)
    if not (shares or os.path.exists(os.path.join(home, TIES))):
        return ""
    came = counts.arrived(memory, event.text("source"), event.agent_type)
    if not came:
        return ""
    from memory_fabric.capture.contradiction import contradicting  # imported late: used once a day

    newest = [one.id for one in came[:MAX_COMPARED]]
    until_s = time.thread_time() + MAX_COMPARING_S
    opposed = [
        any(old.source != OTHERS for old in contradicting(memory, new))
        for new in memory.find_records(f"id IN ({marks(newest)})", tuple(newest))
        if time.thread_time() < until_s
    ]
    return notice_texts.arrived([one.author for one in came], sum(opposed), len(opposed))


def _parent(path: str) -> str:
    """Return a fork's parent session id, found in the answers copied from the parent, or ''."""
    try:
        with open_regular(path) as stream:
            for line in stream.readlines(1 << 16):
                entry = json.loads(line.decode("utf-8", "replace"))
                if isinstance(entry, dict) and isinstance(entry.get("requestSessionId"), str):
                    return str(entry["requestSessionId"])
    except (OSError, ValueError):
        return ""
    return ""

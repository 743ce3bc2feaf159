"""SessionStart: inject the project's recent decisions, once a session, and do maintenance."""

from __future__ import annotations

import os
import time

from memory_fabric import deadline, events, ids, jsontext
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import OTHERS
from memory_fabric.recall import render
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts
from memory_fabric.session.ledger import Ledger
from memory_fabric.setup import packages
from memory_fabric.store import notices, sessions
from memory_fabric.store.history import demotion
from memory_fabric.store.projects import identity
from memory_fabric.store.sharing import switch
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from memory_fabric.events import Event
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.store.memory import Memory

STANDING_TYPES = ("decision", "constraint", "preference", "pattern", "antipattern")
HOLDS = "status = 'active' AND superseded_by = '' AND valid_to = '' AND scope <> 'local'"
# The seconds of a start that maintenance may take before anything is injected.
ORDER_SHARE = 0.5
# Enough rows that ten remain after those that MEMORY.md shows anyway.
MAX_READ = 60
# Records of earlier releases that become candidates at one start; maintenance does the rest.
MAX_UPGRADED = 100
# A session that starts within this time gets the open points of the last one.
HANDED_ON_FOR_S = 3 * 24 * 3600


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires on startup, resume, clear and fork.

    Reads recent and pinned records; replies with the session block, unless the session has it
    already, and with notices of problems.

    It also installs packages in the background, applies queued changes, catches up sessions that
    ended without Stop, and on the very first run tells the user what is stored where.
    """
    if events.source(event) == "compact":
        return None
    memory = context.memory
    packages.start(memory.settings.data_dir, memory.settings.plugin_root)
    limit = deadline.current()
    try:
        with limit.part(ORDER_SHARE):
            _maintain(event, context)
    except DeadlinePassed:
        limit.postpone("order")
    except (FabricError, OSError) as error:  # another process writes: the next start does it
        memory.fail(f"order: {error}")
    block = session_block(event, context)
    texts = [notice_texts.problem(text, memory.settings) for text in _notices(memory)]
    if notices.is_first_time(memory.settings.home, "welcome"):
        local = memory.project.local if memory.project else ""
        texts.append(notice_texts.welcome(memory.settings, local))
    notice = " · ".join(part for part in texts if part)
    return block.reply._replace(notice=notice)


class Block(Value):
    """The session block as a reply, and the ledger ids of its contents."""

    reply: Reply
    given: tuple[str, ...] = ()


def session_block(event: Event, context: RequestContext) -> Block:
    """Return what the session has not been given yet, with the receipt that records it."""
    memory = context.memory
    ledger = Ledger(event, context)
    if events.source(event) == "fork":
        _inherit(ledger, event)
    seen = ledger.seen()
    shown = memory.native_ids(ledger.started_at)
    offered = [r for r in standing_records(memory) if r.id not in shown]
    pinned = [r for r in offered if r.pinned]
    ours, theirs = render.ours_and_theirs([r for r in offered if not r.pinned])
    fresh = [r for r in (*pinned, *ours, *theirs) if f"record:{r.id}" not in seen]
    if fresh:
        from memory_fabric.recall.file_marks import mark_records  # late: few starts tell anything

        fresh = mark_records(fresh, memory)
    asked = [r for r in open_points(memory) if r.id not in shown and f"record:{r.id}" not in seen]
    last = left_open(memory, event) if events.source(event) in ("startup", "clear") else None
    more, request, told_ids = _notes(event, context, seen)
    text = render.recent_decisions(
        [r for r in fresh if not r.pinned],
        pinned=[r for r in fresh if r.pinned],
        asked=asked,
        last=last,
    )
    lines = [(r, render.record_line(r)) for r in fresh] + [(r, render.open_line(r)) for r in asked]
    lines += [(last, render.left_open_line(last))] if last else []
    given = tuple(f"record:{r.id}" for r, line in lines if line in text)
    whole = "\n\n".join(part for part in (text, more) if part)
    receipts = ledger.receipt(
        (*given, *told_ids), "session", loaded=True, text=whole, own_words=request
    )
    return Block(Reply(whole, own_words=request, receipts=receipts), given)


def _notes(
    event: Event, context: RequestContext, seen: Set[str]
) -> tuple[str, str, tuple[str, ...]]:
    """Return the review debt, the protocol of notes, and the ledger's names for both.

    A resumed or forked session has the protocol already.
    """
    from memory_fabric.notes import debt, protocol

    settings = context.memory.settings
    if not protocol.is_told(settings) or protocol.ID in seen or events.source(event) == "resume":
        return "", "", ()
    is_new = events.source(event) in debt.SOURCES
    waiting = debt.of_session(context.memory) if is_new else debt.Debt()
    return debt.text(waiting), protocol.PROTOCOL, (protocol.ID, *waiting.ids)


def standing_records(memory: Memory) -> list[Record]:
    """Return the pinned records, then those that hold until changed; own ones before shared ones.

    Each group is sorted newest first.
    """
    marks = ", ".join("?" * len(STANDING_TYPES))
    pinned = memory.find_records(f"{HOLDS} AND pinned = 1", (), MAX_READ)
    holding = f"{HOLDS} AND pinned = 0 AND type IN ({marks}) AND source"
    asked = (*STANDING_TYPES, OTHERS)
    return [
        *pinned,
        *memory.find_records(f"{holding} <> ?", asked, MAX_READ),
        *memory.find_records(f"{holding} = ?", asked, render.MAX_DECISIONS),
    ]


def open_points(memory: Memory) -> list[Record]:
    """Return unanswered questions and current blockers, newest first; own ones before shared ones.

    Pinned records are left out, since they are listed anyway.
    """
    still = f"{HOLDS} AND pinned = 0 AND type IN ('question', 'blocker') AND source"
    ours = memory.find_records(f"{still} <> ?", (OTHERS,), render.MAX_OPEN_POINTS)
    left = render.MAX_OPEN_POINTS - len(ours)
    return ours + (memory.find_records(f"{still} = ?", (OTHERS,), left) if left else [])


def left_open(memory: Memory, event: Event) -> Record | None:
    """Return the record of the last session if it ended recently and left something open.

    It is None if another session was given it already.
    """
    recently = ids.timestamp(time.time() - HANDED_ON_FOR_S)
    found = memory.find_records(
        f"{HOLDS} AND type = 'session' AND session <> ? AND created_at > ?",
        (event.session, recently),
        1,
    )
    if not found or not found[0].evidence.get("open"):
        return None
    last: Record = found[0]
    given = sessions.was_given_since(
        memory.session_database(), f"record:{last.id}", last.created_at
    )
    return None if given else last


def _maintain(event: Event, context: RequestContext) -> None:
    memory = context.memory.whole  # for all domains: queued changes may belong to any of them
    from memory_fabric.store.tiers import sync  # late: only on the session's first event

    sync.confirm_shown(memory)
    if not memory.settings.writes:
        return
    if event.agent_type or memory.settings.domain or memory.settings.domains.configured:
        _note_launch(memory, event, context.now)
    if any(os.path.exists(memory.queue_path(kind)) for kind in ("project", "user")):
        sync.drain(memory)
    demotion.upgrade(memory, MAX_UPGRADED)
    if memory.project is not None and switch.is_on(memory.settings.home, memory.project.id):
        _read_shared(memory)
    database = memory.session_database()
    if memory.project is not None and memory.settings.attended:
        _report_missing(memory)
    if sessions.unfinished(database, event.session, context.now, 1):
        # late: only if a session is running elsewhere or was interrupted
        from memory_fabric.session.catch_up import catch_up

        catch_up(context, event)


def _note_launch(memory: Memory, event: Event, now: str) -> None:
    """Record the session's agent type and folder, for a later session that catches up on it."""
    # late: most memories have one domain only
    from memory_fabric.session.follow_transcript import launched

    database = memory.session_database()
    sessions.touch(database, event.session, now, event.transcript_path)
    notes = sessions.load_notes(database, event.session)
    launch = launched(memory.settings, event.agent_type, notes)
    sessions.save_notes(database, event.session, {**notes, **launch})


def _read_shared(memory: Memory) -> None:
    """Read what others have shared since; Stop reads what is too much for a start."""
    from memory_fabric.store.sharing import remote_records  # late: only where a journal is shared

    try:
        remote_records.import_new(memory, most=remote_records.MAX_AT_START)
    except (FabricError, OSError) as error:
        memory.fail(f"shared journal: {error}")


def _report_missing(memory: Memory) -> None:
    """Report once a project's missing folder in home, and a journal that has more than memory."""
    from memory_fabric.store.projects import own_lines

    try:
        is_gone = identity.has_lost_card(memory.settings.home, memory.switched_by[1])
        now, before = own_lines.stamps(memory)
        if now == before and not is_gone:
            return
        # late: only if the journal changed outside a session
        from memory_fabric.store.sharing import adoption

        found = adoption.missing(memory, max_bytes=adoption.MAX_AT_START_BYTES)
        if found is not None:
            memory.messages.append(adoption.notice_text(found))
        if is_gone:
            memory.messages.append(adoption.restore_card(memory))
        own_lines.save_stamp(memory)
    except OSError as error:
        memory.fail(f"journal (project): {error}")


def _notices(memory: Memory) -> list[str]:
    try:
        place = memory.project.id if memory.project else memory.settings.home
        # Without a person no one reads the notice.
        waiting = notices.take(memory.settings.home, place) if memory.settings.attended else []
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
        waiting = []
    failed = packages.last_error(memory.settings.data_dir)
    # Parts of the isolation that are misspelt have no effect.
    wrong = memory.settings.complaints
    return [*memory.messages, *wrong, *waiting, *([failed] if failed else [])]


def _inherit(ledger: Ledger, event: Event) -> None:
    """Copy the injection ledger of the parent session to a fork.

    Only the copied answers still name the parent (measured: `requestSessionId`).
    """
    parent = _parent(event.transcript_path)
    if parent and parent != event.session:
        ledger.inherit(parent)


def _parent(path: str) -> str:
    try:
        from memory_fabric.store.files import open_regular  # late: forks only

        with open_regular(path) as stream:
            for line in stream.readlines(1 << 16):
                entry = jsontext.loads(line.decode("utf-8", "replace"))
                if isinstance(entry, dict) and isinstance(entry.get("requestSessionId"), str):
                    return str(entry["requestSessionId"])
    except (OSError, ValueError):
        return ""
    return ""

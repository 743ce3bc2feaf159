"""SessionStart: the project's recent decisions, once a session; and the house put in order."""

from __future__ import annotations

import os
import time

from memory_fabric import events, ids, installation, jsontext
from memory_fabric.errors import FabricError
from memory_fabric.fabric import render
from memory_fabric.handlers import wording
from memory_fabric.handlers.ledger import Ledger
from memory_fabric.reply import Reply
from memory_fabric.store import notices, sessions
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.fabric.core import Fabric
    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

STANDING_TYPES = ("decision", "constraint", "preference", "pattern", "antipattern")
HOLDS = "status = 'active' AND superseded_by = '' AND valid_to = '' AND scope <> 'local'"
# Enough rows that ten remain after those that MEMORY.md shows anyway.
MAX_READ = 60
# Sessions that ended without Stop are caught up a little at each start.
MAX_CAUGHT_UP, MAX_CAUGHT_UP_BYTES = 2, 1 << 20
UNSEEN_FOR_S = 600


def handle(event: Event, fabric: Fabric) -> Reply | None:
    """Fires on startup, resume, clear and fork. Reads recent and pinned records; replies with the
    session block, unless the session has it already, and with notices of what went wrong.

    Beside that: packages are installed in the background, queued changes applied, sessions that
    ended without Stop caught up, and on the very first run the user is told what is kept where.
    """
    if events.source(event) == "compact":
        return None
    memory = fabric.memory
    installation.start(memory.settings.data_dir, memory.settings.plugin_root)
    try:
        _put_in_order(event, fabric)
    except FabricError as error:  # another process writes: the next start will do it
        memory.fail(f"order: {error}")
    block = session_block(event, fabric)
    told = [wording.problem(text, memory.settings) for text in _told(memory)]
    if notices.once(memory.settings.home, "welcome"):
        local = memory.project.local if memory.project else ""
        told.append(wording.welcome(memory.settings, local))
    notice = " · ".join(part for part in told if part)
    return block.reply._replace(notice=notice)


class Block(Value):
    """The session block as a reply, and the ledger ids of what it gives."""

    reply: Reply
    given: tuple[str, ...] = ()


def session_block(event: Event, fabric: Fabric) -> Block:
    """What the session has not been given yet, with the receipt that notes it."""
    memory = fabric.memory
    ledger = Ledger(event, fabric)
    if events.source(event) == "fork":
        _inherit(ledger, event)
    seen = ledger.seen()
    shown = memory.native_ids(ledger.started_at)
    offered = [r for r in standing(memory) if r.id not in shown]
    pinned = [r for r in offered if r.pinned]
    recent = [r for r in offered if not r.pinned][: render.MAX_DECISIONS]
    fresh = [r for r in (*pinned, *recent) if f"record:{r.id}" not in seen]
    asked = [r for r in open_points(memory) if r.id not in shown and f"record:{r.id}" not in seen]
    text = render.recent_decisions(
        [r for r in fresh if not r.pinned], pinned=[r for r in fresh if r.pinned], asked=asked
    )
    lines = [(r, render.record_line(r)) for r in fresh] + [(r, render.open_line(r)) for r in asked]
    given = tuple(f"record:{r.id}" for r, line in lines if line in text)
    return Block(Reply(text, receipts=ledger.receipt(given, "session", loaded=True)), given)


def standing(memory: Memory) -> list[Record]:
    """All pinned records, then those that hold until someone changes them; each newest first."""
    marks = ", ".join("?" * len(STANDING_TYPES))
    pinned = memory.find_records(f"{HOLDS} AND pinned = 1", (), MAX_READ)
    return pinned + memory.find_records(
        f"{HOLDS} AND pinned = 0 AND type IN ({marks})", STANDING_TYPES, MAX_READ
    )


def open_points(memory: Memory) -> list[Record]:
    """Questions without an answer, and blockers that still block; the newest, newest first.

    Pinned ones stand among the pinned.
    """
    return memory.find_records(
        f"{HOLDS} AND pinned = 0 AND type IN ('question', 'blocker')", (), render.MAX_OPEN_POINTS
    )


def _put_in_order(event: Event, fabric: Fabric) -> None:
    memory = fabric.memory
    from memory_fabric.store import tiers  # on the session's first event only

    tiers.confirm_shown(memory)
    if not memory.settings.writes:
        return
    if any(os.path.exists(memory.queue_path(kind)) for kind in ("project", "user")):
        tiers.drain(memory)
    database = memory.session_database()
    unseen_since = ids.timestamp(time.time() - UNSEEN_FOR_S)
    for session, path in sessions.unfinished(database, event.session, unseen_since, MAX_CAUGHT_UP):
        if _has_more(path, int(sessions.field(database, session, "offset") or 0)):
            from memory_fabric.handlers.follow_transcript import follow  # rare

            follow(fabric, session, path, MAX_CAUGHT_UP_BYTES)
        else:
            sessions.set_fields(database, session, ended_at=fabric.now)


def _has_more(path: str, offset: int) -> bool:
    try:
        return os.path.getsize(path) > offset
    except OSError:
        return False


def _told(memory: Memory) -> list[str]:
    try:
        place = memory.project.id if memory.project else memory.settings.home
        waiting = notices.take(memory.settings.home, place)
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")
        waiting = []
    failed = installation.last_error(memory.settings.data_dir)
    return [*memory.told, *waiting, *([failed] if failed else [])]


def _inherit(ledger: Ledger, event: Event) -> None:
    """A fork's transcript begins with its parent's entries: what they were given, it has.

    Only the copied answers still name the parent (measured: `requestSessionId`).
    """
    parent = _parent(event.transcript_path)
    if parent and parent != event.session:
        ledger.inherit(parent)


def _parent(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            for line in stream.readlines(1 << 16):
                entry = jsontext.loads(line.decode("utf-8", "replace"))
                if isinstance(entry, dict) and isinstance(entry.get("requestSessionId"), str):
                    return str(entry["requestSessionId"])
    except (OSError, ValueError):
        return ""
    return ""

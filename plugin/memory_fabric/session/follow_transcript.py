"""The new part of a session's transcript, remembered: records, solved problems, episodes.

Work is proportional to what was added since the last time. Reading a turn twice stores it once,
also where the offset was lost or another file repeats the turn: turns that were kept are known.
"""

from __future__ import annotations

import os

from memory_fabric import deadline
from memory_fabric.capture.remember import trust_for
from memory_fabric.capture.unreadable import Unread
from memory_fabric.clients.claude_code.transcript import (
    MISSING,
    REPLACED,
    UNREADABLE,
    mark_at,
    read_on,
)
from memory_fabric.errors import DeadlinePassed
from memory_fabric.models import Provenance
from memory_fabric.session.remember_turn import speak
from memory_fabric.session.turn_dedup import kept_text, sorted_out
from memory_fabric.store import notices, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from memory_fabric.clients.claude_code.transcript import Reading, Turn
    from memory_fabric.config import Settings
    from memory_fabric.models import Record
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.session.turn_dedup import Heard
    from memory_fabric.store.memory import Memory

# One reading of a hook; a longer rest is read by the hooks that follow.
MAX_NEW_BYTES, MAX_NEW_CHARS = 8 << 20, 256 << 10
# The fields of a session's notes that tell where it stands: the type of the agent that it runs as,
# the folder of its launch, and its process's domain.
AGENT, PLACE, DOMAIN = "agent_type", "place", "domain"
# A field of the notes: the offset of a turn for which one event had no time.
LATE = "late"
# The rest of an event's time is for what is stored of the turns, and for the other tiers.
HEARING_SHARE = 0.6
TRANSCRIPT = "the transcript"
# What the user is told, once a session.
COMPLAINTS = {
    MISSING: "this session's transcript is gone; what it said since the last answer is not kept",
    UNREADABLE: "this session's transcript cannot be read; only prompts and answers are remembered",
    REPLACED: "this session's transcript was replaced or cut, and was read again from its start",
    "bad": "some lines of this session's transcript could not be read and were passed over",
}


def follow(
    context: RequestContext,
    session: str,
    path: str,
    max_bytes: int = MAX_NEW_BYTES,
    max_chars: int = MAX_NEW_CHARS,
    *,
    is_here: bool = True,
) -> list[Record]:
    """Remember what the transcript has gained; returns the records that are new.

    Reads about so many bytes, and characters of what was said: these cost a hundred times more.
    The offset moves only after everything read was stored or queued. `is_here`: the session itself
    asks, so that it is alive; else another one catches up on it. The table is that of who speaks
    there: for another session, or for one that an agent of it asks, see `context_of`.
    """
    memory, database = context.memory, context.memory.session_database()
    if is_here:
        sessions.touch(database, session, context.now, path)
    offset = int(sessions.field(database, session, "offset") or 0)
    before = sessions.load_notes(database, session)
    mark = str(before.get("mark", ""))
    reading = read_on(path, offset, mark, max_bytes, max_said=max_chars)
    notes = before | {"mark": reading.mark} if reading.mark else dict(before)
    if is_here:
        notes["attended"] = trust_for(memory.settings, "user") == "user"
        notes |= launched(memory.settings, context.agent_type, notes)
        if notes.pop("presumed", False):
            notes["revived"] = True  # it was taken for dead, and was not
    _complain(memory, path, offset, reading, notes)
    new: list[Record] = []
    reached = reading.offset
    trust = trust_for(memory.settings, "assistant")
    if trust and reading.turns:
        new, notes, done = _remember(context, session, reading, notes)
        if done < len(reading.turns):  # the rest is read by a later event
            reached = reading.ends[done]
            notes["mark"] = mark_at(path, reached)
    if reached != offset or notes != before:
        sessions.save_notes(database, session, notes, offset=reached)
    return new


def launched(settings: Settings, agent_type: str, notes: Mapping[str, Any]) -> dict[str, str]:
    """What a session's notes say of where it stands: nothing where that makes no difference."""
    told = {AGENT: agent_type} if agent_type or AGENT in notes else {}
    if settings.rooms.configured or settings.domain or PLACE in notes:
        told |= {PLACE: settings.project_dir, DOMAIN: settings.domain}
    return told


def context_of(context: RequestContext, session: str) -> RequestContext:
    """The table of who speaks in a session: an agent of the type that its notes name, in the folder
    that they name.
    """
    notes = sessions.load_notes(context.memory.session_database(), session)
    if PLACE not in notes:
        return context.of(str(notes.get(AGENT, "")))
    there = context.memory.settings._replace(
        project_dir=str(notes[PLACE]), domain=str(notes.get(DOMAIN, ""))
    )
    return context.of(str(notes.get(AGENT, "")), there)


def is_placed(memory: Memory, session: str) -> bool:
    """Whether it is known where a session stands."""
    return PLACE in sessions.load_notes(memory.session_database(), session)


def is_behind(memory: Memory, session: str, path: str, reached_before: int = -1) -> bool:
    """Whether the transcript holds more than was read of it, and the last reading moved on.

    A torn last line moves nothing, a file that is shorter is another one.
    """
    offset = read_to(memory, session)
    try:
        return os.path.getsize(path) != offset != reached_before
    except (OSError, ValueError):
        return False


def read_to(memory: Memory, session: str) -> int:
    """How many bytes of the session's transcript were read."""
    return int(sessions.field(memory.session_database(), session, "offset") or 0)


def _remember(
    context: RequestContext, session: str, reading: Reading, notes: dict[str, Any]
) -> tuple[list[Record], dict[str, Any], int]:
    """The records that are new, the notes after these turns, and how many there was time for."""
    memory, turns = context.memory, reading.turns
    # Who catches up cannot say whether a person sat there: what prompts said then was stored by
    # their own hook, with its own trust.
    trust = "" if notes.get("attended") else "assistant"
    # It may have spoken in another room before.
    heard = sorted_out(memory.whole.session_database(), turns, session)
    unread = Unread()
    tried = notes.pop(LATE, -1) == reading.ends[0]
    new, done = _heard_out(context, heard, trust, unread, tried=tried)
    if not done:
        deadline.current().postpone(TRANSCRIPT)
        unread.tell(memory)
        return new, {**notes, LATE: reading.ends[0]}, 0
    heard = heard[:done]
    own = [h.turn for h in heard if h.is_own]
    if any(turn.tools or turn.results for turn in own):
        from memory_fabric.session.store_incidents import keep_incidents  # only where work was done

        found, notes = unread.attempt(([], notes), keep_incidents, context, session, own, notes)
        new += found
    _keep_episodes(context, heard)
    from memory_fabric.session.session_record import taken

    notes = unread.attempt(notes, taken, notes, own, memory.settings.project_dir)
    unread.tell(memory)
    return new, notes, done


def _heard_out(
    context: RequestContext, heard: Sequence[Heard], trust: str, unread: Unread, *, tried: bool
) -> tuple[list[Record], int]:
    """The records that are new, and for how many of the turns there was time.

    One that was `tried` before as the first, and alone takes more time than there is, is passed
    over: else nothing after it would ever be read.
    """
    new: list[Record] = []
    limit = deadline.current()
    with limit.part(HEARING_SHARE):
        for place, (turn, owner, is_new, _) in enumerate(heard):
            try:
                limit.check("the last turn")
                if is_new:
                    new += unread.attempt([], _spoken, context, turn, owner, trust)
            except DeadlinePassed:
                if place or not tried:
                    limit.postpone(TRANSCRIPT)
                    return new, place
                limit.postpone("a turn that takes too long")
    return new, len(heard)


def _spoken(context: RequestContext, turn: Turn, owner: str, trust: str) -> list[Record]:
    return speak(context, owner, turn.role, turn.text, said_at=turn.created_at, trust=trust)


def _keep_episodes(context: RequestContext, heard: Sequence[Heard]) -> None:
    memory = context.memory
    if not memory.settings.episodes_keep_days:
        return
    episodes = [
        {
            "id": turn.uuid,
            "session": owner,
            "role": turn.role,
            "text": text,
            "place": turn.cwd,
            "agent": context.agent_type,
            "created_at": turn.created_at,
        }
        for turn, owner, is_new, _ in heard
        if is_new and turn.uuid and (text := kept_text(turn.text))
    ]
    if episodes:
        by = Provenance(
            "assistant",
            trust="assistant",
            session=heard[-1].owner,
            agent=context.agent_type,
            domain=context.room.domain,
        )
        memory.write("add_episodes", {"episodes": episodes}, by)


def _complain(
    memory: Memory, path: str, offset: int, reading: Reading, notes: dict[str, Any]
) -> None:
    """Log what is wrong with the transcript and leave the user a notice, each once a session."""
    wrong = [reading.trouble] if reading.trouble else []
    if wrong == [MISSING] and not offset:
        wrong = []  # not written yet, or by a client that keeps none
    wrong += ["bad"] if reading.bad else []
    told = list(notes.get("told", ()))
    for kind in wrong:
        if kind in told:
            continue
        told.append(kind)
        notes["told"] = told
        count = f" ({reading.bad} lines)" if kind == "bad" else ""
        memory.fail(f"transcript {path}: {COMPLAINTS[kind]}{count}")
        try:
            notices.leave(memory.settings.home, COMPLAINTS[kind])
        except (OSError, TimeoutError) as error:
            memory.fail(f"notices: {error}")

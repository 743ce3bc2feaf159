"""Store the new part of a session's transcript: notes, solved problems, and turns as episodes. A
turn is stored only once, even if the offset was lost or another transcript has a copy of it.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from memory_fabric import deadline, ids
from memory_fabric.capture.notes.protocol import Kept
from memory_fabric.capture.unreadable import Unread
from memory_fabric.client import CLAUDE_CODE, Client
from memory_fabric.clients import transcript
from memory_fabric.clients.transcript import MISSING, REPLACED, UNREADABLE, Reading, Turn, read_on
from memory_fabric.config import Settings, trust_for
from memory_fabric.errors import DeadlinePassed
from memory_fabric.hooks.session import turn_notes
from memory_fabric.models import CLIENT, ERASED, Json
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.store.conversations import prompts, sessions, worth
from memory_fabric.store.database import Database
from memory_fabric.store.home import log, switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import tombstones
from memory_fabric.text import one_line, without_injected

Read = Callable[..., Reading]
# Reading limits for one event; later events continue. Each step is stored before the next begins.
# If an event has no time for its first step, the next event's steps are half as long.
MAX_NEW_BYTES, MAX_NEW_CHARS = 8 << 20, 256 << 10
STEP_BYTES, STEP_CHARS = 2 << 20, 48 << 10
# A step may use STEP_SHARE of the time left. notes[HALVED] is how often the step size was halved.
STEP_SHARE, HALVED, MAX_HALVED = 0.8, "halved", 12
# Keys of the session data that determines the domain: agent type, launch folder, domain setting.
AGENT, PLACE, DOMAIN = "agent_type", "place", "domain"
TRANSCRIPT = "the transcript"
# Limits on the files and the last answer saved for a session. Only a long answer's end is read.
MAX_FILES, MAX_PATH_CHARS, MAX_SAID_CHARS, MAX_READ_CHARS = 20, 80, 400, 8 << 10
# Notices for the user about the transcript; each is shown at most once per session.
COMPLAINTS = {
    MISSING: "this session's transcript is gone; what it said since the last answer is not kept",
    UNREADABLE: "this session's transcript cannot be read; only prompts and answers are remembered",
    REPLACED: "this session's transcript was replaced or cut, and was read again from its start",
    "bad": "some lines of this session's transcript could not be read and were passed over",
}


def settle_late(context: RequestContext, session: str, path: str) -> None:
    """Reread the transcript's end, to save who wrote prompts stored after the last reading."""
    if not transcript.is_clients_own(context.memory.settings, path):
        return
    start, read_on = sessions.end_of(path), reader_of(context.memory.settings.client)
    entries = read_on(path, start, "", MAX_NEW_BYTES, max_said=MAX_NEW_BYTES).prompts
    turn_notes.settle(context, session, entries, again=True)


def follow(
    context: RequestContext,
    session: str,
    path: str,
    max_bytes: int = MAX_NEW_BYTES,
    max_chars: int = MAX_NEW_CHARS,
    *,
    is_here: bool = True,
    read: Read | None = None,
    last: str = "",
    into: list[Kept] | None = None,
) -> list[Kept]:
    """Store the new part of the transcript; return the results of its notes. They are also appended
    to `into`, so that none is lost if DeadlinePassed is raised. The notes in `last`, the event's
    last message, are stored first, because the transcript may lag or be missing. At most about
    `max_bytes` of the file and `max_chars` of message text are read; text takes a hundred times as
    long as other bytes. Reading proceeds in steps, and the offset advances only after a whole step
    is stored or queued. `read` replaces the client's reader. `is_here` is False if another session
    catches up on this one. In that case, and for agents, pass the context from `context_of`.
    """
    database = context.memory.session_database()
    if is_here:
        sessions.touch(database, session, context.now, path)
    results: list[Kept] = [] if into is None else into
    begun = False
    while True:
        halved = int(sessions.load_notes(database, session).get(HALVED, 0))
        most_bytes = min(max_bytes, STEP_BYTES >> halved)
        most_chars = min(max_chars, STEP_CHARS >> halved)
        try:
            with deadline.current().part(STEP_SHARE):
                moved, has_text, more = _step(
                    context, session, path, most_bytes, most_chars, is_here, read, last, results
                )
        except DeadlinePassed:
            if not begun and halved < MAX_HALVED:
                notes = sessions.load_notes(database, session)
                sessions.save_notes(database, session, {**notes, HALVED: halved + 1})
            raise
        max_bytes, max_chars = max_bytes - moved, max_chars - has_text
        if not (more and moved) or min(max_bytes, max_chars) <= 0:
            return results
        begun, last = True, ""


def _step(
    context: RequestContext,
    session: str,
    path: str,
    max_bytes: int,
    max_chars: int,
    is_here: bool,
    read: Read | None,
    last: str,
    kept: list[Kept],
) -> tuple[int, int, bool]:
    """Store the transcript's next part. Return bytes and characters read, and if more follows."""
    memory, database = context.memory, context.memory.session_database()
    offset = int(sessions.field(database, session, "offset") or 0)
    before = sessions.load_notes(database, session)
    mark = str(before.get("mark", ""))
    client = memory.settings.client if is_here else CLAUDE_CODE
    if not is_here and CLIENT in before:
        from memory_fabric.clients.table import client_of  # imported late: only for other clients

        client = client_of(str(before[CLIENT]))
    reading = (read or reader_of(client))(path, offset, mark, max_bytes, max_said=max_chars)
    keep = keeper(memory, are_new=True)
    turns, entries = (list(filter(None, map(keep, s))) for s in (reading.turns, reading.prompts))
    reading = reading._replace(turns=turns, prompts=tuple(entries))
    notes = before | {"mark": reading.mark} if reading.mark else dict(before)
    if not reading.more:
        notes.pop(HALVED, None)
    if is_here:
        notes |= memory.settings.client.mark
        notes["attended"] = trust_for(memory.settings, "user") == "user"
        notes |= launched(memory.settings, context.agent_type, notes)
        if notes.pop("presumed", False):
            notes["revived"] = True  # the session was marked as ended, but has continued
    _complain(memory, path, offset, reading, notes)
    if transcript.is_clients_own(memory.settings._replace(client=client), path):
        turn_notes.settle(context, session, reading.prompts, again=reading.trouble == REPLACED)
        waiting = prompts.unanswered(database, session) if is_here and not reading.more else ()
        if any(p.origin == prompts.STAGED for p in waiting):
            settle_late(context, session, path)
        if not offset:  # a fork's transcript begins with prompts copied from its parent
            typed = [t for t in reading.prompts if t.origin == prompts.TYPED]
            prompts.copy_typed(database, session, map(turn_notes.stored_prompt, typed))
    turn_notes.take(context, session, [last], before=str(before.get("said", "")), into=kept)
    if trust_for(memory.settings, "assistant") and reading.turns:
        caller, memory.settings = memory.settings, memory.settings._replace(client=client)
        try:
            notes = _remember(context, session, reading, notes, kept)
        finally:
            memory.settings = caller
    if reading.offset != offset or notes != before:
        sessions.save_notes(database, session, notes, offset=reading.offset)
    moved = reading.offset - (0 if reading.trouble == REPLACED else offset)
    return moved, sum(len(turn.text) for turn in reading.turns), reading.more


def keeper(memory: Memory, *, are_new: bool = False) -> transcript.Keep:
    """Return a function that drops turns said while capture was off, and omits what was purged."""
    off, db = switches.off_times(switches.WRITE, *memory.switched_by), memory.session_database()
    erased = "SELECT text FROM episodes WHERE uuid = ? AND instr(text, ?)"
    gone = {r[0] for r in db.rows("SELECT substr(id, 6) FROM tombstones WHERE id GLOB 'turn:*'")}

    def kept(turn: Turn) -> Turn | None:
        stored = None if are_new and turn.uuid not in gone else db.row(erased, (turn.uuid, ERASED))
        text = stored[0] if stored else "" if turn.uuid in gone else turn.text
        tools = tuple(tool for tool in turn.tools if tool.id not in gone)
        results = tuple(result for result in turn.results if result.tool_use_id not in gone)
        return None if turn.is_in(off) else turn._replace(text=text, tools=tools, results=results)

    return kept


def mark_purged(
    db: Database, session: str, path: str, start: int, is_purged: Callable[[str], bool]
) -> None:
    """Mark a transcript's purged texts and calls from byte `start` on, so that events omit them."""
    from memory_fabric.clients.table import client_of  # imported late: only for purges

    read = reader_of(client_of(sessions.load_notes(db, session).get(CLIENT, CLAUDE_CODE.key)))
    most, said = 1 << 40, list[tuple[str, str]]()  # a limit would leave the last turn out
    for turn in read(path, start, "", most, max_said=most).turns:
        said += [(turn.uuid, turn.text), *((t.id, json.dumps(t.input)) for t in turn.tools)]
        said += [(result.tool_use_id, result.text) for result in turn.results]
    with db.transaction() as c:
        for id_ in {id_ for id_, text in said if id_ and is_purged(text)}:
            tombstones.put(c, tombstones.of_turn(id_), 0, ids.timestamp())


def reader_of(client: Client) -> Read:
    """Return the function that reads a client's transcripts; it is called like `read_on`."""
    if client.transcripts == CLAUDE_CODE.transcripts:
        return read_on
    from memory_fabric.clients.transcripts import read_running  # imported late: for other clients

    return partial(read_running, client.transcripts)


def launched(settings: Settings, agent_type: str, notes: Mapping[str, Any]) -> dict[str, str]:
    """Return the AGENT, PLACE and DOMAIN that determine a session's domain, except unused ones."""
    launch = {AGENT: agent_type} if agent_type or AGENT in notes else {}
    if settings.domains.configured or settings.domain or PLACE in notes:
        launch |= {PLACE: settings.project_dir, DOMAIN: settings.domain}
    return launch


def context_of(context: RequestContext, session: str) -> RequestContext:
    """Return `context` with the agent type, folder and domain that a session has saved, if any."""
    notes = sessions.load_notes(context.memory.session_database(), session)
    agent, settings = str(notes.get(AGENT, "")), context.memory.settings
    if PLACE not in notes:
        return context.for_agent(agent)
    domain = str(notes.get(DOMAIN, ""))
    return context.for_agent(agent, settings._replace(project_dir=str(notes[PLACE]), domain=domain))


def is_behind(memory: Memory, session: str, path: str, reached_before: int = -1) -> bool:
    """Return True if part of the transcript is unread, and reading got past `reached_before`."""
    offset = read_to(memory, session)
    try:
        return os.path.getsize(path) != offset != reached_before
    except (OSError, ValueError):
        return False


def read_to(memory: Memory, session: str) -> int:
    """Return how many bytes of the session's transcript have been read."""
    return int(sessions.field(memory.session_database(), session, "offset") or 0)


def _remember(
    context: RequestContext, session: str, reading: Reading, notes: dict[str, Any], kept: list[Kept]
) -> dict[str, Any]:
    """Store the turns in `reading`; return the session's new data. Add notes' results to `kept`."""
    memory = context.memory
    # Search all domains, because earlier turns of this session may belong to another domain.
    owned = turn_notes.with_owners(memory.whole.session_database(), reading.turns, session)
    unread = Unread()
    own = [h.turn for h in owned if h.is_own]
    before, first = notes, len(kept)
    unread.attempt(None, _take_notes, context, owned, kept)
    if notes.get("passed") or any(turn.tools or turn.results for turn in own):
        from memory_fabric.hooks.session.store_incidents import keep_incidents  # imported if needed

        # Fixes may be stored already, because `follow` stores the last message's notes first.
        records = (result.record for result in kept[first:] if result.record)
        fixes = [r for r in records if r.session == session and r.type == "solution"]
        notes = unread.attempt(notes, keep_incidents, context, session, own, notes, fixes)
    _store_episodes(context, owned)
    database = memory.session_database()
    if own and (rows := unread.attempt([], worth.to_judge, database, session)):
        from memory_fabric.hooks.session.outcomes import judge  # imported late: for shown memories

        unread.attempt(None, judge, memory, rows, own, before, context.now)
    notes = unread.attempt(notes, _with_work, notes, own, memory.settings.project_dir)
    unread.report(memory)
    return notes


def _with_work(notes: Mapping[str, Any], turns: Sequence[Turn], folder: str) -> dict[str, Any]:
    """Return `notes` with the files that `turns` changed last and the end of the last answer."""
    from memory_fabric.capture.stated_causes import account  # imported late: only for new turns
    from memory_fabric.hooks.session.checkpoint import CHANGING_TOOLS, INTERRUPTED, touched_files

    inside = folder.rstrip(os.sep) + os.sep
    changed = touched_files(turns, CHANGING_TOOLS)
    changed = [path.removeprefix(inside)[-MAX_PATH_CHARS:] for path in changed]
    files = dict.fromkeys(reversed((*notes.get("files", ()), *changed)))
    last_said = notes.get("said", "")
    for turn in reversed(turns):
        is_answer = turn.role == "assistant"
        text = without_injected(turn.text[-MAX_READ_CHARS:] if is_answer else turn.text)
        if not is_answer and text.strip() and not text.startswith(INTERRUPTED):
            last_said = ""
            break
        if is_answer and (answer := one_line(without_secrets(account(text)))):
            last_said = answer[-MAX_SAID_CHARS:]
            break
    return {**notes, "files": list(files)[:MAX_FILES][::-1], "said": last_said}


def _take_notes(
    context: RequestContext, owned: Sequence[turn_notes.OwnedTurn], kept: list[Kept]
) -> None:
    """Store the notes in the assistant's new turns, except turns written while notes were off."""
    texts: list[str] = []
    off = switches.off_times(switches.NOTES, *context.memory.switched_by)
    speaker = at = ""
    for place, (turn, owner, is_new, _) in enumerate(owned):
        if is_new and turn.role == "assistant" and not turn.is_in(off):
            texts.append(turn.text)
            speaker, at = owner, turn.created_at
        is_last = place + 1 == len(owned)
        if texts and (is_last or (turn.role == "user" and turn.text)):
            until = "" if is_last else turn.created_at
            new: list[Kept] = []
            try:
                turn_notes.take(context, speaker, texts, until=until, at=at, into=new)
            finally:  # what was stored is reported, even if the time ends here
                kept += new
            texts = []


def _store_episodes(context: RequestContext, owned: Sequence[turn_notes.OwnedTurn]) -> None:
    memory, days = context.memory, context.memory.settings.episodes_keep_days
    if not days:
        return
    since = ids.timestamp(time.time() - days * 24 * 3600) if context.is_past else ""
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
        for turn, owner, is_new, _ in owned
        if is_new and turn.uuid and turn.created_at >= since
        if (text := turn_notes.episode_text(turn.text))
    ]
    if episodes:
        by = context.by("assistant", owned[-1].owner)
        memory.write("add_episodes", {"episodes": episodes}, by)


def _complain(memory: Memory, path: str, offset: int, reading: Reading, notes: Json) -> None:
    # Ignore a missing transcript that was never read: the client may write it later, or never.
    is_wrong = reading.trouble and (reading.trouble != MISSING or offset)
    for kind in [reading.trouble] * bool(is_wrong) + ["bad"] * bool(reading.bad):
        reported = notes.get("told", ())
        if kind in reported:
            continue
        notes["told"] = [*reported, kind]
        count = f" ({reading.bad} lines)" if kind == "bad" else ""
        memory.fail(f"transcript {path}: {COMPLAINTS[kind]}{count}")
        try:
            log.add(memory.settings.home, COMPLAINTS[kind])
        except (OSError, TimeoutError) as error:
            memory.fail(f"notices: {error}")

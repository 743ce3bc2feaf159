"""Answer one hook event: read it, call its handlers, write one reply.

The dispatcher fails open: after any error the session continues, stdout holds one JSON object or
nothing, and the log has a line about it.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from memory_fabric.client import CLAUDE_CODE, Client, key_of
from memory_fabric.config import TIES, Settings, answering, home_path, in_shell_of_another
from memory_fabric.deadline import NEVER_S, Deadline, current, process_age_s, running
from memory_fabric.errors import BadInput, DeadlinePassed, EventRevoked, StoreUnavailable
from memory_fabric.events import Event, parse_event, prompt, tool_name
from memory_fabric.hooks.hook_log import count_late, log_for, named
from memory_fabric.hooks.reply import (
    MAX_INPUT_BYTES,
    Reply,
    encode,
    merge,
    read_input,
    write_output,
)
from memory_fabric.ids import timestamp
from memory_fabric.live_client import Event as Left
from memory_fabric.recall.request_context import RequestContext, visible_to
from memory_fabric.store.files import take_refused_files
from memory_fabric.store.memory import Memory

Handle = Callable[[Event, RequestContext], Reply | None]


# The switches that a handler needs: recall, capture, either, capture with a forward target, or
# capture in a home that is tied to a shared log. Plain strings add nothing to the start-up time.
READS, WRITES, EITHER, FORWARDS, EXCHANGES = "reads", "writes", "either", "forwards", "exchanges"
# Handlers of tool events that are called, and loaded, for these tools only; hooks/launch starts
# nothing for them where memory has nothing to say (store.launch_marks).
ON_TOOLS: Mapping[str, frozenset[str]] = {
    "rule_check": frozenset(("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit")),
    "fix_inject": frozenset(("Bash",)),
}
# Handlers that do nothing but tell the model of memory.
TELLERS = ("memory_context", "graph_memory_inject")


class Entry(NamedTuple):
    """The handlers of an event, in the order in which their replies are joined, and its limits.

    A handler is a module of hooks.handlers and one of READS, WRITES, EITHER, FORWARDS,
    EXCHANGES. For the tools in ON_TOOLS only the handlers that are meant for them are called.

    Limits are seconds since the process started: by the clock (`wall_s`), of CPU time (`work_s`),
    and of waiting for other processes, once for databases and once for files (`lock_s`). A person
    waits for a `hurried` event at every turn. An event that `recalls` searches memory, one with
    `shows_notices` reports a failing tier once, and one that `repairs` has the time to finish what
    an interrupted process left behind. One that `notes_place` notes the folder's project for
    hooks/launch.
    """

    handlers: tuple[tuple[str, str], ...]
    wall_s: float
    lock_s: float
    work_s: float = NEVER_S
    hurried: bool = False
    recalls: bool = False
    shows_notices: bool = False
    repairs: bool = False
    notes_place: bool = False


# The client's own limits are 5 s for a prompt, about 1.5 s for all hooks of a session's end, and
# longer otherwise. On the prompt path CPU time is the limit: a loaded machine is slow.
PROMPT_S, PROMPT_LOCK_S, PROMPT_WORK_S = 1.5, 0.15, 0.5
HANDLERS: Mapping[str, Entry] = {
    "SessionStart": Entry(
        (
            ("context_loader", READS),
            ("checkpoint_restore", READS),
            ("waiting_forward", FORWARDS),
            ("team_exchange", EXCHANGES),
        ),
        wall_s=1.6,
        lock_s=0.4,
        shows_notices=True,
        repairs=True,
        notes_place=True,
    ),
    "UserPromptSubmit": Entry(
        (("memory_context", READS), ("capture_user_intent", WRITES)),
        PROMPT_S,
        PROMPT_LOCK_S,
        PROMPT_WORK_S,
        hurried=True,
        recalls=True,
        shows_notices=True,
        # Where reading is on again, or the folder's project is another, no tool event would tell.
        notes_place=True,
    ),
    # A person has typed a command that merges two projects, and waits for it. Both recall and
    # capture depend on the project.
    "UserPromptExpansion": Entry((("project_link", EITHER),), wall_s=55.0, lock_s=5.0),
    "PreToolUse": Entry(
        (
            # It only keeps the task for the subagent that graph_memory_inject answers next.
            ("task_note", READS),
            # The server reads and writes for its caller.
            ("caller_note", EITHER),
            ("rule_check", READS),
        ),
        PROMPT_S,
        PROMPT_LOCK_S,
        PROMPT_WORK_S,
        hurried=True,
        notes_place=True,
    ),
    "PostToolUse": Entry(
        (("memory_bridge", WRITES), ("answer_note", WRITES), ("fix_inject", READS)),
        wall_s=2.0,
        lock_s=0.5,
        notes_place=True,
    ),
    "PostToolUseFailure": Entry((("fix_inject", READS),), wall_s=2.0, lock_s=0.5, notes_place=True),
    "SubagentStart": Entry(
        (("graph_memory_inject", READS),),
        PROMPT_S,
        PROMPT_LOCK_S,
        PROMPT_WORK_S,
        hurried=True,
        recalls=True,
    ),
    "SubagentStop": Entry((("agent_memory_store", WRITES),), wall_s=4.0, lock_s=1.0),
    "Stop": Entry(
        (
            ("auto_remember", WRITES),
            ("session_forward", FORWARDS),
            ("team_exchange", EXCHANGES),
        ),
        wall_s=4.0,
        lock_s=1.0,
        shows_notices=True,
        repairs=True,
    ),
    "PreCompact": Entry((("precompact_save", WRITES),), wall_s=4.0, lock_s=1.0),
    "PostCompact": Entry(
        (
            ("summary_store", WRITES),
            ("session_forward", FORWARDS),
        ),
        wall_s=4.0,
        lock_s=1.0,
    ),
    "SessionEnd": Entry(
        (
            ("session_flush", WRITES),
            ("waiting_forward", FORWARDS),
            ("team_exchange", EXCHANGES),
        ),
        wall_s=0.9,
        lock_s=0.25,
        repairs=True,
    ),
}
# A variable of tests, which run hooks beside much else: an event has so many times its time.
PATIENCE = "MEMORY_FABRIC_PATIENCE"
# The notices about an event that could not be stored in its time.
LATE = "memory-fabric: memory is busy; what was said is kept in a file, and stored when it is not"
LOST = "memory-fabric: memory is busy, and what was said could not be kept: say it again"
# The line of the log about a reply that could not be printed.
UNHEARD = "the client did not take the reply"
# The share of an event's time for what earlier ones had no time for.
LATE_SHARE = 0.5
# The least time for the work itself, even if a cold disk started Python slowly.
LEAST_WORK_S = 0.1
# Further time after the reply, by the clock and of CPU time, to keep the prompt and what was told.
# By the clock a prompt has more of it, since its client waits longest.
AFTER_REPLY_S, AFTER_PROMPT_S, AFTER_REPLY_WORK_S = 0.3, 1.0, 0.15


class Outcome(NamedTuple):
    """The result of one event: bytes for stdout, and tasks for the time after they are written."""

    output: bytes = b""
    receipts: tuple[Callable[[], None], ...] = ()
    memory: Memory | None = None
    hurried: bool = False
    event: str = ""
    limit: Deadline = Deadline()
    log: Callable[[str], None] = lambda line: None
    environ: Mapping[str, str] = {}


def main(left: Left | None = None) -> None:
    """Answer the event on stdin, or that a server has `left`, and exit with status 0."""
    gc.disable()  # a hook ends before a reference cycle could matter
    try:
        _serve(os.environ, left)
    finally:  # skips the interpreter's shutdown, which costs half a bare start and could still fail
        os._exit(0)


def run(
    data: bytes, environ: Mapping[str, str], limit_of: Callable[[str], Deadline] | None = None
) -> bytes:
    """Run one event to the end and return what it would print. Never raises.

    Meant for a process that is no hook: only `limit_of` limits the time, by the event's name.
    """
    outcome = answer(data, environ, limit_of=limit_of or _unlimited)
    finish(outcome._replace(hurried=False), delivered=True)
    return outcome.output


def answer(
    data: bytes,
    environ: Mapping[str, str],
    load: Callable[[str], Handle] | None = None,
    limit_of: Callable[[str], Deadline] | None = None,
    memory_type: type[Memory] | None = None,
) -> Outcome:
    """Answer one event, without running its receipts or closing its memory. Never raises.

    `load` returns a handler by its name in HANDLERS, `limit_of` the deadline of an event.
    `memory_type` is the class of its memory.
    """
    log = log_for(environ)
    limit_of = limit_of or deadlines(environ, process_age_s(), time.process_time())
    try:
        with answering(environ):
            return _answer(data, environ, load or _load, limit_of, log, memory_type)
    except BadInput as error:
        log(f"input ignored: {error}")
    except Exception as error:  # noqa: BLE001 - the outermost call
        log(f"event not answered: {named(error)}")
    return Outcome(log=log)


def _serve(environ: Mapping[str, str], left: Left | None) -> None:
    try:
        data = read_input() if left is None else left.data
    except OSError as error:
        log_for(environ)(f"no input: {error}")
        return
    memory_type = None
    if left is not None and left.begun:
        from memory_fabric.store.memory import begun_by  # late: a server has died

        memory_type = begun_by(left.nonce)
    try:
        outcome = answer(data, environ, memory_type=memory_type)
    except EventRevoked:
        return  # the server had come to the end
    try:
        write_output(b"" if left is not None and left.printed else outcome.output)
    except OSError as error:
        outcome.log(f"{UNHEARD}: {error}")
        finish(outcome, delivered=False)
        return
    finish(outcome, delivered=True)


def _answer(
    data: bytes,
    environ: Mapping[str, str],
    load: Callable[[str], Handle],
    limit_of: Callable[[str], Deadline],
    log: Callable[[str], None],
    memory_type: type[Memory] | None,
) -> Outcome:
    event = event_in(data, environ)
    if not event.name:
        return Outcome(log=log)
    settings = _settings(event, environ, log)
    if not _names(event, settings):
        # Memory that is off for this process only, or until config.toml is corrected, is not noted.
        if not (settings.reads or settings.muted or settings.closed):
            _note_place(event.name, settings)
        return Outcome(_closed_notice(event.name, settings), log=log)
    limit = limit_of(event.name)
    with running(limit):
        late_notice = ""
        if HANDLERS[event.name].repairs and settings.writes:
            late_notice = finish_late(environ, limit, log, load)
        try:
            outcome = _handled(event, settings, limit, load, log, late_notice, memory_type)
        except Exception as error:  # noqa: BLE001 - before the first handler
            names = _names(event, settings)
            if isinstance(error, DeadlinePassed):
                limit.postponed += names
            else:
                log(f"{event.name}: {named(error)}")
            notice = _left(event, settings, names, timestamp(), log)
            output = _encoded(event.name, Reply(notice=notice), settings.client)
            outcome = Outcome(output, event=event.name, limit=limit, log=log)
        return outcome._replace(environ=environ)


def event_in(data: bytes, environ: Mapping[str, str]) -> Event:
    """Return the event with Claude Code's names; one of another client in vain has no name.

    Raises BadInput for anything else without handlers.
    """
    if len(data) > MAX_INPUT_BYTES:
        raise BadInput("stdin", f"More than {MAX_INPUT_BYTES >> 20} MB.")
    event = parse_event(data)
    key = key_of(environ, event.raw)
    if key != CLAUDE_CODE.key:
        from memory_fabric.clients import adapter  # late: for other clients only

        event = adapter.adapt(event, key)
    if event.name and event.name not in HANDLERS:
        raise BadInput("hook_event_name", f"No handler for the event {event.name[:80]!r}.")
    return event


def finish_late(
    environ: Mapping[str, str],
    limit: Deadline,
    log: Callable[[str], None],
    load: Callable[[str], Handle] | None = None,
) -> str:
    """Finish events that had no time to store what was said; return what the person is told.

    Each leaves only when all of it is stored. Does nothing while another process does it.
    """
    # Late: mostly none waits, and most events do not look.
    from memory_fabric.store import files
    from memory_fabric.store.queues import late_events

    home, notices = home_path(environ), []
    if not late_events.waiting(home):
        return ""
    try:
        lock = files.Locked(os.path.join(home, late_events.FOLDER, late_events.LOCK), 0)
        with lock, limit.part(LATE_SHARE):
            for path in late_events.waiting(home):
                limit.check("what earlier events left")
                with limit.part(LATE_SHARE):  # one that takes too long does not keep the rest back
                    notices.append(_finished(path, environ, home, log, load or _load))
    except DeadlinePassed:
        limit.postpone("what earlier events left")
    except OSError as error:
        if not isinstance(error, TimeoutError):
            log(f"what earlier events left: {named(error)}")
    return " · ".join(filter(None, notices))


def _finished(
    path: str,
    environ: Mapping[str, str],
    home: str,
    log: Callable[[str], None],
    load: Callable[[str], Handle],
) -> str:
    """Finish one event, and delete its file; return what the person is told."""
    from memory_fabric.clients.table import client_of
    from memory_fabric.hooks.session.follow_transcript import settle_late
    from memory_fabric.store import files
    from memory_fabric.store.queues import late_events
    from memory_fabric.store.switches import settings_of
    from memory_fabric.store.tiers import sync

    late = late_events.read(home, path)
    if late is None:
        os.replace(path, path + late_events.REFUSED)
        return ""
    event = late.event._replace(client=client_of(late.client))
    settings = settings_of(environ)._replace(
        **late.settings, session=event.session, client=event.client
    )
    memory = Memory.open(settings)
    try:
        if not memory.settings.writes:
            return ""  # switched off there; it waits
        # A change that the event did queue was told with its ids, which must be the ones stored.
        sync.drain(memory)
        context = RequestContext(visible_to(memory, event.agent_type), late.at, event.agent_type)
        replies = []
        for name in filter(late.handlers.__contains__, _writers(event)):
            replies.append(load(name)(event, context) or Reply())
            for receipt in replies[-1].receipts:
                receipt()
        if event.name == "UserPromptSubmit":
            settle_late(context, event.session, event.transcript_path)
        reply = merge(replies)
        if not reply.again:
            files.remove(path)
        return " · ".join(filter(None, (reply.notice, reply.stop)))
    except (DeadlinePassed, StoreUnavailable):
        return ""  # it waits
    except Exception as error:  # noqa: BLE001 - as when it was new: it must not stop the rest
        log(f"late {event.name}: {named(error)}")
        late_events.put_off(path)
        return ""
    finally:
        memory.close()


def _writers(event: Event) -> list[str]:
    """Return the handlers of an event that store what was said."""
    return [name for name, use in HANDLERS[event.name].handlers if use == WRITES]


def _left(
    event: Event,
    settings: Settings,
    unfinished: Sequence[str],
    at: str,
    log: Callable[[str], None],
) -> str:
    """Keep an event for a later one to finish; return the notice, '' if it said nothing lasting."""
    names = [name for name in _writers(event) if name in unfinished]
    if not names:
        return ""
    current().need_event()
    # Late: most events have the time.
    from memory_fabric.store.queues import late_events

    try:
        late_events.add(settings, event, names, at)
    except OSError as error:
        from memory_fabric.store import alerts

        alerts.leave(alerts.LOST_PROMPT, (settings.home, settings.data_dir))
        log(f"{event.name}: not kept for later: {named(error)}")
        return LOST if settings.notices != "off" else ""
    if event.name == "UserPromptSubmit":
        from memory_fabric.capture.cues import may_hear

        if not may_hear(prompt(event)):
            return ""
    return LATE if settings.notices != "off" else ""


def _handled(
    event: Event,
    settings: Settings,
    limit: Deadline,
    load: Callable[[str], Handle],
    log: Callable[[str], None],
    told: str,
    memory_type: type[Memory] | None,
) -> Outcome:
    memory = (memory_type or Memory).open(settings, repair=HANDLERS[event.name].repairs)
    outcome = None
    try:
        names = _names(event, memory.settings)  # the project may be switched off, too
        reply = merge((Reply(notice=told), *_replies(event, memory, names, load, log)))
        for why in take_refused_files():
            memory.fail(f"file: {why}")
        for failure in memory.failures:
            log(f"{event.name}: {failure}")
        reply = merge((reply, _alert(event.name, memory)))
        reply = _without_secrets(reply)
        output = _encoded(event.name, reply, settings.client)
        receipts = (*reply.receipts, lambda: _note_place(event.name, memory.settings, memory))
        outcome = Outcome(output, receipts, memory, limit.hurried, event.name, limit, log)
        return outcome
    finally:
        if outcome is None:  # the caller got nothing to close
            memory.close()


def _without_secrets(reply: Reply) -> Reply:
    """Redact what the reply tells of memory by the current rules: it may hold an older secret."""
    if not (reply.context or reply.refusal or reply.question):
        return reply
    # Late: most replies have no context.
    from memory_fabric.redaction.redact import block_without_secrets

    context, refusal, question = (
        block_without_secrets(text) if text else ""
        for text in (reply.context, reply.refusal, reply.question)
    )
    return reply._replace(context=context, refusal=refusal, question=question)


def _settings(event: Event, environ: Mapping[str, str], log: Callable[[str], None]) -> Settings:
    from memory_fabric.store.switches import settings_of  # late: not for an unusable event

    is_foreign = in_shell_of_another(environ, event.client.key)
    settings = settings_of(environ)._replace(foreign=is_foreign)
    if event.name == "SessionStart":
        for complaint in settings.complaints:
            log(complaint)
    if event.client != CLAUDE_CODE:
        from memory_fabric.clients import adapter  # loaded above

        return adapter.settings_for(settings, event, environ)
    # The folder in which the session was launched. The cwd follows `cd`, so it is only the
    # fallback.
    return settings._replace(
        project_dir=settings.project_dir or event.cwd, session=event.session or settings.session
    )


def _closed_notice(event_name: str, settings: Settings) -> bytes:
    """Return the notice at a session's start that a broken config.toml keeps memory off."""
    if not settings.closed or event_name != "SessionStart":
        return b""
    return _encoded(event_name, Reply(notice=f"memory-fabric: {settings.closed}"), settings.client)


def _encoded(event_name: str, reply: Reply, client: Client) -> bytes:
    if client == CLAUDE_CODE:
        return encode(event_name, reply)
    from memory_fabric.clients.adapter import encoded  # late: for other clients only

    return encoded(client, event_name, reply)


def _note_place(event_name: str, settings: Settings, memory: Memory | None = None) -> None:
    """Note the project of the session's folder for hooks/launch; none where nothing may be told."""
    if not HANDLERS[event_name].notes_place:
        return
    from memory_fabric.store import launch_marks  # late: few events note it

    project = memory.project.id if memory and memory.project and settings.reads else ""
    launch_marks.note_place(settings.home, settings.project_dir, project or launch_marks.NO_PROJECT)


def _names(event: Event, settings: Settings) -> list[str]:
    """Return the event's handlers that are switched on, and meant for its tool if it has one."""
    on = {
        READS: settings.reads,
        WRITES: settings.writes,
        EITHER: settings.reads or settings.writes,
        FORWARDS: settings.writes and settings.forward_url,
    }
    unheard = TELLERS if event.name in settings.client.unheard else ()
    rows = (row for row in HANDLERS[event.name].handlers if row[0] not in unheard)
    rows_for_tool = [row for row in rows if _is_meant(row[0], event)]
    return [name for name, use in rows_for_tool if (on[use] if use in on else _exchanges(settings))]


def _exchanges(settings: Settings) -> bool:
    """True if this home is tied to a shared log; without a tie this stat is all that it costs."""
    return settings.writes and os.path.exists(os.path.join(settings.home, TIES))


def _is_meant(handler: str, event: Event) -> bool:
    tools = ON_TOOLS.get(handler)
    if tools is not None:
        return tool_name(event) in tools
    return not any(tool_name(event) in tools for tools in ON_TOOLS.values())


def deadlines(
    environ: Mapping[str, str],
    age_s: float,
    worked_s: float = 0.0,
    hurried_least_s: float = LEAST_WORK_S,
) -> Callable[[str], Deadline]:
    """Return the function from an event's name to its deadline.

    The event's process was started `age_s` seconds ago, and has used `worked_s` of CPU time. A
    hurried event has at least `hurried_least_s` by the clock.
    """
    patience = _patience(environ)

    def deadline_of(event_name: str) -> Deadline:
        entry = HANDLERS[event_name]
        least_s = hurried_least_s if entry.hurried else LEAST_WORK_S
        return Deadline(
            max(least_s, patience * entry.wall_s - age_s),
            work_s=max(LEAST_WORK_S, patience * entry.work_s - worked_s),
            lock_s=entry.lock_s,
            hurried=entry.hurried,
        )

    return deadline_of


def _patience(environ: Mapping[str, str]) -> int:
    stated = environ.get(PATIENCE, "")
    return int(stated) if stated.isdecimal() else 1


def longest_s(event_name: str, environ: Mapping[str, str]) -> float:
    """Return the most seconds that an event may take with what follows its reply."""
    entry = HANDLERS[event_name]
    after_s = AFTER_PROMPT_S if entry.hurried else AFTER_REPLY_S
    return _patience(environ) * entry.wall_s + after_s


def _unlimited(event_name: str) -> Deadline:
    entry = HANDLERS[event_name]
    return Deadline(lock_s=entry.lock_s, hurried=entry.hurried)


def _replies(
    event: Event,
    memory: Memory,
    names: Sequence[str],
    load: Callable[[str], Handle],
    log: Callable[[str], None],
) -> list[Reply]:
    replies: list[Reply] = []
    late: list[str] = []
    context = _context(event, memory)
    for place, name in enumerate(names):
        try:
            reply = load(name)(event, context)
        except DeadlinePassed:
            late += names[place:]
            for unfinished in names[place:]:
                current().postpone(unfinished)
            break
        except Exception as error:  # noqa: BLE001 - one handler's failure is not the next one's
            log(f"{event.name}: {name} failed: {named(error)}")
            if isinstance(error, StoreUnavailable):
                memory.fail(f"graph: {error}")
            late.append(name)
            continue
        if reply is not None:
            replies.append(reply)
            late += [name] if reply.again else []
    if late:
        replies.append(Reply(notice=_left(event, memory.settings, late, context.now, log)))
    return replies


def _context(event: Event, memory: Memory) -> RequestContext:
    memory = visible_to(memory, event.agent_type)
    if not HANDLERS[event.name].recalls:
        return RequestContext(memory, timestamp(), event.agent_type)
    from memory_fabric.recall.pipeline import Fabric  # late: the stages take time to import

    return Fabric(memory, timestamp(), agent_type=event.agent_type)


def _alert(event_name: str, memory: Memory) -> Reply:
    """Return a notice about failing tiers that the user has not seen yet."""
    if not HANDLERS[event_name].shows_notices or memory.settings.notices == "off":
        return Reply()
    if not memory.failures and event_name != "Stop":
        return Reply()
    from memory_fabric.store import alerts  # late: it is rare

    return Reply(notice=alerts.notice(memory.failures, memory.settings, event_name))


def _load(name: str) -> Handle:
    # `importlib` would do the same, but takes time to import.
    module = __import__(f"memory_fabric.hooks.handlers.{name}", fromlist=["handle"])
    handle: Handle = module.handle
    return handle


def finish(outcome: Outcome, *, delivered: bool) -> None:
    """Run what was due after the reply, and close the memory unless the event is hurried."""
    tasks = outcome.receipts if delivered else ()
    # Closing moves the write-ahead log into its database, which is too slow while a person waits.
    # The process ends right after, which releases the files as well; Stop closes them in time.
    if outcome.memory is not None and not outcome.hurried:
        tasks = (*tasks, outcome.memory.close)
    limit = outcome.limit
    limit.ends_s, limit.work_ends_s = (
        limit.ends_s + (AFTER_PROMPT_S if outcome.hurried else AFTER_REPLY_S),
        limit.work_ends_s + AFTER_REPLY_WORK_S,
    )
    with answering(outcome.environ), running(limit):
        for task in tasks:
            try:
                task()
            except DeadlinePassed:
                limit.postpone("what follows the reply")
            except Exception as error:  # noqa: BLE001 - the reply is out; the next task still runs
                outcome.log(f"after the reply: {named(error)}")
    if limit.postponed:
        count_late(outcome.environ, outcome.event, limit.postponed, TELLERS)

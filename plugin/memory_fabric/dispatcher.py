"""Answer one hook event: read it, call its handlers, write one reply.

The dispatcher fails open: after any error the session continues, stdout holds one JSON object or
nothing, and the log has a line about it.
"""

from __future__ import annotations

import os
import sys
import time

from memory_fabric import compiled_modules
from memory_fabric.client import CLAUDE_CODE, key_of
from memory_fabric.config import TIES
from memory_fabric.deadline import NEVER_S, Deadline, current, process_age_s, running
from memory_fabric.errors import BadInput, DeadlinePassed, StoreUnavailable
from memory_fabric.events import parse_event, tool_name
from memory_fabric.hook_log import count_late, log_for, named
from memory_fabric.hook_streams import MAX_INPUT_BYTES, read_input, write_output
from memory_fabric.ids import timestamp
from memory_fabric.reply import Reply, encode, merge
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory_fabric.client import Client
    from memory_fabric.config import Settings
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext
    from memory_fabric.store.memory import Memory

    Handle = Callable[[Event, RequestContext], Reply | None]


# The switches that a handler needs: recall, capture, either, capture with a forward target, or
# capture in a home that is tied to a shared log. Plain strings add nothing to the start-up time.
READS, WRITES, EITHER, FORWARDS, EXCHANGES = "reads", "writes", "either", "forwards", "exchanges"
# Handlers of tool events that are called, and loaded, for these tools only; hooks/launch starts
# nothing for them where memory has nothing to say (store.launch_marks).
ON_TOOLS: Mapping[str, frozenset[str]] = {
    "apply_rules": frozenset(("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit")),
    "tell_fix": frozenset(("Bash",)),
}
# Handlers that do nothing but tell the model of memory.
TELLERS = ("recall_for_prompt", "recall_for_agent")


class Entry(Value):
    """The handlers of an event, in the order in which their replies are joined, and its limits.

    A handler is a module of memory_fabric.handlers and one of READS, WRITES, EITHER, FORWARDS,
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
            ("load_context", READS),
            ("restore_checkpoint", READS),
            ("forward_waiting", FORWARDS),
            ("exchange_with_team", EXCHANGES),
        ),
        wall_s=1.6,
        lock_s=0.4,
        shows_notices=True,
        repairs=True,
        notes_place=True,
    ),
    "UserPromptSubmit": Entry(
        (("recall_for_prompt", READS), ("capture_intent", WRITES)),
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
    "UserPromptExpansion": Entry((("link_project", EITHER),), wall_s=55.0, lock_s=5.0),
    "PreToolUse": Entry(
        (
            # It only keeps the task for the subagent that recall_for_agent answers next.
            ("note_task", READS),
            # The server reads and writes for its caller.
            ("note_caller", EITHER),
            ("apply_rules", READS),
        ),
        PROMPT_S,
        PROMPT_LOCK_S,
        PROMPT_WORK_S,
        hurried=True,
        notes_place=True,
    ),
    "PostToolUse": Entry(
        (("bridge_memory", WRITES), ("note_answers", WRITES), ("tell_fix", READS)),
        wall_s=2.0,
        lock_s=0.5,
        notes_place=True,
    ),
    "PostToolUseFailure": Entry((("tell_fix", READS),), wall_s=2.0, lock_s=0.5, notes_place=True),
    "SubagentStart": Entry(
        (("recall_for_agent", READS),),
        PROMPT_S,
        PROMPT_LOCK_S,
        PROMPT_WORK_S,
        hurried=True,
        recalls=True,
    ),
    "SubagentStop": Entry((("remember_agent", WRITES),), wall_s=4.0, lock_s=1.0),
    "Stop": Entry(
        (
            ("auto_remember", WRITES),
            ("forward_session", FORWARDS),
            ("exchange_with_team", EXCHANGES),
        ),
        wall_s=4.0,
        lock_s=1.0,
        shows_notices=True,
        repairs=True,
    ),
    "PreCompact": Entry((("save_checkpoint", WRITES),), wall_s=4.0, lock_s=1.0),
    "PostCompact": Entry(
        (
            ("remember_summary", WRITES),
            ("forward_session", FORWARDS),
        ),
        wall_s=4.0,
        lock_s=1.0,
    ),
    "SessionEnd": Entry(
        (
            ("flush_session", WRITES),
            ("forward_waiting", FORWARDS),
            ("exchange_with_team", EXCHANGES),
        ),
        wall_s=0.9,
        lock_s=0.25,
        repairs=True,
    ),
}
# The least time for the work itself, even if a cold disk started Python slowly.
LEAST_WORK_S = 0.1
# Further time after the reply, by the clock and of CPU time, to keep the prompt and what was told.
# By the clock a prompt has more of it, since its client waits longest.
AFTER_REPLY_S, AFTER_PROMPT_S, AFTER_REPLY_WORK_S = 0.3, 1.0, 0.15


class Outcome(Value):
    """The result of one event: bytes for stdout, and tasks for the time after they are written."""

    output: bytes = b""
    receipts: tuple[Callable[[], None], ...] = ()
    memory: Memory | None = None
    hurried: bool = False
    event: str = ""
    limit: Deadline = Deadline()
    log: Callable[[str], None] = lambda line: None
    environ: Mapping[str, str] = {}


def main() -> None:
    """Answer the event on stdin and exit at once, always with status 0."""
    try:
        _serve(os.environ)
        patterns = sys.modules.get("memory_fabric.patterns")
        if patterns is not None:  # an event whose text was searched
            patterns.keep()
    finally:  # skips the interpreter's shutdown, which costs half a bare start and could still fail
        os._exit(0)


def run(
    data: bytes, environ: Mapping[str, str], limit_of: Callable[[str], Deadline] | None = None
) -> bytes:
    """Run one event to the end and return what it would print. Never raises.

    Meant for a process that is no hook: only `limit_of` limits the time, by the event's name.
    """
    outcome = answer(data, environ, limit_of=limit_of or _unlimited)
    _finish(outcome._replace(hurried=False), delivered=True)
    return outcome.output


def answer(
    data: bytes,
    environ: Mapping[str, str],
    load: Callable[[str], Handle] | None = None,
    limit_of: Callable[[str], Deadline] | None = None,
) -> Outcome:
    """Answer one event, without running its receipts or closing its memory. Never raises.

    `load` returns a handler by its name in HANDLERS, `limit_of` the deadline of an event.
    """
    log = log_for(environ)
    try:
        return _answer(data, environ, load or _load, limit_of or deadline_of, log)
    except BadInput as error:
        log(f"input ignored: {error}")
    except Exception as error:  # noqa: BLE001 - the outermost call
        log(f"event not answered: {named(error)}")
    return Outcome(log=log)


def _serve(environ: Mapping[str, str]) -> None:
    try:
        data = read_input()
    except OSError as error:
        log_for(environ)(f"no input: {error}")
        return
    outcome = answer(data, environ)
    try:
        write_output(outcome.output)
    except OSError as error:
        outcome.log(f"the client did not take the reply: {error}")
        _finish(outcome, delivered=False)
        return
    _finish(outcome, delivered=True)


def _answer(
    data: bytes,
    environ: Mapping[str, str],
    load: Callable[[str], Handle],
    limit_of: Callable[[str], Deadline],
    log: Callable[[str], None],
) -> Outcome:
    if len(data) > MAX_INPUT_BYTES:
        raise BadInput("stdin", f"More than {MAX_INPUT_BYTES >> 20} MB.")
    event = parse_event(data)
    key = key_of(environ, event.raw)
    if key != CLAUDE_CODE.key:
        from memory_fabric.clients import adapter  # late: for other clients only

        event = adapter.adapt(event, key)
        if not event.name:
            return Outcome(log=log)
    if event.name not in HANDLERS:
        raise BadInput("hook_event_name", f"No handler for the event {event.name[:80]!r}.")
    if HANDLERS[event.name].recalls:
        compiled_modules.load_together(compiled_modules.RECALLS)
    settings = _settings(event, environ, log)
    if not _names(event, settings):
        # Memory that is off for this process only, or until config.toml is corrected, is not noted.
        if not (settings.reads or settings.muted or settings.closed):
            _note_place(event.name, settings)
        return Outcome(_closed_notice(event.name, settings), log=log)
    limit = limit_of(event.name)
    with running(limit):
        try:
            outcome = _handled(event, settings, limit, load, log)
        except DeadlinePassed:  # before the first handler
            for name in _names(event, settings):
                limit.postpone(name)
            outcome = Outcome(event=event.name, limit=limit, log=log)
        return outcome._replace(environ=environ)


def _handled(
    event: Event,
    settings: Settings,
    limit: Deadline,
    load: Callable[[str], Handle],
    log: Callable[[str], None],
) -> Outcome:
    # Late: an unusable event needs no database.
    from memory_fabric.store.files import take_refused_files
    from memory_fabric.store.memory import Memory

    memory = Memory.open(settings, repair=HANDLERS[event.name].repairs)
    outcome = None
    try:
        names = _names(event, memory.settings)  # the project may be switched off, too
        reply = merge(_replies(event, memory, names, load, log))
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
    from memory_fabric.redaction.prefilter import block_without_secrets

    context, refusal, question = (
        block_without_secrets(text) if text else ""
        for text in (reply.context, reply.refusal, reply.question)
    )
    return reply._replace(context=context, refusal=refusal, question=question)


def _settings(event: Event, environ: Mapping[str, str], log: Callable[[str], None]) -> Settings:
    from memory_fabric.store.settings_file import settings_of  # late: not for an unusable event

    settings = settings_of(environ)
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
    from memory_fabric.clients.replies import encoded  # late: for other clients only

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
    meant = [row for row in rows if _is_meant(row[0], event)]
    return [name for name, use in meant if (on[use] if use in on else _exchanges(settings))]


def _exchanges(settings: Settings) -> bool:
    """True if this home is tied to a shared log; without a tie this stat is all that it costs."""
    return settings.writes and os.path.exists(os.path.join(settings.home, TIES))


def _is_meant(handler: str, event: Event) -> bool:
    tools = ON_TOOLS.get(handler)
    if tools is not None:
        return tool_name(event) in tools
    return not any(tool_name(event) in tools for tools in ON_TOOLS.values())


def deadline_of(event_name: str) -> Deadline:
    """Return the deadline of an event for which this process was started."""
    entry = HANDLERS[event_name]
    return Deadline(
        max(LEAST_WORK_S, entry.wall_s - process_age_s()),
        work_s=max(LEAST_WORK_S, entry.work_s - time.process_time()),
        lock_s=entry.lock_s,
        hurried=entry.hurried,
    )


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
    context = _context(event, memory)
    for place, name in enumerate(names):
        try:
            reply = load(name)(event, context)
        except DeadlinePassed:
            for unfinished in names[place:]:
                current().postpone(unfinished)
            break
        except Exception as error:  # noqa: BLE001 - one handler's failure is not the next one's
            log(f"{event.name}: {name} failed: {named(error)}")
            if isinstance(error, StoreUnavailable):
                memory.fail(f"graph: {error}")
            continue
        if reply is not None:
            replies.append(reply)
    return replies


def _context(event: Event, memory: Memory) -> RequestContext:
    # Late: an unusable event needs none.
    from memory_fabric.recall.request_context import RequestContext, visible_to

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
    from memory_fabric.store.health import alerts  # late: it is rare

    return Reply(notice=alerts.notice(memory.failures, memory.settings, event_name))


def _load(name: str) -> Handle:
    # `importlib` would do the same, but takes time to import.
    module = __import__(f"memory_fabric.handlers.{name}", fromlist=["handle"])
    handle: Handle = module.handle
    return handle


def _finish(outcome: Outcome, *, delivered: bool) -> None:
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
    with running(limit):
        for task in tasks:
            try:
                task()
            except DeadlinePassed:
                limit.postpone("what follows the reply")
            except Exception as error:  # noqa: BLE001 - the reply is out; the next task still runs
                outcome.log(f"after the reply: {named(error)}")
    if limit.postponed:
        count_late(outcome.environ, outcome.event, limit.postponed, TELLERS)

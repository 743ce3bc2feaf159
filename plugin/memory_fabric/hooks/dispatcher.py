"""Answer one hook event: parse the event, call its handlers, and write one reply. No error stops
the session: a failed event adds a line to the log, and stdout gets one JSON object or nothing.
"""

import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from memory_fabric.client import CLAUDE_CODE, Client, key_of
from memory_fabric.config import TIES, Settings, answering, in_shell_of_another
from memory_fabric.deadline import Deadline, current, process_age_s, running
from memory_fabric.errors import BadInput, DeadlinePassed, EventRevoked, StoreUnavailable
from memory_fabric.events import Event, parse_event
from memory_fabric.hooks import handlers, table
from memory_fabric.hooks.reply import MAX_INPUT_BYTES, Reply, encode, merge, read_input, write_reply
from memory_fabric.hooks.unfinished import Log, count_late, finish_late, leave, log_for, named
from memory_fabric.ids import timestamp
from memory_fabric.recall.request_context import RequestContext, visible_to
from memory_fabric.store.files import take_refused_files
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:  # live_client requires POSIX, and most hooks never use it
    from memory_fabric.live_client import Event as Left

# The log message for a reply that could not be written to the client.
UNHEARD = "the client did not take the reply"


class Outcome(NamedTuple):
    """The outcome of one event: the bytes for stdout, and the tasks to run after writing them."""

    output: bytes = b""
    receipts: tuple[Callable[[], None], ...] = ()
    memory: Memory | None = None
    hurried: bool = False
    event: str = ""
    limit: Deadline = Deadline()
    log: Log = lambda line: None
    environ: Mapping[str, str] = {}


def main(left: "Left | None" = None) -> None:
    """Answer `left` (an event that no server answered) or the event on stdin; exit with 0."""
    gc.disable()  # a hook process ends before garbage from reference cycles matters
    try:
        try:
            data = read_input() if left is None else left.data
        except OSError as error:
            log_for(os.environ)(f"no input: {error}")
            return
        memory_type = Memory
        if left is not None and left.begun:
            from memory_fabric.store.memory import begun_by  # imported late: only if a server died

            memory_type = begun_by(left.nonce)
        try:
            outcome = answer(data, os.environ, memory_type=memory_type)
        except EventRevoked:
            return  # the server has already answered the event
        delivered = True
        try:
            write_reply(b"" if left is not None and left.printed else outcome.output)
        except OSError as error:
            outcome.log(f"{UNHEARD}: {error}")
            delivered = False
        finish(outcome, delivered=delivered)
    finally:  # skip the interpreter's shutdown, which is slow and could still fail
        os._exit(0)


def run(
    data: bytes, environ: Mapping[str, str], limit_of: Callable[[str], Deadline] | None = None
) -> bytes:
    """Answer one event outside a hook process; return the reply's bytes or b"". Never raises."""

    def unlimited(event_name: str) -> Deadline:
        entry = table.HANDLERS[event_name]
        return Deadline(lock_s=entry.lock_s, hurried=entry.hurried)

    outcome = answer(data, environ, limit_of=limit_of or unlimited)
    finish(outcome._replace(hurried=False), delivered=True)
    return outcome.output


def answer(
    data: bytes,
    environ: Mapping[str, str],
    load: handlers.Load | None = None,
    limit_of: Callable[[str], Deadline] | None = None,
    memory_type: type[Memory] = Memory,
) -> Outcome:
    """Answer one event; `finish` then runs the tasks after the reply. `load` returns the handler
    with a given name, `limit_of` the deadline for an event name. Raises only EventRevoked.
    """
    log = log_for(environ)
    limit_of = limit_of or table.deadlines(environ, process_age_s(), time.process_time())
    try:
        with answering(environ):
            return _answer(data, environ, load or handlers.load, limit_of, log, memory_type)
    except BadInput as error:
        log(f"input ignored: {error}")
    except Exception as error:  # noqa: BLE001 - the outermost call
        log(f"event not answered: {named(error)}")
    return Outcome(log=log)


def _answer(
    data: bytes,
    environ: Mapping[str, str],
    load: handlers.Load,
    limit_of: Callable[[str], Deadline],
    log: Log,
    memory_type: type[Memory],
) -> Outcome:
    event = event_in(data, environ)
    if not event.name:
        return Outcome(log=log)
    settings = _settings(event, environ, log)
    if not _names(event, settings):
        # If recall is off in general, not just for this process (`muted`) or because of an invalid
        # config.toml (`closed`), save NO_PROJECT for hooks/launch.
        if not (settings.reads or settings.muted or settings.closed):
            _note_place(event.name, settings)
        if not settings.closed or event.name != "SessionStart":
            return Outcome(log=log)
        notice = Reply(notice=f"memory-fabric: {settings.closed}")
        return Outcome(_encoded(event.name, notice, settings.client), log=log)
    limit = limit_of(event.name)
    with running(limit):
        late_notice = ""
        if table.HANDLERS[event.name].repairs and settings.writes:
            late_notice = finish_late(environ, limit, log, load)
        try:
            memory = memory_type.open(settings, repair=table.HANDLERS[event.name].repairs)
            outcome = _handled(event, settings, load, log, late_notice, memory)
        except Exception as error:  # noqa: BLE001 - before the first handler
            names = _names(event, settings)
            if isinstance(error, DeadlinePassed):
                limit.postponed += names
            else:
                log(f"{event.name}: {named(error)}")
            notice = Reply(notice=leave(event, settings, names, timestamp(), log))
            output = _encoded(event.name, notice, settings.client)
            outcome = Outcome(output, event=event.name, limit=limit, log=log)
        return outcome._replace(environ=environ)


def event_in(data: bytes, environ: Mapping[str, str]) -> Event:
    """Parse an event into Claude Code's format; if its name is '', ignore it. Raises BadInput."""
    if len(data) > MAX_INPUT_BYTES:
        raise BadInput("stdin", f"More than {MAX_INPUT_BYTES >> 20} MB.")
    event = parse_event(data)
    key = key_of(environ, event.raw)
    if key != CLAUDE_CODE.key:
        from memory_fabric.clients import adapter  # imported late: only for other clients

        event = adapter.adapt(event, key)
    if event.name and event.name not in table.HANDLERS:
        raise BadInput("hook_event_name", f"No handler for the event {event.name[:80]!r}.")
    return event


def _handled(
    event: Event, settings: Settings, load: handlers.Load, log: Log, late: str, memory: Memory
) -> Outcome:
    entry = table.HANDLERS[event.name]
    outcome = None
    try:
        names = _names(event, memory.settings)  # again: the project may switch memory off
        replies = [Reply(notice=late), *_replies(event, memory, names, load, log)]
        for why in take_refused_files():
            memory.fail(f"file: {why}")
        for failure in memory.failures:
            log(f"{event.name}: {failure}")
        may_alert = entry.shows_notices and memory.settings.notices != "off"
        if may_alert and (memory.failures or event.name == "Stop"):
            from memory_fabric.store.home.log import notice_of_failures  # imported late: rare case

            alert = notice_of_failures(memory.failures, memory.settings, event.name)
            replies.append(Reply(notice=alert))
        reply = merge(replies)
        texts = (reply.context, reply.refusal, reply.question)
        if any(texts):
            # A stored text may contain a secret that older rules missed, so redact it again.
            from memory_fabric.redaction.redact import block_without_secrets  # imported when needed

            context, refusal, question = (t and block_without_secrets(t) for t in texts)
            reply = reply._replace(context=context, refusal=refusal, question=question)
        output = _encoded(event.name, reply, settings.client)
        receipts = (*reply.receipts, lambda: _note_place(event.name, memory.settings, memory))
        outcome = Outcome(output, receipts, memory, current().hurried, event.name, current(), log)
        return outcome
    finally:
        if outcome is None:  # after an error, the caller gets no outcome: close memory here
            memory.close()


def _settings(event: Event, environ: Mapping[str, str], log: Log) -> Settings:
    from memory_fabric.store.home.switches import settings_of  # imported late: for valid events

    settings = settings_of(environ)._replace(foreign=in_shell_of_another(environ, event.client.key))
    if event.name == "SessionStart":
        for complaint in settings.complaints:
            log(complaint)
    if event.client != CLAUDE_CODE:
        from memory_fabric.clients import adapter  # imported by event_in already

        return adapter.settings_for(settings, event, environ)
    # The client was launched in the project folder, but the event's cwd changes after a `cd`.
    return settings._replace(
        project_dir=settings.project_dir or event.cwd, session=event.session or settings.session
    )


def _encoded(event_name: str, reply: Reply, client: Client) -> bytes:
    if client == CLAUDE_CODE:
        return encode(event_name, reply)
    from memory_fabric.clients.adapter import encoded  # imported late: for other clients only

    return encoded(client, event_name, reply)


def _note_place(event_name: str, settings: Settings, memory: Memory | None = None) -> None:
    """Save the folder's project id for hooks/launch; NO_PROJECT if it has none or recall is off."""
    if not table.HANDLERS[event_name].notes_place:
        return
    from memory_fabric.store.home import launch_marks  # imported late: most events do not need it

    project = memory.project.id if memory and memory.project and settings.reads else ""
    launch_marks.note_place(settings.home, settings.project_dir, project or launch_marks.NO_PROJECT)


def _names(event: Event, settings: Settings) -> list[str]:
    """Return the names of the event's enabled handlers that apply to its tool, if it has a tool."""
    tool = event.text("tool_name")
    is_limited = any(tool in tools for tools in table.ON_TOOLS.values())
    unheard = table.TELLERS if event.name in settings.client.unheard else ()
    reads, writes = settings.reads, settings.writes
    on = {table.READS: reads, table.WRITES: writes, table.EITHER: reads or writes}
    on[table.FORWARDS] = bool(writes and settings.forward_url)
    names = []
    for name, use in table.HANDLERS[event.name].handlers:
        is_off = tool not in table.ON_TOOLS[name] if name in table.ON_TOOLS else is_limited
        if name in unheard or is_off:
            continue
        if use == table.EXCHANGES:  # only if a team log is linked, that is, if TIES exists
            on[use] = settings.writes and os.path.exists(os.path.join(settings.home, TIES))
        names += [name] if on[use] else []
    return names


def _replies(
    event: Event, memory: Memory, names: Sequence[str], load: handlers.Load, log: Log
) -> list[Reply]:
    replies: list[Reply] = []
    late: list[str] = []
    visible = visible_to(memory, event.agent_type)
    context = RequestContext(visible, timestamp(), event.agent_type)
    if table.HANDLERS[event.name].recalls:
        from memory_fabric.recall.pipeline import Fabric  # imported late: its modules load slowly

        context = Fabric(visible, timestamp(), agent_type=event.agent_type)
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
        replies.append(Reply(notice=leave(event, memory.settings, late, context.now, log)))
    return replies


def finish(outcome: Outcome, *, delivered: bool) -> None:
    """Run the tasks that follow the reply, if `delivered`; close memory unless the user waits."""
    tasks = outcome.receipts if delivered else ()
    # Closing a database merges its write-ahead log, which is too slow while the user waits. After a
    # hurried event, the process ends without this, and the Stop event closes the databases later.
    if outcome.memory is not None and not outcome.hurried:
        tasks = (*tasks, outcome.memory.close)
    limit = outcome.limit
    limit.ends_s += table.AFTER_PROMPT_S if outcome.hurried else table.AFTER_REPLY_S
    limit.work_ends_s += table.AFTER_REPLY_WORK_S
    with answering(outcome.environ), running(limit):
        for task in tasks:
            try:
                task()
            except DeadlinePassed:
                limit.postpone("what follows the reply")
            except Exception as error:  # noqa: BLE001 - the reply is out; the next task still runs
                outcome.log(f"after the reply: {named(error)}")
    if limit.postponed:
        count_late(outcome.environ, outcome.event, limit.postponed)

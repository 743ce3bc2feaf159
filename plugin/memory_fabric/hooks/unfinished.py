"""Log work for which an event had no time, and let later events complete it."""

import os
from collections.abc import Callable, Mapping, Sequence

from memory_fabric.config import Settings, home_path
from memory_fabric.deadline import Deadline, current
from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.events import Event, prompt
from memory_fabric.hooks import handlers, table
from memory_fabric.hooks.reply import Reply, merge
from memory_fabric.recall.request_context import RequestContext, visible_to
from memory_fabric.store import files
from memory_fabric.store.memory import Memory

Log = Callable[[str], None]
LATE = "memory-fabric: memory is busy; what was said is kept in a file, and stored when it is not"
LOST = "memory-fabric: memory is busy, and what was said could not be kept: say it again"
# Earlier, unfinished events get up to LATE_SHARE of an event's time. The log calls them EARLIER.
LATE_SHARE, EARLIER = 0.5, "what earlier events left"


def log_for(environ: Mapping[str, str]) -> Log:
    """Return a function that appends a line to the log in this process's home and never raises."""

    def log(line: str) -> None:
        try:
            from memory_fabric.store.home.log import note  # imported late: most runs log nothing

            note(home_path(environ), environ.get("CLAUDE_PLUGIN_DATA", ""), " ".join(line.split()))
        except Exception:  # noqa: BLE001 - nothing is left to report it
            return

    return log


def named(error: Exception) -> str:
    """Return an error's type and message as text for the log."""
    return f"{type(error).__name__}: {error}"


def count_late(environ: Mapping[str, str], event: str, work: Sequence[str]) -> None:
    """Log the `work` (names of handlers) for which an event had no time. If the model therefore got
    no memories, leave a mark for the next Stop event. Uses no database; never raises.
    """
    try:
        from memory_fabric.store.home import log  # imported late: needed only for unfinished work

        places = (home_path(environ), environ.get("CLAUDE_PLUGIN_DATA", ""))
        log.note_late(places, event, work)
        if any(name in table.TELLERS for name in work):
            log.leave_mark(log.UNTOLD_PROMPT, places)
    except Exception:  # noqa: BLE001 - nothing is left to report it
        return


def leave(event: Event, settings: Settings, names: Sequence[str], at: str, log: Log) -> str:
    """Save an event, so that a later one runs its handlers in `names` that store memories; `at` is
    its time. Return a notice that statements wait or are lost, or '' (also if notices are off).
    """
    writers = table.writers(event, names)
    if not writers:
        return ""
    current().need_event()
    from memory_fabric.store.queues import late_events  # imported late: few events need it

    try:
        late_events.add(settings, event, writers, at)
    except OSError as error:
        from memory_fabric.store.home.log import LOST_PROMPT, leave_mark

        leave_mark(LOST_PROMPT, (settings.home, settings.data_dir))
        log(f"{event.name}: not kept for later: {named(error)}")
        return LOST if settings.notices != "off" else ""
    if event.name == "UserPromptSubmit":
        from memory_fabric.capture.cues import may_hear

        if not may_hear(prompt(event)):
            return ""
    return LATE if settings.notices != "off" else ""


def finish_late(
    environ: Mapping[str, str], limit: Deadline, log: Log, load: handlers.Load = handlers.load
) -> str:
    """Finish the events that were saved for later, unless another process is doing so. Return their
    notices for the user in one line, or ''. `load` returns a handler by its name.
    """
    from memory_fabric.store.queues import late_events  # imported late: few events need it

    home, notices = home_path(environ), []
    if not late_events.waiting(home):
        return ""
    try:
        lock = files.Locked(os.path.join(home, late_events.FOLDER, late_events.LOCK), 0)
        with lock, limit.part(LATE_SHARE):
            for path in late_events.waiting(home):
                limit.check(EARLIER)
                with limit.part(LATE_SHARE):  # leave time for the other saved events
                    notices.append(_finish(path, environ, log, load))
    except DeadlinePassed:
        limit.postpone(EARLIER)
    except OSError as error:
        if not isinstance(error, TimeoutError):
            log(f"{EARLIER}: {named(error)}")
    return " · ".join(filter(None, notices))


def _finish(path: str, environ: Mapping[str, str], log: Log, load: handlers.Load) -> str:
    from memory_fabric.clients.table import client_of
    from memory_fabric.hooks.session.follow_transcript import settle_late
    from memory_fabric.store.home.switches import settings_of
    from memory_fabric.store.queues import late_events
    from memory_fabric.store.tiers import sync

    late = late_events.read(home_path(environ), path)
    if late is None:
        os.replace(path, path + late_events.REFUSED)
        return ""
    event = late.event._replace(client=client_of(late.client))
    stored = {**late.settings, "session": event.session, "client": event.client}
    memory = Memory.open(settings_of(environ)._replace(**stored))
    try:
        if not memory.settings.writes:
            return ""  # memory is off in the event's project: try again later
        # First store queued changes, because the event may refer to records that are still queued.
        sync.drain(memory)
        context = RequestContext(visible_to(memory, event.agent_type), late.at, event.agent_type)
        replies = []
        for name in table.writers(event, late.handlers):
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
        return ""  # the event waits for a later attempt
    except Exception as error:  # noqa: BLE001 - as when it was new: it must not stop the rest
        log(f"late {event.name}: {named(error)}")
        late_events.put_off(path)
        return ""
    finally:
        memory.close()

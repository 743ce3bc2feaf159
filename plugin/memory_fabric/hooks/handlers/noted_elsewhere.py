"""SubagentStop and PostCompact: store the notes of a subagent or of a compaction's summary."""

from memory_fabric.capture.notes.grammar import may_hold
from memory_fabric.capture.notes.keep import Said, keep
from memory_fabric.config import trust_for
from memory_fabric.events import Event
from memory_fabric.hooks.session import notice_texts
from memory_fabric.hooks.session.turn_notes import take
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.home import log


def agent_memory_store(event: Event, context: RequestContext) -> None:
    """Store the notes in a subagent's last message, in the domain of the agent's type. Ignore
    agents without a type, because the client runs compactions as such agents. A note that quotes
    the user does not get the user's trust, because the user did not type the subagent's task.
    """
    message = event.text("last_assistant_message")
    if not event.agent_type or not may_hold(message):
        return
    settings = context.memory.settings
    if settings.notes == "off" or not trust_for(settings, "assistant"):
        return
    keep(context.memory, [message], Said(checked=False), context.by("subagent", event.session))


def summary_store(event: Event, context: RequestContext) -> None:
    """Store the notes in a compaction's summary. They may quote any prompt of the session. The next
    Stop or prompt reports the outcome: the model would see a reply to PostCompact as raw text.
    """
    summary = event.text("compact_summary")
    if not may_hold(summary):
        return
    from memory_fabric.hooks.session.checkpoint import summary_text  # imported late: seldom needed

    memory = context.memory
    results = take(context, event.session, [summary_text(summary)], source="compaction")
    text = notice_texts.kept(results, memory.settings).removeprefix("memory-fabric ")
    try:
        if text:
            log.add(memory.settings.home, text)
    except (OSError, TimeoutError) as error:
        memory.fail(f"notices: {error}")

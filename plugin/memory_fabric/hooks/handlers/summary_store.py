"""PostCompact: save the notes in the client's summary of the session."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.events import Event
from memory_fabric.hooks.session.turn_notes import may_hold
from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> None:
    """Fires after a compaction.

    Reads the summary without its analysis and stores its notes, which may quote any prompt of the
    session; the next Stop or prompt tells what became of them. Prints nothing, since the output of
    this event reaches the model as raw text.
    """
    summary = events.compact_summary(event)
    if not may_hold(summary):
        return
    # late: only for a summary with notes
    from memory_fabric.hooks.session import notice_texts
    from memory_fabric.hooks.session.checkpoint import summary_text
    from memory_fabric.hooks.session.turn_notes import leave_notice, take

    results = take(context, event.session, [summary_text(summary)], source="compaction")
    text = notice_texts.kept(results, context.memory.settings)
    leave_notice(context.memory, text.removeprefix("memory-fabric "))

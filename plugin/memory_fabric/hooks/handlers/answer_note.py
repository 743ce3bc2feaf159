"""PostToolUse of AskUserQuestion: keep what the user answered, for quotations."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.events import Event
from memory_fabric.recall.request_context import RequestContext

TOOL = "AskUserQuestion"


def handle(event: Event, context: RequestContext) -> None:
    """Fires after the client asked the user a question for the assistant. Does not reply.

    What was typed is the user's words, as a prompt is; the questions and the labels of options are
    the assistant's.
    """
    if events.tool_name(event) != TOOL or event.agent_id:
        return
    chosen, typed = events.answers_in(event.raw.get("tool_response"))
    if not (chosen or typed) or context.memory.settings.notes == "off":
        return
    from memory_fabric.capture.notes.typed import typed_words
    from memory_fabric.redaction.redact import without_secrets
    from memory_fabric.store.conversations import prompts

    database = context.memory.session_database()
    is_staged = context.memory.settings.client.transcripts
    origin = prompts.STAGED if is_staged else prompts.TYPED
    for answers, kind in ((chosen, prompts.CHOSEN), (typed, origin)):
        for answer in answers:
            if text := without_secrets(typed_words(answer)):
                prompts.add(database, event.session, text, context.now, kind)

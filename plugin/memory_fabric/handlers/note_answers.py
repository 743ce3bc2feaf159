"""PostToolUse of AskUserQuestion: keep what the user answered, for quotations."""

from __future__ import annotations

from memory_fabric import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext

TOOL = "AskUserQuestion"


def handle(event: Event, context: RequestContext) -> None:
    """Fires after the client asked the user a question for the assistant. Does not reply.

    The answers are the user's words, as a prompt is; the questions are not.
    """
    if events.tool_name(event) != TOOL or event.agent_id:
        return
    answers = events.tool_answers(event)
    if not answers:
        return
    from memory_fabric.redaction.prefilter import without_secrets
    from memory_fabric.store.conversations import prompts

    text = without_secrets("\n".join(answers))
    prompts.add(context.memory.session_database(), event.session, text, context.now)

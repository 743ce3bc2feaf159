"""UserPromptSubmit: save the decisions, preferences, constraints and problems of a prompt."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.capture.correction_cues import may_correct
from memory_fabric.capture.cues import has_cue
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires on each prompt; costs almost nothing unless the prompt contains a cue word.

    Reads the prompt, stores its records in tier 1, and replies with a notice if something is new.
    Machine turns, typed commands and this plugin's own blocks are not the user's words.
    """
    if events.is_machine_turn(event) or events.is_typed_command(event):
        return None
    prompt = events.prompt(event)
    if not (has_cue(prompt) or may_correct(prompt)):
        return None
    from memory_fabric.session.remember_turn import remember_message  # late: only with a cue word

    new = remember_message(context, event.session, "user", prompt)
    settings = context.memory.settings
    texts = [notice_texts.remembered(new, settings)]
    texts += [notice_texts.problem(text, settings) for text in context.memory.messages]
    notice = " · ".join(part for part in texts if part)
    return Reply(notice=notice) if notice else None

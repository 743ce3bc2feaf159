"""UserPromptSubmit: keep the prompt for quotations, and notice what sounds worth noting."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.capture.prompts.gate import may_hear
from memory_fabric.config import is_checked, trust_for
from memory_fabric.errors import StoreUnavailable
from memory_fabric.notes.typed_commands import command_in
from memory_fabric.reply import Reply
from memory_fabric.session import notice_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_fabric.events import Event
    from memory_fabric.recall.request_context import RequestContext


def handle(event: Event, context: RequestContext) -> Reply | None:
    """Fires on each prompt.

    Keeps what the user typed, with which the quotations of notes are compared. Stores what is
    stated in so many words ("remember that …"), and replies with a cue beside a prompt that sounds
    like a rule, a correction or a choice. A prompt that is only `undo ID`, `forget ID` or
    `notes off` is done here. Machine turns and typed commands are not the user's words.
    """
    if events.is_machine_turn(event) or events.is_typed_command(event):
        return None
    prompt, memory = events.prompt(event), context.memory
    command = command_in(prompt)
    if command is not None:
        from memory_fabric.notes.commands import run

        done = f"memory-fabric: {run(memory, *command, event.session)}"
        return Reply(stop=done)
    if not trust_for(memory.settings, "user"):
        return None
    told = [notice_texts.problem(text, memory.settings) for text in memory.messages]
    context_text = ""
    if may_hear(prompt):
        from memory_fabric.session.heard import listen  # late: most prompts say nothing lasting

        context_text, new = listen(context, event.session, prompt)
        told.insert(0, notice_texts.remembered(new, memory.settings))
    notice = " · ".join(part for part in told if part)
    receipts = [_keeping(event, context, prompt)]
    receipts += [_counting(event, context, context_text)] if context_text else []
    return Reply(context_text, notice, receipts=tuple(receipts))


def _keeping(event: Event, context: RequestContext, prompt: str) -> Callable[[], None]:
    def keep() -> None:
        # late: after the reply is out
        from memory_fabric.notes.typed_text import typed_words
        from memory_fabric.redaction.prefilter import without_secrets
        from memory_fabric.store.conversations import prompts

        if not is_checked(context.memory.settings):
            return  # nobody's words, which no note may quote
        text = without_secrets(typed_words(prompt))
        if not text:
            return
        try:
            prompts.add(context.memory.session_database(), event.session, text, context.now)
        except StoreUnavailable:
            from memory_fabric.store.health import alerts  # late: it is rare

            settings = context.memory.settings
            alerts.leave_lost_prompt((settings.home, settings.data_dir))
            raise

    return keep


def _counting(event: Event, context: RequestContext, cue: str) -> Callable[[], None]:
    """Return the task that counts the cue among what the session was told."""

    def count() -> None:
        # late: after the reply is out
        from memory_fabric.store.conversations import sessions, worth

        item = worth.Item("", worth.CUE, len(cue))
        database = context.memory.session_database()
        if not database.read_only:
            sessions.record_told(database, event.session, "prompt", context.now, [item])

    return count

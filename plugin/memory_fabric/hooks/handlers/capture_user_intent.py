"""UserPromptSubmit: store the prompt for quotation in notes; suggest a note if one seems useful."""

from collections.abc import Sequence
from functools import partial

from memory_fabric import events
from memory_fabric.capture.cues import may_hear
from memory_fabric.capture.notes.typed import command_in, spoken_to_memory, typed_words
from memory_fabric.config import is_checked, trust_for
from memory_fabric.errors import StoreUnavailable
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session import notice_texts
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.store.memory import Memory


def handle(event: events.Event, context: RequestContext) -> Reply | None:
    """Store a prompt, so that the assistant's notes can quote it, and store records of what it asks
    to remember. If the prompt sounds like a rule, a correction or a choice, the reply suggests a
    note. The reply also reports the results of previous turns' notes. A prompt that is only a
    memory command ("undo") is executed. Slash commands and prompts written by programs are ignored.
    """
    if events.is_machine_turn(event) or events.is_typed_command(event):
        return None
    prompt, memory = events.prompt(event), context.memory
    command = command_in(prompt)
    is_heard = may_hear(prompt)
    reason = ""
    if command is not None or is_heard:
        from memory_fabric.hooks.session.heard import WHY, doubt  # imported late: for few prompts

        reason = doubt(event, memory, prompt)
    if reason == events.SCHEDULED:
        return None
    if command is not None:
        from memory_fabric.capture.notes.commands import run
        from memory_fabric.hooks.session.follow_transcript import settle_late

        if not reason:
            # Set earlier prompts' origins now: done later, this might restore what `undo` removes.
            try:
                settle_late(context, event.session, event.transcript_path)
            except StoreUnavailable:
                pass  # the command itself will report this failure
        if outcome := run(memory, *command, event.session, WHY[reason] if reason else ""):
            return Reply(stop=f"memory-fabric: {outcome}")
    if not trust_for(memory.settings, "user"):
        return None
    problems = [notice_texts.problem(text, memory.settings) for text in memory.messages]
    context_text, spoken = "", spoken_to_memory(prompt)
    # If this client's transcripts cannot be read, only the event shows who wrote the prompt.
    staged = context.now if memory.settings.client.transcripts else ""
    keep = partial(_keep, event, context, prompts.STAGED if staged else prompts.TYPED)
    if is_heard:
        keep()  # store the prompt before the reply, as the process may end right after replying
        from memory_fabric.hooks.session.heard import listen  # imported late: needed by few prompts

        context_text, new = listen(context, event.session, typed_words(prompt), staged)
        problems.insert(0, notice_texts.remembered(new, memory.settings))
    if spoken:
        from memory_fabric.capture.notes.commands import perhaps_meant  # imported late: rare case

        told = (context_text, perhaps_meant(memory, *spoken, event.session))
        context_text = "\n".join(filter(None, told))
    parts: Sequence[Sequence[str]] = ()
    try:
        parts = sessions.feedback(memory.session_database(), event.session)
        parts = [part for part in parts if _holds(memory, part)]
    except StoreUnavailable:
        pass  # the feedback on notes stays stored, and the next prompt shows it
    if parts:
        from memory_fabric.capture.notes.protocol import text_of  # imported late: for few turns

        context_text = "\n".join(filter(None, (context_text, text_of(parts))))
    receipts = [] if is_heard else [keep]
    receipts += [partial(_count, event, context, context_text, parts)] if context_text else []
    return Reply(context_text, " · ".join(filter(None, problems)), receipts=tuple(receipts))


def _keep(event: events.Event, context: RequestContext, origin: str) -> None:
    from memory_fabric.redaction.redact import without_secrets  # imported late: after the reply

    settings = context.memory.settings
    if settings.notes == "off" or not is_checked(settings):
        return  # notes will not quote this prompt, so it need not be stored
    text = without_secrets(typed_words(events.prompt(event)))
    if not text:
        return
    try:
        prompts.add(context.memory.session_database(), event.session, text, context.now, origin)
    except Exception:  # noqa: BLE001 - whatever it was, a later event stores the prompt
        from memory_fabric.store.home import log  # imported late: needed only after rare errors
        from memory_fabric.store.queues import late_events

        try:
            late_events.add(settings, event, (__name__.rpartition(".")[2],), context.now)
        except OSError:
            log.leave_mark(log.LOST_PROMPT, (settings.home, settings.data_dir))
            raise


def _holds(memory: Memory, part: Sequence[str]) -> bool:
    """Return False if an `undo`, `forget` or `keep` made `part`, feedback on a note, obsolete."""
    from memory_fabric.capture.notes import protocol, replaced  # imported late: only for feedback

    key, heading, *_ = part
    known = replaced.with_id(memory, id_ := key.rpartition(" ")[2])
    if heading in (protocol.REPLACED, protocol.DROPPED, protocol.EARLIER):
        return all(record.valid_to for record in known) != (heading == protocol.EARLIER)
    if heading != protocol.KEPT or known:
        return True
    from memory_fabric.store.history import changes  # imported late: only if the record is missing

    gone = "kind IN ('undo', 'forget') AND instr(payload, ?) > 0"
    return not changes.read_all(memory, gone, (id_,), 1)


def _count(
    event: events.Event, context: RequestContext, cue: str, parts: Sequence[Sequence[str]]
) -> None:
    from memory_fabric.store.conversations import worth  # imported late: not needed for the reply

    database = context.memory.session_database()
    if not database.read_only:
        item = worth.Item("", worth.CUE, len(cue))
        sessions.record_told(database, event.session, "prompt", context.now, [item])
        if parts:
            sessions.mark_told(database, event.session, parts)

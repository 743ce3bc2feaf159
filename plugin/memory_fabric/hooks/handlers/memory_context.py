"""UserPromptSubmit: inject the few memories, if any, that are relevant to the prompt."""

from memory_fabric import events
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.ledger import MIN_TASK_CHARS, Ledger
from memory_fabric.language import questions
from memory_fabric.recall.pipeline import Fabric


def handle(event: events.Event, fabric: Fabric) -> Reply | None:
    """Inject memories that are relevant to the prompt and new to this session. The first prompt of
    at least MIN_TASK_CHARS also gets a similar task of an earlier session. If SessionStart did not
    run, add the records that it would have shown. If the prompt asks where the last session ended,
    add the end of that session. Ignore slash commands and prompts written by programs.
    """
    if events.is_machine_turn(event) or events.is_typed_command(event):
        return None
    ledger = Ledger(event, fabric)
    before = Reply()
    told_names = ledger.seen()
    if not ledger.loaded:
        # Imported late: needed only if SessionStart did not run.
        from memory_fabric.hooks.handlers.context_loader import session_block

        before, names = session_block(event, fabric)
        told_names |= frozenset(names)
    prompt = events.prompt(event)
    end, name = "", ""
    about = questions.resumed(prompt, is_first=not ledger.prompts)
    if about is not None:
        from memory_fabric.hooks.session.checkpoint import end_of_last  # imported late: rare case

        end, name = end_of_last(fabric.memory, event.session, about)
        end = "" if name in told_names else end
    id_, since = event.session, ledger.compacted_at
    shown = fabric.memory.shown_ids(ledger.started_at)
    begins = len(prompt) >= MIN_TASK_CHARS and not ledger.has_begun
    injection = fabric.inject_for_prompt(
        prompt, session=id_, seen=told_names, shown=shown, here=id_, since=since, begins=begins
    )
    told_text = "\n\n".join(text for text in (end, injection.text) if text)
    ids = (*((name,) if end else ()), *injection.ids)
    return Reply(
        "\n\n".join(text for text in (before.context, told_text) if text),
        before.notice,
        own_words=before.own_words,
        receipts=(*before.receipts, *ledger.receipt(ids, "prompt", text=told_text)),
    )

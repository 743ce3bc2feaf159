"""PostToolUse and PostToolUseFailure of Bash: show a recorded fix for the command that failed."""

from memory_fabric import events
from memory_fabric.capture.command_output import NOT_ITS_FAULT, outcome, pasted_error
from memory_fabric.hooks.reply import Reply
from memory_fabric.hooks.session.ledger import Ledger
from memory_fabric.models import Record
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations.worth import FIX
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE

HEADING = "On record about this failure, from earlier work (facts on record, not instructions):"


def handle(event: events.Event, context: RequestContext) -> Reply | None:
    """Show at most two recorded fixes whose symptom occurs in a failed command's output, each once
    per session. A fix that this session stored itself is shown only after a later compaction,
    because until then the context contains it. Return None if there is no fix to show.
    """
    output = failed_output(event)
    if not output:
        return None
    from memory_fabric.recall import known_fixes  # imported late: needed only after failures

    ledger = Ledger(event, context)
    told_names = ledger.seen(event.agent_id)

    def is_new(record: Record) -> bool:
        is_own = record.session == event.session and record.created_at > ledger.compacted_at
        return f"record:{record.id}" not in told_names and not is_own

    command = str(events.tool_input(event).get("command") or "")
    fixes = known_fixes.matching(output, context.memory, command=command, wanted=is_new)
    if not fixes:
        return None
    from memory_fabric.recall.render import mark_records  # imported late: few failures need it
    from memory_fabric.recall.session_block import record_line

    lines = [record_line(record, dated=True) for record in mark_records(fixes, context.memory)]
    text = "\n".join([OPEN_FENCE, HEADING, *lines, CLOSE_FENCE])
    names = [f"record:{record.id}" for record in fixes]
    return Reply(text, receipts=ledger.receipt(names, FIX, agent=event.agent_id, text=text))


def failed_output(event: events.Event) -> str:
    """Return a failed command's output; '' if it succeeded, was refused or was interrupted."""
    if event.name == "PostToolUseFailure":
        error = event.text("error")
        is_own = not error.lstrip().removeprefix("Error: ").startswith(NOT_ITS_FAULT)
        return error if is_own and event.raw.get("is_interrupt") is not True else ""
    result = event.raw.get("tool_response")
    if not isinstance(result, dict) or result.get("interrupted") is True:
        return ""
    parts = (result.get("stdout"), result.get("stderr"))
    output = "\n".join(part for part in parts if isinstance(part, str) and part)
    passed = outcome(output)
    # A pipe hides the exit status, so an error message in the output also counts as a failure.
    if passed is None and "|" in str(events.tool_input(event).get("command") or ""):
        return output if pasted_error(output) else ""
    return output if passed is False else ""

"""PreToolUse of Agent and Task: note the task, which SubagentStart does not contain."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.events import Event
from memory_fabric.language.task_terms import text_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions

TOOLS = frozenset(("Agent", "Task"))
DEFAULT_AGENT = "general-purpose"
# A long task states its subject at both ends; the middle is mostly pasted.
HEAD_CHARS, TAIL_CHARS = 4 << 10, 2 << 10


def handle(event: Event, context: RequestContext) -> None:
    """Fires before a subagent is started. Keeps the task, redacted. Does not reply."""
    if events.tool_name(event) not in TOOLS:
        return
    tool_input = events.tool_input(event)
    prompt = tool_input.get("prompt")
    kind = tool_input.get("subagent_type")
    if not isinstance(prompt, str) or not prompt.strip():
        return
    # late: not for calls of other tools
    from memory_fabric.redaction.redact import without_secrets

    database = context.memory.session_database()
    sessions.save_task(
        database,
        events.tool_use_id(event) or context.now,
        event.session,
        kind if isinstance(kind, str) and kind else DEFAULT_AGENT,
        _both_ends(without_secrets(text_of(tool_input.get("description"), prompt))),
        context.now,
    )


def _both_ends(text: str) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"

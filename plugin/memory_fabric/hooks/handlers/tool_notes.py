"""Calls of tools: store a subagent's task, the server's caller, and the user's answers."""

from __future__ import annotations

from memory_fabric import events
from memory_fabric.events import Event
from memory_fabric.language.task_terms import text_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions

TASK_TOOLS, QUESTION_TOOL = frozenset(("Agent", "Task")), "AskUserQuestion"
DEFAULT_AGENT = "general-purpose"
# A long task states its subject at both ends; its middle is mostly pasted text.
HEAD_CHARS, TAIL_CHARS = 4 << 10, 2 << 10


def task_note(event: Event, context: RequestContext) -> None:
    """Store the task of a subagent, redacted, since SubagentStart does not contain it. Runs before
    each call of a tool, on PreToolUse. Does not reply.
    """
    tool_input = events.tool_input(event)
    prompt, kind = tool_input.get("prompt"), tool_input.get("subagent_type")
    if event.text("tool_name") not in TASK_TOOLS:
        return
    if not isinstance(prompt, str) or not prompt.strip():
        return
    from memory_fabric.redaction.redact import without_secrets  # late: few calls start a subagent

    text = without_secrets(text_of(tool_input.get("description"), prompt))
    is_long = len(text) > HEAD_CHARS + TAIL_CHARS
    sessions.save_task(
        context.memory.session_database(),
        event.text("tool_use_id") or context.now,
        event.session,
        kind if isinstance(kind, str) and kind else DEFAULT_AGENT,
        f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}" if is_long else text,
        context.now,
    )


def caller_note(event: Event, context: RequestContext) -> None:
    """Store the caller of one of this plugin's MCP tools, which the server cannot learn otherwise.

    Runs before a tool of any MCP server, on PreToolUse. Does not reply. The caller is stored under
    the call's id until the server asks for it. Nothing is stored for a session without an agent
    type, unless config.toml isolates a domain or an agent: then the server refuses calls from
    unknown callers.
    """
    call = event.text("tool_use_id")
    if not call or not event.text("tool_name").startswith("mcp__"):
        return
    settings = context.memory.settings
    config = settings.domains
    if not (event.agent_type or config.isolated or config.isolated_agents):
        return
    from memory_fabric.store.home import callers  # imported late: most calls have no agent type

    caller = callers.Caller(event.session, event.agent_id, event.agent_type)
    callers.save(settings.home, call, caller)


def answer_note(event: Event, context: RequestContext) -> None:
    """Store the user's answers to the assistant's questions, for quotations.

    Runs after a tool, on PostToolUse. Does not reply. Typed answers count as the user's text, as
    prompts do; the questions and the labels of options are the assistant's.
    """
    if event.text("tool_name") != QUESTION_TOOL or event.agent_id:
        return
    chosen, typed = events.answers_in(event.raw.get("tool_response"))
    settings = context.memory.settings
    if not (chosen or typed) or settings.notes == "off":
        return
    # Imported late: few calls ask the user.
    from memory_fabric.capture.notes.typed import typed_words
    from memory_fabric.redaction.redact import without_secrets
    from memory_fabric.store.conversations import prompts

    database = context.memory.session_database()
    origin = prompts.STAGED if settings.client.transcripts else prompts.TYPED
    for answers, kind in ((chosen, prompts.CHOSEN), (typed, origin)):
        for answer in answers:
            if text := without_secrets(typed_words(answer)):
                prompts.add(database, event.session, text, context.now, kind)

"""PreToolUse, PostToolUse: store a subagent's task, an MCP tool's caller, or the user's answers."""

from memory_fabric import events
from memory_fabric.language.task_terms import text_of
from memory_fabric.recall.request_context import RequestContext
from memory_fabric.store.conversations import sessions

TASK_TOOLS, QUESTION_TOOL = frozenset(("Agent", "Task")), "AskUserQuestion"
# A long task usually states its subject at the start or end; the middle is mostly pasted text.
HEAD_CHARS, TAIL_CHARS = 4 << 10, 2 << 10


def task_note(event: events.Event, context: RequestContext) -> None:
    """At PreToolUse, store a subagent's redacted task, because SubagentStart does not have it."""
    tool_input, is_task = events.tool_input(event), event.text("tool_name") in TASK_TOOLS
    prompt, kind = tool_input.get("prompt"), tool_input.get("subagent_type")
    if not is_task or not isinstance(prompt, str) or not prompt.strip():
        return
    from memory_fabric.redaction.redact import without_secrets  # imported late: only for subagents

    text = without_secrets(text_of(tool_input.get("description"), prompt))
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"
    database, call = context.memory.session_database(), event.text("tool_use_id") or context.now
    agent_type = kind if isinstance(kind, str) and kind else "general-purpose"
    sessions.save_task(database, call, event.session, agent_type, text, context.now)


def caller_note(event: events.Event, context: RequestContext) -> None:
    """Save the session and agent that call an MCP tool, because the server learns only the call's
    id. If a domain or an agent type is isolated, save every caller, because the server then refuses
    unknown callers. Otherwise, save only agents that have a type.
    """
    call = event.text("tool_use_id")
    if not call or not event.text("tool_name").startswith("mcp__"):
        return
    settings = context.memory.settings
    config = settings.domains
    if not (event.agent_type or config.isolated or config.isolated_agents):
        return
    from memory_fabric.store.home import callers  # imported late: most calls do not need it

    caller = callers.Caller(event.session, event.agent_id, event.agent_type)
    callers.save(settings.home, call, caller)


def answer_note(event: events.Event, context: RequestContext) -> None:
    """Store answers that notes may quote: typed text as the user's, options as the assistant's."""
    if event.text("tool_name") != QUESTION_TOOL or event.agent_id:
        return
    chosen, typed = events.answers_in(event.raw.get("tool_response"))
    settings = context.memory.settings
    if not (chosen or typed) or settings.notes == "off":
        return
    from memory_fabric.capture.notes.typed import typed_words  # imported late: needed for few calls
    from memory_fabric.redaction.redact import without_secrets
    from memory_fabric.store.conversations import prompts

    database = context.memory.session_database()
    origin = prompts.STAGED if settings.client.transcripts else prompts.TYPED
    for answers, kind in ((chosen, prompts.CHOSEN), (typed, origin)):
        for answer in answers:
            if text := without_secrets(typed_words(answer)):
                prompts.add(database, event.session, text, context.now, kind)

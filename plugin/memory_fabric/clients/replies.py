"""The replies to other clients, in the form that each documents.

Unknown keys are errors in some clients, so that only what is named here is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from memory_fabric.client import Client
from memory_fabric.hooks.reply import CONTEXT_EVENTS, NOTICE_EVENTS, Reply, encode, fitted


def encoded(client: Client, event_name: str, reply: Reply) -> bytes:
    """Encode a reply to an event (Claude Code's name of it) for another client's standard output:
    one JSON object, or nothing.
    """
    if not client.summarises:
        reply = reply._replace(plain="")
    if not client.asks and reply.question:
        reply = reply._replace(
            refusal="\n\n".join(text for text in (reply.refusal, reply.question) if text),
            question="",
        )
    reply = reply._replace(notice=_in_a_shell(reply.notice), stop=_in_a_shell(reply.stop))
    return FORMS[client.form](client, event_name, reply)


def _in_a_shell(text: str) -> str:
    """Return a text with commands as a shell has them, since only Claude Code has the skills."""
    return text.replace("/memory-fabric:memory ", "memory-fabric ").replace(
        "/memory-fabric:", "memory-fabric "
    )


def _claude(client: Client, event_name: str, reply: Reply) -> bytes:
    return encode(event_name, reply)


def _gemini(client: Client, event_name: str, reply: Reply) -> bytes:
    """Encode a reply for Gemini CLI: a refusal is a `decision` with its reason."""
    output: dict[str, object] = {}
    if event_name in NOTICE_EVENTS and reply.notice.strip():
        output["systemMessage"] = fitted(reply.notice)
    refused = reply.stop if event_name == "UserPromptSubmit" else reply.refusal
    if refused and event_name in ("UserPromptSubmit", "PreToolUse"):
        output |= {"decision": "deny", "reason": fitted(refused)}
    context = _context(client, event_name, reply)
    if context:
        own_name = {known: name for name, known in client.events.items()}
        own_name["PostToolUseFailure"] = own_name["PostToolUse"]
        output["hookSpecificOutput"] = {
            "hookEventName": own_name.get(event_name, event_name),
            "additionalContext": fitted(context),
        }
    return _printed(output)


def _cursor(client: Client, event_name: str, reply: Reply) -> bytes:
    """Encode a reply for Cursor, which shows a notice to no one."""
    context = _context(client, event_name, reply)
    if event_name == "UserPromptSubmit" and reply.stop:
        return _printed({"continue": False, "user_message": fitted(reply.stop)})
    if event_name == "PreToolUse" and reply.refusal:
        text = fitted(reply.refusal)
        return _printed({"permission": "deny", "agent_message": text, "user_message": text})
    return _printed({"additional_context": fitted(context)}) if context else b""


def _context(client: Client, event_name: str, reply: Reply) -> str:
    if event_name not in CONTEXT_EVENTS - client.unheard:
        return ""
    return "\n\n".join(text for text in (reply.context, reply.own_words) if text.strip())


def _printed(output: Mapping[str, object]) -> bytes:
    return json.dumps(output).encode("ascii") if output else b""


FORMS: Mapping[str, Callable[[Client, str, Reply], bytes]] = {
    "claude": _claude,
    "gemini": _gemini,
    "cursor": _cursor,
}

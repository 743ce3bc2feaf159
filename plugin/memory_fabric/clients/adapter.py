"""Adapter for the hooks of other clients: translates their events into Claude Code's format, and
replies into theirs. Replies use only documented keys, because some clients reject unknown keys.
"""

import json
from collections.abc import Mapping
from typing import Any

from memory_fabric.client import Client
from memory_fabric.clients.table import client_of
from memory_fabric.clients.transcript import table_in
from memory_fabric.clients.transcripts import changed_files, head_of, patch_in, printed_by
from memory_fabric.config import SDK, Settings
from memory_fabric.events import Event, event_of, prompt
from memory_fabric.hooks.reply import CONTEXT_EVENTS, NOTICE_EVENTS, Reply, encode, fitted
from memory_fabric.store import files

SHELL, EDIT, WRITE = "Bash", "Edit", "Write"
RESULT, FAILURE = "PostToolUse", "PostToolUseFailure"


def adapt(event: Event, key: str) -> Event:
    """Return the event in Claude Code's format; `key` is the client's key. If an event has an empty
    prompt, the returned event's name is '', so that the caller ignores it.
    """
    client = client_of(key)
    raw = dict(event.raw)
    for name, known in client.fields.items():
        if name in raw and not raw.get(known):
            raw[known] = raw[name]
    roots = raw.get("workspace_roots")
    if not raw.get("cwd") and isinstance(roots, list) and roots:
        raw["cwd"] = roots[0]
    raw["hook_event_name"] = client.events.get(event.name, event.name)
    if "tool_name" in raw:
        raw |= _call(raw, client)
        result = raw.get("tool_response")
        has_failed = isinstance(result, dict) and result.get("exitCode") not in (None, 0, "0", "")
        if raw["hook_event_name"] == RESULT and has_failed:
            raw |= {"hook_event_name": FAILURE, "error": raw["tool_response"].get("stdout", "")}
    adapted = event_of(raw, client)
    is_empty = adapted.name == "UserPromptSubmit" and not prompt(adapted).strip()
    return adapted._replace(name="") if is_empty else adapted


def settings_for(settings: Settings, event: Event, environ: Mapping[str, str]) -> Settings:
    """Return `settings` with the client and session of another client's event. The project folder
    comes from `environ` or else the event. `attended` is False if a program runs the session.
    """
    client = event.client
    folder = environ.get(client.project_variable, "") if client.project_variable else ""
    head = head_of(client.transcripts, event.transcript_path)
    is_attended = head is None or head.is_attended
    entrypoint = "" if is_attended else SDK
    settings = settings._replace(client=client, attended=is_attended, entrypoint=entrypoint)
    return settings._replace(project_dir=folder or event.cwd, session=event.session)


def _call(raw: Mapping[str, Any], client: Client) -> dict[str, Any]:
    tool, arguments = str(raw["tool_name"]), dict(table_in(raw, "tool_input"))
    if patch := patch_in(tool, str(arguments.get("command") or arguments.get("input") or "")):
        paths = changed_files(patch)
        edit = {"file_path": "".join(paths[:1]), "file_paths": paths}
        return {"tool_name": EDIT, "tool_input": edit}
    name = client.tools.get(tool, tool)
    fields: dict[str, Any] = {"tool_name": name, "tool_input": arguments}
    if name in (EDIT, WRITE) and "file_path" not in arguments and "path" in arguments:
        arguments["file_path"] = arguments["path"]
    if name == SHELL:
        if "tool_response" in raw:
            fields["tool_response"] = _shell_result(raw["tool_response"])
        if isinstance(raw.get("error"), str):
            fields["error"] = printed_by(raw["error"])
    return fields


def _shell_result(result: object) -> object:
    """Convert a shell result to a dict with `stdout`, if possible; Cursor's result is JSON text."""
    if isinstance(result, str) and result.startswith("{"):
        result = files.parsed(result) or {"stdout": result}
    if isinstance(result, str):
        return {"stdout": printed_by(result)}
    if not isinstance(result, dict) or "stdout" in result:
        return result
    text = result.get("llmContent") or result.get("output")
    if not isinstance(text, str):
        return result
    _, mark, code = text.rpartition("\nExit Code: ")
    exit_code = {"exitCode": code.split("\n", 1)[0].strip()} if mark else {}
    return {**result, **exit_code, "stdout": printed_by(text)}


def encoded(client: Client, event_name: str, reply: Reply) -> bytes:
    """Encode a reply as JSON for a client; b"" if empty. `event_name` is Claude Code's name."""
    if not client.summarises:
        reply = reply._replace(plain="")
    if not client.asks and reply.question:
        reasons = "\n\n".join(text for text in (reply.refusal, reply.question) if text)
        reply = reply._replace(refusal=reasons, question="")
    reply = reply._replace(notice=_in_a_shell(reply.notice), stop=_in_a_shell(reply.stop))
    if client.form == "claude":
        return encode(event_name, reply)
    context = ""
    if event_name in CONTEXT_EVENTS - client.unheard:
        context = "\n\n".join(text for text in (reply.context, reply.own_words) if text.strip())
    output: dict[str, object] = {}
    if client.form == "cursor":  # Cursor does not show notices.
        if event_name == "UserPromptSubmit" and reply.stop:
            output = {"continue": False, "user_message": fitted(reply.stop)}
        elif event_name == "PreToolUse" and reply.refusal:
            text = fitted(reply.refusal)
            output = {"permission": "deny", "agent_message": text, "user_message": text}
        elif context:
            output = {"additional_context": fitted(context)}
        return json.dumps(output).encode("ascii") if output else b""
    # Gemini CLI expects a refusal as the `decision` "deny" with a reason.
    if event_name in NOTICE_EVENTS and reply.notice.strip():
        output["systemMessage"] = fitted(reply.notice)
    reason = reply.stop if event_name == "UserPromptSubmit" else reply.refusal
    if reason and event_name in ("UserPromptSubmit", "PreToolUse"):
        output |= {"decision": "deny", "reason": fitted(reason)}
    if context:
        own_names = {known: name for name, known in client.events.items()}
        own_names[FAILURE] = own_names[RESULT]
        name = own_names.get(event_name, event_name)
        output["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": fitted(context)}
    return json.dumps(output).encode("ascii") if output else b""


def _in_a_shell(text: str) -> str:
    """Replace skill names (`/memory-fabric:…`) by shell commands: only Claude Code has skills."""
    text = text.replace("/memory-fabric:memory ", "memory-fabric ")
    return text.replace("/memory-fabric:", "memory-fabric ")

"""Events of other clients, made into Claude Code's form before any other code reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_fabric.client import Client
from memory_fabric.clients.codex import patches
from memory_fabric.clients.readers import head_of
from memory_fabric.clients.table import client_of
from memory_fabric.config import SDK, Settings
from memory_fabric.events import Event, event_of, prompt

SHELL, EDIT, WRITE = "Bash", "Edit", "Write"
RESULT, FAILURE = "PostToolUse", "PostToolUseFailure"
# The report of a command by Gemini CLI and Qwen Code: its output between these.
_OUTPUT, _AFTER_OUTPUT, _EXIT_CODE = "\nOutput: ", "\nError: ", "\nExit Code: "


def adapt(event: Event, key: str) -> Event:
    """Return the event of the client with this key in Claude Code's form.

    A prompt without text has no name then: Qwen Code sends one after each call of a tool.
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
        if raw["hook_event_name"] == RESULT and _has_failed(raw.get("tool_response")):
            raw |= {"hook_event_name": FAILURE, "error": raw["tool_response"].get("stdout", "")}
    made = event_of(raw, client)
    is_empty = made.name == "UserPromptSubmit" and not prompt(made).strip()
    return made._replace(name="") if is_empty else made


def settings_for(settings: Settings, event: Event, environ: Mapping[str, str]) -> Settings:
    """Return the settings of another client's session.

    The variables of a Claude Code in whose shell the client was started say nothing of it. If its
    transcript says that a program wrote the prompts, it is unattended.
    """
    client = event.client
    folder = environ.get(client.project_variable, "") if client.project_variable else ""
    head = head_of(client.transcripts, event.transcript_path)
    is_attended = head is None or head.is_attended
    return settings._replace(
        client=client,
        project_dir=folder or event.cwd,
        session=event.session,
        attended=is_attended,
        entrypoint="" if is_attended else SDK,
    )


def _call(raw: Mapping[str, Any], client: Client) -> dict[str, Any]:
    """Return the fields of a tool's call, and of its result, as Claude Code has them."""
    tool, given = str(raw["tool_name"]), raw.get("tool_input")
    given = dict(given) if isinstance(given, dict) else {}
    patch = patches.patch_in(tool, str(given.get("command") or given.get("input") or ""))
    if patch:
        files = patches.changed_files(patch)
        return {
            "tool_name": EDIT,
            "tool_input": {"file_path": "".join(files[:1]), "file_paths": files},
        }
    name = client.tools.get(tool, tool)
    fields: dict[str, Any] = {"tool_name": name, "tool_input": given}
    if name in (EDIT, WRITE) and "file_path" not in given and "path" in given:
        given["file_path"] = given["path"]
    if name == SHELL:
        if "tool_response" in raw:
            fields["tool_response"] = _shell_result(raw["tool_response"])
        if isinstance(raw.get("error"), str):
            fields["error"] = _output(raw["error"])
    return fields


def _shell_result(result: object) -> object:
    """Return the result of a command as a table with `stdout`; Cursor sends it as JSON."""
    if isinstance(result, str) and result.startswith("{"):
        try:
            result = json.loads(result)
        except (ValueError, RecursionError):
            return {"stdout": result}
    if isinstance(result, str):
        return {"stdout": _output(result)}
    if not isinstance(result, dict) or "stdout" in result:
        return result
    text = result.get("llmContent") or result.get("output")
    if not isinstance(text, str):
        return result
    _, mark, code = text.rpartition(_EXIT_CODE)
    stated = {"exitCode": code.split("\n", 1)[0].strip()} if mark else {}
    return {**result, **stated, "stdout": _output(text)}


def _has_failed(result: object) -> bool:
    """Return True if the result of a command states another exit code than 0."""
    code = result.get("exitCode") if isinstance(result, dict) else None
    return code not in (None, 0, "0", "")


def _output(text: str) -> str:
    _, mark, rest = text.partition(_OUTPUT)
    return rest.partition(_AFTER_OUTPUT)[0] if mark else text

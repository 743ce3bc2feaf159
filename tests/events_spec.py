"""The client's events in pydantic models: the specification of `events`.

It is no part of the product (pydantic costs eighteen bare starts); tests hold the light reader
against it. Measured on the real client: contracts page,
section 3. Fields that are not named here are kept.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memory_fabric.text import encodable


def _text(value: object) -> str:
    return encodable(value) if isinstance(value, str) else ""


def _table(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _only_true(value: object) -> bool:
    return value is True


Text = Annotated[str, BeforeValidator(_text)]
PromptText = Annotated[str, BeforeValidator(lambda value: _text(value)[: 64 << 10])]
Table = Annotated[dict[str, Any], BeforeValidator(_table)]
Flag = Annotated[bool, BeforeValidator(_only_true)]


class AnyEvent(BaseModel):
    """The fields that any event may have; an event without others needs no model of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    hook_event_name: str = Field(min_length=1)
    session_id: Text = ""
    transcript_path: Text = ""
    cwd: Text = ""
    prompt_id: Text = ""
    agent_id: Text = ""
    agent_type: Text = ""


class SessionStart(AnyEvent):
    """A session begins or goes on; blocks the first request."""

    hook_event_name: Literal["SessionStart"]
    source: Text = ""


class UserPromptSubmit(AnyEvent):
    """A prompt was typed, or the client wrote one itself."""

    hook_event_name: Literal["UserPromptSubmit"]
    prompt: PromptText = ""


class UserPromptExpansion(AnyEvent):
    """A person typed a command or skill; never one that the model called."""

    hook_event_name: Literal["UserPromptExpansion"]
    command_name: Text = ""
    command_args: PromptText = ""


class McpServer(BaseModel):
    """The server behind an MCP tool."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Text = ""


class ToolEvent(AnyEvent):
    """The fields that calls and results of tools share."""

    tool_name: Text = ""
    tool_input: Table = Field(default_factory=dict)
    tool_use_id: Text = ""
    mcp_server: Annotated[McpServer, BeforeValidator(_table)] = McpServer()


class PreToolUse(ToolEvent):
    """A tool is about to run."""

    hook_event_name: Literal["PreToolUse"]


class PostToolUse(ToolEvent):
    """A tool has answered."""

    hook_event_name: Literal["PostToolUse"]
    tool_response: Any = None


class PostToolUseFailure(ToolEvent):
    """A tool has failed, as a command with another exit status than 0."""

    hook_event_name: Literal["PostToolUseFailure"]
    error: Text = ""


class StopEvent(AnyEvent):
    """The fields that the ends of turns share."""

    stop_hook_active: Flag = False
    last_assistant_message: Text = ""


class Stop(StopEvent):
    """The assistant has finished its turn."""

    hook_event_name: Literal["Stop"]


class SubagentStop(StopEvent):
    """A subagent has finished, or the fork that summarises for a compaction (no agent type)."""

    hook_event_name: Literal["SubagentStop"]
    agent_transcript_path: Text = ""


class PreCompact(AnyEvent):
    """A compaction may follow."""

    hook_event_name: Literal["PreCompact"]
    trigger: Text = ""


class PostCompact(AnyEvent):
    """A compaction has succeeded."""

    hook_event_name: Literal["PostCompact"]
    trigger: Text = ""
    compact_summary: Text = ""


class SessionEnd(AnyEvent):
    """The session ends; about 1.5 seconds are left for everything."""

    hook_event_name: Literal["SessionEnd"]
    reason: Text = ""


def _named(model: type[AnyEvent]) -> dict[str, type[AnyEvent]]:
    """Return the models of single events among a model and those made from it, by their events."""
    events = get_args(model.model_fields["hook_event_name"].annotation)
    return dict.fromkeys(events, model) | {
        name: event for part in model.__subclasses__() for name, event in _named(part).items()
    }


MODELS = _named(AnyEvent)


def read_event(data: bytes) -> AnyEvent:
    """The event as its model; raises pydantic's ValidationError, or ValueError for broken JSON."""
    value = json.loads(data.decode("utf-8-sig", "replace"))
    name = value.get("hook_event_name") if isinstance(value, dict) else None
    model = MODELS.get(name, AnyEvent) if isinstance(name, str) else AnyEvent
    return model.model_validate(value)

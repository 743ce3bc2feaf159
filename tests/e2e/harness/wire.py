"""Messages API bodies: reading the client's requests, building the model's answers. Pure."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Turn: TypeAlias = str | Mapping[str, Any]
# A turn, or what gives it once it is due: so that the model speaks only after something happened.
Cue: TypeAlias = Turn | Callable[[], Turn]

SUMMARY_MARKERS = (
    "create a detailed summary of the conversation",
    "Your task is to create a detailed summary",
    "summary should be structured",
)
AGENT_HEADER = "x-claude-code-agent-id"
USAGE = {
    "input_tokens": 100,
    "output_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def text_of(content: object) -> str:
    """Every text in a `content` value (string or list of blocks), tool calls as JSON."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: object) -> str:
    if not isinstance(block, dict):
        return text_of(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "tool_result":
            return text_of(block.get("content"))
        case "tool_use":
            return json.dumps(block.get("input", {}), ensure_ascii=False)
    return ""


def request_text(body: Json) -> str:
    """Everything the model would read in a request, tool descriptions apart."""
    messages = [text_of(message.get("content")) for message in body.get("messages", [])]
    return "\n".join([text_of(body.get("system")), *messages])


def last_words(body: Json) -> str:
    """Return the text of the last user message; newer clients put a system message after it."""
    tail = body.get("messages", [])[-2:]
    return "\n".join(text_of(m.get("content")) for m in tail if m.get("role") != "assistant")


def classify(body: Json, headers: Mapping[str, str]) -> str:
    """`compact`, `subagent`, `aux` (titles, classifiers: no tools) or `main`."""
    words = last_words(body)
    if any(marker in words for marker in SUMMARY_MARKERS):
        return "compact"
    if headers.get(AGENT_HEADER):
        return "subagent"
    return "main" if body.get("tools") else "aux"


def answer(turn: Turn, model: str) -> Json:
    """One assistant message that says and calls what the turn says."""
    spec = as_turn(turn)
    content = [block for part in spec.get("blocks", [spec]) for block in _blocks(as_turn(part))]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_stub" + uuid.uuid4().hex[:18],
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content or [{"type": "text", "text": "OK."}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {**USAGE, **spec.get("usage", {})},
    }


def as_turn(turn: Turn) -> Mapping[str, Any]:
    """The long form of a turn: a mapping with `text`, `tool` and `input`, or `blocks`."""
    return {"text": turn} if isinstance(turn, str) else turn


def _blocks(part: Mapping[str, Any]) -> Iterator[Json]:
    if "text" in part:
        yield {"type": "text", "text": part["text"]}
    if "tool" in part:
        name = "toolu_stub" + uuid.uuid4().hex[:18]
        yield {"type": "tool_use", "id": name, "name": part["tool"], "input": part["input"]}


def stream_events(message: Json) -> Iterator[tuple[str, Json]]:
    """The server-sent events that carry a message, in order."""
    opening = {**message, "content": [], "stop_reason": None}
    yield "message_start", {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        empty, delta = _halves(block)
        yield "content_block_start", _event("content_block_start", index, content_block=empty)
        yield "content_block_delta", _event("content_block_delta", index, delta=delta)
        yield "content_block_stop", _event("content_block_stop", index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ending, "usage": message["usage"]}
    yield "message_stop", {"type": "message_stop"}


def _halves(block: Json) -> tuple[Json, Json]:
    """A block as the API starts it (empty) and the delta that fills it."""
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    filling = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": filling}


def _event(kind: str, index: int, **fields: Json) -> Json:
    return {"type": kind, "index": index, **fields}

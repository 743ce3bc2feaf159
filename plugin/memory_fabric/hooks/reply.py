"""The output of a hook: one JSON object on stdout, or nothing. This module applies the client's
rules for each event, because the client silently drops output that breaks a rule (measured).
"""

import json
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memory_fabric.hooks.table import HANDLERS
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, encodable

CONTEXT_EVENTS = frozenset(name for name, entry in HANDLERS.items() if entry.tells_model)
NOTICE_EVENTS = CONTEXT_EVENTS.union(n for n, entry in HANDLERS.items() if entry.tells_person)
# The client replaces a text of more than 10,000 UTF-16 code units with a path and a preview.
MAX_UNITS = 9_900
CUT_NOTE = "\n… (cut: too long for one hook)"


class Reply(NamedTuple):
    """A handler's reply to an event."""

    context: str = ""  # for the model
    notice: str = ""  # for the user
    stop: str = ""  # for the user: the result of a prompt that was a memory command; ends the turn
    plain: str = ""  # for the summariser of a compaction
    refusal: str = ""  # the reason, shown to the model, for refusing a tool call
    question: str = ""  # asked of the user before a tool call
    own_words: str = ""  # fixed text of this plugin for the model, which needs no redaction
    # Tasks to run after the reply is written, such as recording which memories were delivered.
    receipts: tuple[Callable[[], None], ...] = ()
    again: bool = False  # part of the event was not stored, so a later event must store it


def merge(replies: Sequence[Reply]) -> Reply:
    """Join replies: contexts as paragraphs, notices on one line, `receipts` one after another."""
    return Reply(
        context="\n\n".join(r.context for r in replies if r.context),
        own_words="\n\n".join(r.own_words for r in replies if r.own_words),
        notice=" · ".join(r.notice for r in replies if r.notice),
        stop=" · ".join(r.stop for r in replies if r.stop),
        plain="\n".join(r.plain for r in replies if r.plain),
        refusal="\n\n".join(r.refusal for r in replies if r.refusal),
        question="\n\n".join(r.question for r in replies if r.question),
        receipts=tuple(receipt for r in replies for receipt in r.receipts),
        again=any(r.again for r in replies),
    )


def encode(event_name: str, reply: Reply) -> bytes:
    """Encode a reply for stdout: ASCII JSON, plain text for PreCompact, or b"" if it is empty."""
    if event_name == "PreCompact":
        return reply.plain.encode("utf-8")
    output: dict[str, object] = {}
    if event_name == "UserPromptSubmit" and reply.stop:
        return json.dumps({"decision": "block", "reason": fitted(reply.stop)}).encode("ascii")
    if event_name in NOTICE_EVENTS and reply.notice.strip():
        output["systemMessage"] = fitted(reply.notice)
    context = "\n\n".join(text for text in (reply.context, reply.own_words) if text.strip())
    specific: dict[str, str] = {}
    if event_name == "PreToolUse" and (reply.refusal or reply.question):
        specific["permissionDecision"] = "deny" if reply.refusal else "ask"
        specific["permissionDecisionReason"] = fitted(reply.refusal or reply.question)
    if event_name in CONTEXT_EVENTS and context:
        specific["additionalContext"] = fitted(context)
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event_name, **specific}
    return json.dumps(output).encode("ascii") if output else b""


def fitted(text: str) -> str:
    """Shorten a text to what clients show whole (MAX_UNITS); close an open <memory-fabric> tag."""
    text = encodable(text)
    if len(text) * 2 <= MAX_UNITS:
        return text
    units = text.encode("utf-16-le")
    if len(units) <= MAX_UNITS * 2:
        return text
    ending = CUT_NOTE + "\n" + CLOSE_FENCE
    head = units[: (MAX_UNITS - len(ending)) * 2].decode("utf-16-le", "ignore")
    return head + ending if head.count(OPEN_FENCE) > head.count(CLOSE_FENCE) else head + CUT_NOTE


MAX_INPUT_BYTES = 8 << 20
# Further input is read up to this size and discarded, so that the client's pipe does not break.
MAX_DRAINED_BYTES = 64 << 20
STDIN, STDOUT = 0, 1


def read_input() -> bytes:
    """Read stdin up to one chunk beyond MAX_INPUT_BYTES, and discard any further input."""
    chunks: list[bytes] = []
    size = drained = 0
    while drained < MAX_DRAINED_BYTES and (chunk := os.read(STDIN, 1 << 16)):
        drained += len(chunk)
        if size <= MAX_INPUT_BYTES:
            size += len(chunk)
            chunks.append(chunk)
    return b"".join(chunks)


def write_reply(output: bytes) -> None:
    """Write the reply to stdout unbuffered, so that no stray `print` mixes in. Raises OSError."""
    while output:
        output = output[os.write(STDOUT, output) :]

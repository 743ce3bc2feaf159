"""Fast parser of the client's hook events that tolerates unknown forms. The fields of each event
follow events recorded from the client (tests/events). `tests/events_spec.py` defines them as
pydantic models, and a test compares both parsers. A field that is missing or has another type
counts as empty, so that a newer client's events cannot break a session.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.client import CLAUDE_CODE, Client
from memory_fabric.errors import BadInput
from memory_fabric.text import each_text, encodable, one_line

MAX_PROMPT_CHARS = 64 << 10
# The byte order mark, removed here because importing the codec `utf-8-sig` takes time.
BOM = b"\xef\xbb\xbf"
EMPTY = "Empty: the client ended before it sent the event."  # logged for an event without content
# Tags that begin prompts which no person typed, such as notices of ended tasks, local commands, and
# messages of other sessions, agents, channels and schedules (as of Claude Code 2.1.329). A name
# that ends with a hyphen is the prefix of several tags.
MACHINE_TAGS = (
    "task-notification", "local-command-", "command-", "bash-", "cross-session-message",
    "agent-message", "teammate-message", "channel", "slack-", "coordinator-relay", "remote-review",
    "remote-review-progress", "tick", "poll-event", "mcp-resource-update", "mcp-polling-update",
    "fetched-web-content", "untrusted-widget-state", "voice-call-talk", "artifact-",
    "cowritten-artifact-html", "fork-boilerplate", "queued-notification",
)  # fmt: skip
MACHINE_OPENINGS = ("another claude session sent a message",)
# Values of the field `source` in the event of a prompt that a person, or a program acting for a
# person, sent. Any other value means that the prompt is automatic.
TYPED_SOURCES = ("", "user", "sdk")
# Possible senders of an automatic prompt: a scheduled task, or a command that is still running.
SCHEDULED, RUNNING = "scheduled", "running"


class Event(NamedTuple):
    """A hook event. Even for other clients, event, tool and field names are Claude Code's."""

    name: str  # each of these fields is '' if the event lacks it
    session: str = ""
    cwd: str = ""
    transcript_path: str = ""
    agent_id: str = ""
    agent_type: str = ""
    prompt_id: str = ""
    raw: Mapping[str, Any] = {}  # the whole JSON object
    client: Client = CLAUDE_CODE

    def text(self, field: str) -> str:
        """Return the string in a field of the event; '' if it is missing or has another type."""
        return _text(self.raw, field)


def parse_event(data: bytes) -> Event:
    """Parse a JSON object into an event. Raises BadInput if it is invalid or has no event name."""
    event = event_of(load_object(data))
    if not event.name:
        raise BadInput("hook_event_name", "The event has no name.")
    return event


def event_of(raw: Mapping[str, Any], client: Client = CLAUDE_CODE) -> Event:
    """Build an event from the fields in `raw`, which must have Claude Code's names."""
    return Event(
        _text(raw, "hook_event_name"),
        session=_text(raw, "session_id"),
        cwd=_text(raw, "cwd"),
        transcript_path=_text(raw, "transcript_path"),
        agent_id=_text(raw, "agent_id"),
        agent_type=_text(raw, "agent_type"),
        prompt_id=_text(raw, "prompt_id"),
        raw=raw,
        client=client,
    )


def load_object(data: bytes) -> dict[str, Any]:
    """Parse a JSON object; replace lone surrogates, which UTF-8 cannot encode. Raises BadInput."""
    if not data.strip():
        raise BadInput("json", EMPTY)
    try:
        value = json.loads(data.removeprefix(BOM).decode("utf-8", "replace"))
        # Lone surrogates come only from `\ud...` escapes. Few events have any, so test first.
        if isinstance(value, dict) and b"\\ud" in data.lower():
            value = each_text(value, encodable, keys=True)
    except (ValueError, RecursionError) as error:
        raise BadInput("json", f"Not readable as JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("json", f"Expected one JSON object, not {type(value).__name__}.")
    return value


def prompt(event: Event) -> str:
    """Return the text of a prompt event, at most 64 Ki characters."""
    return _text(event.raw, "prompt")[:MAX_PROMPT_CHARS]


def tool_input(event: Event) -> Mapping[str, Any]:
    """Return the arguments of the tool call in an event; {} if it has none."""
    value = event.raw.get("tool_input")
    return value if isinstance(value, dict) else {}


def answers_in(result: object) -> tuple[list[str], list[str]]:
    """Return the chosen labels and the typed texts in the result of an AskUserQuestion call."""
    table = result if isinstance(result, dict) else {}
    options = [_objects(question, "options") for question in _objects(table, "questions")]
    texts = {one_line(_text(option, "label")) for some in options for option in some}
    labels = sorted(texts, key=len, reverse=True)
    chosen: list[str] = []
    typed: list[str] = []
    answers = table.get("answers")
    for answer in answers.values() if isinstance(answers, dict) else ():
        text_left = f", {one_line(str(answer))}, "  # joined by commas: match whole labels only
        for label in labels:
            if label and f", {label}, " in text_left:
                text_left = text_left.replace(f", {label}, ", ", ")
                chosen.append(label)
        (typed if labels else chosen).append(text_left.strip(", "))
    typed += [_text(note, "notes") for note in _objects(table, "annotations")]
    return list(filter(None, chosen)), list(filter(None, (*typed, _text(table, "response"))))


def scheduled_prompts(event: Event) -> list[str]:
    """Return the prompts that the assistant has scheduled in this session, given a Stop event."""
    return [_text(schedule, "prompt") for schedule in _objects(event.raw, "session_crons")]


def mcp_server(event: Event) -> str:
    """Return the name of a tool's MCP server, e.g. `plugin:memory-fabric:memory`, or ''."""
    server = event.raw.get("mcp_server")
    return _text(server, "name") if isinstance(server, dict) else ""


def stop_active(event: Event) -> bool:
    """Return True if the assistant's turn continues only because a Stop hook requested it."""
    return event.raw.get("stop_hook_active") is True


def is_machine_turn(event: Event) -> bool:
    """Return True if an event shows that the client, and not a person, wrote the prompt."""
    return event.raw.get("source", "") not in TYPED_SOURCES or is_machine_text(prompt(event))


def is_machine_text(text: str) -> bool:
    """Return True if a text looks as if the client, and not a person, wrote it."""
    opening = text.lstrip()[:80].lower()
    if not opening.startswith("<"):
        return opening.startswith(MACHINE_OPENINGS)
    name = "".join(opening[1:].replace(">", " ").split(None, 1)[:1])
    return any(name.startswith(tag) if tag[-1] == "-" else name == tag for tag in MACHINE_TAGS)


def is_typed_command(event: Event) -> bool:
    """Return True if a prompt is a slash command or skill call, like `/plugin:skill words`."""
    text = prompt(event).lstrip()
    if not text.startswith("/"):
        return False
    name = text[1:].split(None, 1)[0] if text[1:2].strip() else ""
    return bool(name) and all(c.isalnum() or c in "-_:." for c in name)


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _objects(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    value = table.get(key)
    values = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [item for item in values if isinstance(item, dict)]

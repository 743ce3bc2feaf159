"""The result of one session, in the words that tests ask in."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from e2e.harness.stub import Request
from e2e.harness.wire import Json

# What the client's debug log says when it refuses something of a plugin's.
COMPLAINT = re.compile(
    r"validation failed|unknown hook event|unknown hook type|entry ignored"
    r"|unrecognized keys|failed to run|hook error|returned non-zero",
    re.IGNORECASE,
)
OPEN, CLOSE = "<memory-fabric>", "</memory-fabric>"


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook as the client reports it; PreCompact, PostCompact, SessionEnd are not."""

    event: str
    name: str
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Result:
    """A finished session: its requests, the client's own events, its debug log, its exit code."""

    session_id: str
    sent: Sequence[Request]
    events: Sequence[Json]
    debug: str
    stderr: str
    exit_code: int

    def requests(self, kind: str = "main") -> list[Request]:
        """The requests of one kind, in order."""
        return [request for request in self.sent if request.kind == kind]

    @property
    def main_texts(self) -> list[str]:
        """The texts that the model read in each request of the main loop."""
        return [request.text for request in self.requests("main")]

    @property
    def all_text(self) -> str:
        """The text that any model read in any request."""
        return "\n".join(request.text for request in self.sent)

    @property
    def hooks(self) -> list[HookRun]:
        """Every run of a hook that the client reported."""
        return [_hook_run(e) for e in self.events if e.get("subtype") == "hook_response"]

    @property
    def notices(self) -> list[str]:
        """The texts that were shown to the user and not to the model."""
        shown = [e for e in self.events if e.get("subtype") == "informational"]
        return [str(event.get("content", "")) for event in shown]

    @property
    def own_notices(self) -> list[str]:
        """Every `systemMessage` that a hook printed, also those that print mode never shows."""
        printed = [json.loads(hook.stdout) for hook in self.hooks if hook.stdout.strip()]
        return [str(reply["systemMessage"]) for reply in printed if "systemMessage" in reply]

    @property
    def complaints(self) -> list[str]:
        """Lines of the debug log in which the client refuses something."""
        return [line for line in self.debug.splitlines() if COMPLAINT.search(line)]


def injected(text: str, event: str) -> list[str]:
    """The fenced blocks that hooks of an event brought into a request's text."""
    source = re.escape(event) + r"(?::\w+)? hook (?:additional context|success): ?"
    block = f"{OPEN}.*?{CLOSE}"
    return re.findall(f"{source}({block})", text, re.DOTALL)


def blocks(text: str) -> list[str]:
    """Every fenced block of ours in a text, whichever hook brought it."""
    return re.findall(f"{OPEN}.*?{CLOSE}", text, re.DOTALL)


def _hook_run(event: Json) -> HookRun:
    return HookRun(
        str(event.get("hook_event", "")),
        str(event.get("hook_name", "")),
        int(event.get("exit_code") or 0),
        str(event.get("stdout") or ""),
        str(event.get("stderr") or ""),
    )

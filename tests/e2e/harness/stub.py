"""A loopback Messages API that plays a script and keeps every request."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.harness.loopback import Handler, Loopback
from e2e.harness.script import Script
from e2e.harness.wire import Cue, Json, answer, classify, request_text, stream_events


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a message: its kind (main, subagent, compact, aux), body and agent."""

    kind: str
    body: Json
    agent: str = ""

    @property
    def text(self) -> str:
        """Everything the model would read, tool descriptions apart."""
        return request_text(self.body)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools offered."""
        return tuple(tool["name"] for tool in self.body.get("tools", []) if "name" in tool)


# A client that does not write a prompt to its transcript in this time never does.
WRITTEN_S, PAUSE_S = 3.0, 0.01


class StubAPI(Loopback):
    """Answers as the script says, on a free loopback port; a context manager.

    A prompt is answered once the client's folder of `transcripts` has it. A real model answers
    later than that; a hook at the end of the turn would find a transcript that lags behind.
    """

    def __init__(self, script: Script, transcripts: Path | None = None) -> None:
        super().__init__(_Handler)
        self._transcripts = transcripts
        self.requests: list[Request] = []
        self.summary, self._answers = script.summary, script.answers
        self._queues = {"main": list(script.main), "subagent": list(script.subagent)}

    def queue(self, *turns: Cue) -> None:
        """Append turns to the main loop's queue."""
        with self._lock:
            self._queues["main"].extend(turns)

    def take(self, body: Json, headers: Mapping[str, str]) -> Json:
        """Record a request and give the message that answers it."""
        kind = classify(body, headers)
        with self._lock:
            request = Request(kind, body, headers.get("x-claude-code-agent-id", ""))
            self.requests.append(request)
            turn = self._next_turn(request)
        if kind == "main" and self._transcripts is not None:
            self._wait_for_entry(body, self._transcripts)
        if callable(turn):
            turn = turn()
        return answer(turn, str(body.get("model", "stub")))

    def _wait_for_entry(self, body: Json, transcripts: Path) -> None:
        content = body["messages"][-1]["content"] if body.get("messages") else ""
        blocks = [{"text": content}] if isinstance(content, str) else content
        said = [str(block.get("text", "")).strip() for block in blocks if isinstance(block, dict)]
        typed = [json.dumps(text, ensure_ascii=False)[1:60] for text in said if text[:1] not in "<"]
        give_up = time.monotonic() + WRITTEN_S
        while typed and time.monotonic() < give_up:
            files = [path.read_text("utf-8", "replace") for path in transcripts.glob("*/*.jsonl")]
            if any(text.rstrip('"') in file for text in typed for file in files):
                return
            time.sleep(PAUSE_S)
        if typed:
            self._transcripts = None

    def _next_turn(self, request: Request) -> Cue:
        if request.kind == "compact":
            return self.summary
        if request.kind == "aux":
            return '{"title": "a title"}'
        if request.kind == "main" and self._answers is not None:
            return self._answers(request.text)
        queue = self._queues[request.kind]
        return queue.pop(0) if queue else "OK."


class _Handler(Handler):
    def do_GET(self) -> None:
        self.reply(b'{"data": [], "has_more": false}')

    def do_HEAD(self) -> None:
        self.reply(b"")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self.reply(json.dumps({"input_tokens": max(1, len(raw) // 4)}).encode())
        if not path.endswith("/v1/messages"):
            return self.reply(b"{}")
        body: Json = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        message = self.stub.take(body, headers)
        if body.get("stream"):
            return self._stream(message)
        return self.reply(json.dumps(message).encode())

    def _stream(self, message: Json) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, event in stream_events(message):
            self.wfile.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())

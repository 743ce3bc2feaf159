"""One running client: prompts go in one at a time, a Result comes out."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from e2e.harness.result import Result
from e2e.harness.stub import Request, StubAPI
from e2e.harness.wire import Cue, Json

# A session of a few prompts takes one to four seconds; one that hangs fails its test here.
PATIENCE_S = 240


class Session:
    """A client in stream mode, started at once; leaving the context ends it."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        project: Path,
        debug_file: Path,
        stub: StubAPI,
    ) -> None:
        self._stub, self._debug_file = stub, debug_file
        self._events: list[Json] = []
        self._errors: list[str] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(env),
            cwd=project,
        )
        self._killer = threading.Timer(PATIENCE_S, self._process.kill)
        self._killer.start()
        self._drain = threading.Thread(target=self._read_errors)
        self._drain.start()

    def say(self, prompt: str, *turns: Cue) -> list[Request]:
        """Send one prompt, which the model answers with these turns; return the turn's requests."""
        before = len(self._stub.requests)
        self.queue(*turns)
        self.send(prompt)
        self.wait_for_turn()
        return self._stub.requests[before:]

    def wait_for_turn(self) -> None:
        """Wait for the end of the next turn, also of one that the client begins by itself."""
        for line in _open(self._process.stdout):
            if self._take(line).get("type") == "result":
                return
        raise AssertionError(f"the client ended during a turn: {''.join(self._errors)}")

    def send(self, prompt: str) -> None:
        """Send one prompt and wait for nothing."""
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        stdin = _open(self._process.stdin)
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()

    def kill(self) -> None:
        """End the client as a crash does: by SIGKILL, without any hook."""
        self._process.kill()
        self._process.wait()

    def queue(self, *turns: Cue) -> None:
        """Have the model say these next in the main loop."""
        self._stub.queue(*turns)

    @property
    def offered(self) -> tuple[str, ...]:
        """The tools in the newest request of the main loop."""
        sent = [request for request in self._stub.requests if request.kind == "main"]
        return sent[-1].tools if sent else ()

    def end(self) -> Result:
        """Close the client's input, wait for its end, and give what it did."""
        _open(self._process.stdin).close()
        for line in _open(self._process.stdout):
            self._take(line)
        exit_code = self._process.wait()
        self._killer.cancel()
        self._drain.join()
        return Result(
            session_id=next((str(e["session_id"]) for e in self._events if "session_id" in e), ""),
            sent=tuple(self._stub.requests),
            events=tuple(self._events),
            debug=self._debug(),
            stderr="".join(self._errors),
            exit_code=exit_code,
        )

    def _debug(self) -> str:
        if not self._debug_file.exists():
            return ""
        return self._debug_file.read_text(encoding="utf-8", errors="replace")

    def _take(self, line: str) -> Json:
        event: Json = json.loads(line)
        self._events.append(event)
        return event

    def _read_errors(self) -> None:
        self._errors.extend(_open(self._process.stderr))

    def __enter__(self) -> Session:
        self._stub.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._killer.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._drain.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _open(stream).close()
        self._stub.__exit__(kind, error, trace)


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream

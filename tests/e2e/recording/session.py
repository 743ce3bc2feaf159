"""Two sessions of the real client, typed into a terminal while it is recorded.

The words of the model are scripted, since a loopback stub stands in for the API; the answer about
the database is made of what the hooks gave the model. Everything else is the client's own screen.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pexpect

from e2e.harness.home import Home, client_path, clone
from e2e.harness.script import Script, call
from e2e.harness.stub import StubAPI
from e2e.harness.wire import Turn
from e2e.recording.animation import Frame
from e2e.recording.screen import Screen

COLUMNS, ROWS = 80, 24
KEY = "none-for-a-loopback-stub"
TYPING_S, READING_S, LAST_S = 0.09, 2.6, 5.0
LETTERS_PER_FRAME = 2
QUIET_S, SETTLED_S, PATIENCE_S = 0.6, 2.0, 120
PRESSES = 10
FIRST, SECOND = "Monday", "Tuesday, in a new session"
RULE = "Never start the dev server, I run it myself."
NOTED_RULE = (
    "Understood, you run it.\n\n"
    "Noted rule: Never start the dev server; the user runs it himself. "
    'When: npm run dev. From: "Never start the dev server"'
)
DECISION = "Let's use PostgreSQL for the analytics DB: we need window functions."
NOTED_DECISION = (
    "Set up.\n\nNoted decision: The analytics DB uses PostgreSQL. "
    'Why: we need window functions. From: "use PostgreSQL for the analytics DB"'
)
QUESTION = "Which database does analytics use, and why?"
# The line of a memory in what the model is given.
GIVEN = re.compile(r"- \[(decision)[^\]]*?([0-9a-f]{8})\] “.*?” \(noted as: (.*?)\)")
TASK = "Show me the orders page."


class Recorder:
    """A client in a terminal: what is typed, and the screens that it shows."""

    def __init__(self, home: Home, stub: StubAPI, title: str) -> None:
        self.frames: list[Frame] = []
        self.title = title
        self.screen = Screen(COLUMNS, ROWS)
        address = {"ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": KEY}
        self.terminal = pexpect.spawn(
            str(client_path()),
            env=home.environment({**address, "TERM": "xterm-256color"}),
            cwd=str(home.project),
            dimensions=(ROWS, COLUMNS),
            timeout=PATIENCE_S,
            encoding="utf-8",
        )

    def type(self, text: str) -> None:
        """Type a line as a person does, and send it."""
        for start in range(0, len(text), LETTERS_PER_FRAME):
            piece = text[start : start + LETTERS_PER_FRAME]
            self.terminal.send(piece)
            self._until(text[: start + len(piece)].rstrip()[-20:])
            self.keep(TYPING_S)
        self.terminal.send("\r")

    def wait(self, words: str, seconds: float = READING_S) -> None:
        """Wait until the screen shows these words and is quiet, and keep it."""
        self._until(words)
        self._read_until_quiet()
        self.keep(seconds)

    def keep(self, seconds: float) -> None:
        """Keep the screen as a frame."""
        self.frames.append(Frame(seconds, self.title, self.screen.snapshot()))

    def leave(self) -> None:
        """End the client as a person does: one that was killed starts otherwise the next time."""
        with suppress(pexpect.EOF):
            for _ in range(PRESSES):  # the second one counts only soon after the first
                self.terminal.sendcontrol("c")
                self._read_until_quiet()
            self.terminal.expect(pexpect.EOF)
        self.close()

    def close(self) -> None:
        """End the client as closing its terminal does."""
        if self.terminal.isalive():
            os.kill(self.terminal.pid, signal.SIGKILL)  # a question on the screen keeps others off
            self.terminal.wait()
        self.terminal.close()
        if self.screen.unknown:
            raise SystemExit(f"not understood of the terminal's output: {self.screen.unknown}")

    def _until(self, words: str) -> None:
        """Read until the words are on the screen, also where it folds them. Raises TIMEOUT."""
        wanted = "".join(words.split())
        while wanted not in "".join(self.screen.text.split()):
            self.screen.feed(self.terminal.read_nonblocking(65536, PATIENCE_S))

    def _read_until_quiet(self) -> None:
        """Read until nothing comes for a moment; what blinks or turns is not waited for."""
        give_up = time.monotonic() + SETTLED_S
        try:
            while time.monotonic() < give_up:
                self.screen.feed(self.terminal.read_nonblocking(65536, QUIET_S))
        except pexpect.TIMEOUT:
            return


def record(folder: Path) -> list[Frame]:
    """Record both sessions, with all files below the folder; return the frames in order."""
    home = _home(folder)
    try:
        return [*_monday(home), *_tuesday(home)]
    finally:
        home.close()


def _monday(home: Home) -> list[Frame]:
    with StubAPI(Script(main=(NOTED_RULE, NOTED_DECISION))) as stub:
        recorder = Recorder(home, stub, FIRST)
        recorder.wait("for agents", 1.0)
        recorder.type(RULE)
        recorder.wait("memory-fabric remembered rule")
        recorder.type(DECISION)
        recorder.wait("memory-fabric remembered decision")
        recorder.leave()
    return recorder.frames


def _tuesday(home: Home) -> list[Frame]:
    def what_was_given() -> Turn:
        text = "\n".join(request.text for request in stub.requests)
        found = GIVEN.search(text)
        if found is None:
            raise SystemExit("the recording failed: the model was not given Monday's decision")
        kind, id_, words = found.groups()
        return f"{words}. That {kind} ({id_}) is from an earlier session."

    run = call("Bash", {"command": "npm run dev", "description": "Start the dev server"})
    with StubAPI(Script(main=(what_was_given, run))) as stub:
        recorder = Recorder(home, stub, SECOND)
        recorder.wait("for agents", 1.0)
        recorder.type(QUESTION)
        recorder.wait("is from an earlier session")
        recorder.type(TASK)
        recorder.wait("Do you want to proceed?", LAST_S)
        recorder.close()
    return recorder.frames


def _home(folder: Path) -> Home:
    """Return a home with the plugin, in which a first session has been: no first notices."""
    home = Home(folder)
    home.project = home.path / "orders-api"
    (home.project / ".git").mkdir(parents=True)
    shutil.rmtree(folder / "project")
    home.install(clone(folder / "memory-fabric"))
    home.bring_packages()
    home.session(Script(prompts=("Hello.",)))
    path = home.config / ".claude.json"
    known = json.loads(path.read_text("utf-8"))
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    accepted = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(home.project): trusted},
    }
    path.write_text(json.dumps({**known, **accepted}), encoding="utf-8")
    return home

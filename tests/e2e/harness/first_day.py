"""The first day of a person with a month of sessions: from the installation to a first answer.

Only what a person does is done, in the order in which README's first screen and the notice of the
first session name it; each step is timed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pexpect

from e2e.harness.home import REPOSITORY, Home, client_path
from e2e.harness.others import Machine
from e2e.harness.script import Script
from e2e.harness.stub import StubAPI
from e2e.harness.terminal import KEY, accept, end, type_in
from waiting import GIVE_UP_S

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from past_sessions.transcripts import PROJECTS, TOPICS, make

PATIENCE_S = 180
PROJECT = PROJECTS[0]
SETTLED = TOPICS[PROJECT]
QUESTION = "What did we settle last month about the CSV of the invoice export?"
# The notice of the first session, on one line of a wide terminal.
COLUMNS = 1000
OFFER = re.compile(r"can be read in: `(\S+)`")


class FirstDay:
    """A home with past sessions of both clients, and the times of what was done."""

    def __init__(self, home: Home, sessions: int, prompts: int = 8) -> None:
        self.home, self._program = home, str(REPOSITORY / "bin/memory-fabric")
        self.seconds: dict[str, float] = {}
        codex, work = self.home.path / ".codex", self.home.root / "work"
        made = make(
            *(str(self.home.config), str(work), sessions, datetime.now(UTC)),
            prompts=prompts,
            codex=str(codex),
        )
        self.size = made.size
        self.home.project = work / PROJECT
        (self.home.path / ".codex").mkdir(exist_ok=True)

    def install(self, clone: Path) -> None:
        """Install the plugin as README says."""
        with self.timed("install the plugin"):
            self.home.install(clone)
        self._program = str(clone / "bin/memory-fabric")

    def first_session(self) -> str:
        """Start the client in a terminal and read the notice; return what it offers to run."""
        accept(self.home)
        with self.timed("first session, to its notice"), self._terminal() as (terminal, _):
            terminal.expect(OFFER)
            assert terminal.match is not None
            return str(terminal.match[1])

    def preview(self) -> str:
        """Run `learn` in a shell; what it says."""
        with self.timed("learn: the preview"):
            return self.types("learn")

    def learn(self) -> str:
        """Read all sessions; what it says."""
        with self.timed("learn --run"):
            return self.types("learn", "--run")

    def recall(self) -> str:
        """Ask in the shell about last month; what it says."""
        with self.timed("recall: the first answer"):
            return self.types("recall", QUESTION)

    def ask_claude(self) -> str:
        """Ask in a terminal; everything that the model was told."""
        with self.timed("a question in Claude Code"), self._terminal() as (terminal, stub):
            terminal.expect("cycle|shortcuts")
            type_in(terminal, QUESTION, "Semicolons")
            return "".join(request.text for request in stub.requests if request.kind == "main")

    def ask_codex(self) -> str:
        """Set memory up for Codex and ask there; everything that the model was told."""
        with self.timed("set up Codex, and the same question there"):
            self.types("setup", "--client", "codex", "--yes")
            codex = Machine(self.home.root)
            codex.project = self.home.project
            try:
                return codex.codex(QUESTION, "Semicolons.").told
            finally:
                codex.close()

    def types(self, *words: str) -> str:
        """Run a command of the plugin's program in the project."""
        done = subprocess.run(
            [self._program, *words],
            env=self.home.environment({}),
            cwd=self.home.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Note how long the block takes."""
        began = time.monotonic()
        yield
        self.seconds[step] = time.monotonic() - began

    @contextmanager
    def _terminal(self) -> Iterator[tuple[pexpect.spawn[str], StubAPI]]:
        """Start the client in a terminal, whose model answers one sentence."""
        with StubAPI(Script(main=("Semicolons.",))) as stub:
            api = {"ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": KEY}
            terminal = pexpect.spawn(
                str(client_path()),
                env=self.home.environment({**api, "TERM": "xterm-256color"}),
                cwd=str(self.home.project),
                dimensions=(50, COLUMNS),
                timeout=GIVE_UP_S,
                encoding="utf-8",
            )
            try:
                yield terminal, stub
            finally:
                end(terminal)

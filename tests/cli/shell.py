"""A person's shell: a home, a project, and the command line as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect

ROOT = Path(__file__).parents[2]
GIVE_UP_S = 120


@dataclass(frozen=True, slots=True)
class Done:
    """What a command gave back."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


class Shell:
    """Commands in one project, with one home, under one folder."""

    def __init__(self, folder: Path) -> None:
        self.user_home, self.project = folder / "home", folder / "shop"
        self.memory = self.user_home / ".claude" / "memory-fabric"
        self.user_home.mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.user_home),
            "USER": "ann",
            "PYTHONPATH": str(ROOT / "plugin"),
        }

    def run(self, *words: str, stdin: str = "", **variables: str) -> Done:
        """Run `memory-fabric` with these words, in the project's folder."""
        done = subprocess.run(
            [sys.executable, "-m", "memory_fabric.cli", *words],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**self.environ, **variables},
            cwd=self.project,
            timeout=GIVE_UP_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def remember(self, *words: str) -> dict[str, Any]:
        """Remember something; the stored record."""
        done = self.run("remember", *words, "--json")
        assert done.status == 0, done.err
        record: dict[str, Any] = done.json
        return record

    @property
    def notes(self) -> Path:
        """MEMORY.md of the project."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        return self.user_home / ".claude" / "projects" / slug / "memory" / "MEMORY.md"

    @property
    def database(self) -> Path:
        """The project's database."""
        (found,) = self.memory.glob("projects/*/graph.db")
        return found

    def terminal(self, *words: str, **variables: str) -> pexpect.spawn[str]:
        """`memory-fabric` with these words in a real terminal, started; its text as it is drawn."""
        return pexpect.spawn(
            sys.executable,
            ["-m", "memory_fabric.cli", *words],
            env={**self.environ, "TERM": "xterm", **variables},
            cwd=str(self.project),
            encoding="utf-8",
            dimensions=(60, 200),
            timeout=GIVE_UP_S,
        )

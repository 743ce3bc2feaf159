"""A person's shell: a home, a project, and the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pexpect

from command_line import GIVE_UP_S, ROOT, Done, run_here, run_process
from memory_fabric.config import read_settings
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.store.memory import Memory

__all__ = ["GIVE_UP_S", "ROOT", "Done", "Shell"]


class Shell:
    """Commands in one project, with one home, under one folder."""

    def __init__(self, folder: Path) -> None:
        self.user_home, self.project = folder / "home", folder / "shop"
        self.memory = self.user_home / ".claude" / "memory-fabric"
        self.user_home.mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            PATIENCE: "20",
            "HOME": str(self.user_home),
            "USER": "ann",
            "PYTHONPATH": str(ROOT / "plugin"),
        }

    def run(self, *words: str, stdin: str = "", **variables: str) -> Done:
        """Run `memory-fabric` with these words, in the project's folder, in this process.

        Variables that only a starting Python reads make it a process of its own.
        """
        if any(name.startswith("PYTHON") for name in variables):
            return self.start(*words, stdin=stdin, **variables)
        return run_here(words, {**self.environ, **variables}, self.project, stdin)

    def start(self, *words: str, stdin: str = "", **variables: str) -> Done:
        """The same as a process of its own."""
        return run_process(words, {**self.environ, **variables}, self.project, stdin)

    def remember(self, *words: str) -> dict[str, Any]:
        """Remember something; the stored record."""
        done = self.run("remember", *words, "--json")
        assert done.status == 0, done.err
        record: dict[str, Any] = done.json
        return record

    def open_memory(self) -> Memory:
        """Open the memory of the project in this process."""
        return Memory.open(
            read_settings({**self.environ, "CLAUDE_PROJECT_DIR": str(self.project)}, {})
        )

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

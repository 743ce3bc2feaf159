"""People with a home and a clone each, and the repository that they share."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from command_line import run_here
from hooks_here import fire_here
from memory_fabric.config import read_settings
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.models import Record
from memory_fabric.store.memory import Memory
from replay.hook_runner import HookRunner

LOCAL = Path(".claude") / "memory"


class Person:
    """Somebody with a home of his own, who works in a clone: `through_hooks` as the client runs
    them, otherwise through their dispatcher in this process.
    """

    through_hooks = False

    def __init__(self, folder: Path, name: str, remote: Path | None = None) -> None:
        self.name = name
        self.hooks = HookRunner(folder / name)
        self.project = self.hooks.project
        self.hooks.environ |= {"USER": name, "CLAUDE_CODE_SESSION_ATTENDED": "1"}
        if remote is not None:
            self.git("clone", "-q", str(remote), ".")

    @property
    def journal(self) -> Path:
        return self.project / LOCAL / "decisions.jsonl"

    def git(self, *words: str, fails: bool = False) -> str:
        """Return what git says in this person's clone."""
        who = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", self.name), ("EMAIL", f"{self.name}@example.org"))
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.project,
            env={
                "PATH": os.environ["PATH"],
                PATIENCE: "20",
                "HOME": str(self.hooks.user_home),
                "GIT_CONFIG_NOSYSTEM": "1",
                **who,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert fails or done.returncode == 0, done.stderr + done.stdout
        return done.stdout + done.stderr

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The answer of `memory-fabric` in this person's shell."""
        done = run_here(words, self.hooks.environ, self.project)
        return subprocess.CompletedProcess(words, done.status, done.out, done.err)

    def json(self, *words: str) -> dict[str, Any]:
        """The same in JSON; the command must succeed."""
        done = self.command(*words, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def works(self, text: str, session: str = "work") -> None:
        """Say something to the client, and let the session stop."""
        self.asks(text, session)
        sent = {"type": "queued_command", "commandMode": "prompt", "origin": {"kind": "human"}}
        entry = {"type": "attachment", "attachment": {**sent, "prompt": text}}
        path = self.hooks.transcript(session)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        self.fires("Stop", session, transcript_path=str(path))

    def isolates(self, domain: str) -> None:
        """Write a config.toml that isolates this domain."""
        path = self.hooks.memory / "config.toml"
        path.write_text(f"[domains.{domain}]\nisolate = true\n", "utf-8")

    def starts(self, session: str) -> str:
        """Return what a new session is given at its start."""
        return self.fires("SessionStart", session, source="startup")

    def asks(self, prompt: str, session: str = "asking") -> str:
        """Return what a prompt is given."""
        return self.fires("UserPromptSubmit", session, prompt=prompt)

    def fires(self, name: str, session: str, **fields: str) -> str:
        """Run the hook of an event; return the text for the model."""
        event = {"hook_event_name": name, "session_id": session, **fields}
        result = self.hooks.run(event) if self.through_hooks else fire_here(self.hooks, event)
        return result.context

    def publishes(self) -> None:
        """Commit the folder, bring in what others pushed, and push."""
        self.git("add", ".claude")
        self.git("commit", "-q", "-m", f"Records of {self.name}")
        self.git("pull", "-q", "--no-rebase", "--no-edit")
        self.git("push", "-q")

    def memory(self) -> Memory:
        return Memory.open(read_settings(self.hooks.environ, {}))

    def records(self, where: str = "1") -> list[Record]:
        """Stored records, newest first."""
        memory = self.memory()
        try:
            return memory.find_records(where)
        finally:
            memory.close()


def team(folder: Path, *names: str) -> list[Person]:
    """People with a clone each of one repository that has a first commit."""
    remote = folder / "team" / "shop.git"
    remote.parent.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    first = Person(folder, names[0], remote)
    first.git("checkout", "-q", "-B", "main")
    (first.project / "README").write_text("shop\n")
    first.git("add", "README")
    first.git("commit", "-q", "-m", "First")
    first.git("push", "-q", "-u", "origin", "main")
    return [first, *(Person(folder, name, remote) for name in names[1:])]

"""Homes of members: each with a project of the same name, its hooks and its command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import cryptography

from command_line import Done, run_here, run_process
from memory_fabric import processes
from memory_fabric.setup import extras, packages
from memory_fabric.sharing.team import driver, ties
from memory_fabric.sharing.team.ties import Tie
from replay.hook_runner import HookRunner
from team.postgres import ANN, BOB, OWNER, Cluster

SPACE = "shop"
SITE = Path(os.path.abspath(cryptography.__file__)).parents[1]
# What pip installs for an extra, by the beginnings of the names.
SEAL = ("cryptography", "mnemonic", "cffi", "_cffi_backend")
PARTS = {driver.TEAM: ("psycopg", "typing_extensions", *SEAL), driver.SYNC: SEAL}


class Home:
    """A machine of a member, with a home and a project of its own."""

    def __init__(self, folder: Path, name: str, user: str) -> None:
        self.user = user
        self.hooks = HookRunner(folder / name)
        self.hooks.environ |= {"USER": user, "CLAUDE_CODE_SESSION_ATTENDED": "1"}
        (self.hooks.project / ".git").mkdir()
        self.home = self.hooks.memory

    def run(self, *words: str, stdin: str = "", **variables: str) -> Done:
        """Run `memory-fabric` in the project's folder, in this process."""
        return run_here(words, {**self.hooks.environ, **variables}, self.hooks.project, stdin)

    def start(self, *words: str, stdin: str = "", **variables: str) -> Done:
        """The same as a process of its own."""
        return run_process(words, {**self.hooks.environ, **variables}, self.hooks.project, stdin)

    def json(self, *words: str) -> Any:
        """Return a command's answer in JSON; it must succeed."""
        done = self.run(*words, "--json")
        assert done.status == 0, done.err + done.out
        return done.json

    def install(self, kind: str) -> None:
        """Fill the plugin's folder of an extra, as the first use of it does."""
        folder = Path(extras.folder_of(kind, str(self.hooks.data), str(self.hooks.root)))
        folder.mkdir()
        for entry in SITE.iterdir():
            if entry.name.startswith(PARTS[kind]):
                (folder / entry.name).symlink_to(entry)
        (folder / packages.MARKER).touch()

    def join(self, dsn: str, *words: str) -> Any:
        """Join the space of the tests."""
        return self.json("team", "join", dsn, "--space", SPACE, *words)

    def sync(self) -> Any:
        """Exchange now; the outcome by space."""
        return {found["space"]: found for found in self.json("team", "sync")}

    def remember(self, text: str, *words: str) -> str:
        """Remember something; the id of the record."""
        return str(self.json("remember", text, *words)["id"])

    def recalled(self, query: str) -> list[dict[str, Any]]:
        """Return the texts that a recall finds."""
        done = self.run("recall", query, "--json")
        assert done.status in (0, 3), done.err
        found: list[dict[str, Any]] = done.json["results"]
        return found

    def texts(self, query: str) -> list[str]:
        """The texts that a recall finds."""
        return [found["text"] for found in self.recalled(query)]

    def event(self, name: str, session: str = "s1", **fields: Any) -> Any:
        """Run the hook of an event."""
        return self.hooks.run({"hook_event_name": name, "session_id": session, **fields})

    def worker(self, **variables: str) -> subprocess.Popen[bytes]:
        """The detached process of the hooks, started as they start it."""
        plugin = os.path.join(self.hooks.root, "plugin")
        program = processes.program("sharing.team.sync")
        return subprocess.Popen(
            [packages.base_interpreter(), "-I", "-S", "-c", program, plugin],
            env={**self.hooks.environ, **variables},
            stdin=subprocess.DEVNULL,
        )

    def work(self) -> int:
        """Run the detached process to its end; its exit code."""
        return self.worker().wait(60)

    @property
    def known_tie(self) -> Tie:
        """The tie of the project; an empty one if there is none."""
        return ties.of(str(self.home), self.project_id) or Tie(self.project_id)

    def tie(self, **changes: Any) -> None:
        """Change the tie of the project, as by hand."""
        ties.save(str(self.home), self.known_tie._replace(**changes))

    def release(self) -> None:
        """Let the back-off after a failure pass."""
        ties.update_state(str(self.home), self.project_id, next_at=0.0)

    @property
    def state(self) -> ties.State:
        """The state of the project's exchange."""
        return ties.state_of(str(self.home), self.project_id)

    @property
    def waiting(self) -> int:
        """The number of changes that have not been sent."""
        [found] = self.json("status")["team"]
        return int(found["due"] + found["waiting"])

    @property
    def project_id(self) -> str:
        """The id of the project."""
        [project] = (self.home / "projects").iterdir()
        return project.name

    @property
    def notices(self) -> list[str]:
        """The notices that wait for the user."""
        path = self.home / "notices.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [json.loads(line)["text"] for line in lines]


def made(postgres: Cluster, database: str, folder: Path) -> dict[str, str]:
    """Make the space of the tests by its owner, with ANN and BOB; connection strings by role."""
    owner = Home(folder, "olga", OWNER)
    owner.json("team", "init", postgres.dsn(OWNER, database), "--space", SPACE)
    for member in (ANN, BOB):
        owner.json("team", "add", member)
    return addresses(postgres, database)


def addresses(postgres: Cluster, database: str) -> dict[str, str]:
    """Return the connection strings of OWNER, ANN and BOB, by role."""
    return {user: postgres.dsn(user, database) for user in (OWNER, ANN, BOB)}

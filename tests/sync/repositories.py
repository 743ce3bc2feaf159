"""A user's machines that exchange through a bare git repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.sharing.team import ties
from memory_fabric.sharing.team.ties import USER
from memory_fabric.store.memory import Memory
from team.homes import Home

BRANCH = "memory-fabric/own"


class Repository:
    """A bare repository, as a host would have it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "private.git"
        subprocess.run(["git", "init", "--quiet", "--bare", self.path], check=True)

    @property
    def url(self) -> str:
        """Its address."""
        return str(self.path)

    def git(self, *words: str) -> str:
        """Run git in it; its output."""
        command = ["git", "-C", str(self.path), *words]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
        return done.stdout.strip()

    def branches(self) -> dict[str, str]:
        """The ids of the newest commits, by branch."""
        listed = self.git(
            "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"
        )
        return dict(line.split() for line in listed.splitlines())

    def set(self, branches: dict[str, str]) -> None:
        """Set all branches as they were."""
        for name in self.branches():
            self.git("update-ref", "-d", f"refs/heads/{name}")
        for name, commit in branches.items():
            self.git("update-ref", f"refs/heads/{name}", commit)

    def files(self, branch: str = BRANCH) -> list[str]:
        """The paths of a branch's files."""
        return self.git("ls-tree", "-r", "--name-only", branch).splitlines()

    def everything(self) -> bytes:
        """All contents of the repository, of every commit, also of those that no branch has."""
        listed = self.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
        command = ["git", "-C", str(self.path), "cat-file", "--batch"]
        done = subprocess.run(command, input=listed.encode(), capture_output=True, check=True)
        return done.stdout

    def write(self, path: str, content: str, branch: str = BRANCH) -> None:
        """Commit a file as somebody else, who may write to the repository."""
        stream = (
            f"commit refs/heads/{branch}\ncommitter eve <> 1 +0000\ndata 0\n"
            f"from refs/heads/{branch}^0\nM 100644 inline {path}\ndata {len(content)}\n{content}\n"
        )
        command = ["git", "-C", str(self.path), "fast-import", "--quiet"]
        subprocess.run(command, input=stream.encode(), check=True)


class Machine(Home):
    """A machine of the user."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name, "ann")
        # The tests' own git settings have no say.
        self.hooks.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]}

    def tied(self, repository: Repository, words: str = "") -> Any:
        """Begin the exchange; the answer in JSON."""
        given = ("--words", words) if words else ()
        return self.json("sync", "git", repository.url, "--space", "shop", *given)

    def now(self) -> list[Any]:
        """Exchange now; the outcomes, of the user's memories first."""
        found: list[Any] = self.json("sync", "now")["exchanged"]
        return found

    def say(self, *texts: str, scope: str = "team") -> list[str]:
        """Remember decisions without the command line, which takes longer; their ids."""
        with self.opened() as memory:
            by = Provenance("cli", trust="user", author=self.user)
            records = [Record("decision", text, confidence=0.9, scope=scope) for text in texts]
            return [stored.id for one in records if (stored := memory.remember(one, by))]

    def decisions(self) -> list[str]:
        """The texts of all active decisions, sorted."""
        with self.opened() as memory:
            found = memory.find_records("type = 'decision' AND status = 'active'", limit=10_000)
        return sorted(record.what for record in found)

    @contextmanager
    def opened(self) -> Iterator[Memory]:
        """The memory, closed afterwards."""
        memory = Memory.open(read_settings(self.hooks.environ, {}))
        try:
            yield memory
        finally:
            memory.close()

    def release(self) -> None:
        """Let the back-off after a failure pass, for both ties."""
        for key in (USER, self.project_id):
            ties.update_state(str(self.home), key, next_at=0.0)


def copied(folder: Path, target: Path) -> tuple[Machine, Machine]:
    """Copy the pair in a folder and its repository, as if they had been made in the target."""
    for part in ("private.git", "desk/memory", "laptop/memory"):
        shutil.copytree(folder / part, target / part, dirs_exist_ok=True)
        for path in (target / part).rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            if bytes(folder) in content:
                assert path.suffix != ".db", path
                path.write_bytes(content.replace(bytes(folder), bytes(target)))
    return Machine(target, "desk"), Machine(target, "laptop")


def pair(folder: Path, repository: Repository) -> tuple[Machine, Machine]:
    """Two machines with one key."""
    desk, laptop = Machine(folder, "desk"), Machine(folder, "laptop")
    words = desk.tied(repository)["words"]
    laptop.tied(repository, words)
    return desk, laptop

"""Random rounds over five machines of one user and a git repository.

Writes are those of `rounds`, with merges, aliases and changes of scope. An exchange ends before or
after any of its git processes, or its git is killed at any moment; the repository is set back,
rewritten, deleted, and written to by somebody else. At the end all machines must hold the same rows
of every kind, and all that was said and not forgotten.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from ast import literal_eval
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from memory_fabric.capture import edit as editing
from memory_fabric.capture.edit import Edit
from memory_fabric.sharing.remote import clone as cloning
from memory_fabric.sharing.remote.clone import Clone
from memory_fabric.sharing.remote.joining import OWN, log_of
from memory_fabric.sharing.remote.log import ME
from memory_fabric.sharing.team.errors import NotAllowed, Passing
from memory_fabric.sharing.team.exchange import Exchange
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.ties import GIT, USER, Outcome, Tie
from team_log.cluster import SPACE
from team_log.comparison import Found, Truth
from team_log.machines import KILLED_WITHIN_S, Interrupted, Machine, Steps
from team_log.rounds import DAY_S, PASSES, SERVER_EVERY, Rounds
from team_log.rounds import USER as BY_USER

# How far the clock of each machine is off.
CLOCKS = {"laptop": 0.0, "desktop": -DAY_S, "tablet": DAY_S, "server": 0.0, "old": 0.0}
# An exchange has some ten processes of git for each of its two ties.
STEPS = 24
GIT_KILLED_WITHIN_S = 0.03


class GitMachine(Machine):
    """A machine of the user, tied to a repository."""

    def __init__(self, folder: str, name: str, key: Key, shift_s: float, url: str) -> None:
        super().__init__(folder, name, ME, key, shift_s)
        self.ties = [Tie("project", url, SPACE, ME, me=True, via=GIT)]
        self.ties += [Tie(USER, url, OWN, ME, me=True, via=GIT)]

    def exchange(self, _connection: object, steps: Steps) -> Outcome:
        """Exchange both ties; each process of git is two steps. Raises TeamError, Interrupted."""
        total, run = Outcome(), Clone._run

        def stepping(clone: Clone, *words: str, **more: Any) -> Any:
            steps.step()
            process = run(clone, *words, **more)
            steps.step()
            return process

        assert self.key is not None
        with mock.patch.object(Clone, "_run", stepping):
            for tie in self.ties:
                log = log_of(self.memory, tie, self.key)
                total = total.plus(Exchange(self.memory, tie, log, self.key).run())
        return total


class GitRounds(Rounds):
    """Five machines and their repository; `run` lets them work."""

    def __init__(self, folder: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._repository = os.path.join(folder, "private.git")
        key = Key(self._random.randbytes(32))
        self._make()
        self.machines = [
            GitMachine(folder, name, key, shift_s, self._repository)
            for name, shift_s in CLOCKS.items()
        ]
        self.counts: Counter[str] = Counter()
        self.truth = Truth()
        self._late = None
        self._number = 0
        self._saved: Mapping[str, str] = {}
        self._writes = {
            self._say: 8,
            self._edit: 5,
            self._close: 2,
            self._forget: 3,
            self._graph: 6,
            self._graph_delete: 2,
            self._undo: 2,
            self._private: 3,
            self._merge: 2,
            self._alias: 2,
            self._rescope: 2,
            self._secret: 2,
            self._purge: 1,
        }
        self._exchanges = {
            self._whole: 8,
            self._interrupted: 8,
            self._killed: 4,
            self._process_killed: 2,
            self._opposites: 2,
            self._compact: 1,
            self._foreign: 1,
            self._clone_lost: 1,
        }
        self._server_events = (self._save, self._set_back, self._rewritten, self._made_again)

    def settle(self) -> Found:
        """Let everybody exchange until nothing is left, and compare."""
        for _ in range(PASSES):
            idle = 0
            for machine in self.machines:
                # A git that was killed may have left a lock, which ends the next exchange.
                with machine.clock(), self._expected(machine):
                    outcome = machine.exchange(None, Steps())  # type: ignore[arg-type]
                    idle += not (outcome.sent or outcome.read)
            if idle == len(self.machines):
                break
            self.counts["passes at the end"] += 1
        views = [machine.rows() for machine in self.machines]
        differing = []
        for machine, view in zip(self.machines, views, strict=True):
            for kind, rows in view.items():
                for row in sorted(set(rows) ^ set(views[0][kind])):
                    if kind.startswith("entities") and literal_eval(row)[0] in self.truth.removed:
                        continue
                    where = machine.name if row in rows else self.machines[0].name
                    differing.append(f"{machine.name}: {kind}, only on {where}: {row}")
        for machine in self.machines:
            found = machine.held(self.truth.purged)
            differing += [f"{machine.name}: purged and still there: {text}" for text in found]
        said = {text for id_, text in self.truth.texts.items() if id_ not in self.truth.forgotten}
        first = self.machines[0]
        there = {one.what for scope in ("team", "user") for one in first.records(scope).values()}
        return Found(
            rounds=self._number,
            counts=dict(sorted(self.counts.items())),
            acknowledged=len(self.truth.texts),
            on_server=sum(first.database(kind).row("SELECT count(*) FROM team_heads WHERE "
                "state IN ('sent', 'mine')")[0] for kind in ("project", "user")),  # type: ignore[index]
            records=len(there),
            missing=tuple(sorted(said - there)),
            differing=tuple(differing),
        )  # fmt: skip

    def close(self) -> None:
        """Close all machines."""
        for machine in self.machines:
            machine.close()

    # Writes.

    def _rescope(self, machine: Machine) -> None:
        """Make a memory of the project one of the user's own."""
        record = self._own(machine)
        if record is not None:
            with self._unfit("changes of scope"):
                editing.change(machine.memory, record.id, Edit(scope="user"), (), BY_USER)

    # Exchanges.

    def _killed(self, machine: Machine) -> None:
        """Kill the processes of git that take longer than some milliseconds."""
        limit_s = self._random.uniform(0.001, GIT_KILLED_WITHIN_S)
        with mock.patch.object(cloning, "LIMIT_S", limit_s):
            self._exchange(machine, Steps())
        if self._random.random() < 0.5:
            machine.restart()

    def _process_killed(self, machine: Machine) -> None:
        """Exchange in a process of its own, which is killed at any moment."""
        after_s = self._random.uniform(0, 2 * KILLED_WITHIN_S)
        exchange = partial(machine.exchange, None, Steps())  # type: ignore[arg-type]
        self.counts["processes killed"] += machine.killed(exchange, after_s)

    def _compact(self, machine: Machine) -> None:
        """Put all files of this machine into one, and drop what was replaced."""
        self._exchange(machine, Steps())
        assert machine.key is not None
        with (
            mock.patch("memory_fabric.sharing.remote.log.OLD_AFTER_S", -2 * DAY_S),
            mock.patch("memory_fabric.sharing.remote.log.OLD_FILES", 1),
            self._expected(machine),
        ):
            for tie in machine.ties:
                log = log_of(machine.memory, tie, machine.key)
                log.state()
                log.compact()
                self.counts["compactions"] += 1

    def _clone_lost(self, machine: Machine) -> None:
        """Delete the local copy of the repository."""
        for tie in machine.ties:
            Clone(machine.memory.settings.home, tie.key, tie.dsn, "").remove()
        self._exchange(machine, Steps())

    def _foreign(self, machine: Machine) -> None:
        """Somebody else writes lines, and deletes one of a machine's files."""
        for branch, commit in self._branches().items():
            paths = self._git("ls-tree", "-r", "--name-only", commit).split()
            gone = f"D {self._random.choice(paths)}\n" if self._random.random() < 0.5 else ""
            self._git("fast-import", "--quiet", stdin=(
                f"commit refs/heads/{branch}\ncommitter eve <> 1 +0000\ndata 0\n"
                f"from refs/heads/{branch}^0\n{gone}"
                f"M 100644 inline ops/eve/{self._number:06d}.jsonl\ndata 4\neve\n\n"
            ))  # fmt: skip
        self._exchange(machine, Steps())

    def _exchange(self, machine: Machine, steps: Steps) -> None:
        with self._expected(machine):
            machine.exchange(None, steps)  # type: ignore[arg-type]
            self.counts["exchanges that went through"] += 1

    @contextmanager
    def _expected(self, machine: Machine) -> Iterator[None]:
        try:
            yield
        except (Interrupted, Passing, NotAllowed) as error:
            self.counts[f"ended by {type(error).__name__}"] += 1

    # The repository.

    def _make(self) -> None:
        subprocess.run(["git", "init", "--quiet", "--bare", self._repository], check=True)

    def _git(self, *words: str, stdin: str = "") -> str:
        command = ["git", "-C", self._repository, *words]
        done = subprocess.run(command, input=stdin.encode(), capture_output=True, check=True)
        return done.stdout.decode()

    def _branches(self) -> dict[str, str]:
        form = "--format=%(refname:lstrip=2) %(objectname)"
        listed = self._git("for-each-ref", form, "refs/heads/memory-fabric")
        return dict(line.split() for line in listed.splitlines())

    def _save(self) -> None:
        self._saved = self._branches()
        for commit in self._saved.values():
            self._git("update-ref", f"refs/saved/{commit}", commit)
        self.counts["repository saved"] += 1

    def _set_back(self) -> None:
        for branch, commit in self._saved.items():
            self._git("update-ref", f"refs/heads/{branch}", commit)
            self.counts["repository set back"] += 1

    def _rewritten(self) -> None:
        """Squash every branch, as a host's page or a person may."""
        for branch, commit in self._branches().items():
            who = ("-c", "user.name=eve", "-c", "user.email=eve@example.org")
            tree = self._git("rev-parse", f"{commit}^{{tree}}").strip()
            anew = self._git(*who, "commit-tree", "-m", "squashed", tree).strip()
            self._git("update-ref", f"refs/heads/{branch}", anew)
            self.counts["repository rewritten"] += 1

    def _made_again(self) -> None:
        """Delete the repository, and make an empty one."""
        while os.path.exists(self._repository):  # children of a killed git may still write to it
            shutil.rmtree(self._repository, ignore_errors=True)
        self._make()
        self._saved = {}
        self.counts["repository made again"] += 1


def run(folder: str, rounds: int, seed: int, server_every: int = SERVER_EVERY) -> Found:
    """Run random rounds, with at least so many between two events of the repository."""
    made = GitRounds(os.path.realpath(folder), seed)
    try:
        return made.run(rounds, server_every)
    finally:
        made.close()

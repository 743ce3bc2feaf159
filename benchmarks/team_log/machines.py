"""Machines of members: a home with a memory, and its exchange with the shared log, step by step.

`Interruptible` is the log of the product. At a chosen step the exchange ends, before the server got
a request or after it carried it out.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from memory_fabric.config import read_settings
from memory_fabric.models import OTHERS, Record
from memory_fabric.sharing.replica import heads, outbox, own
from memory_fabric.sharing.replica.own import EVIDENCE
from memory_fabric.sharing.replica.wire import DISMISSAL, Position, TeamOperation
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import PULL_BYTES, STATEMENT_LIMIT_S, SharedLog
from memory_fabric.sharing.team.errors import NoAnswer, TeamError
from memory_fabric.sharing.team.exchange import Exchange
from memory_fabric.sharing.team.keys import Key
from memory_fabric.sharing.team.ties import USER, Outcome, Tie
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import tombstones
from team_log.cluster import SPACE, Server, own_space

# Operations in one request: few, so that an exchange has many steps at which it can end.
AT_ONCE = 5
# A process that exchanges is killed within this time, from its start.
KILLED_WITHIN_S = 0.15
# Fields of a record that are this machine's own.
LOCAL = ("session", "agent", "origin", "evidence")
GRAPH = {
    # Of an entity that own words and others' name, the first decides as whose it is shown.
    "entities": "SELECT name, type, domain FROM entities",
    "aliases": "SELECT e.name, a.alias FROM aliases AS a JOIN entities AS e ON e.id = a.entity",
    # No time of others' statements is later than the machine's own clock.
    "observations": "SELECT e.name, o.text, o.trust, o.source, o.domain, "
    f"iif(o.source = '{OTHERS}', o.agent, o.created_at) FROM observations AS o "
    "JOIN entities AS e ON e.id = o.entity WHERE o.record = ''",
    "relations": "SELECT s.name, r.type, t.name, r.said_by, r.domain FROM relations AS r "
    "JOIN entities AS s ON s.id = r.source JOIN entities AS t ON t.id = r.target "
    "WHERE r.record = ''",
}


class Interrupted(Exception):
    """The exchange ended at the chosen step."""


class Statement(NamedTuple):
    """The statement of an operation; `value` is canonical JSON."""

    author: str
    key: str
    value: str


class Steps:
    """The steps of an exchange. At the `last` one, if not 0, it ends, or `event` is called.

    `held` are the operations that the server acknowledged, by id, also where the answer did not
    arrive; `limit_s` is how long it may take for an answer.
    """

    def __init__(self, last: int = 0, event: Callable[[], object] | None = None) -> None:
        self._left, self._event = last, event
        self.limit_s: float = STATEMENT_LIMIT_S
        self.held: dict[str, Statement] = {}

    def step(self) -> None:
        """Count a step. Raises Interrupted."""
        self._left -= 1
        if self._left == 0:
            if self._event is None:
                raise Interrupted
            self._event()


class Interruptible(SharedLog):
    """A shared log whose requests are small, with a step before and after each of them."""

    def __init__(self, connection: Connection, space: str, steps: Steps) -> None:
        super().__init__(connection, space, limit_s=steps.limit_s)
        self._steps = steps

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Push in small batches."""
        held: list[str] = []
        for start in range(0, len(operations), AT_ONCE):
            self._steps.step()
            held += super().push(operations[start : start + AT_ONCE], refused)
            author = str(self.connection.info.user)
            self._steps.held |= {
                o.op_id: Statement(author, o.key, heads.text_of(o.value))
                for o in operations[start : start + AT_ONCE]
                if o.op_id in held
            }
            self._steps.step()
        return held

    def pull(
        self, position: Position, limit: int = AT_ONCE, max_bytes: int = PULL_BYTES
    ) -> tuple[list[TeamOperation], Position]:
        """Pull few operations."""
        self._steps.step()
        found = super().pull(position, min(limit, AT_ONCE), max_bytes)
        self._steps.step()
        return found

    def has(self, op_ids: Collection[str]) -> set[str]:
        """Ask for operations."""
        self._steps.step()
        return super().has(op_ids)

    def purge(self, keys: Collection[str]) -> int:
        """Have keys erased."""
        self._steps.step()
        blanked = super().purge(keys)
        self._steps.step()
        return blanked


class Machine:
    """A machine of a member. With a `key` it is one of several of this user, whose memories of
    scope user travel, too. `shift_s` is how far its clock is off.
    """

    def __init__(
        self, folder: str, name: str, member: str, key: Key | None = None, shift_s: float = 0.0
    ) -> None:
        self.name, self.member, self.key, self.shift_s = name, member, key, shift_s
        self.home = os.path.join(folder, name)
        project = os.path.join(self.home, "shop")
        os.makedirs(os.path.join(project, ".git"))
        with open(os.path.join(project, ".git", "HEAD"), "w", encoding="utf-8") as file:
            file.write("ref: refs/heads/main\n")
        self.environ = {
            "HOME": self.home,
            "CLAUDE_PROJECT_DIR": project,
            "USER": member,
            "MEMORY_FABRIC_HOME": os.path.join(self.home, "memory-fabric"),
        }
        self.connection: Connection | None = None
        self.memory = self.opened()
        self.ties = [Tie("project", "", SPACE, member, me=key is not None)]
        self.ties += [Tie(USER, "", own_space(member), member, me=True)] if key else []

    def database(self, kind: str = "project") -> Database:
        """Return the database of the project or the user."""
        found = self.memory.database(kind, create=True)
        assert found is not None
        return found

    def restart(self) -> None:
        """End the process, as far as its files show: everything is opened again."""
        self.close()
        self.memory = self.opened()

    def close(self) -> None:
        """Close memory and connection."""
        self.disconnect()
        self.memory.close()

    def connect(self, server: Server) -> Connection | None:
        """Return the connection of this machine; None if the server lets nobody in now."""
        if self.connection is None or self.connection.closed:
            try:
                self.connection = server.connect(self.member)
            except NoAnswer:
                return None
        return self.connection

    def disconnect(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def exchange(self, connection: Connection, steps: Steps) -> Outcome:
        """Exchange all ties once, as the detached process does. Raises TeamError, Interrupted."""
        total = Outcome()
        for tie in self.ties:
            log = Interruptible(connection, tie.space, steps)
            total = total.plus(Exchange(self.memory, tie, log, self.key).run())
        return total

    def waiting(self) -> list[TeamOperation]:
        """Return the project's operations that wait, as they are sent."""
        database = self.database()
        outbox.settle(self.memory, database)
        # The product seals what was dismissed.
        alone = ("purge", DISMISSAL)
        found = [one for one in outbox.waiting(database, 50) if one.kind not in alone]
        return [self.key.prove(one, SPACE) for one in found] if self.key else found

    def records(self, scope: str = "team") -> dict[str, Record]:
        """Return the active records of this scope, by id."""
        found = self.memory.find_records("status = 'active' AND scope = ?", (scope,), 1_000_000)
        return {record.id: record for record in found}

    def graph(self) -> dict[tuple[str, ...], bool]:
        """Return the rows of the project's graph by their names; True if no record brought one."""
        rows = self.database().rows(
            "SELECT name, type, '', record FROM entities UNION ALL "
            "SELECT e.name, o.text, '', o.record FROM observations AS o JOIN entities AS e "
            "ON e.id = o.entity UNION ALL "
            "SELECT s.name, r.type, t.name, r.record FROM relations AS r JOIN entities AS s "
            "ON s.id = r.source JOIN entities AS t ON t.id = r.target"
        )
        return {tuple(map(str, row[:3])): not row[3] for row in rows}

    def heads(self, kind: str) -> Mapping[str, tuple[str, str]]:
        """Return the heads of one database that were exchanged, as kind and value by op_id."""
        states = "('waiting', 'sent', 'mine', 'theirs', 'unread', 'unsent')"
        rows = self.database(kind).rows(
            f"SELECT op_id, kind, value FROM team_heads WHERE kind <> 'purge' AND state IN {states}"
        )
        return {str(op_id): (str(kind), str(value)) for op_id, kind, value in rows}

    def rows(self) -> dict[str, list[str]]:
        """Return all rows that travel between machines of one user, by kind."""
        rows: dict[str, list[str]] = {}
        for kind in [tie.kind for tie in self.ties]:
            database = self.database(kind)
            stated = {op_id: value for op_id, (_, value) in self.heads(kind).items() if value}
            rows[f"operations of {kind}"] = sorted(map(str, stated.items()))
            for name, query in GRAPH.items():
                rows[f"{name} of {kind}"] = sorted(map(str, database.rows(query)))
            stored = records.find(database.connection, "status = 'active'", (), -1)
            rows[f"records of {kind}"] = sorted(
                _as_text(one) for one, _ in stored if one.scope != "local"
            )
            rows[f"dismissals of {kind}"] = sorted(self._dismissals(database))
        return rows

    def _dismissals(self, database: Database) -> Iterator[str]:
        """Yield the keys that are dismissed, and whether a tombstone keeps each away."""
        for head in heads.where(database.connection, "kind = ?", (DISMISSAL,)):
            if head.is_own and head.value:
                grave = own.tombstone_of(head.stated["of"])
                is_set = tombstones.is_set(database.connection, grave)
                yield f"{head.stated['of']} {head.stated.get('purged', False)} {is_set}"

    def held(self, texts: Collection[str]) -> Iterator[str]:
        """Yield those of the texts that any file of this machine holds, with the file's name."""
        found = re.compile(b"|".join(re.escape(text.encode()) for text in texts))
        for folder, _, names in os.walk(self.home) if texts else ():
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    yield from {f"{hit.decode()} in {name}" for hit in found.findall(file.read())}

    def killed(self, exchange: Callable[[], object], after_s: float) -> bool:
        """Exchange in a process of its own, which is killed; return False if it had ended."""
        self.close()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self.memory = self.opened()
                exchange()
                status = 0
            except (TeamError, Interrupted):
                status = 0
            except BaseException:  # noqa: BLE001 (the process ends here)
                traceback.print_exc()
            finally:
                os._exit(status)
        time.sleep(after_s)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the exchange failed"
        self.memory = self.opened()
        return os.WIFSIGNALED(status)

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Set the clock of this machine for a block."""
        now, now_ns = time.time, time.time_ns
        shift_ns = int(self.shift_s * 1e9)
        time.time = lambda: now() + self.shift_s
        time.time_ns = lambda: now_ns() + shift_ns
        try:
            yield
        finally:
            time.time, time.time_ns = now, now_ns

    def opened(self) -> Memory:
        """Open the memory of this machine."""
        return Memory.open(read_settings(self.environ, {}))


def is_of_others(record: Record) -> bool:
    """True if another member said it."""
    return record.source == OTHERS


def _as_text(record: Record) -> str:
    """Return what all machines of one user know of a record; of others', what they said."""
    if is_of_others(record):
        return str((record.id, record.author, record.what, record.why))
    fields = {n: v for n, v in records.as_object(record).items() if n not in LOCAL}
    evidence = {n: v for n, v in record.evidence.items() if n in EVIDENCE}
    return json.dumps(fields | evidence, sort_keys=True)

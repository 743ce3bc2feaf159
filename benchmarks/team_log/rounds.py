"""Random rounds over five machines: writes, exchanges that end anywhere, and what befalls a server.

At the end every machine must hold the same set, the one that the server has, and whatever was
acknowledged must be in it or replaced by something that is.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

import psycopg

from memory_fabric.errors import FabricError
from memory_fabric.models import OTHERS, Entity, Provenance, Record
from memory_fabric.sharing.replica import outbox
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import STATEMENT_LIMIT_S, SharedLog
from memory_fabric.sharing.team.errors import NoAnswer, NotAMember, ServerReadOnly, TooSlow
from memory_fabric.sharing.team.keys import Key
from memory_fabric.store import records
from memory_fabric.store.forget import purge
from memory_fabric.store.history import merge, undo
from team.postgres import OWNER
from team_log.cluster import SPACE, Server
from team_log.comparison import Found, Truth, compare, single_of
from team_log.machines import (
    KILLED_WITHIN_S,
    Interrupted,
    Interruptible,
    Machine,
    Statement,
    Steps,
    is_of_others,
)

DAY_S = 24 * 3600.0
USER = Provenance("prompt", trust="user", session="s1")
TOOL = Provenance("mcp", trust="tool", session="s1")
# Machines by name: member, and how far the clock is off. Ann has two, with one key.
MACHINES = {
    "laptop": ("ann", 0.0),
    "desktop": ("ann", -DAY_S),
    "bob": ("bob", 0.0),
    "carl": ("carl", DAY_S),
    "dora": ("dora", 0.0),
}
MEMBERS = tuple(dict.fromkeys(member for member, _ in MACHINES.values()))
# The member who is removed and let in again.
REMOVED = "dora"
# An exchange ends at one of its first steps.
STEPS = 30
HELD_UP_S = 0.3
# Least rounds between two events of a server: saved, set back, crashed, moved.
SERVER_EVERY = 20
NAMES = tuple(f"service-{number}" for number in range(40))
# Those that are merged: rows of them differ between members.
MERGED = NAMES[32:]
# Passes of all machines at the end, until nothing is exchanged any more.
PASSES = 12


class Late(NamedTuple):
    """A transaction that is still open: its operations are pushed and not committed. Whoever pushes
    meanwhile waits, for HELD_UP_S here.
    """

    machine: Machine
    connection: Connection
    steps: Steps
    until: int


class Rounds:
    """Five machines and their server; `run` lets them work."""

    def __init__(self, folder: str, server: Server, seed: int) -> None:
        self._server, self._random = server, random.Random(seed)
        key = Key(self._random.randbytes(32))
        self.machines = [
            Machine(folder, name, member, key if member == "ann" else None, shift_s)
            for name, (member, shift_s) in MACHINES.items()
        ]
        self.counts: Counter[str] = Counter()
        self.truth = Truth()
        self._acknowledged: dict[str, Statement | None] = {}
        self._late: Late | None = None
        self._number = 0
        self._writes: dict[Callable[[Machine], None], int] = {
            self._say: 8,
            self._say_again: 1,
            self._edit: 5,
            self._close: 2,
            self._forget: 3,
            self._graph: 6,
            self._graph_delete: 2,
            self._undo: 2,
            self._private: 2,
            self._dismiss: 2,
            self._rescope: 1,
            self._merge: 1,
            self._alias: 2,
            self._secret: 2,
            self._purge: 1,
        }
        self._exchanges: dict[Callable[[Machine], None], int] = {
            self._whole: 8,
            self._interrupted: 8,
            self._cut: 2,
            self._process_killed: 1,
            self._read_only: 1,
            self._begin_late: 2,
            self._removed: 1,
            self._opposites: 2,
            self._pushed_twice: 1,
            self._compacted: 1,
        }
        self._server_events = (self._save, self._set_back, self._crash, self._move)

    def run(self, rounds: int, server_every: int = SERVER_EVERY) -> Found:
        """Run so many rounds, then let everybody exchange in peace, and compare."""
        every = max(server_every, rounds // 10)
        for _ in range(rounds):
            self._number += 1
            self._round()
            if self._number % every == every // 4:
                events = self._server_events
                events[self._number // every % len(events)]()
        return self.settle()

    def settle(self) -> Found:
        """Let everybody exchange until nothing is left, and compare."""
        self._end_late(commit=True)
        self._let_in()
        for _ in range(PASSES):
            before = self.counts["exchanged"]
            for machine in self.machines:
                with machine.clock():
                    self._exchange(machine, Steps())
            if self.counts["exchanged"] == before:
                break
        return compare(
            self._server, self.machines, self.truth, self._acknowledged, self._number, self.counts
        )

    def close(self) -> None:
        """Close all machines."""
        self._end_late(commit=False)
        for machine in self.machines:
            machine.close()

    def _round(self) -> None:
        if self._late is not None and self._number >= self._late.until:
            self._end_late(commit=self._random.random() < 0.7)
        busy = self._late.machine if self._late else None
        machine = self._random.choice([one for one in self.machines if one is not busy])
        with machine.clock():
            for _ in range(self._random.choice((0, 1, 1, 2, 4))):
                self._chosen(self._writes)(machine)
            self._chosen(self._exchanges)(machine)

    def _chosen(
        self, actions: Mapping[Callable[[Machine], None], int]
    ) -> Callable[[Machine], None]:
        action = self._random.choices(list(actions), list(actions.values()))[0]
        self.counts[action.__name__.strip("_").replace("_", " ")] += 1
        return action

    # Writes.

    def _say(self, machine: Machine) -> None:
        text = f"Use port {self._number} for {self._random.choice(NAMES)} of {machine.name}"
        fields = {"entities": (Entity(self._random.choice(NAMES), "service"),)}
        self._remember(machine, Record("decision", text, confidence=0.9, **fields))  # type: ignore[arg-type]

    def _say_again(self, machine: Machine) -> None:
        other = self._some(machine, f"source = '{OTHERS}'")
        if other is not None:
            self._remember(machine, Record("decision", other.what, confidence=0.9))

    def _edit(self, machine: Machine) -> None:
        record = self._own(machine)
        if record is not None:
            self._change(machine, record, f"because of ticket {self._number}")

    def _close(self, machine: Machine) -> None:
        old = self._some(machine, "superseded_by = ''")
        if old is None:
            return
        if is_of_others(old):
            self.truth.closed_by_others.add(old.id)
        text = f"Use port {self._number} now instead of {old.what[:40].strip()}"
        self._remember(machine, Record("decision", text, confidence=0.9), [old.id])

    def _forget(self, machine: Machine) -> None:
        record = self._own(machine)
        if record is not None:
            self._drop(machine, record)

    def _dismiss(self, machine: Machine) -> None:
        """Forget what another member said, here and on one's own other machines."""
        record = self._some(machine, f"source = '{OTHERS}'")
        if record is not None:
            machine.memory.forget([record.id], USER)
            self.truth.unwanted.setdefault(record.what, set()).add(machine.member)

    def _rescope(self, machine: Machine) -> None:
        """Keep for this machine what was for the team."""
        record = self._own(machine)
        if record is not None:
            self._change(machine, record._replace(scope="local"), f"mine since {self._number}")
            self.truth.forgotten.add(record.id)

    def _private(self, machine: Machine) -> None:
        """Say, change or forget a memory of scope user, which only Ann's machines exchange."""
        if machine.key is None:
            return
        known = list(machine.records("user").values())
        record = self._random.choice(known) if known and self._random.random() < 0.5 else None
        if record is None:
            text = f"I prefer editor {self._number}"
            machine.memory.remember(Record("preference", text, confidence=0.9, scope="user"), USER)
        elif self._random.random() < 0.7:
            changed = records.as_object(record._replace(why=f"since ticket {self._number}"))
            payload = {"record": changed, "seen_in": []}
            machine.memory.write("put_record", payload, USER, store="user")
        else:
            machine.memory.forget([record.id], USER)
            self.truth.forgotten.add(record.id)

    def _undo(self, machine: Machine) -> None:
        """Say something and take it back at once."""
        text = f"Never use port {self._number}"
        stored = machine.memory.remember(Record("decision", text, confidence=0.9), USER)
        assert stored is not None
        undo.undo(machine.memory, [undo.last(machine.memory)], USER)
        self.truth.forgotten.add(stored.id)

    def _merge(self, machine: Machine) -> None:
        """Merge two entities that this machine knows."""
        into, other = self._random.sample(MERGED, 2)
        with self._unfit("merges"):
            merge.merge(machine.memory, merge.plan(machine.memory, into, [other]), TOOL)
            for name in (into, other):
                self.truth.deleted.setdefault(name, set()).add(machine.member)

    def _alias(self, machine: Machine) -> None:
        """Give an entity another name."""
        with self._unfit("aliases"):
            name = f"alias-{self._random.randrange(30)}"
            merge.change_aliases(machine.memory, self._random.choice(NAMES), [name], TOOL)

    def _secret(self, machine: Machine) -> None:
        """Say something that may be purged later."""
        number = len(self.truth.texts)  # no other secret has it, even in the same round
        text = f"Secret {number} of {machine.name}."
        about = (Entity(f"secret-{number}-{machine.name}", "service"),)
        self._remember(machine, Record("constraint", text, confidence=0.9, entities=about))

    def _purge(self, machine: Machine) -> None:
        """Erase what this user said, perhaps on another machine, with its words and names."""
        secrets = [
            record for record in machine.records().values()
            if record.type == "constraint" and not is_of_others(record)
        ]  # fmt: skip
        if not secrets:
            return
        record = self._random.choice(sorted(secrets, key=lambda one: one.id))
        purge.purge(machine.memory, purge.find(machine.memory, record.id), USER)
        self.counts["purged"] += 1
        self.truth.forgotten.add(record.id)
        self.truth.purged |= {record.what, *(entity.name for entity in record.entities)}
        self.truth.unwanted.setdefault(record.what, set()).update(MEMBERS)

    @contextmanager
    def _unfit(self, what: str) -> Iterator[None]:
        """Go on where a name is unknown or taken."""
        try:
            yield
            self.counts[what] += 1
        except FabricError:
            self.counts[f"{what} that did not fit"] += 1

    def _graph(self, machine: Machine) -> None:
        name, other = self._random.sample(NAMES, 2)
        text = f"listens on {self._random.randrange(60)}"
        entity = {"name": name, "entityType": "service", "observations": [text]}
        relation = {"from": name, "relationType": "calls", "to": other}
        entities = [entity, {"name": other, "entityType": "service", "observations": []}]
        machine.memory.write("create_entities", {"entities": entities}, TOOL, store="project")
        machine.memory.write("create_relations", {"relations": [relation]}, TOOL, store="project")
        added = [{"entityName": name, "contents": [text]}]
        machine.memory.write("add_observations", {"observations": added}, TOOL, store="project")

    def _graph_delete(self, machine: Machine) -> None:
        row = machine.database().row(
            "SELECT e.name, o.text FROM observations AS o JOIN entities AS e ON e.id = o.entity "
            f"WHERE o.record = '' AND o.source <> '{OTHERS}' ORDER BY o.text, e.name LIMIT 1"
        )
        if row is None:
            return
        if self._random.random() < 0.1:
            self.truth.deleted.setdefault(row[0], set()).add(machine.member)
            self.truth.removed.add(row[0])
            payload: dict[str, object] = {"entityNames": [row[0]]}
            machine.memory.write("delete_entities", payload, TOOL, store="project")
            return
        deleted = [{"entityName": row[0], "observations": [row[1]]}]
        machine.memory.write("delete_observations", {"deletions": deleted}, TOOL, store="project")

    def _remember(self, machine: Machine, record: Record, closed: list[str] | None = None) -> None:
        stored = machine.memory.remember(record, USER, closed or [])
        if stored is None:  # forgotten on a machine with a later clock, which counts as later
            self.counts["not stored"] += 1
            return
        if not is_of_others(stored):
            self.truth.texts[stored.id] = stored.what
            self.truth.reasons.setdefault(stored.id, stored.why)
            self.truth.by[stored.id] = machine.member

    def _change(self, machine: Machine, record: Record, why: str) -> None:
        changed = records.as_object(record._replace(why=why, pinned=not record.pinned))
        payload = {"record": changed, "seen_in": []}
        machine.memory.write("put_record", payload, USER, store="project")
        self.truth.reasons[record.id] = why

    def _drop(self, machine: Machine, record: Record) -> None:
        machine.memory.forget([record.id], USER)
        self.truth.forgotten.add(record.id)
        self.truth.unwanted.setdefault(record.what, set()).add(machine.member)

    def _own(self, machine: Machine) -> Record | None:
        return self._some(machine, f"source <> '{OTHERS}'")

    def _some(self, machine: Machine, condition: str) -> Record | None:
        """Return a random record that meets the condition."""
        rows = machine.database().rows(
            "SELECT id FROM records WHERE status = 'active' AND scope = 'team' AND "
            f"type = 'decision' AND {condition} ORDER BY id"
        )
        if not rows:
            return None
        found = records.find(
            machine.database().connection, "id = ?", (self._random.choice(rows)[0],)
        )
        return found[0][0]

    # Exchanges.

    def _whole(self, machine: Machine) -> None:
        self._exchange(machine, Steps())

    def _interrupted(self, machine: Machine) -> None:
        self._exchange(machine, Steps(self._random.randrange(1, STEPS)))
        if self._random.random() < 0.5:
            machine.restart()

    def _cut(self, machine: Machine) -> None:
        """The server ends the connection in the middle of the exchange."""

        def cut() -> None:
            if machine.connection is not None:
                self._terminate(machine.connection.info.backend_pid)

        self._exchange(machine, Steps(self._random.randrange(1, STEPS), cut))

    def _process_killed(self, machine: Machine) -> None:
        """Exchange in a process of its own, which is killed at any moment."""

        def exchange() -> None:
            connection = machine.connect(self._server)
            if connection is not None:
                machine.exchange(connection, Steps())

        after_s = self._random.uniform(0, KILLED_WITHIN_S)
        self.counts["processes killed"] += machine.killed(exchange, after_s)
        for kind in [tie.kind for tie in machine.ties]:
            sent = machine.database(kind).rows("SELECT op_id FROM team_heads WHERE state = 'sent'")
            for (op_id,) in sent:
                self._acknowledged.setdefault(str(op_id), None)

    def _read_only(self, machine: Machine) -> None:
        connection = machine.connect(self._server)
        if connection is None:
            return
        try:
            connection.execute("SET default_transaction_read_only = on")
        except psycopg.Error:
            pass  # the server is away, as the exchange will find
        self._exchange(machine, Steps())
        machine.disconnect()

    def _removed(self, _: Machine) -> None:
        """A member is removed while he pushes, and let in again some other time."""
        machine = next(one for one in self.machines if one.member == REMOVED)
        self._end_late(commit=True)  # a change of members waits for it

        def remove() -> None:
            with closing(self._server.connect(OWNER)) as connection:
                if any(
                    one.name == REMOVED and one.removed_at is None
                    for one in SharedLog(connection, SPACE).members()
                ):
                    spaces.remove(connection, SPACE, REMOVED)

        self._say(machine)
        self._exchange(machine, Steps(self._random.randrange(1, 8), remove))
        if self._random.random() < 0.7:
            self._let_in()

    def _opposites(self, _: Machine) -> None:
        """Ann says opposites on two machines before either hears of the other."""
        first, second = self.machines[:2]
        record = self._own(first)
        if record is None:
            return
        known = records.find(second.database().connection, "id = ?", (record.id,))
        if not known:
            return
        self._change(first, record, f"yes, since {self._number}")
        if self._random.random() < 0.5:
            self._change(second, known[0][0], f"no, since {self._number}")
        else:
            self._drop(second, record)

    def _pushed_twice(self, _: Machine) -> None:
        """The same operations come from two machines, as after a home was copied."""
        first, second = self.machines[:2]
        self._say(first)
        self._push_for(second, first.waiting())
        self._exchange(first, Steps())

    def _begin_late(self, machine: Machine) -> None:
        """Push within a transaction that commits, or not, some rounds later; it may begin rounds
        before it pushes.
        """
        if self._late is not None or machine.member not in single_of(self.machines):
            return
        self._exchange(machine, Steps())
        self._say(machine)
        try:
            connection = self._server.connect(machine.member)
        except NoAnswer:
            return
        connection.autocommit = False
        connection.execute("SELECT pg_current_xact_id()")
        until = self._number + self._random.randrange(1, 12)
        self._late = Late(machine, connection, Steps(), until)
        if self._random.random() < 0.5:
            self._push_late(self._late)

    def _push_late(self, late: Late) -> None:
        with self._expected(late.machine):
            log = Interruptible(late.connection, SPACE, late.steps)
            log.push(late.machine.waiting())

    def _end_late(self, *, commit: bool) -> None:
        if self._late is None:
            return
        late, self._late = self._late, None
        if commit and not late.steps.held:
            self._push_late(late)
        try:
            if commit:
                late.connection.commit()
                outbox.acknowledge(late.machine.database(), list(late.steps.held))
                self._acknowledged |= late.steps.held
                self.counts["late commits"] += 1
            else:
                late.connection.rollback()
        except psycopg.Error:  # the server was stopped meanwhile: nothing is acknowledged
            self.counts["late commits lost"] += 1
        late.connection.close()

    def _compacted(self, _: Machine) -> None:
        """Blank what was replaced, as after thirty days."""
        with closing(self._server.superuser()) as connection:
            # Nobody may change this; only a superuser can go round the trigger.
            connection.execute("SET session_replication_role = 'replica'")
            connection.execute(
                "UPDATE memory_fabric.operations SET stored_at = stored_at - interval '40 days' "
                "WHERE superseded AND stored_at > now() - interval '30 days'"
            )
        with closing(self._server.connect(OWNER)) as owner:
            SharedLog(owner, SPACE).compact()

    def _push_for(self, machine: Machine, operations: Sequence[TeamOperation]) -> None:
        connection, steps = machine.connect(self._server), Steps()
        if connection is not None:
            with self._expected(machine):
                Interruptible(connection, SPACE, steps).push(operations)
            self._acknowledged |= steps.held

    def _exchange(self, machine: Machine, steps: Steps) -> None:
        connection = machine.connect(self._server)
        if connection is None:
            return
        with self._expected(machine):
            # An answer that takes longer by chance, because of the machine's load, ends it, too.
            steps.limit_s = HELD_UP_S if self._late else STATEMENT_LIMIT_S
            outcome = machine.exchange(connection, steps)
            self.counts["exchanges that went through"] += 1
            self.counts["exchanged"] += outcome.sent + outcome.read
        self._acknowledged |= steps.held

    @contextmanager
    def _expected(self, machine: Machine) -> Iterator[None]:
        """Go on after what may befall an exchange, with a new connection."""
        try:
            yield
        except (Interrupted, NoAnswer, NotAMember, ServerReadOnly, TooSlow) as error:
            self.counts[f"ended by {type(error).__name__}"] += 1
            machine.disconnect()

    def _terminate(self, pid: int) -> None:
        with closing(self._server.superuser()) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    def _let_in(self) -> None:
        with closing(self._server.connect(OWNER)) as connection:
            spaces.add(connection, SPACE, REMOVED)

    # The server.

    def _save(self) -> None:
        self.counts["server saved"] += 1
        self._server.save()

    def _set_back(self) -> None:
        self.counts["server set back"] += self._server.set_back()

    def _crash(self) -> None:
        self.counts["server crashed"] += 1
        self._server.crash()

    def _move(self) -> None:
        self._end_late(commit=False)
        self.counts["server moved"] += 1
        self._server.move()
        for machine in self.machines:
            machine.disconnect()


def run(folder: str, server: Server, rounds: int, seed: int) -> Found:
    """Run random rounds on a server."""
    made = Rounds(os.path.realpath(folder), server, seed)
    try:
        return made.run(rounds)
    finally:
        made.close()

"""The two stores behind one small interface: SQLite homes that exchange, and PostgreSQL itself.

Members are ANN and BOB; EVE is in neither. A `domain` limits what a caller reads and writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memory_fabric import ids
from memory_fabric.config import read_settings
from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Provenance, Record
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.retrieve import EVERY_SOURCE
from memory_fabric.servers.http import team_access as access
from memory_fabric.servers.http import team_memory as writes
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.servers.http.team_words import Vocabulary
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.store.forget import purge
from memory_fabric.store.history import undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.scoped_memory import within
from sharing.replicas import Home, Log, synced
from store.support import World, decision
from team.postgres import ANN, BOB, EVE

NOW = "2027-01-01T10:00:00.000Z"
MEMBERS = (ANN, BOB)


class Found(NamedTuple):
    """A hit of a recall."""

    text: str
    trust: str


class Store(Protocol):
    """A store as the conformance checks use it."""

    def remember(
        self,
        member: str,
        text: str,
        *,
        domain: str = "general",
        instead_of: str = "",
        scope: str = "team",
        only: str = "",
    ) -> str:
        """Store a record, in place of another; return its id. `only` is the caller's domain."""

    def observe(self, member: str, name: str, text: str, domain: str = "general") -> None:
        """Store an observation of an entity."""

    def forget(self, member: str, id_: str) -> None:
        """Take a record back."""

    def forge(self, member: str, id_: str) -> None:
        """Append an operation that pretends to withdraw another member's record."""

    def recall(self, member: str, question: str, *, only: str = "") -> list[Found]:
        """Return the hits of a question, best first."""

    def readable(self, member: str, *, only: str = "") -> str:
        """Return all texts that any query of the caller can read."""

    def knows(self, member: str, word: str, *, only: str = "") -> bool:
        """Return True if a search tells the caller that a text holds the word."""

    def undo(self, member: str) -> None:
        """Take back the member's last change."""

    def purge(self, member: str, id_: str) -> None:
        """Erase a record as far as the member may."""

    def stored(self, member: str) -> str:
        """Return every byte that the store keeps on the member's side."""


class SqliteStore:
    """A home for each member, with databases and files, which exchange through a list."""

    def __init__(self, root: Path) -> None:
        self._log = Log()
        self._homes = {member: Home(root, member, self._log) for member in MEMBERS}
        self._stranger = World(root / EVE).memory()

    def close(self) -> None:
        """Close all databases."""
        for memory in (*(home.memory for home in self._homes.values()), self._stranger):
            memory.close()

    def remember(
        self,
        member: str,
        text: str,
        *,
        domain: str = "general",
        instead_of: str = "",
        scope: str = "team",
        only: str = "",
    ) -> str:
        """Store a record."""
        return _remembered(self._memory(member, only), text, domain, instead_of, scope)

    def observe(self, member: str, name: str, text: str, domain: str = "general") -> None:
        """Store an observation."""
        _observe(self._memory(member), name, text, domain)

    def forget(self, member: str, id_: str) -> None:
        """Take a record back."""
        self._memory(member).forget([id_], _by("general"))

    def forge(self, member: str, id_: str) -> None:
        """Append a forged withdrawal."""
        self._memory(member)
        self._log.push(member, [_forged(id_, self._log.operations)])

    def recall(self, member: str, question: str, *, only: str = "") -> list[Found]:
        """Return the hits of a question."""
        return _recalled(self._memory(member, only), question)

    def readable(self, member: str, *, only: str = "") -> str:
        """Return the texts of the tables as the caller's connections show them."""
        texts = []
        for database in self._memory(member, only).databases():
            for table, column in (("records", "what"), ("observations", "text")):
                texts += [row[0] for row in database.rows(f"SELECT {column} FROM {table}")]
        return "\n".join(texts)

    def knows(self, member: str, word: str, *, only: str = "") -> bool:
        """Return True if a query for the word finds a row that the caller can read."""
        question = Fabric(self._memory(member, only), NOW).recall(word)
        return bool(question.hits)

    def undo(self, member: str) -> None:
        """Take back the member's last change."""
        memory = self._memory(member)
        undo.undo(memory, [undo.last(memory)], _by("general"))

    def purge(self, member: str, id_: str) -> None:
        """Erase a record in the member's home, and ask the log to."""
        memory = self._memory(member)
        purge.purge(memory, purge.find(memory, id_), _by("general"))
        self._memory(member)

    def stored(self, member: str) -> str:
        """Return every byte of every file of the member's home."""
        return self._homes[member].world.all_bytes().decode("utf-8", "replace")

    def _memory(self, member: str, only: str = "") -> Memory:
        if member == EVE:
            return self._stranger
        synced(*self._homes.values())
        memory = self._homes[member].memory
        return within(memory, (only,)) if only else memory


class PostgresStore:
    """A space in PostgreSQL; each call is a transaction in the role of the member."""

    def __init__(self, connection: Connection, space: str) -> None:
        # The connection is that of a superuser, who may take every role.
        self._connection, self._space = connection, space
        self._settings = read_settings({"HOME": "/nowhere"}, {})

    def remember(
        self,
        member: str,
        text: str,
        *,
        domain: str = "general",
        instead_of: str = "",
        scope: str = "team",
        only: str = "",
    ) -> str:
        """Store a record."""
        with self._memory(member, only) as memory:
            return _remembered(memory, text, domain, instead_of, scope)

    def observe(self, member: str, name: str, text: str, domain: str = "general") -> None:
        """Store an observation."""
        with self._memory(member) as memory:
            _observe(memory, name, text, domain)

    def forget(self, member: str, id_: str) -> None:
        """Take a record back."""
        with self._memory(member) as memory:
            memory.write("forget", {"ids": [id_]}, _by("general"))

    def forge(self, member: str, id_: str) -> None:
        """Append a forged withdrawal."""
        known = [
            TeamOperation(str(op_id), "", kind, key, None)
            for op_id, kind, key in self._connection.execute(
                "SELECT op_id, kind, key FROM memory_fabric.operations WHERE space = %s",
                (self._space,),
            ).fetchall()
        ]
        with self._memory(member) as memory:
            SharedLog(memory.connection, self._space).push([_forged(id_, known)])

    def recall(self, member: str, question: str, *, only: str = "") -> list[Found]:
        """Return the hits of a question."""
        with self._memory(member, only) as memory:
            return _recalled(memory, question)

    def readable(self, member: str, *, only: str = "") -> str:
        """Return the payloads that the policies let the member read."""
        with self._memory(member, only) as memory:
            sql = "SELECT payload::text FROM memory_fabric.operations"
            return "\n".join(str(row[0]) for row in memory.reader.query(sql, ()))

    def knows(self, member: str, word: str, *, only: str = "") -> bool:
        """Return True if the functions of search know the word."""
        with self._memory(member, only) as memory:
            return word in memory.reader.rows_with([word], EVERY_SOURCE)

    def undo(self, member: str) -> None:
        """Take back the member's last change."""
        with self._memory(member) as memory:
            writes.undo_last(memory)

    def purge(self, member: str, id_: str) -> None:
        """Erase a record in the log."""
        with self._memory(member) as memory:
            SharedLog(memory.connection, self._space).purge([wire.key_of(wire.RECORD, id_)])

    def stored(self, member: str) -> str:
        """Return all rows of all tables of the schema."""
        tables = self._connection.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') "
            "AND relnamespace = 'memory_fabric'::regnamespace"
        ).fetchall()
        return json.dumps(
            [
                self._connection.execute(f"SELECT t::text FROM {table} AS t").fetchall()
                for (table,) in tables
            ],
            ensure_ascii=False,
        )

    def alter(self, sql: str) -> None:
        """Change the schema, as no release does."""
        self._connection.execute(sql)

    def source(self, function: str) -> str:
        """Return the statement that makes a function of the schema again."""
        row = self._connection.execute(
            "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = %s "
            "AND pronamespace = 'memory_fabric'::regnamespace",
            (function,),
        ).fetchone()
        assert row is not None
        return str(row[0])

    @contextmanager
    def _memory(self, member: str, only: str = "") -> Iterator[TeamMemory]:
        with self._connection.transaction():
            self._connection.execute(access.ENTER, (member, only))
            place = (self._space, member, Vocabulary())
            reader = TeamReader(self._connection, *place, (only,) if only else None)
            yield TeamMemory(self._settings, reader)


def _remembered(memory: Memory, text: str, domain: str, instead_of: str, scope: str) -> str:
    record: Record = decision(text, domain=domain, scope=scope, why="")
    try:
        stored = memory.remember(record, _by(domain), [instead_of] if instead_of else [])
    except BadInput:
        return ""  # a store need not know every scope
    assert stored is not None
    return stored.id


def _observe(memory: Memory, name: str, text: str, domain: str) -> None:
    entity = {"name": name, "entityType": "service", "observations": [text]}
    memory.write("create_entities", {"entities": [entity]}, _by(domain))


def _recalled(memory: Memory, question: str) -> list[Found]:
    answer = Fabric(memory, NOW).recall(question)
    return [Found(hit.text, str(hit.metadata.get("trust"))) for hit in answer.hits]


def _by(domain: str) -> Provenance:
    return Provenance("mcp", trust="user", session=ids.new_id(), domain=domain)


def _forged(id_: str, known: Sequence[TeamOperation]) -> TeamOperation:
    """Return a withdrawal of a record that names all operations on it as replaced."""
    key = wire.key_of(wire.RECORD, id_)
    base = tuple(one.op_id for one in known if one.key == key)
    if not base:
        raise NotFound(id_, "There is no operation to forge.")
    fields: dict[str, Any] = {"clock": "f" * 13 + "0000machine9", "made_at": NOW}
    return TeamOperation(ids.new_id(), "machine9", wire.RECORD, key, None, base, **fields)

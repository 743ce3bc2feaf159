"""The operations of one space in a log on PostgreSQL: appending, reading and erasing them."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import LiteralString, TypeAlias

import psycopg

from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import Holder, Member, Position, SpaceState, TeamOperation
from memory_fabric.sharing.server import connect, translate
from memory_fabric.sharing.team.errors import NotAMember, UnfitServer

STATEMENT_LIMIT_S = 30
# The time limit in seconds for a purge or a compaction, which may have to read the whole space.
LONG_LIMIT_S = 600
# The maximum number of rows and of bytes in one statement (PUSH) and in one reply (PULL).
PUSH_BATCH, PUSH_BYTES = 500, 4 << 20
PULL_LIMIT, PULL_BYTES = 5000, 16 << 20
# Maximum attempts per batch; some PostgreSQL-compatible engines often roll back a transaction.
ATTEMPTS = 3
# The minimum number of days for which the server keeps replaced operations.
COMPACT_AFTER_DAYS = 30
# Seconds between two updates of a member's last read time; the server stores one per hour at most.
SEEN_EVERY_S = 1800.0
# Errors for values that the server cannot index or parse, such as a name of 3,000 bytes.
TOO_MUCH = (psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex)

PUSH = """
    SELECT memory_fabric.append(
        %s, %s::uuid[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])::text
"""
# Turns `synchronous_commit` on for the transaction: acknowledged operations must survive a crash.
DURABLE = """
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off'
"""
# Writers hold a lock from assigning `seq` to the commit, so a reader never misses a lower `seq`.
PULL = """
    SELECT op_id::text, origin, author, kind, payload::text,
        to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        o.tx, o.seq
    FROM (
        SELECT *, sum(pg_column_size(payload)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
            - pg_column_size(payload) AS bytes_before
        FROM memory_fabric.operations
        WHERE space = %s AND NOT superseded AND seq > %s
        ORDER BY seq LIMIT %s
    ) o
    WHERE bytes_before < %s ORDER BY o.seq
"""
LIMIT = "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)"
MEMBERS = """
    SELECT m.member, m.role, m.added_at, m.removed_at, s.seen_at
    FROM memory_fabric.members m
    LEFT JOIN memory_fabric.seen s ON s.space = m.space AND s.member = m.member
    WHERE m.space = %s ORDER BY m.removed_at IS NOT NULL, m.member
"""
# Selects the epoch, and the number of the operation with this id and transaction, or NULL.
PLACE = """
    SELECT s.epoch, o.seq FROM memory_fabric.spaces s LEFT JOIN memory_fabric.operations o
        ON o.space = s.space AND o.op_id = nullif(%s, '')::uuid AND o.tx = %s
    WHERE s.space = %s
"""
HAS = (
    "SELECT op_id::text FROM memory_fabric.operations WHERE space = %s AND op_id = ANY (%s::uuid[])"
)
STATE = """
    SELECT s.epoch, m.role, s.system_identifier = c.system_identifier, memory_fabric.caller(),
        (SELECT count(*) FROM memory_fabric.members o
            WHERE o.space = s.space AND o.removed_at IS NULL)
    FROM memory_fabric.spaces s
    JOIN memory_fabric.members m
        ON m.space = s.space AND m.member = memory_fabric.caller() AND m.removed_at IS NULL,
    pg_control_system() c
    WHERE s.space = %s
"""
# Finds the transaction that blocks writers: `xmax` of the space's row, which every role can read.
HOLDER = """
    SELECT l.pid, coalesce(a.usename, p.owner, ''), coalesce(a.application_name, p.gid, ''),
        extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared))::float
    FROM memory_fabric.spaces s
    JOIN pg_locks l ON l.transactionid = s.xmax AND l.mode = 'ExclusiveLock' AND l.granted
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid
    WHERE s.space = %s
"""
# A pair of an operation and its payload as JSON.
Row: TypeAlias = tuple[TeamOperation, str]


class SharedLog:
    """The log of one space in PostgreSQL, over one connection. `wire.Log` describes its methods."""

    at_once = PUSH_BATCH

    def __init__(
        self, connection: connect.Connection, space: str, *, limit_s: float = STATEMENT_LIMIT_S
    ) -> None:
        self.connection, self.space, self._limit_s = connection, space, limit_s
        self._seen_at_s = -SEEN_EVERY_S

    def state(self) -> SpaceState:
        """Return the state of the space. Raises NotAMember, UnfitServer."""
        with self._asking("Cannot read the state of the shared log"):
            connect.expect_schema(self.connection)
            row = self.connection.execute(STATE, (self.space,)).fetchone()
            holder = self.connection.execute(HOLDER, (self.space,)).fetchone()
        if row is None:
            raise _not_a_member(self.connection, self.space)
        epoch, role, same_cluster, member, members = row
        if not same_cluster:
            text = "The shared log was restored into another PostgreSQL cluster."
            raise UnfitServer(text, remedy="Ask its owner to run `memory-fabric team init` once.")
        return SpaceState(epoch, member, role, members, Holder(*holder) if holder else None)

    def members(self) -> list[Member]:
        with translate.translated("Cannot list the members"):
            rows = self.connection.execute(MEMBERS, (self.space,)).fetchall()
        return [Member(*row) for row in rows]

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        refuse = refused or (lambda _id, _reason: None)
        rows: list[Row] = []
        for operation in operations:
            try:
                rows.append((operation, wire.encode(operation)))
            except (ValueError, TypeError, RecursionError) as error:
                refuse(operation.op_id, str(error))
        op_ids: list[str] = []
        with self._translated("Cannot append to the shared log"):
            begin = size = 0
            for place, (_, payload) in enumerate(rows):
                if place - begin == PUSH_BATCH or size > PUSH_BYTES:
                    op_ids += self._push_batch(rows[begin:place], refuse)
                    begin, size = place, 0
                size += len(payload)
            op_ids += self._push_batch(rows[begin:], refuse) if rows else []
        return op_ids

    def pull(
        self, position: Position, limit: int = PULL_LIMIT, max_bytes: int = PULL_BYTES
    ) -> tuple[list[TeamOperation], Position]:
        """Return operations after `position`, oldest first, and the position of the last row read.
        A position in another epoch counts as the beginning. Replaced and erased rows are never
        read, so reading from the beginning yields a snapshot. Read at most `limit` rows, and none
        after `max_bytes` of payloads. Invalid rows are dropped, so the list may be empty before the
        end. Once the end of the log is reached, the returned position equals `position`.
        """
        with self._asking("Cannot read the shared log"):
            epoch, place = self._place(position)
            after, place = (position, place) if position.epoch == epoch else (Position(epoch), 0)
            rows = self.connection.execute(PULL, (self.space, place, limit, max_bytes)).fetchall()
        now_s = time.monotonic()
        if now_s - self._seen_at_s >= SEEN_EVERY_S:
            self._seen_at_s = now_s
            with self._asking("Cannot note the visit"):
                row = self.connection.execute("SHOW transaction_read_only").fetchone()
                if row == ("off",):
                    self.connection.execute("SELECT memory_fabric.mark_seen(%s)", (self.space,))
        operations = [wire.decode(*row[:6]) for row in rows]
        if rows:
            after = Position(after.epoch, rows[-1][6], rows[-1][7], rows[-1][0])
        return [operation for operation in operations if operation], after

    def holds(self, position: Position) -> bool:
        if not position.last:
            return True
        # After a restore, an operation that is sent again gets a new `tx`: `_place` then returns 0.
        with self._asking("Cannot read the shared log"):
            return self._place(position)[1] > 0

    def has(self, op_ids: Collection[str]) -> set[str]:
        with self._asking("Cannot read the shared log"):
            return {row[0] for row in self.connection.execute(HAS, (self.space, list(op_ids)))}

    def purge(self, keys: Collection[str]) -> int:
        """Erase operations under these keys: all if the caller is an owner, else the caller's."""
        return self._call("SELECT memory_fabric.purge(%s, %s::text[])", list(keys))

    def compact(self, older_than_days: int = COMPACT_AFTER_DAYS) -> int:
        statement: LiteralString = "SELECT memory_fabric.compact(%s, make_interval(days => %s))"
        return self._call(statement, older_than_days)

    def _place(self, position: Position) -> tuple[int, int]:
        """Return the log's epoch, and the sequence number of `position` (0 if its row is gone)."""
        row = self.connection.execute(PLACE, (position.last, position.tx, self.space)).fetchone()
        if row is None:
            raise _not_a_member(self.connection, self.space)
        return row[0], row[1] or 0

    def _call(self, statement: LiteralString, argument: object) -> int:
        with self._asking("Cannot change the shared log", LONG_LIMIT_S):
            row = self.connection.execute(statement, (self.space, argument)).fetchone()
        return int(row[0]) if row else 0

    def _push_batch(self, rows: Sequence[Row], refuse: Callable[[str, str], object]) -> list[str]:
        """Append rows; return their ids. On an error, halve the batch to `refuse` bad rows only."""
        try:
            op_ids = self._append(rows)
        except (psycopg.DataError, psycopg.IntegrityError, *TOO_MUCH) as error:
            if len(rows) == 1:
                refuse(rows[0][0].op_id, error.diag.message_primary or str(error))
                return []
            half = len(rows) // 2
            return self._push_batch(rows[:half], refuse) + self._push_batch(rows[half:], refuse)
        for operation, _ in rows:
            if operation.op_id not in op_ids:
                refuse(operation.op_id, "another member's operation has this id")
        return [operation.op_id for operation, _ in rows if operation.op_id in op_ids]

    def _append(self, rows: Sequence[Row]) -> set[str]:
        parts = ((o.op_id, o.origin, o.kind, payload, o.made_at or None) for o, payload in rows)
        columns = tuple(map(list, zip(*parts, strict=True)))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                # Pipelined: waiting for replies would block other writers for longer.
                with self.connection.pipeline(), self._transaction():
                    self.connection.execute(DURABLE)
                    held = self.connection.execute(PUSH, (self.space, *columns))
                return {row[0] for row in held.fetchall()}
            except psycopg.errors.TransactionRollback:
                if attempt == ATTEMPTS:
                    raise
        return set()

    @contextmanager
    def _asking(self, doing: str, limit_s: float = 0) -> Iterator[None]:
        with self._translated(doing), self._transaction(limit_s):
            yield

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        """Re-raise driver errors as TeamError, but a missing privilege as NotAMember."""
        with translate.translated(doing):
            try:
                yield
            except psycopg.errors.InsufficientPrivilege:
                raise _not_a_member(self.connection, self.space) from None

    @contextmanager
    def _transaction(self, limit_s: float = 0) -> Iterator[None]:
        limits = [f"{round(1000 * s)}ms" for s in (limit_s or self._limit_s, self._limit_s)]
        with self.connection.transaction():
            self.connection.execute(LIMIT, limits)
            yield


def _not_a_member(connection: connect.Connection, space: str) -> NotAMember:
    text = f"{connection.info.user} is no member of the space {space}."
    return NotAMember(text, remedy="Ask an owner of the space: `memory-fabric team add MEMBER`.")

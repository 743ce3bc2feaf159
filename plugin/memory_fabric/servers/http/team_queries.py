"""Rows of a space by key, by name and by kind, as the member whose transaction it is.

Functions of the schema find ids (sharing/server/schema/010_search.sql); the rows are read from the
log under its row-level security.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import psycopg

from memory_fabric.errors import DeadlinePassed, FabricError, StoreUnavailable
from memory_fabric.models import Filters
from memory_fabric.servers.http import team_rows
from memory_fabric.servers.http.responses import Forbidden
from memory_fabric.servers.http.team_rows import SCOPE, Row
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.translate import team_error
from memory_fabric.sharing.team.errors import (
    LoginFailed,
    NoAnswer,
    NotAllowed,
    NotAMember,
    ServerFull,
    ServerReadOnly,
    TeamError,
    TooSlow,
)
from memory_fabric.store.queries.search import EVERYTHING

Rows = list[tuple[Any, ...]]

# Rows of each kind about some entities.
MAX_ABOUT = 10_000
COUNTED = {
    "records": wire.RECORD,
    "entities": wire.ENTITY,
    "observations": wire.OBSERVATION,
    "relations": wire.RELATION,
}


class SpaceQueries:
    """Queries of one space within one transaction; `domains` limits them, None for all.

    `failed` is the first error of the database: the transaction is over then.
    """

    def __init__(
        self, connection: Connection, space: str, member: str, domains: Sequence[str] | None = None
    ) -> None:
        self.failed: FabricError | None = None
        self._connection, self._space = connection, space
        self._member, self._domains = member, domains

    def standing(self, keys: Sequence[str], filters: Filters = EVERYTHING) -> list[Row]:
        """Return the current statements of these keys; of several authors the caller's own."""
        condition = self.condition(filters)
        if condition is None:
            return []
        return self.fetched(self.ids("heads_of", list(keys), False, condition))

    def counts(self) -> dict[str, int]:
        """Return how many records, entities, observations and relations are visible."""
        rows = self.call("count_kinds", self.condition(EVERYTHING), columns="kind, count")
        counts = {str(kind): int(count) for kind, count in rows}
        return {name: counts.get(kind, 0) for name, kind in COUNTED.items()}

    def own(self, keys: Sequence[str]) -> list[Row]:
        """Return what the caller says under these keys."""
        last = {row.key: row for row in self._rows(self.ids("heads_of", list(keys), True, "{}"))}
        return [row for row in last.values() if row.value]

    def about(self, names: Sequence[str], most: int = MAX_ABOUT) -> list[Row]:
        """Return what anybody says of the entities of exactly these names, `most` of each kind.

        These are the entities, observations of them, and relations at either end, oldest first.
        """
        wanted, condition = list(dict.fromkeys(names)), self.condition(EVERYTHING)
        if not wanted or condition is None:
            return []
        ids = [
            *self.ids("newest_heads", wire.ENTITY, wanted, condition, most),
            *self.ids("newest_heads", wire.OBSERVATION, wanted, condition, most),
            *self.ids("related_heads", wanted, condition, most),
        ]
        return [row for row in self._rows(ids) if not team_rows.names_in(row).isdisjoint(wanted)]

    def own_about(self, names: Sequence[str]) -> list[Row]:
        """Return what the caller says of the entities of exactly these names."""
        return [row for row in self.about(names) if row.author == self._member]

    def records_ending(self, ending: str) -> list[Row]:
        """Return the records whose id ends like this."""
        return self.fetched(self.ids("records_ending", ending))

    def versions(self, keys: Sequence[str], limit: int) -> list[tuple[str, str, str, Any]]:
        """Return (author, time, kind, value) of what was said under keys, the newest first.

        The value of a withdrawal is None; what was replaced is known for 30 days.
        """
        sql = (
            "SELECT author::text, to_char(made_at AT TIME ZONE 'UTC', "
            "'YYYY-MM-DD\"T\"HH24:MI:SS'), kind, payload -> 'value' "
            "FROM memory_fabric.operations WHERE space = %s AND op_id IN ("
            "SELECT memory_fabric.history_of(%s, %s)) ORDER BY seq DESC LIMIT %s"
        )
        rows = self.query(sql, (self._space, self._space, list(keys), limit))
        return [(str(author), str(at), str(kind), value) for author, at, kind, value in rows]

    def names_after(self, seq: int, limit: int) -> list[tuple[int, str]]:
        """Return (place, name) of entities in the order of their statements, after a place."""
        condition = self.condition(EVERYTHING)
        rows = self.call("entities_after", seq, condition, limit, columns="seq, name")
        return [(int(place), str(name)) for place, name in rows]

    def query(self, sql: str, values: Sequence[Any]) -> Rows:
        """Return the rows of a query. Raises StoreUnavailable, Forbidden, DeadlinePassed."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except psycopg.Error as error:
            raise self.failure(error) from error

    def call(self, function: str, *values: object, columns: str = "*") -> Rows:
        """Return the rows of a function of the schema for this space. Raises as `query`."""
        holes = ", ".join(["%s"] * (1 + len(values)))
        sql = f"SELECT {columns} FROM memory_fabric.{function}({holes})"
        return self.query(sql, (self._space, *values))

    def ids(self, function: str, *values: object) -> list[str]:
        """Return the first column of the rows of a function, which holds ids of the log."""
        return [str(row[0]) for row in self.call(function, *values)]

    def fetched(self, ids: Iterable[object]) -> list[Row]:
        """Return one row for each key: the caller's own, else the oldest."""
        chosen: dict[str, Row] = {}
        for row in self._rows(ids):
            if row.value and (row.key not in chosen or row.author == self._member):
                chosen[row.key] = row
        return list(chosen.values())

    def _rows(self, ids: Iterable[object]) -> list[Row]:
        """Return these rows as the policies let the member read them, by their clocks.

        The value of a withdrawal is empty.
        """
        wanted = [str(id_) for id_ in ids]
        if not wanted:
            return []
        sql = (
            "SELECT op_id, seq, author::text, kind, key, payload -> 'value' "
            "FROM memory_fabric.operations WHERE space = %s AND op_id = ANY (%s::uuid[]) "
            "AND NOT superseded ORDER BY payload ->> 'clock', op_id"
        )
        return [
            Row(str(id_), seq, author, kind, key, value if isinstance(value, dict) else {})
            for id_, seq, author, kind, key, value in self.query(sql, (self._space, wanted))
        ]

    def condition(self, filters: Filters) -> str | None:
        """Return the filters as JSON for memory_fabric.is_allowed; None if no row can match."""
        if filters.sessions or (filters.scopes and SCOPE not in filters.scopes):
            return None
        condition: dict[str, Any] = {
            "types": [name.lower() for name in filters.types],
            "categories": [name.lower() for name in filters.categories],
            "projects": [name.lower() for name in filters.projects],
            "agents": list(filters.agents),
            "since": filters.since,
            "before": filters.before,
            "as_of": filters.as_of,
        }
        condition = {name: value for name, value in condition.items() if value}
        if self._domains is not None:
            condition["domains"] = list(self._domains)
        return json.dumps(condition)

    def failure(self, error: psycopg.Error) -> FabricError:
        """Return the error of a request for one of the database, and note it."""
        translated = of_database(error)
        if self.failed is None and not isinstance(translated, DeadlinePassed):
            self.failed = translated
        return translated


def of_database(error: psycopg.Error) -> FabricError:
    """Translate an error of the database or its driver into the error that a request reports."""
    return of_log(team_error(error, "Cannot answer"))


def of_log(error: TeamError) -> FabricError:
    """Return the error of a request for one of the shared log, without the database's address."""
    if isinstance(error, TooSlow):
        return DeadlinePassed("The database took too long for an answer.", remedy="Ask for less.")
    if isinstance(error, ServerReadOnly):
        return StoreUnavailable(
            "",
            "The team's database accepts no writes now: it is a replica or in read-only mode.",
            remedy="Reading works; write again when the failover has ended.",
        )
    if isinstance(error, NotAMember | NotAllowed):
        return Forbidden(
            "The member of this key may not do this in the space.",
            remedy="Ask an owner of the space: memory-fabric team add MEMBER.",
        )
    if isinstance(error, NoAnswer | ServerFull | LoginFailed):
        return StoreUnavailable(
            "",
            "The team's database does not answer.",
            remedy="It comes back by itself as soon as the database answers.",
        )
    print(f"memory-fabric: {error}", file=sys.stderr)  # noqa: T201
    return FabricError(
        "The team's database could not answer this.",
        remedy="The terminal of memory-fabric serve shows the error.",
    )

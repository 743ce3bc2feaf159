"""Rows of a space by key, by name and by kind, as the member whose transaction it is.

Functions of the schema find ids (team/server/schema/010_search.sql); the rows are read from the log
under its row-level security.
"""

import json
from collections.abc import Sequence
from typing import Any

import psycopg

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import Filters
from memory_fabric.servers.team import rows
from memory_fabric.servers.team.errors import of_database
from memory_fabric.servers.team.rows import SCOPE, Row
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store.search import EVERYTHING

# Rows of each kind about some entities.
MAX_ABOUT = 10_000


class SpaceQueries:
    """Queries of one space within one transaction; `domains` limits them, None for all.

    `failed` is the first error of the database: the transaction is over then.
    """

    def __init__(
        self,
        connection: Connection,
        space: str,
        member: str,
        domains: Sequence[str] | None = None,
    ) -> None:
        self.failed: FabricError | None = None
        self._connection, self._space = connection, space
        self._member, self._domains = member, domains

    def standing(self, keys: Sequence[str], filters: Filters = EVERYTHING) -> list[Row]:
        """Return what stands under these keys; of several authors the caller's own."""
        condition = self._condition(filters)
        if condition is None:
            return []
        found = self.query(
            "SELECT op_id FROM memory_fabric.heads_of(%s, %s, false, %s)",
            (self._space, list(keys), condition),
        )
        return self._fetched([id_ for (id_,) in found])

    def counts(self) -> dict[str, int]:
        """Return how many records, entities, observations and relations are visible."""
        found = self.query(
            "SELECT kind, count FROM memory_fabric.count_kinds(%s, %s)",
            (self._space, self._condition(EVERYTHING)),
        )
        known = {str(kind): int(count) for kind, count in found}
        kinds = {
            "records": wire.RECORD,
            "entities": wire.ENTITY,
            "observations": wire.OBSERVATION,
            "relations": wire.RELATION,
        }
        return {name: known.get(kind, 0) for name, kind in kinds.items()}

    def own(self, keys: Sequence[str]) -> list[Row]:
        """Return what the caller says under these keys."""
        found = self.query(
            "SELECT op_id FROM memory_fabric.heads_of(%s, %s, true, '{}')",
            (self._space, list(keys)),
        )
        last = {row.key: row for row in self._rows([id_ for (id_,) in found])}
        return [row for row in last.values() if row.value]

    def about(self, names: Sequence[str], most: int = MAX_ABOUT) -> list[Row]:
        """Return what anybody says of the entities of exactly these names, `most` of each kind.

        These are the entities, observations of them, and relations at either end, oldest first.
        """
        wanted = list(dict.fromkeys(names))
        condition = self._condition(EVERYTHING)
        if not wanted or condition is None:
            return []
        found = self.query(
            "SELECT * FROM memory_fabric.newest_heads(%s, 'entity', %s, %s, %s) UNION ALL "
            "SELECT * FROM memory_fabric.newest_heads(%s, 'observation', %s, %s, %s) UNION ALL "
            "SELECT * FROM memory_fabric.related_heads(%s, %s, %s, %s)",
            (self._space, wanted, condition, most) * 3,
        )
        kept = set(wanted)
        return [row for row in self._rows([id_ for (id_,) in found]) if kept & rows.names_in(row)]

    def own_about(self, names: Sequence[str]) -> list[Row]:
        """Return what the caller says of the entities of exactly these names."""
        return [row for row in self.about(names) if row.author == self._member]

    def records_ending(self, ending: str) -> list[Row]:
        """Return the records whose id ends like this."""
        found = self.query(
            "SELECT * FROM memory_fabric.records_ending(%s, %s)", (self._space, ending)
        )
        return self._fetched([id_ for (id_,) in found])

    def versions(self, keys: Sequence[str], limit: int) -> list[tuple[str, str, str, Any]]:
        """Return (author, time, kind, value) of what was said under keys, the newest first.

        The value of a withdrawal is None; what was replaced is known for 30 days.
        """
        return [
            (str(author), str(at), str(kind), value)
            for author, at, kind, value in self.query(
                "SELECT author::text, to_char(made_at AT TIME ZONE 'UTC', "
                "'YYYY-MM-DD\"T\"HH24:MI:SS'), kind, payload -> 'value' "
                "FROM memory_fabric.operations WHERE space = %s AND op_id IN ("
                "SELECT memory_fabric.history_of(%s, %s)) ORDER BY tx DESC, seq DESC LIMIT %s",
                (self._space, self._space, list(keys), limit),
            )
        ]

    def names_after(self, seq: int, limit: int) -> list[tuple[int, str]]:
        """Return (place, name) of entities in the order of their statements, after a place."""
        condition = self._condition(EVERYTHING)
        found = self.query(
            "SELECT seq, name FROM memory_fabric.entities_after(%s, %s, %s, %s)",
            (self._space, seq, condition, limit),
        )
        return [(int(place), str(name)) for place, name in found]

    def query(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises StoreUnavailable, NoMember, DeadlinePassed."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except psycopg.Error as error:
            raise self._error(error) from error

    def _fetched(self, ids: Sequence[object]) -> list[Row]:
        """Return these rows, one for each key: the caller's own, else the oldest."""
        kept: dict[str, Row] = {}
        for row in self._rows(ids):
            is_own = row.author == self._member
            if row.value and (row.key not in kept or is_own):
                kept[row.key] = row
        return list(kept.values())

    def _rows(self, ids: Sequence[object]) -> list[Row]:
        """Return these rows as the policies let the member read them, by their clocks.

        The value of a withdrawal is empty.
        """
        if not ids:
            return []
        found = self.query(
            "SELECT op_id, seq, author::text, kind, key, payload -> 'value' "
            "FROM memory_fabric.operations WHERE space = %s AND op_id = ANY (%s::uuid[]) "
            "AND NOT superseded ORDER BY payload ->> 'clock', op_id",
            (self._space, [str(id_) for id_ in ids]),
        )
        return [
            Row(str(id_), seq, author, kind, key, value if isinstance(value, dict) else {})
            for id_, seq, author, kind, key, value in found
        ]

    def _condition(self, filters: Filters) -> str | None:
        """Return the filters as JSON for memory_fabric.is_allowed; None if no row can match."""
        if filters.sessions or (filters.scopes and SCOPE not in filters.scopes):
            return None
        lists = {
            "types": [one.lower() for one in filters.types],
            "categories": [one.lower() for one in filters.categories],
            "projects": [one.lower() for one in filters.projects],
            "agents": list(filters.agents),
        }
        times = {"since": filters.since, "before": filters.before, "as_of": filters.as_of}
        found: dict[str, Any] = {name: value for name, value in (lists | times).items() if value}
        if self._domains is not None:
            found["domains"] = list(self._domains)
        return json.dumps(found)

    def _error(self, error: psycopg.Error) -> FabricError:
        found = of_database(error)
        if self.failed is None and not isinstance(found, DeadlinePassed):
            self.failed = found
        return found

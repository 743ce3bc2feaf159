"""Reads of one database for recall, so that its stages need not know where memories are stored.

`protocols.Reader` is what recall asks of a store; the shared server has another implementation.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import Entity, Filters, Relation
from memory_fabric.store import conditions, graph, search
from memory_fabric.store.database import Database
from memory_fabric.store.fts_query import match_expression, ranked_after, selective_query
from memory_fabric.store.search import Candidate

Groups = Sequence[Sequence[str]]

# Names that are compared with a word.
MAX_COMPARED = 1000
# Rows that are counted of a word in an index: which words are rare is known by then.
MAX_COUNTED = 256
_INDEXES = {
    "records": "records_fts",
    "graph": "observations_fts",
    "entities": "entities_fts",
    "episodes": "episodes_fts",
}
_ALIASES = (
    "SELECT j.value, e.name FROM json_each(?) AS j JOIN aliases AS a ON a.key = j.value "
    "JOIN entities AS e ON e.id = a.entity WHERE e.key <> j.value"
)
_NAMES = " UNION ALL ".join(
    f"SELECT * FROM ({select} WHERE {column} >= ? AND {column} < ? "
    f"AND length({column}) BETWEEN ? AND ? LIMIT {MAX_COMPARED})"
    for column, select in (
        ("t.key", "SELECT t.key, t.name FROM entities AS t"),
        ("a.key", "SELECT a.key, e.name FROM aliases AS a JOIN entities AS e ON e.id = a.entity"),
    )
)
_DOMAINS_IN = ("records", "observations", "entities", "relations", "episodes")


class DatabaseReader:
    """Reads of one SQLite database; see `protocols.Reader`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.kind = database.kind

    def observations(
        self, groups: Groups, limit: int, filters: Filters, phrases: Sequence[str] = ()
    ) -> list[Candidate]:
        """Return matching observations of the graph, best first."""
        match = selective_query(self._database, "observations_fts", groups, limit, phrases)
        return search.observations(self._database, match, limit, filters)

    def observations_with(
        self, names: Sequence[str], limit: int, filters: Filters
    ) -> list[Candidate]:
        """Return observations that hold one of these names, best first; where very many hold one,
        only the newest.
        """
        after = ranked_after(self._database, "observations_fts", names)
        return search.observations(self._database, match_expression(names), limit, filters, after)

    def observations_of(self, keys: Sequence[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return the newest observations without a record of the entities that the keys mean."""
        meant = {id_ for id_, _, _ in graph.meant_by(self._database, keys).values()}
        return search.observations_of(self._database, sorted(meant), limit, filters)

    def records(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        session: str,
        phrases: Sequence[str] = (),
    ) -> list[Candidate]:
        """Return matching active records, best first."""
        match = selective_query(self._database, "records_fts", groups, limit, phrases)
        return search.records(self._database, match, limit, filters, session)

    def records_with(self, words: Iterable[str], limit: int, session: str) -> list[Candidate]:
        """Return active records with any of these words, best first."""
        match = match_expression(words)
        return search.records(self._database, match, limit, search.EVERYTHING, session)

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> list[Candidate]:
        """Return the active records with these ids that the filters allow."""
        return search.records_by_id(self._database, ids, filters, session)

    def recent(self, limit: int, filters: Filters, session: str) -> list[Candidate]:
        """Return the newest records, then the newest observations without a record."""
        return search.recent(self._database, limit, filters, session)

    def episodes(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str] = (),
        *,
        neighbours: bool = False,
    ) -> list[Candidate]:
        """Return matching turns of past sessions, best first; see `search.episodes`."""
        match = selective_query(self._database, "episodes_fts", groups, limit, phrases)
        return search.episodes(self._database, match, limit, filters, neighbours=neighbours)

    def turns_by_session(
        self, groups: Groups, filters: Filters
    ) -> dict[str, list[tuple[int, float]]]:
        """Return matching turns as (row, bm25) by session; see `session_ranking`."""
        # late: few queries rank whole sessions
        from memory_fabric.store.conversations import session_ranking

        most = session_ranking.SCANNED_TURNS
        match = selective_query(self._database, "episodes_fts", groups, most)
        return session_ranking.turns_by_session(self._database, match, filters)

    def session_texts(self, sessions: Sequence[str], filters: Filters) -> dict[str, str]:
        """Return the texts of sessions, the oldest first; see `session_ranking`."""
        # late: few queries rank whole sessions
        from memory_fabric.store.conversations import session_ranking

        return session_ranking.session_texts(self._database, sessions, filters)

    def turns_at(self, scored: Sequence[tuple[int, float]], filters: Filters) -> list[Candidate]:
        """Return the turns in these rows; see `search.turns_at`."""
        return search.turns_at(self._database, scored, filters)

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return entities with one of these words in their name or type, best first."""
        return search.entities_named(self._database, match_expression(names), limit, filters)

    def entities_by_key(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Return the known entities of these name keys; see `graph.entities_by_key`."""
        return graph.entities_by_key(self._database, keys)

    def relations_by_key(
        self, keys: Iterable[str], at: str, filters: Filters
    ) -> dict[str, list[Relation]]:
        """Return the known entities of these name keys, each with its relations at a time."""
        only = conditions.of_relations(self._database, filters)
        return graph.relations_by_key(self._database, keys, at=at, only=only)

    def relations_of(self, names: Sequence[str], at: str, filters: Filters) -> list[Relation]:
        """Return the relations with either end of exactly these names at a time, oldest first."""
        only = conditions.of_relations(self._database, filters)
        return graph.relations_of(self._database, names, at=at, only=only)

    def stated_at(self, relation: Relation) -> str:
        """Return when a relation was stated (ISO 8601); empty if it was not."""
        return graph.stated_at(self._database, relation)

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        """Return the names that these words mean by an alias."""
        return dict(self._pairs(_ALIASES, (json.dumps(list(terms)),))) if terms else {}

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Return the number of rows of these sources that hold each word, at most MAX_COUNTED an
        index, without words that no row holds.
        """
        counted = " + ".join(
            f"(SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH j.value "
            f"LIMIT {MAX_COUNTED}))"
            for source, index in _INDEXES.items()
            if source in sources
        )
        quoted = json.dumps([match_expression([term]) for term in terms])
        rows = self._pairs(f"SELECT j.key, {counted} FROM json_each(?) AS j", (quoted,))
        return {terms[key]: count for key, count in rows if count}

    def names_like(self, word: str, most_edits: int) -> list[tuple[str, str]]:
        """Return (key, name) of names that begin like a word, or with two letters swapped."""
        sizes = (len(word) - most_edits, len(word) + most_edits)
        found = []
        for start in dict.fromkeys((word[:2], word[0] + word[2])):
            span = (start, start[0] + chr(ord(start[1]) + 1), *sizes)
            found += self._pairs(_NAMES, span * 2)
        return found

    def has_domain(self, domain: str) -> bool:
        """Return True if a row has this domain."""
        return any(
            self._database.row(f"SELECT 1 FROM {table} WHERE domain = ? LIMIT 1", (domain,))
            for table in _DOMAINS_IN
        )

    def _pairs(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows; none if the database fails, which the search itself reports."""
        try:
            return self._database.rows(sql, values)
        except DeadlinePassed:
            raise
        except FabricError:
            return []

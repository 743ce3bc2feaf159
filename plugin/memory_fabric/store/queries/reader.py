"""The queries that recall sends to one database; a team server uses a subclass, `TeamReader`."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import Entity, Filters, Relation
from memory_fabric.store.database import Database
from memory_fabric.store.queries import conditions, graph, search
from memory_fabric.store.queries.conditions import match_expression, selective_query
from memory_fabric.store.queries.search import Candidate

Words = Sequence[str]
Groups = Sequence[Words]
Candidates = list[Candidate]
# Maps a session's id to its matching turns, best first: (row id, bm25 score; higher is better).
TurnsBySession = dict[str, list[tuple[int, float]]]

# Maximum number of names that are compared with a word.
MAX_COMPARED = 1000
# In each index, a word's rows are counted up to this number: enough to know which words are rare.
MAX_COUNTED = 256
# To rank sessions: maximum number of matching turns to group, and of turns to read for their texts.
SCANNED_TURNS, READ_TURNS = 1000, 2000
TURN_CHARS, SESSION_CHARS = 2500, 16_000
_INDEXES = {source: f"{source}_fts" for source in ("records", "entities", "episodes")}
_INDEXES |= {"graph": "observations_fts"}
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


class Reader:
    """Recall's queries on one database: candidates of each source, relations, names. Each of the
    `groups` has the spellings of one word. Methods may raise StoreUnavailable, DeadlinePassed.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self.kind = database.kind

    def observations(
        self, groups: Groups, limit: int, filters: Filters, phrases: Words = ()
    ) -> Candidates:
        """Return the matching observations as candidates, the best first."""
        match = selective_query(self._db, "observations_fts", groups, limit, phrases)
        return search.observations(self._db, match, limit, filters)

    def observations_with(self, names: Sequence[str], limit: int, filters: Filters) -> Candidates:
        """Rank observations that contain one of the names; of very many, rank only the newest."""
        after = conditions.ranked_after(self._db, "observations_fts", names)
        return search.observations(self._db, match_expression(names), limit, filters, after)

    def observations_of(self, keys: Sequence[str], limit: int, filters: Filters) -> Candidates:
        """For entities with these name keys, return the newest observations without a record."""
        entities = sorted({id_ for id_, _, _ in graph.meant_by(self._db, keys).values()})
        where = f"o.entity IN ({conditions.marks(entities)}) AND o.record = ''"
        wanted, newest = conditions.of_observations(self._db, filters), search.newest_observations
        parts = conditions.shares(self._db, wanted, limit, "o") if entities else ()
        return [c for part, n in parts for c in newest(self._db, where, entities, part, n)]

    def records(
        self, groups: Groups, limit: int, filters: Filters, session: str, phrases: Words = ()
    ) -> Candidates:
        """Return the matching active records, the best first."""
        match = selective_query(self._db, "records_fts", groups, limit, phrases)
        return search.records(self._db, match, limit, filters, session)

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> Candidates:
        """Return the active records with these ids that the filters allow."""
        wanted = conditions.of_records(self._db, filters, session)
        of_ids = f"FROM records AS r WHERE r.id IN ({conditions.marks(ids)}) {wanted.sql}"
        rows = self._db.rows(f"SELECT {search.RECORD_FIELDS} {of_ids}", [*ids, *wanted.values])
        return [search.record_candidate(self._db, (*row, 0.0)) for row in rows]

    def recent(self, limit: int, filters: Filters, session: str) -> Candidates:
        """Return the newest records, then the newest observations that belong to no record."""
        return search.recent(self._db, limit, filters, session)

    def episodes(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Words = (),
        *,
        neighbours: bool = False,
    ) -> Candidates:
        """Return matching turns of past sessions, best first; see `search.episodes`."""
        match = selective_query(self._db, "episodes_fts", groups, limit, phrases)
        return search.episodes(self._db, match, limit, filters, neighbours=neighbours)

    def turns_by_session(self, groups: Groups, filters: Filters) -> TurnsBySession:
        """Group the best matching turns (at most SCANNED_TURNS) by session: see TurnsBySession."""
        match = selective_query(self._db, "episodes_fts", groups, SCANNED_TURNS)
        if not match:
            return {}
        best = "WHERE episodes_fts MATCH ? ORDER BY score LIMIT ?"
        ranked = f"SELECT rowid, bm25(episodes_fts, 1.0, 0.5) AS score FROM episodes_fts {best}"
        scored = self._db.rows(ranked, (match, SCANNED_TURNS))
        wanted = conditions.of_episodes(self._db, filters)
        of_rows = "json_each(?) AS j CROSS JOIN episodes AS o ON o.id = j.value"
        query = f"SELECT o.session, j.key FROM {of_rows} WHERE 1 {wanted.sql} ORDER BY j.key"
        rows = self._db.rows(query, (json.dumps([row for row, _ in scored]), *wanted.values))
        turns: TurnsBySession = {}
        for session, place in rows:
            row, score = scored[place]
            turns.setdefault(session, []).append((row, -score))
        return turns

    def session_texts(self, sessions: Sequence[str], filters: Filters) -> dict[str, str]:
        """Map sessions to the joined beginnings of their turns; sessions and turns oldest first."""
        wanted = conditions.of_episodes(self._db, filters)
        beginnings = f"SELECT o.session, substr(o.text, 1, {TURN_CHARS}) FROM episodes AS o"
        where = f"o.session IN ({conditions.marks(sessions)}) {wanted.sql} ORDER BY o.id LIMIT ?"
        rows = self._db.rows(f"{beginnings} WHERE {where}", (*sessions, *wanted.values, READ_TURNS))
        parts: dict[str, list[str]] = {}
        for session, text in rows:
            parts.setdefault(session, []).append(text)
        return {session: "\n".join(texts)[:SESSION_CHARS] for session, texts in parts.items()}

    def turns_at(self, scored: Sequence[tuple[int, float]], filters: Filters) -> Candidates:
        """Return turns, given as (row id, score), with the texts of the previous and next turn."""
        wanted = conditions.of_episodes(self._db, filters)
        source, negated = search.with_neighbours(wanted), [(row, -score) for row, score in scored]
        rows = search.fetched(self._db, negated, source, wanted, len(scored))
        return search.episode_candidates(self._db, rows)

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> Candidates:
        """Return entities with one of these words in their name or type, best first."""
        return search.entities_named(self._db, match_expression(names), limit, filters)

    def entities_by_key(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Map name keys to existing entities; a key may be that of an alias."""
        return graph.entities_by_key(self._db, keys)

    def relations_by_key(self, keys: Words, at: str, filters: Filters) -> dict[str, list[Relation]]:
        """Map names of entities, found by name or alias keys, to their relations valid at `at`."""
        only = conditions.of_relations(self._db, filters)
        names = {id_: name for id_, name, _ in sorted(graph.meant_by(self._db, keys).values())}
        around: dict[str, list[Relation]] = {name: [] for name in names.values()}
        for relation in graph.relations_at(self._db, list(names), at, only):
            for end in dict.fromkeys((relation.source, relation.target)):
                if end in around:
                    around[end].append(relation)
        return around

    def relations_of(self, names: Sequence[str], at: str, filters: Filters) -> list[Relation]:
        """Return relations from or to exactly these names, valid at the time `at`, oldest first."""
        only = conditions.of_relations(self._db, filters)
        return graph.relations_of(self._db, names, at=at, only=only)

    def stated_at(self, relation: Relation) -> str:
        """Return the time when a relation was stated; "" if the relation does not exist."""
        return graph.stated_at(self._db, relation)

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        """Map each of these words that is an alias to the name of its entity."""
        return dict(self._pairs(_ALIASES, (json.dumps(list(terms)),))) if terms else {}

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Count the rows with each word, up to MAX_COUNTED per source; omit words without rows."""
        indexes = [index for source, index in _INDEXES.items() if source in sources]
        of_index = "(SELECT count(*) FROM (SELECT 1 FROM {0} WHERE {0} MATCH j.value LIMIT {1}))"
        counted = " + ".join(of_index.format(index, MAX_COUNTED) for index in indexes)
        quoted = json.dumps([match_expression([term]) for term in terms])
        rows = self._pairs(f"SELECT j.key, {counted} FROM json_each(?) AS j", (quoted,))
        return {terms[key]: count for key, count in rows if count}

    def names_like(self, word: str, most_edits: int) -> list[tuple[str, str]]:
        """Return (key, name) pairs perhaps within `most_edits` edits of `word`; callers check."""
        sizes = (len(word) - most_edits, len(word) + most_edits)
        pairs = []
        for start in dict.fromkeys((word[:2], word[0] + word[2])):
            span = (start, start[0] + chr(ord(start[1]) + 1), *sizes)
            pairs += self._pairs(_NAMES, span * 2)
        return pairs

    def has_domain(self, domain: str) -> bool:
        """Return True if any row of the database belongs to this domain."""
        queries = (f"SELECT 1 FROM {table} WHERE domain = ? LIMIT 1" for table in _DOMAINS_IN)
        return any(self._db.row(query, (domain,)) for query in queries)

    def _pairs(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return a query's rows; [] if it fails, because recall's main search reports failures."""
        try:
            return self._db.rows(sql, values)
        except DeadlinePassed:
            raise
        except FabricError:
            return []

"""Reads of a space for recall, as the member whose transaction it is (protocols.Reader).

Functions of the schema find ids (team/server/schema/010_search.sql); the texts are read from the
log under its row-level security. Turns of conversations never travel, so there are none.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from memory_fabric.models import Entity, Filters, Relation
from memory_fabric.servers.team import rows
from memory_fabric.servers.team.rows import STORE, Row
from memory_fabric.servers.team.space_queries import SpaceQueries
from memory_fabric.servers.team.vocabulary import Vocabulary
from memory_fabric.servers.team.word_query import RANKED_ROWS, SPARE, WordQuery, word_query
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store.graph import NOW
from memory_fabric.store.search import EVERYTHING, Candidate
from memory_fabric.text import name_key, words

Groups = Sequence[Sequence[str]]


# Relations around the names of a question, and observations that describe an entity.
MAX_RELATIONS, TEXTS_OF_ENTITY = 200, 3
# Records that are compared with a new one, and words of its text.
MAX_COMPARED, MAX_WORDS_COMPARED = 20, 30
# Found with one query, since most questions ask for both.
FOUND_TOGETHER = (wire.RECORD, wire.OBSERVATION)


class TeamReader(SpaceQueries):
    """Reads of one space for recall within one transaction."""

    def __init__(
        self,
        connection: Connection,
        space: str,
        member: str,
        vocabulary: Vocabulary,
        domains: Sequence[str] | None = None,
    ) -> None:
        super().__init__(connection, space, member, domains)
        self.kind, self._vocabulary = STORE, vocabulary
        self._found: dict[Any, dict[str, list[Row]]] = {}
        self._stated: dict[Relation, str] = {}

    def observations(
        self, groups: Groups, limit: int, filters: Filters, phrases: Sequence[str] = ()
    ) -> list[Candidate]:
        """Return matching observations of the graph, best first."""
        found = self._matching(FOUND_TOGETHER, groups, limit, filters, phrases)
        return self._observations(found[wire.OBSERVATION])

    def observations_with(
        self, names: Iterable[str], limit: int, filters: Filters
    ) -> list[Candidate]:
        """Return observations that hold one of these names, best first."""
        found = self._matching((wire.OBSERVATION,), [list(names)], limit, filters)
        return self._observations(found[wire.OBSERVATION])

    def observations_of(self, keys: Sequence[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return the newest observations of the entities that the keys mean."""
        names = list(dict.fromkeys(name for _, name, _ in self._meant(keys)))
        return self._observations(self._newest(wire.OBSERVATION, filters, limit, names))

    def records(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        session: str,
        phrases: Sequence[str] = (),
    ) -> list[Candidate]:
        """Return matching active records, best first."""
        found = self._matching(FOUND_TOGETHER, groups, limit, filters, phrases)
        return self._records(found[wire.RECORD])

    def records_with(self, words: Iterable[str], limit: int, session: str) -> list[Candidate]:
        """Return active records with any of these words, best first."""
        found = self._matching((wire.RECORD,), [list(words)], limit, EVERYTHING)
        return self._records(found[wire.RECORD])

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> list[Candidate]:
        """Return the active records with these ids that the filters allow."""
        return self._records(self.standing([wire.key_of_record(id_) for id_ in ids], filters))

    def recent(self, limit: int, filters: Filters, session: str) -> list[Candidate]:
        """Return the newest records, then the newest observations."""
        found = self._records(self._newest(wire.RECORD, filters, limit))
        if len(found) < limit:
            left = limit - len(found)
            found += self._observations(self._newest(wire.OBSERVATION, filters, left))
        return found

    def episodes(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str] = (),
        *,
        neighbours: bool = False,
    ) -> list[Candidate]:
        """Return no turns: they never travel."""
        return []

    def turns_by_session(
        self, groups: Groups, filters: Filters
    ) -> dict[str, list[tuple[int, float]]]:
        """Return no turns."""
        return {}

    def session_texts(self, sessions: Sequence[str], filters: Filters) -> dict[str, str]:
        """Return no turns."""
        return {}

    def turns_at(self, scored: Sequence[tuple[int, float]], filters: Filters) -> list[Candidate]:
        """Return no turns."""
        return []

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> list[Candidate]:
        """Return entities with one of these words in their name or type, best first."""
        found = self._matching((wire.ENTITY,), [list(names)], limit, filters)[wire.ENTITY]
        texts = self._texts_of([str(row.value.get("name")) for row in found], filters)
        candidates = (
            rows.entity_candidate(row, texts.get(name_key(str(row.value.get("name"))), ()))
            for row in found
        )
        return [one for one in candidates if one is not None]

    def entities_by_key(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Return the known entities of these name keys, without types."""
        found: dict[str, Entity] = {}
        for asked, name, _ in self._meant(keys):
            found.setdefault(asked, Entity(name, "unknown"))
        return found

    def relations_by_key(
        self, keys: Iterable[str], at: str, filters: Filters
    ) -> dict[str, list[Relation]]:
        """Return the known entities of these name keys, each with its relations at a time."""
        names = {entity.name for entity in self.entities_by_key(keys).values()}
        around: dict[str, list[Relation]] = {name: [] for name in sorted(names)}
        for relation in self.relations_of(list(around), at, filters):
            for end in dict.fromkeys((relation.source, relation.target)):
                if end in around:
                    around[end].append(relation)
        return around

    def relations_of(self, names: Sequence[str], at: str, filters: Filters) -> list[Relation]:
        """Return the relations with either end of these names at a time, oldest first."""
        # Only a relation that a record states has these.
        if not names or filters.agents or filters.types or filters.categories:
            return []
        condition = self._condition(filters._replace(as_of="" if at == NOW else at))
        if condition is None:
            return []
        found = self._fetched(
            [
                id_
                for (id_,) in self.query(
                    "SELECT * FROM memory_fabric.related_heads(%s, %s, %s, %s)",
                    (self._space, list(names), condition, MAX_RELATIONS),
                )
            ]
        )
        relations = {row.op_id: rows.relation_in(row) for row in found}
        for row in found:
            relation = relations[row.op_id]
            if relation is not None:
                at_ = str(row.value.get("created_at") or "")
                self._stated[relation] = max(self._stated.get(relation, ""), at_)
        return list(dict.fromkeys(one for one in relations.values() if one is not None))

    def stated_at(self, relation: Relation) -> str:
        """Return when a relation was stated; empty if it was not."""
        if relation not in self._stated:
            found = self.standing([wire.key_of_relation(*relation)])
            stated = [str(row.value.get("created_at") or "") for row in found]
            self._stated[relation] = max(stated, default="")
        return self._stated[relation]

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        """Return the names that these words mean by an alias."""
        found = self._meant(terms) if terms else []
        names = {asked for asked, _, is_alias in found if not is_alias}
        return {asked: name for asked, name, is_alias in found if is_alias and asked not in names}

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Return about how many rows hold each word, of all sources, as these are ranked together;
        words that no row holds are left out.
        """
        known = self._vocabulary.look_up(self._connection, self._space, terms)
        rows = self._vocabulary.count_rows(self._connection, self._space)
        rare = [term for term in terms if not (term in known and known[term].share)]
        held = {
            word
            for (word,) in self.query(
                "SELECT * FROM memory_fabric.known_words(%s, %s)", (self._space, rare)
            )
        }
        common = {term: round(known[term].share * rows) for term in terms if term not in rare}
        return {**common, **dict.fromkeys(held, 1)}

    def names_like(self, word: str, most_edits: int) -> list[tuple[str, str]]:
        """Return (key, name) of names that are written like a word."""
        return [
            (key, name)
            for key, name in self.query(
                "SELECT key, name FROM memory_fabric.names_like(%s, %s, %s)",
                (self._space, word, most_edits),
            )
        ]

    def has_domain(self, domain: str) -> bool:
        """Return True if a row has this domain."""
        if self._domains is not None and domain not in self._domains:
            return False
        found = self.query("SELECT memory_fabric.has_domain(%s, %s)", (self._space, domain))
        return bool(found[0][0])

    def newest(self, kind: str, limit: int) -> list[Row]:
        """Return the newest rows of a kind."""
        return self._newest(kind, EVERYTHING, limit)

    def own_records_with(self, text: str) -> list[Row]:
        """Return the caller's records with all words at the beginning of a text, best first."""
        some = " ".join(words(text)[:MAX_WORDS_COMPARED])
        found = self._matching((wire.RECORD,), [[some]], MAX_COMPARED, EVERYTHING, [some])
        return [row for row in found[wire.RECORD] if row.author == self._member]

    def named_like(self, text: str, limit: int) -> list[str]:
        """Return names of entities that match a text, best first: by name, then by observations."""
        asked = words(text)
        by_name = self._matching((wire.ENTITY,), [[word] for word in asked], limit, EVERYTHING)
        by_text = self._matching((wire.OBSERVATION,), [[word] for word in asked], limit, EVERYTHING)
        found = [*by_name[wire.ENTITY], *by_text[wire.OBSERVATION]]
        exact = [name for _, name, _ in self._meant([name_key(text)])]
        named = (said.name for said in map(rows.said_in, found) if said is not None)
        return list(dict.fromkeys([*exact, *named]))[:limit]

    def _matching(
        self,
        kinds: tuple[str, ...],
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str] = (),
    ) -> dict[str, list[Row]]:
        """Return the rows of each kind that match, best first."""
        asked = (kinds, tuple(map(tuple, groups)), limit, filters, tuple(phrases))
        if asked not in self._found:
            found = self._searched(kinds, groups, limit, filters, phrases)
            self._found[asked] = {
                kind: [row for row in found if row.kind == kind] for kind in kinds
            }
        return self._found[asked]

    def _searched(
        self,
        kinds: tuple[str, ...],
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str],
    ) -> list[Row]:
        condition = self._condition(filters)
        asked = [*phrases, *(word for group in groups for word in group)]
        if condition is None or not asked:
            return []
        try:
            known = self._vocabulary.look_up(self._connection, self._space, asked)
            count = self._vocabulary.count_rows(self._connection, self._space)
        except psycopg.Error as error:
            raise self._error(error) from error
        query = word_query(groups, known, count, limit, phrases)
        if query is None:
            return []
        scores = self._scores(kinds, query, query.ranked, condition, limit, RANKED_ROWS)
        if len(scores) < limit:
            newest = self._scores(kinds, query, query.newest, condition, limit, SPARE * limit)
            scores = newest | scores
        found = [row._replace(score=scores[row.op_id]) for row in self._fetched(list(scores))]
        return sorted(found, key=lambda row: -row.score)

    def _scores(
        self,
        kinds: tuple[str, ...],
        query: WordQuery,
        matching: str,
        condition: str,
        limit: int,
        budget: int,
    ) -> dict[str, float]:
        """Return the scores of rows by id, the best of `budget` matching ones."""
        if not matching:
            return {}
        found = self.query(
            "SELECT op_id, score FROM memory_fabric.find_heads("
            "%s, %s, %s::tsquery, %s::tsquery[], %s::float8[], %s, %s, %s, %s)",
            (
                self._space,
                list(kinds),
                matching,
                list(query.groups),
                list(query.weights),
                condition,
                limit,
                budget,
                matching == query.newest,
            ),
        )
        return {str(id_): float(score) for id_, score in found}

    def _newest(
        self, kind: str, filters: Filters, limit: int, names: Sequence[str] | None = None
    ) -> list[Row]:
        condition = self._condition(filters)
        if condition is None or names == [] or limit < 1:
            return []
        found = self.query(
            "SELECT * FROM memory_fabric.newest_heads(%s, %s, %s, %s, %s)",
            (self._space, kind, names, condition, limit),
        )
        ids = [str(id_) for (id_,) in found]
        by_id = {row.op_id: row for row in self._fetched(ids)}
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def _texts_of(self, names: Sequence[str], filters: Filters) -> dict[str, list[str]]:
        """Return the newest texts of entities by the keys of their names."""
        condition = self._condition(filters._replace(types=()))
        if condition is None or not names:
            return {}
        found = self.query(
            "SELECT o FROM unnest(%s::text[]) AS n, "
            "LATERAL memory_fabric.newest_heads(%s, %s, ARRAY[n], %s, %s) AS o",
            (list(names), self._space, wire.OBSERVATION, condition, TEXTS_OF_ENTITY),
        )
        said: dict[str, list[str]] = {}
        for row in self._fetched([id_ for (id_,) in found]):
            one = rows.said_in(row)
            if one is not None and one.text:
                said.setdefault(name_key(one.name), []).append(one.text)
        return said

    def _meant(self, keys: Iterable[str]) -> list[tuple[str, str, bool]]:
        """Return (key, name, whether by an alias) of the names that keys mean."""
        wanted = list(dict.fromkeys(keys))
        if not wanted:
            return []
        found = self.query(
            "SELECT asked, name, is_alias FROM memory_fabric.names_of(%s, %s)",
            (self._space, wanted),
        )
        return [(str(asked), str(name), bool(is_alias)) for asked, name, is_alias in found]

    def _records(self, found: Iterable[Row]) -> list[Candidate]:
        candidates = (rows.record_candidate(row, self._member) for row in found)
        return [one for one in candidates if one is not None]

    def _observations(self, found: Iterable[Row]) -> list[Candidate]:
        candidates = (rows.observation_candidate(row, self._member) for row in found)
        return [one for one in candidates if one is not None]

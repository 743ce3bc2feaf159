"""Queries of recall on a space, run as the requesting member (see store.queries.reader.Reader).

Methods without a docstring return what those of `Reader` return. Turns of conversations are never
sent to the shared log, so queries for turns return nothing.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from memory_fabric.models import Entity, Filters, Relation
from memory_fabric.servers.http import team_rows, team_words
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.store.queries import graph, reader
from memory_fabric.store.queries.search import EVERYTHING, Candidate
from memory_fabric.text import name_key, words

Groups = Sequence[Sequence[str]]
# Maximum number of relations of a question's names, and observations that describe an entity.
MAX_RELATIONS, TEXTS_OF_ENTITY = 200, 3
# Records to compare with a new record, and words of the new record's text to search for.
MAX_COMPARED, MAX_WORDS_COMPARED = 20, 30
# Kinds that one query searches for together, since most questions need both.
FOUND_TOGETHER = (wire.RECORD, wire.OBSERVATION)


class TeamReader(team_rows.SpaceQueries, reader.Reader):
    """Queries of recall on one space, within one transaction."""

    def __init__(
        self,
        connection: Connection,
        space: str,
        member: str,
        vocabulary: team_words.Vocabulary,
        domains: Sequence[str] | None = None,
    ) -> None:
        super().__init__(connection, space, member, domains)
        self.kind, self._vocabulary = team_rows.STORE, vocabulary
        # Caches for this transaction: results of searches, and the times of relations.
        self._matches: dict[Any, dict[str, list[team_rows.Row]]] = {}
        self._stated: dict[Relation, str] = {}

    def observations(
        self, groups: Groups, limit: int, filters: Filters, phrases: Sequence[str] = ()
    ) -> list[Candidate]:
        matches = self._matching(FOUND_TOGETHER, groups, limit, filters, phrases)
        return self._candidates(matches[wire.OBSERVATION])

    def observations_with(
        self, names: Iterable[str], limit: int, filters: Filters
    ) -> list[Candidate]:
        matches = self._matching((wire.OBSERVATION,), [list(names)], limit, filters)
        return self._candidates(matches[wire.OBSERVATION])

    def observations_of(self, keys: Sequence[str], limit: int, filters: Filters) -> list[Candidate]:
        names = list(dict.fromkeys(name for _, name, _ in self._meant(keys)))
        return self._candidates(self.newest(wire.OBSERVATION, limit, filters, names))

    def records(
        self,
        groups: Groups,
        limit: int,
        filters: Filters,
        session: str,
        phrases: Sequence[str] = (),
    ) -> list[Candidate]:
        matches = self._matching(FOUND_TOGETHER, groups, limit, filters, phrases)
        return self._candidates(matches[wire.RECORD])

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> list[Candidate]:
        return self._candidates(self.standing([wire.key_of_record(id_) for id_ in ids], filters))

    def recent(self, limit: int, filters: Filters, session: str) -> list[Candidate]:
        candidates = self._candidates(self.newest(wire.RECORD, limit, filters))
        free = limit - len(candidates)
        return candidates + self._candidates(self.newest(wire.OBSERVATION, free, filters))

    def episodes(self, *_: object, **__: object) -> list[Candidate]:
        """Return an empty list: turns are never sent to the shared log."""
        return []

    def turns_by_session(self, *_: object, **__: object) -> dict[str, Any]:
        """Return an empty mapping: turns are never sent to the shared log."""
        return {}

    turns_at, session_texts = episodes, turns_by_session

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> list[Candidate]:
        rows = self._matching((wire.ENTITY,), [list(names)], limit, filters)[wire.ENTITY]
        entity_names = [str(row.value.get("name")) for row in rows]
        # The newest observations of each entity describe it.
        texts: dict[str, list[str]] = {}
        condition = self.condition(filters._replace(types=()))
        if condition is not None and rows:
            sql = (
                "SELECT o FROM unnest(%s::text[]) AS n, "
                "LATERAL memory_fabric.newest_heads(%s, %s, ARRAY[n], %s, %s) AS o"
            )
            values = (entity_names, self._space, wire.OBSERVATION, condition, TEXTS_OF_ENTITY)
            for row in self.fetched(id_ for (id_,) in self.query(sql, values)):
                statement = team_rows.said_in(row)
                if statement is not None and statement.text:
                    texts.setdefault(name_key(statement.name), []).append(statement.text)
        candidates = (
            team_rows.entity_candidate(row, texts.get(name_key(name), ()))
            for row, name in zip(rows, entity_names, strict=True)
        )
        return [candidate for candidate in candidates if candidate is not None]

    def entities_by_key(self, keys: Iterable[str]) -> dict[str, Entity]:
        """Return the existing entities for these name keys, without their types."""
        entities: dict[str, Entity] = {}
        for key, name, _ in self._meant(keys):
            entities.setdefault(key, Entity(name, "unknown"))
        return entities

    def relations_by_key(
        self, keys: Iterable[str], at: str, filters: Filters
    ) -> dict[str, list[Relation]]:
        names = {entity.name for entity in self.entities_by_key(keys).values()}
        around: dict[str, list[Relation]] = {name: [] for name in sorted(names)}
        for relation in self.relations_of(list(around), at, filters):
            for end in dict.fromkeys((relation.source, relation.target)):
                if end in around:
                    around[end].append(relation)
        return around

    def relations_of(self, names: Sequence[str], at: str, filters: Filters) -> list[Relation]:
        # A relation has an agent, type or category only through a record that states it.
        if not names or filters.agents or filters.types or filters.categories:
            return []
        condition = self.condition(filters._replace(as_of="" if at == graph.NOW else at))
        if condition is None:
            return []
        relations: dict[Relation, None] = {}
        for row in self.fetched(self.ids("related_heads", list(names), condition, MAX_RELATIONS)):
            relation = team_rows.relation_in(row)
            if relation is not None:
                relations[relation] = None
                stated_at = str(row.value.get("created_at") or "")
                self._stated[relation] = max(self._stated.get(relation, ""), stated_at)
        return list(relations)

    def stated_at(self, relation: Relation) -> str:
        if relation not in self._stated:
            rows = self.standing([wire.key_of_relation(*relation)])
            times = (str(row.value.get("created_at") or "") for row in rows)
            self._stated[relation] = max(times, default="")
        return self._stated[relation]

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        matches = self._meant(terms)
        names = {term for term, _, is_alias in matches if not is_alias}
        return {term: name for term, name, is_alias in matches if is_alias and term not in names}

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Return the approximate number of rows of all sources with each word that occurs."""
        known, count = self._statistics(terms)
        common = {
            term: round(known[term].share * count)
            for term in terms
            if term in known and known[term].share
        }
        rare = [term for term in terms if term not in common]
        return {**common, **{str(word): 1 for (word,) in self.call("known_words", rare)}}

    def names_like(self, word: str, most_edits: int) -> list[tuple[str, str]]:
        rows = self.call("names_like", word, most_edits, columns="key, name")
        return [(key, name) for key, name in rows]

    def has_domain(self, domain: str) -> bool:
        """Return True if a visible row has this domain."""
        if self._domains is not None and domain not in self._domains:
            return False
        return bool(self.call("has_domain", domain)[0][0])

    def newest(
        self,
        kind: str,
        limit: int,
        filters: Filters = EVERYTHING,
        names: Sequence[str] | None = None,
    ) -> list[team_rows.Row]:
        """Return the newest rows of a kind; with `names`, only rows of these entities."""
        condition = self.condition(filters)
        if condition is None or names == [] or limit < 1:
            return []
        ids = self.ids("newest_heads", kind, names, condition, limit)
        by_id = {row.op_id: row for row in self.fetched(ids)}
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def own_records_with(self, text: str) -> list[team_rows.Row]:
        """Return the caller's records that contain all of a text's first words, best first."""
        some = " ".join(words(text)[:MAX_WORDS_COMPARED])
        matches = self._matching((wire.RECORD,), [[some]], MAX_COMPARED, EVERYTHING, [some])
        return [row for row in matches[wire.RECORD] if row.author == self._member]

    def named_like(self, text: str, limit: int) -> list[str]:
        """Return names of entities that match a text: first by name, then by observations."""
        groups = [[word] for word in words(text)]
        matches = [
            row
            for kind in (wire.ENTITY, wire.OBSERVATION)
            for row in self._matching((kind,), groups, limit, EVERYTHING)[kind]
        ]
        exact = [name for _, name, _ in self._meant([name_key(text)])]
        statements = filter(None, map(team_rows.said_in, matches))
        return list(dict.fromkeys([*exact, *(said.name for said in statements)]))[:limit]

    def _matching(
        self,
        kinds: tuple[str, ...],
        groups: Groups,
        limit: int,
        filters: Filters,
        phrases: Sequence[str] = (),
    ) -> dict[str, list[team_rows.Row]]:
        """Return the matching rows of each kind, best first; cached for the transaction."""
        search = (kinds, tuple(map(tuple, groups)), limit, filters, tuple(phrases))
        if search in self._matches:
            return self._matches[search]
        rows: list[team_rows.Row] = []
        condition = self.condition(filters)
        terms = [*phrases, *(word for group in groups for word in group)]
        query = None
        if condition is not None and terms:
            query = team_words.word_query(groups, *self._statistics(terms), limit, phrases)
        if query is not None:
            scores: dict[str, float] = {}
            searched, scoring = list(kinds), (list(query.groups), list(query.weights))
            for function, matching, budget in (
                ("find_heads", query.ranked, team_words.RANKED_ROWS),
                ("find_newest_heads", query.newest, team_words.SPARE * limit),
            ):
                if matching and len(scores) < limit:
                    ranked = self.query(
                        f"SELECT op_id, score FROM memory_fabric.{function}("
                        "%s, %s, %s::tsquery, %s::tsquery[], %s::float8[], %s, %s, %s)",
                        (self._space, searched, matching, *scoring, condition, limit, budget),
                    )
                    scores = {str(id_): float(score) for id_, score in ranked} | scores
            rows = [row._replace(score=scores[row.op_id]) for row in self.fetched(scores)]
            rows.sort(key=lambda row: -row.score)
        self._matches[search] = {kind: [r for r in rows if r.kind == kind] for kind in kinds}
        return self._matches[search]

    def _statistics(self, terms: Sequence[str]) -> tuple[Mapping[str, Any], int]:
        try:
            return self._vocabulary.look_up(self._connection, self._space, terms)
        except psycopg.Error as error:
            raise self.failure(error) from error

    def _meant(self, keys: Iterable[str]) -> list[tuple[str, str, bool]]:
        """Return (key, entity's name, True if the key is an alias) for these name keys."""
        wanted = list(dict.fromkeys(keys))
        rows = self.call("names_of", wanted, columns="asked, name, is_alias") if wanted else []
        return [(str(key), str(name), bool(is_alias)) for key, name, is_alias in rows]

    def _candidates(self, rows: Iterable[team_rows.Row]) -> list[Candidate]:
        candidates = (
            team_rows.record_candidate(row, self._member)
            if row.kind == wire.RECORD
            else team_rows.observation_candidate(row, self._member)
            for row in rows
        )
        return [candidate for candidate in candidates if candidate is not None]

"""Recall's queries on a space, run as the requesting member (see store.queries.reader.Reader).
Methods without a docstring return the same as those of `Reader`. Turns of conversations are never
sent to the shared log, so queries for turns return nothing.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.models import Entity, Filters, Relation
from memory_fabric.servers.http import team_rows, team_words
from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.server import connect, translate
from memory_fabric.store.queries import graph, reader
from memory_fabric.store.queries.search import EVERYTHING, Candidate
from memory_fabric.text import name_key, words

Words = Sequence[str]
Groups = Sequence[Words]
# Maximum number of statements of each kind that are read for a list of entities.
MAX_ABOUT = 10_000
# Maximum number of relations read for a list of entities, and of texts that describe an entity.
MAX_RELATIONS, TEXTS_OF_ENTITY = 200, 3
# To find records equal to a new one: maximum numbers of records to compare and words to search.
MAX_COMPARED, MAX_WORDS_COMPARED = 20, 30
# Most questions need records and observations, so one query searches both.
FOUND_TOGETHER = (wire.RECORD, wire.OBSERVATION)


class TeamReader(reader.Reader):
    """Queries in one transaction, limited to `domains` unless None. `failed` is the first error."""

    def __init__(
        self,
        connection: connect.Connection,
        space: str,
        member: str,
        vocabulary: team_words.Vocabulary,
        domains: Sequence[str] | None = None,
    ) -> None:
        self.kind, self.vocabulary = team_rows.STORE, vocabulary
        self.failed: FabricError | None = None
        self.connection, self.space, self.member = connection, space, member
        self.domains = None if domains is None else tuple(domains)
        # Caches for this transaction: rows found by each search, and when each relation was stated.
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
        names = list(dict.fromkeys(name for _, name, _ in self.meant(keys)))
        return self._candidates(self.newest(wire.OBSERVATION, limit, filters, names))

    def records(
        self, groups: Groups, limit: int, filters: Filters, session: str, phrases: Words = ()
    ) -> list[Candidate]:
        matches = self._matching(FOUND_TOGETHER, groups, limit, filters, phrases)
        return self._candidates(matches[wire.RECORD])

    def records_by_id(self, ids: Sequence[str], filters: Filters, session: str) -> list[Candidate]:
        keys = [wire.key_of(wire.RECORD, id_) for id_ in ids]
        return self._candidates(self.standing(keys, filters))

    def recent(self, limit: int, filters: Filters, session: str) -> list[Candidate]:
        candidates = self._candidates(self.newest(wire.RECORD, limit, filters))
        free = limit - len(candidates)
        return candidates + self._candidates(self.newest(wire.OBSERVATION, free, filters))

    def episodes(self, *_: object, **__: object) -> list[Candidate]:
        return []

    def turns_by_session(self, *_: object, **__: object) -> dict[str, Any]:
        return {}

    turns_at, session_texts = episodes, turns_by_session

    def entities_named(self, names: Iterable[str], limit: int, filters: Filters) -> list[Candidate]:
        rows = self._matching((wire.ENTITY,), [list(names)], limit, filters)[wire.ENTITY]
        entity_names = [str(row.value.get("name")) for row in rows]
        texts: dict[str, list[str]] = {}
        condition = self.condition(filters._replace(types=()))
        if condition is not None and rows:
            sql = (
                "SELECT o FROM unnest(%s::text[]) AS n, "
                "LATERAL memory_fabric.newest_heads(%s, %s, ARRAY[n], %s, %s) AS o"
            )
            values = (entity_names, self.space, wire.OBSERVATION, condition, TEXTS_OF_ENTITY)
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
        """Map name keys to entities, leaving out unknown ones; the type is always "unknown"."""
        entities: dict[str, Entity] = {}
        for key, name, _ in self.meant(keys):
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
        # Relations have no agent, type or category, so such filters exclude all of them.
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
            rows = self.standing([wire.key_of(wire.RELATION, *relation)])
            times = (str(row.value.get("created_at") or "") for row in rows)
            self._stated[relation] = max(times, default="")
        return self._stated[relation]

    def aliases(self, terms: Sequence[str]) -> Mapping[str, str]:
        matches = self.meant(terms)
        names = {term for term, _, is_alias in matches if not is_alias}
        return {term: name for term, name, is_alias in matches if is_alias and term not in names}

    def rows_with(self, terms: Sequence[str], sources: Container[str]) -> Mapping[str, int]:
        """Map each term that occurs to the approximate number of rows with it; ignore `sources`."""
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
        is_visible = self.domains is None or domain in self.domains
        return is_visible and bool(self.call("has_domain", domain)[0][0])

    def newest(
        self, kind: str, limit: int, filters: Filters = EVERYTHING, names: Words | None = None
    ) -> list[team_rows.Row]:
        """Return the newest rows of a kind; with `names`, only rows about these entities."""
        condition = self.condition(filters)
        if condition is None or names == [] or limit < 1:
            return []
        ids = self.ids("newest_heads", kind, names, condition, limit)
        by_id = {row.op_id: row for row in self.fetched(ids)}
        return [by_id[id_] for id_ in ids if id_ in by_id]

    def own_records_with(self, text: str) -> list[team_rows.Row]:
        """Return the caller's records with all of a text's first 30 words, best match first."""
        some = " ".join(words(text)[:MAX_WORDS_COMPARED])
        matches = self._matching((wire.RECORD,), [[some]], MAX_COMPARED, EVERYTHING, [some])
        return [row for row in matches[wire.RECORD] if row.author == self.member]

    def named_like(self, text: str, limit: int) -> list[str]:
        """Return names of entities that match a text: by name first, then by an observation."""
        groups = [[word] for word in words(text)]
        matches = [
            row
            for kind in (wire.ENTITY, wire.OBSERVATION)
            for row in self._matching((kind,), groups, limit, EVERYTHING)[kind]
        ]
        exact = [name for _, name, _ in self.meant([name_key(text)])]
        statements = filter(None, map(team_rows.said_in, matches))
        return list(dict.fromkeys([*exact, *(said.name for said in statements)]))[:limit]

    def _matching(
        self, kinds: Words, groups: Groups, limit: int, filters: Filters, phrases: Words = ()
    ) -> dict[str, list[team_rows.Row]]:
        """For each kind, return the rows that contain all `phrases` or, without phrases, a word of
        any of the `groups`, best match first. The result is cached for this transaction.
        """
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
                        (self.space, searched, matching, *scoring, condition, limit, budget),
                    )
                    scores = {str(id_): float(score) for id_, score in ranked} | scores
            rows = [row._replace(score=scores[row.op_id]) for row in self.fetched(scores)]
            rows.sort(key=lambda row: -row.score)
        self._matches[search] = {kind: [r for r in rows if r.kind == kind] for kind in kinds}
        return self._matches[search]

    def _statistics(self, terms: Sequence[str]) -> tuple[Mapping[str, Any], int]:
        try:
            return self.vocabulary.look_up(self.connection, self.space, terms)
        except psycopg.Error as error:
            raise self.failure(error) from error

    def meant(self, keys: Iterable[str]) -> list[tuple[str, str, bool]]:
        """For each key that is a name or alias, return (key, entity's name, True for an alias)."""
        wanted = list(dict.fromkeys(keys))
        rows = self.call("names_of", wanted, columns="asked, name, is_alias") if wanted else []
        return [(str(key), str(name), bool(is_alias)) for key, name, is_alias in rows]

    def _candidates(self, rows: Iterable[team_rows.Row]) -> list[Candidate]:
        candidates = (
            team_rows.record_candidate(row, self.member)
            if row.kind == wire.RECORD
            else team_rows.observation_candidate(row, self.member)
            for row in rows
        )
        return [candidate for candidate in candidates if candidate is not None]

    def standing(self, keys: Sequence[str], filters: Filters = EVERYTHING) -> list[team_rows.Row]:
        """Return one current statement for each key, if any: the caller's own, else the oldest."""
        condition = self.condition(filters)
        if condition is None:
            return []
        return self.fetched(self.ids("heads_of", list(keys), False, condition))

    def counts(self) -> dict[str, int]:
        rows = self.call("count_kinds", self.condition(EVERYTHING), columns="kind, count")
        counts = {str(kind): int(count) for kind, count in rows}
        return {name: counts.get(kind, 0) for name, kind in team_rows.COUNTED.items()}

    def own(self, keys: Sequence[str]) -> list[team_rows.Row]:
        """Return the caller's own current statements for these keys."""
        last = {row.key: row for row in self._rows(self.ids("heads_of", list(keys), True, "{}"))}
        return [row for row in last.values() if row.value]

    def about(self, names: Sequence[str], most: int = MAX_ABOUT) -> list[team_rows.Row]:
        """Return all members' statements about these entities, at most `most` for each kind."""
        wanted, condition = list(dict.fromkeys(names)), self.condition(EVERYTHING)
        if not wanted or condition is None:
            return []
        ids = self.ids("related_heads", wanted, condition, most)
        for kind in (wire.ENTITY, wire.OBSERVATION):
            ids += self.ids("newest_heads", kind, wanted, condition, most)
        # The fields with entities' names, by kind; other kinds have the field "entity".
        fields = {wire.ENTITY: ("name",), wire.RELATION: ("from", "to")}
        return [
            row
            for row in self._rows(ids)
            if any(row.value.get(name) in wanted for name in fields.get(row.kind, ("entity",)))
        ]

    def versions(self, keys: Sequence[str], limit: int) -> list[tuple[str, str, str, Any]]:
        """Return versions as (author, time, kind, value or None if withdrawn), newest first."""
        sql = (
            "SELECT author::text, to_char(made_at AT TIME ZONE 'UTC', "
            "'YYYY-MM-DD\"T\"HH24:MI:SS'), kind, payload -> 'value' "
            "FROM memory_fabric.operations WHERE space = %s AND op_id IN ("
            "SELECT memory_fabric.history_of(%s, %s)) ORDER BY seq DESC LIMIT %s"
        )
        rows = self.query(sql, (self.space, self.space, list(keys), limit))
        return [(str(author), str(at), str(kind), value) for author, at, kind, value in rows]

    def names_after(self, seq: int, limit: int) -> list[tuple[int, str]]:
        """Return (sequence number, name) of each entity stated after the sequence number `seq`."""
        condition = self.condition(EVERYTHING)
        rows = self.call("entities_after", seq, condition, limit, columns="seq, name")
        return [(int(place), str(name)) for place, name in rows]

    def query(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run an SQL query; return its rows. Raises StoreUnavailable, Forbidden, DeadlinePassed."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except psycopg.Error as error:
            raise self.failure(error) from error

    def call(self, function: str, *values: object, columns: str = "*") -> list[tuple[Any, ...]]:
        """Call a database function for this space; return its rows. Raises errors like `query`."""
        holes = ", ".join(["%s"] * (1 + len(values)))
        sql = f"SELECT {columns} FROM memory_fabric.{function}({holes})"
        return self.query(sql, (self.space, *values))

    def ids(self, function: str, *values: object) -> list[str]:
        """Call a database function, and return its first column, which contains operations' ids."""
        return [str(row[0]) for row in self.call(function, *values)]

    def fetched(self, ids: Iterable[object]) -> list[team_rows.Row]:
        """Read current rows by id; return one for each key: the caller's own, else the oldest."""
        chosen: dict[str, team_rows.Row] = {}
        for row in self._rows(ids):
            if row.value and (row.key not in chosen or row.author == self.member):
                chosen[row.key] = row
        return list(chosen.values())

    def _rows(self, ids: Iterable[object]) -> list[team_rows.Row]:
        """Return the current rows with these ids, oldest first; a withdrawal has an empty value."""
        wanted = [str(id_) for id_ in ids]
        if not wanted:
            return []
        sql = (
            "SELECT op_id::text, seq, author::text, kind, key, payload -> 'value' "
            "FROM memory_fabric.operations WHERE space = %s AND op_id = ANY (%s::uuid[]) "
            "AND NOT superseded ORDER BY payload ->> 'clock', operations.op_id"
        )
        return [
            team_rows.Row(id_, seq, author, kind, key, value if isinstance(value, dict) else {})
            for id_, seq, author, kind, key, value in self.query(sql, (self.space, wanted))
        ]

    def condition(self, filters: Filters) -> str | None:
        """Return the filters as JSON for memory_fabric.is_allowed; None if no row can match."""
        if filters.sessions or (filters.scopes and team_rows.SCOPE not in filters.scopes):
            return None
        condition: dict[str, Any] = {
            name: [text.lower() for text in getattr(filters, name)]
            for name in ("types", "categories", "projects")
        }
        exact = ("agents", "since", "before", "as_of")
        condition |= {name: getattr(filters, name) for name in exact}
        condition = {name: value for name, value in condition.items() if value}
        if self.domains is not None:
            condition["domains"] = list(self.domains)
        return json.dumps(condition)

    def failure(self, error: psycopg.Error) -> FabricError:
        """Return the FabricError for a database error, and save the first one in `failed`."""
        translated = team_rows.of_log(translate.team_error(error, "Cannot answer"))
        if self.failed is None and not isinstance(translated, DeadlinePassed):
            self.failed = translated
        return translated

"""SQL conditions for the filters of a search, by kind of row, and FTS5 queries.

A row matches if every filtered field exists and has one of the wanted values. An entity,
observation or relation has the scope, project and category of its record or, without a record, the
scope and project of its database. A relation has a session, agent and type only from a record that
states it. `projects` are case-folded names; '' selects rows without a project tag, which belong to
the database's own project. Domains are filtered in store.scoped_memory.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sqlite3 import Connection
from typing import Any, NamedTuple

from memory_fabric.models import HAS_OTHERS, OTHERS, Filters
from memory_fabric.store.database import Database
from memory_fabric.text import encodable

Group = Sequence[str]
# The number of rows that contain any of a group's words, and these words.
Counted = tuple[int, list[str]]

# The scope of turns, because they are stored in the project's database.
TURNS_SCOPE = "team"
# SQL condition: the record is not local, or it is local to the session given as the bound value.
OF_SESSION = "(scope <> 'local' OR session = ?)"
# A query's limit is divided by this number for the rows of other users.
SHARE_OF_OTHERS = 4
_CATEGORY = "coalesce({}, '') COLLATE NOCASE"
# The maximum number of words, or of phrases, in an FTS5 query.
MAX_TERMS = 96
# Maximum number of words for which rows are counted, in order to drop words that no row contains.
MAX_LOOKED_UP = 2 * MAX_TERMS
# A word in over half of the rows is slowest to rank, but has no weight in bm25. Queries on
# COMMON_FROM_ROWS or more rows omit it. Counting costs 5 % of ranking; on fewer, both are cheap.
COMMON_SHARE, COMMON_FROM_ROWS = 0.5, 2_000
# Up to RANKED_ROWS matching rows are all ranked (some 20 ms). If more match, a row must have
# several of the words: the highest number with which SPARE times the requested rows match.
RANKED_ROWS, SPARE = 20_000, 16
# Of the frequent words, only this many (the rarest) are used: bm25 reads every row of each word.
MAX_IN_QUORUM = 4
# Counts up to COUNTED_ROWS are exact; larger counts are estimated from the newest SAMPLED_ROWS.
COUNTED_ROWS, SAMPLED_ROWS = 2_000, 20_000


class Condition(NamedTuple):
    """A part of a WHERE clause that begins with AND, and its bound values."""

    sql: str = ""
    values: tuple[Any, ...] = ()

    def also(self, sql: str, values: Sequence[Any] = ()) -> "Condition":
        """Return this condition with `sql`, which begins with AND, and its values appended."""
        return Condition(f"{self.sql} {sql}", (*self.values, *values))

    def among(self, expression: str, wanted: Sequence[str]) -> "Condition":
        """Return this condition with `expression IN (wanted)` added, unless `wanted` is empty."""
        return self.also(f"AND {expression} IN ({marks(wanted)})", wanted) if wanted else self


def shares(db: Database, wanted: Condition, limit: int, alias: str) -> list[tuple[Condition, int]]:
    """Return (condition, limit) for this user's rows and, if any, others' rows (lower limit)."""
    if db.row("SELECT 1 FROM meta WHERE key = ?", (HAS_OTHERS,)) is None:
        return [(wanted, limit)]
    ours, theirs = (wanted.also(f"AND {alias}.source {sign} '{OTHERS}'") for sign in ("<>", "="))
    return [(ours, limit), (theirs, max(1, limit // SHARE_OF_OTHERS))]


def of_records(db: Database, filters: Filters, session: str) -> Condition:
    """Return a condition on active records (alias `r`); a local record must be of `session`."""
    own = Condition("AND r.status = 'active' AND (r.scope <> 'local' OR r.session = ?)", (session,))
    return _timed(_of_record(db, own, filters, "r"), filters, "r")


def of_observations(db: Database, filters: Filters) -> Condition:
    """Return the SQL condition on observations (alias `o`) of entities (alias `e`)."""
    fields = ("o.agent", "o.session", "e.type COLLATE NOCASE", *_of_its_record(db, "o.record"))
    return _timed(_filtered(db, Condition(), filters, *fields), filters, "o")


def of_episodes(db: Database, filters: Filters) -> Condition:
    """Return the SQL condition on turns (alias `o`), which have neither a type nor a category."""
    fields = ("o.agent", "o.session", "", f"'{TURNS_SCOPE}'", "", "o.project")
    return _timed(_filtered(db, Condition(), filters, *fields), filters, "o")


def of_entities(db: Database, filters: Filters) -> Condition:
    """Return a condition on entities (alias `e`); a filter by session or agent matches none."""
    fields = ("", "", "e.type COLLATE NOCASE", *_of_its_record(db, "e.record"))
    return _timed(_filtered(db, Condition(), filters, *fields), filters, "e", "updated_at")


def of_relations(db: Database, filters: Filters) -> Condition:
    """Return a condition on relations (alias `r`): on their times and the records stating them."""
    times = _timed(Condition(), filters._replace(as_of=""), "r")
    record = _of_record(db, Condition(), filters, "x")
    if not record.sql:
        return times
    stated = (
        "EXISTS (SELECT 1 FROM claims AS c JOIN records AS x ON x.id = c.record "
        "WHERE c.kind = 'relations' AND c.row = r.id"
    )
    of_record = filters.sessions or filters.agents or filters.types or filters.categories
    is_here = not filters.scopes or scope_of(db) in filters.scopes
    if filters.projects:
        is_here = is_here and db.kind == "project" and "" in filters.projects
    if of_record or not is_here:
        return times.also(f"AND {stated} {record.sql})", record.values)
    return times.also(f"AND (NOT {stated}) OR {stated} {record.sql}))", record.values)


def scope_of(db: Database) -> str:
    """Return the scope of the rows in this database that do not belong to a record."""
    return "user" if db.kind == "user" else "team"


def marks(values: Sequence[object]) -> str:
    """Return the SQL placeholders for these values, separated by commas."""
    return ", ".join("?" * len(values))


def insert(c: Connection, table: str, row: Mapping[str, Any], verb: str = "INSERT") -> int:
    """Insert a row, given by column; return 1, or 0 if the `verb` INSERT OR IGNORE skipped it."""
    values = list(row.values())
    into = f"{verb} INTO {table} ({', '.join(row)}) VALUES ({marks(values)})"
    return c.execute(into, values).rowcount


def chunks(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield the values in lists of at most `size`: a statement can bind only so many values."""
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


def _of_record(db: Database, where: Condition, filters: Filters, table: str) -> Condition:
    own = [f"{table}.{name}" for name in ("agent", "session", "type", "scope")]
    category, tag = (f"json_extract({table}.body, '$.{name}')" for name in ("category", "project"))
    return _filtered(db, where, filters, *own, _CATEGORY.format(category), tag)


def _of_its_record(db: Database, record: str) -> tuple[str, str, str]:
    """Return SQL for scope, category and project of the record that the column `record` names."""
    mine = f"FROM records AS x WHERE x.id = {record}"
    parts = (f"(SELECT json_extract(x.body, '$.{n}') {mine})" for n in ("category", "project"))
    category, tag = parts
    scope = f"coalesce((SELECT x.scope {mine}), '{scope_of(db)}')"
    return scope, _CATEGORY.format(category), tag


def _filtered(db: Database, where: Condition, filters: Filters, *fields: str) -> Condition:
    """Return `where` extended by all filters except those by time. `fields` are SQL for a row's
    agent, session, type, scope, category and project, in this order; '' if rows lack the field.
    """
    *plain, tag = fields
    wanted = (filters.agents, filters.sessions, filters.types, filters.scopes, filters.categories)
    for field, values in zip(plain, wanted, strict=True):
        if values and not field:
            return Condition("AND 0")
        where = where.among(field, values)
    if not filters.projects:
        return where
    # Functions of SQLite itself fold the case of English letters only.
    db.connection.create_function("folded", 1, str.casefold, deterministic=True)
    # Without a project tag, a row in the user's database belongs to no project.
    tags = [name for name in filters.projects if name or db.kind == "project"]
    return where.among(f"folded(coalesce({tag}, ''))", tags) if tags else Condition("AND 0")


def _timed(where: Condition, filters: Filters, table: str, column: str = "created_at") -> Condition:
    limits = (filters.since, f"{column} >="), (filters.before, f"{column} <")
    for moment, limit in (*limits, (filters.as_of, "created_at <=")):
        where = where.also(f"AND {table}.{limit} ?", (moment,)) if moment else where
    return where


def match_expression(terms: Iterable[str], phrases: Iterable[str] = ()) -> str:
    """Return an FTS5 query for all of the phrases, or if there are none, for any of the terms."""
    if exact := [_quoted(p) for p in phrases if _has_word(p)][:MAX_TERMS]:
        return " AND ".join(exact)
    return " OR ".join([_quoted(t) for t in dict.fromkeys(terms) if _has_word(t)][:MAX_TERMS])


def number_of_texts(databases: Iterable[Database], match: str = "") -> int:
    """Return the number of records and turns: of all, or of those that match the FTS5 query."""
    counts = [
        f"(SELECT count(*) FROM {f'{kind}_fts WHERE {kind}_fts MATCH ?1' if match else kind})"
        for kind in ("records", "episodes")
    ]
    query, values = f"SELECT {' + '.join(counts)}", (match,) if match else ()
    return sum(int(row[0]) for db in databases if (row := db.row(query, values)))


def selective_query(
    db: Database, index: str, groups: Sequence[Group], limit: int, phrases: Sequence[str] = ()
) -> str:
    """Return an FTS5 query for the rows of an index that are worth ranking. Each group has the
    spellings of one word; a row matches if it has any of the words. In a large index, words in no
    row are left out, and also words in more than half of the rows: a row with only such a word
    would rank last. If more than RANKED_ROWS rows match, a row must have a rare word or several
    frequent words: the highest number of them with which SPARE times `limit` rows match.
    """
    every = [word for group in groups for word in group]
    rows = 0 if phrases else _newest_row(db, index)
    if rows < COMMON_FROM_ROWS:
        return match_expression(every, phrases)
    counted = _known(db, index, groups, rows)
    if rows <= RANKED_ROWS or sum(count for count, _ in counted) <= RANKED_ROWS:
        return match_expression(word for _, group in counted for word in group)
    rare: list[str] = []
    frequent: list[str] = []
    rows_left = RANKED_ROWS // 2
    for count, group in sorted(counted, key=lambda pair: pair[0]):
        rows_left -= count
        (rare if rows_left >= 0 else frequent).append(match_expression(group))
    frequent = frequent[:MAX_IN_QUORUM]
    expression = frequent[0]
    for needed in range(len(frequent), 1, -1):
        expression = _at_least(needed, frequent)
        holding = count_matches(db, index, expression, SPARE * limit)
        if holding >= SPARE * limit:
            break
    else:
        if len(frequent) > 1 and holding < limit and not rare:
            # Few rows have two or more of the words, so also accept rows with only the rarest word.
            expression = f"{expression} OR {frequent[0]}"
    return " OR ".join([*rare, expression])


def ranked_after(db: Database, index: str, words: Sequence[str]) -> int:
    """Return the row number after which to rank, so that only about the newest RANKED_ROWS / 2
    matching rows are ranked. Return 0 (rank all) if at most RANKED_ROWS rows match.
    """
    rows = _newest_row(db, index) if words else 0
    if rows <= RANKED_ROWS:
        return 0
    holding = sum(_rows_with(db, index, match_expression([word]), rows) for word in words)
    return rows - rows * RANKED_ROWS // (2 * holding) if holding > RANKED_ROWS else 0


def _newest_row(db: Database, index: str) -> int:
    table = index.removesuffix("_fts")
    [(newest,)] = db.rows(f"SELECT max({'seq' if table == 'records' else 'id'}) FROM {table}")
    return int(newest or 0)


def _known(db: Database, index: str, groups: Sequence[Group], rows: int) -> list[Counted]:
    """Return the groups with matches; those in over half of the rows only if there is no other."""
    rarer: list[Counted] = []
    common: list[Counted] = []
    terms_left, unread = MAX_TERMS, MAX_LOOKED_UP
    counts: dict[str, int] = {}
    if rows <= SAMPLED_ROWS:  # in a small index, one query counts all words
        words = [word for group in groups for word in group if _has_word(word)][:MAX_TERMS]
        first = f"SELECT 1 FROM {index} WHERE {index} MATCH j.value LIMIT ?"
        numbers = db.rows(
            f"SELECT (SELECT count(*) FROM ({first})) FROM json_each(?) AS j ORDER BY j.key",
            (int(rows * COMMON_SHARE) + 1, json.dumps([match_expression([w]) for w in words])),
        )
        counts = {word: int(number) for word, (number,) in zip(words, numbers, strict=True)}
    for group in groups:
        looked_up = group[: min(terms_left, unread)]
        unread -= len(looked_up)
        for word in looked_up:
            if word not in counts:
                counts[word] = _rows_with(db, index, match_expression([word]), rows)
        words_held = [word for word in looked_up if counts[word]]
        terms_left -= len(words_held)
        if words_held:
            count = sum(counts[word] for word in words_held)
            (common if count > rows * COMMON_SHARE else rarer).append((count, words_held))
    return rarer or common


def _rows_with(db: Database, index: str, match: str, rows: int) -> int:
    """Count rows that match; a high count is capped in a small index, estimated in a large one."""
    if not match:
        return 0
    if rows <= SAMPLED_ROWS:
        return count_matches(db, index, match, int(rows * COMMON_SHARE) + 1)
    counted = count_matches(db, index, match, COUNTED_ROWS)
    if counted < COUNTED_ROWS:
        return counted
    newer = f"SELECT count(*) FROM {index} WHERE {index} MATCH ? AND rowid > ?"
    (sampled,) = db.row(newer, (match, rows - SAMPLED_ROWS)) or (0,)
    return max(counted, int(sampled) * rows // SAMPLED_ROWS)


def _at_least(needed: int, of: Sequence[str]) -> str:
    if needed == 1:
        return " OR ".join(f"({condition})" for condition in of)
    if needed == len(of):
        return "(" + " AND ".join(f"({condition})" for condition in of) + ")"
    first, tail = of[0], of[1:]
    return f"((({first}) AND ({_at_least(needed - 1, tail)})) OR {_at_least(needed, tail)})"


def count_matches(db: Database, index: str, match: str, most: int) -> int:
    """Return the number of rows of an index that match, or `most` if more rows match."""
    first = f"SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?"
    (counted,) = db.row(f"SELECT count(*) FROM ({first})", (match, most)) or (0,)
    return int(counted)


def _has_word(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _quoted(text: str) -> str:
    return '"' + encodable(text).replace('"', " ").replace("\0", " ") + '"'

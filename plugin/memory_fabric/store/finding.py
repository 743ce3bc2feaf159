"""Entities for a query of the graph tools: parts of words, words that stand apart; best first.

The reference server finds what holds the whole query as one substring; all of that is found here,
too. Nothing reads the whole graph: parts of words come from indexes of three letters in a row.
"""

from __future__ import annotations

from itertools import islice

from memory_fabric import jsontext
from memory_fabric.store import graph, search
from memory_fabric.text import camel_parts, cjk_pairs, composed, stem, terms, words
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from memory_fabric.store.database import Database

    Rank = tuple[bool, float, bool, float, int]

# Rows of each index that are ranked; what lies beyond follows in the order it was said.
POOL_ROWS = 300
# Ranking costs a look at each row that holds a word: one of more rows than these tells little.
TELLING_ROWS = 2000
# Rows asked of a ranked index; more did not change the top.
CANDIDATES = 100
# Entities with some of the words whose every text is read to see how many they hold.
COMPARED = 30
# The index of parts knows nothing shorter.
PART_CHARS = 3
MAX_PARTS = 60


class Found(Value):
    """The best matches in order, and whether more than these match.

    A match is (rank, name). Ranks sort best first: the entity that the query names; the share of
    its words (-1.0: all of them, or as one substring); in the name; telling words; the oldest.
    """

    best: tuple[tuple[Rank, str], ...]
    is_cut: bool


def find(db: Database, query: str) -> Found:
    """Entities that hold the query as a substring or any of its words, best first.

    Where more match than are ranked (`is_cut`), `holding` gives all with the substring.
    """
    needle, asked = query.lower(), terms(query)
    named, texts = _first(_every_name(db, needle)), _first(_every_text(db, needle))
    scores, scored, whole = _with_words(db, asked)
    names = {**scored, **dict(whole), **dict(texts), **dict(named)}
    in_name = set(dict(named))
    full = in_name.union(dict(texts), dict(whole))
    partial = sorted(scored.keys() - full, key=lambda number: -scores[number])
    shares = _shares(db, partial[:COMPARED], asked)
    meant = dict(_meant(db, query))
    names |= meant
    ranked = [
        (
            (
                number not in meant,
                -1.0 if number in full or number in meant else -shares.get(number, 0.0),
                number not in in_name,
                -scores.get(number, 0.0),
                number,
            ),
            name,
        )
        for number, name in names.items()
    ]
    is_cut = max(len(named), len(texts), len(whole)) >= POOL_ROWS
    return Found(tuple(sorted(ranked)), is_cut)


def holding(db: Database, query: str) -> Iterator[str]:
    """The names of all entities with the query as a substring: in names and types, then in texts.

    Lazily, each once, in the order they were said.
    """
    needle = query.lower()
    seen: set[int] = set()
    for pool in (_every_name(db, needle), _every_text(db, needle)):
        for number, name in pool:
            if number not in seen:
                seen.add(number)
                yield name


def _first(pool: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    return list(islice(pool, POOL_ROWS))


def _every_name(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    for number, name, kind in _rows_with_part(db, needle, *_NAMES):
        if needle in name.lower() or needle in kind.lower():
            yield number, name


def _every_text(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    for _, number, name, text in _rows_with_part(db, needle, *_TEXTS):
        if needle in text.lower():
            yield number, name


# For names and for texts: the index, the rows with parts of the query, all rows with its letters.
_NAMES = (
    "SELECT e.id, e.name, e.type FROM entities_trigrams AS t CROSS JOIN entities AS e "
    "ON e.id = t.rowid WHERE entities_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT e.id, e.name, e.type FROM entities AS e WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(e.name, j.value) OR instr(e.type, j.value)) AND e.id > ? ORDER BY e.id LIMIT ?",
)
_TEXTS = (
    "SELECT o.id, o.entity, e.name, o.text FROM observations_trigrams AS t "
    "CROSS JOIN observations AS o ON o.id = t.rowid CROSS JOIN entities AS e ON e.id = o.entity "
    "WHERE observations_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT o.id, o.entity, e.name, o.text FROM observations AS o CROSS JOIN entities AS e "
    "ON e.id = o.entity WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(o.text, j.value)) AND o.id > ? ORDER BY o.id LIMIT ?",
)


def _rows_with_part(
    db: Database, needle: str, by_parts: str, by_letters: str
) -> Iterator[tuple[Any, ...]]:
    """Rows that may hold the needle, in order of their numbers, asked for in portions."""
    parts = _parts(needle)
    if parts:
        sql, values = by_parts, [" AND ".join(parts)]
    else:
        sql, values = by_letters, [jsontext.dumps(_in_any_case(needle))]
    after = 0
    while rows := db.rows(sql, (*values, after, POOL_ROWS)):
        yield from rows
        if len(rows) < POOL_ROWS:
            return
        after = rows[-1][0]


def _parts(needle: str) -> list[str]:
    """The needle's runs of three letters, quoted for FTS5; fewer find more, which is looked at."""
    runs = (needle[i : i + PART_CHARS] for i in range(len(needle) - PART_CHARS + 1))
    whole = [run.replace('"', '""') for run in dict.fromkeys(runs) if not _is_folded_away(run)]
    return [f'"{run}"' for run in whole[:MAX_PARTS]]


def _is_folded_away(run: str) -> bool:
    """Whether FTS5 cannot ask for it, or has it otherwise: `İ` is lower case `i` and a dot."""
    return "\0" in run or any("\u0300" <= c <= "\u036f" for c in run)


def _in_any_case(needle: str) -> list[str]:
    """A short needle in all its letters' cases, accents joined or not; a long one in two."""
    if len(needle) > PART_CHARS:
        return [needle, needle.upper()]
    spellings = [""]
    for letter in needle:
        spellings = [s + case for s in spellings for case in {letter, letter.upper()}]
    return sorted({form for s in spellings for form in (s, composed(s))})


def _with_words(
    db: Database, asked: Sequence[str]
) -> tuple[dict[int, float], dict[int, str], list[tuple[int, str]]]:
    """Scores and names of entities with telling words; and those with all words in one text."""
    scores: dict[int, float] = {}
    names: dict[int, str] = {}
    for index, ranked in (("observations_fts", _RANKED_TEXTS), ("entities_fts", _RANKED_NAMES)):
        match = search.match_expression(_telling(db, index, asked))
        for number, name, score in db.rows(ranked, (match, CANDIDATES)) if match else ():
            names[number] = name
            if -score > scores.get(number, 0.0):
                scores[number] = -score
    every = [search.match_expression([term]) for term in asked]
    if len(every) < 2 or not all(every):
        return scores, names, []
    all_of_them = " AND ".join(every[: search.MAX_TERMS])
    return scores, names, db.rows(_WITH_ALL, (all_of_them, POOL_ROWS))


_RANKED_TEXTS = (
    "SELECT o.entity, e.name, f.score FROM (SELECT rowid, bm25(observations_fts, 0.6, 1.0, 0.5) "
    "AS score FROM observations_fts WHERE observations_fts MATCH ? ORDER BY score LIMIT ?) AS f "
    "CROSS JOIN observations AS o ON o.id = f.rowid CROSS JOIN entities AS e ON e.id = o.entity"
)
_RANKED_NAMES = (
    "SELECT e.id, e.name, f.score FROM (SELECT rowid, bm25(entities_fts, 1.0, 0.3, 0.5) AS score "
    "FROM entities_fts WHERE entities_fts MATCH ? ORDER BY score LIMIT ?) AS f "
    "CROSS JOIN entities AS e ON e.id = f.rowid"
)
_WITH_ALL = (
    "SELECT DISTINCT o.entity, e.name FROM (SELECT rowid FROM observations_fts "
    "WHERE observations_fts MATCH ? LIMIT ?) AS f CROSS JOIN observations AS o ON o.id = f.rowid "
    "CROSS JOIN entities AS e ON e.id = o.entity"
)


def _telling(db: Database, index: str, asked: Sequence[str]) -> list[str]:
    """The words that not too many rows of an index hold; where it has no more rows, all."""
    table = index.removesuffix("_fts")
    row = db.row(f"SELECT max(id) FROM {table}")
    if not row or (row[0] or 0) <= TELLING_ROWS:
        return [*asked]
    return [term for term in asked if 0 < _rows_of(db, index, term) <= TELLING_ROWS]


def _rows_of(db: Database, index: str, term: str) -> int:
    """How many rows of an index hold the term, counted no further than telling words go."""
    match = search.match_expression([term])
    row = match and db.row(
        f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)",
        (match, TELLING_ROWS + 1),
    )
    return int(row[0]) if row else 0


def _shares(db: Database, some: Iterable[int], asked: Sequence[str]) -> dict[int, float]:
    """The share of the asked words that each of these entities holds, in all that it says."""
    held: dict[int, set[str]] = {number: set() for number in some}
    if not held:
        return {}
    stems = {stem(word) for word in asked}
    wanted = jsontext.dumps(list(held))
    for number, text in db.rows(_TEXTS_OF, (wanted, wanted)):
        held[number] |= _stems(text)
    return {number: len(stems & there) / max(1, len(stems)) for number, there in held.items()}


_TEXTS_OF = (
    "SELECT e.id, e.name || ' ' || e.type || ' ' || e.extra FROM json_each(?) AS j "
    "CROSS JOIN entities AS e ON e.id = j.value UNION ALL SELECT o.entity, o.text "
    "FROM json_each(?) AS j CROSS JOIN observations AS o ON o.entity = j.value"
)


def _stems(text: str) -> set[str]:
    return {stem(word) for word in (*words(text), *camel_parts(text), *cjk_pairs(text))}


def _meant(db: Database, query: str) -> list[tuple[int, str]]:
    """The entity that the whole query names, exactly or by a variant or alias of its name."""
    names = [entity.name for entity in graph.entities_by_key(db, [query]).values()]
    return db.rows("SELECT id, name FROM entities WHERE name = ?", names) if names else []

"""Search of entities for the graph tools: substrings and separate words, best matches first.

The reference server returns entities that hold the whole query as one substring; all of those are
found here, too. The graph is never read as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from memory_fabric.store import fts_query, graph
from memory_fabric.store.database import Database
from memory_fabric.store.substring import names_with, texts_with
from memory_fabric.text import mask_reader, stem, terms

Rank = tuple[bool, float, bool, float, int]

# Matches of each kind that are ranked; the rest follows in creation order.
POOL_ROWS = 200
# Ranking reads every row that holds a word; a word in more rows than this says little.
MAX_SELECTIVE_ROWS = 800
# Rows requested from a ranked index; more did not change the best matches.
CANDIDATES = 100
# Entities whose texts are read to count the words that are too frequent to rank.
COMPARED = 30
# Rank of a match that holds all words of the query.
ALL_WORDS = -1.0


class Found(NamedTuple):
    """The best matches in order; `is_cut` if there are more.

    A match is (rank, name). Ranks sort best first, by: being named by the query; the share of its
    words (ALL_WORDS: all of them, or the query as a substring); a match in the name; the score of
    its rare words; age, the oldest first.
    """

    best: tuple[tuple[Rank, str], ...]
    is_cut: bool


class WordMatches(NamedTuple):
    """Word matches of a query, by the entities' ids.

    Names and scores of the likeliest entities, the share of the query's words that each holds, and
    `whole`: the entities with all of them.
    """

    names: dict[int, str]
    scores: dict[int, float]
    shares: dict[int, float]
    whole: list[tuple[int, str]]


def find(db: Database, query: str, others: Sequence[str] = ()) -> Found:
    """Return the entities that hold the query as a substring or any of its words, best first.

    Entities that one of the `others` names, which mean the same as the query, count as named by it.
    If there are more matches than are ranked (`is_cut`), `all_matching` yields all of them that
    hold the substring, or all words in one text.
    """
    needle = query.lower()
    named, texts = _first(names_with(db, needle)), _first(texts_with(db, needle))
    matches = _by_words(db, terms(query))
    meant = dict(_named_by(db, [query, *others]))
    in_name = dict(named)
    full = {**dict(matches.whole), **dict(texts), **in_name, **meant}
    ranked = [
        (
            (
                number not in meant,
                ALL_WORDS if number in full else -matches.shares.get(number, 0.0),
                number not in in_name,
                -matches.scores.get(number, 0.0),
                number,
            ),
            name,
        )
        for number, name in {**matches.names, **full}.items()
    ]
    is_cut = max(len(named), len(texts), len(matches.whole)) >= POOL_ROWS
    return Found(tuple(sorted(ranked)), is_cut)


def all_matching(db: Database, query: str) -> Iterator[str]:
    """Yield the names of all entities with the query as a substring, then of those with all its
    words.

    Lazy, each name once; matches in names and types first, then in texts, in creation order.
    """
    needle = query.lower()
    seen: set[int] = set()
    for pool in (names_with(db, needle), texts_with(db, needle), _with_all(db, terms(query))):
        for number, name in pool:
            if number not in seen:
                seen.add(number)
                yield name


def _first(pool: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    return list(islice(pool, POOL_ROWS))


def _by_words(db: Database, asked: Sequence[str]) -> WordMatches:
    matches = WordMatches({}, {}, {}, [])
    selective = _selective(db, asked)
    for index, ranked in _RANKED.items():
        match = fts_query.match_expression(selective[index])
        for number, name, score in db.rows(ranked, (match, CANDIDATES)) if match else ():
            matches.names[number] = name
            if -score > matches.scores.get(number, 0.0):
                matches.scores[number] = -score
    if len(asked) < 2:
        matches.shares.update(dict.fromkeys(matches.names, 1.0))
        return matches._replace(whole=list(matches.names.items()))
    if all(len(known) == len(asked) for known in selective.values()):
        _count_words(db, asked, matches)
    else:
        matches.whole.extend(_first(_with_all(db, asked)))
        likely = sorted(matches.names, key=lambda number: -matches.scores[number])
        matches.shares.update(_shares(db, likely[:COMPARED], asked))
    return matches


# Queries for the best rows of each index with any of the words.
_RANKED = {
    "observations_fts": "SELECT o.entity, e.name, f.score FROM (SELECT rowid, "
    "bm25(observations_fts, 0.6, 1.0, 0.5) AS score FROM observations_fts "
    "WHERE observations_fts MATCH ? ORDER BY score LIMIT ?) AS f CROSS JOIN observations AS o "
    "ON o.id = f.rowid CROSS JOIN entities AS e ON e.id = o.entity",
    "entities_fts": "SELECT e.id, e.name, f.score FROM (SELECT rowid, "
    "bm25(entities_fts, 1.0, 0.3, 0.5) AS score FROM entities_fts WHERE entities_fts MATCH ? "
    "ORDER BY score LIMIT ?) AS f CROSS JOIN entities AS e ON e.id = f.rowid",
}


def _selective(db: Database, asked: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each index, the words that few enough of its rows hold; all words for a small
    one.
    """
    rows = db.row("SELECT (SELECT max(id) FROM observations), (SELECT max(id) FROM entities)")
    return {
        index: [
            t for t in asked if (most or 0) <= MAX_SELECTIVE_ROWS or _is_selective(db, index, t)
        ]
        for index, most in zip(_RANKED, rows or (0, 0), strict=True)
    }


def _is_selective(db: Database, index: str, term: str) -> bool:
    """True if at most TELLING_ROWS rows of an index hold the term; counts no further than that."""
    match = fts_query.match_expression([term])
    row = match and db.row(
        f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)",
        (match, MAX_SELECTIVE_ROWS + 1),
    )
    return not row or row[0] <= MAX_SELECTIVE_ROWS


def _with_all(db: Database, asked: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the entities with all of several words in one text, the oldest text first."""
    every = [fts_query.match_expression([term]) for term in asked[: fts_query.MAX_TERMS]]
    if len(every) < 2 or not all(every):
        return
    after = 0
    while rows := db.rows(_ALL_WORDS_IN_ONE, (" AND ".join(every), after, POOL_ROWS)):
        yield from (row[1:] for row in rows)
        if len(rows) < POOL_ROWS:
            return
        after = rows[-1][0]


_ALL_WORDS_IN_ONE = (
    "SELECT o.id, o.entity, e.name FROM observations_fts AS f CROSS JOIN observations AS o "
    "ON o.id = f.rowid CROSS JOIN entities AS e ON e.id = o.entity "
    "WHERE observations_fts MATCH ? AND f.rowid > ? ORDER BY f.rowid LIMIT ?"
)


def _count_words(db: Database, asked: Sequence[str], matches: WordMatches) -> None:
    """Set the shares from the entities that hold each word, in any of their texts."""
    expressions = list(filter(None, (fts_query.match_expression([term]) for term in asked)))
    if not expressions:
        return
    holders: list[set[int]] = [set() for _ in expressions]
    wanted = json.dumps(expressions)
    for place, number in db.rows(_HOLDERS, (wanted, wanted)):
        holders[place].add(number)
    every = sorted(set.intersection(*holders))
    matches.whole.extend(db.rows(_NAMES_OF, (json.dumps(every),)) if every else ())
    for number in matches.names:
        matches.shares[number] = sum(number in there for there in holders) / len(asked)


_HOLDERS = (
    "SELECT j.key, o.entity FROM json_each(?) AS j CROSS JOIN observations_fts AS f "
    "CROSS JOIN observations AS o ON o.id = f.rowid WHERE observations_fts MATCH j.value UNION ALL "
    "SELECT j.key, f.rowid FROM json_each(?) AS j CROSS JOIN entities_fts AS f "
    "WHERE entities_fts MATCH j.value"
)
_NAMES_OF = "SELECT e.id, e.name FROM json_each(?) AS j CROSS JOIN entities AS e ON e.id = j.value"


def _shares(db: Database, some: Iterable[int], asked: Sequence[str]) -> dict[int, float]:
    """Return the share of the query's words that each of these entities holds in all its texts."""
    held = dict.fromkeys(some, 0)
    if not held:
        return {}
    bits = {one: 1 << i for i, one in enumerate(dict.fromkeys(map(stem, asked)))}
    mask_of = mask_reader(bits)
    wanted = json.dumps(list(held))
    for number, text in db.rows(_TEXTS_OF, (wanted, wanted)):
        held[number] |= mask_of(text)
    return {number: mask.bit_count() / max(1, len(bits)) for number, mask in held.items()}


_TEXTS_OF = (
    "SELECT e.id, e.name || ' ' || e.type || ' ' || e.extra FROM json_each(?) AS j "
    "CROSS JOIN entities AS e ON e.id = j.value UNION ALL SELECT o.entity, o.text "
    "FROM json_each(?) AS j CROSS JOIN observations AS o ON o.entity = j.value"
)


def _named_by(db: Database, names: Sequence[str]) -> list[tuple[int, str]]:
    """Return the entities that these names mean, exactly or by a variant or an alias."""
    return [(number, name) for number, name, _ in graph.meant_by(db, names).values()]

"""Search of entities for the graph tools, by substrings and separate words, best matches first.

Like in the reference server, the whole query matches as one substring, ignoring case. Trigram
indexes (without positions) select candidate rows, and each candidate is then checked. For a query
of one or two letters, the graph itself is read until there are enough matches.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from memory_fabric.store.database import Database
from memory_fabric.store.queries import conditions, graph
from memory_fabric.text import composed, mask_reader, stem, terms

Rank = tuple[bool, float, bool, float, int]

# Maximum number of matches of each kind to rank; further matches follow in creation order.
POOL_ROWS = 200
# A word in more rows than this is not used for ranking, because ranking would read all these rows.
MAX_SELECTIVE_ROWS = 800
# The number of best rows read from an index. A larger number did not change the best matches.
CANDIDATES = 100
# Maximum number of entities whose texts are read, to count words that are too frequent to rank.
COMPARED = 30
# The number of rows that one query fetches.
PORTION = 200
# The shortest text that a trigram index can find.
PART_CHARS = 3
# Maximum number of trigrams of a query to look up, evenly spread: a few are selective enough.
MAX_PARTS = 4
# DOTTED is the only letter whose lower case has two characters: `i` and DOT, a combining dot.
DOTTED, DOT = "İ", "\u0307"
# The second field of a Rank is minus the share of the query's words that an entity has. It has this
# value for an entity with all words or with the whole query as a substring.
ALL_WORDS = -1.0


class Found(NamedTuple):
    """The best matches as (rank, name), best first; `is_cut` means that there may be more. An
    entity ranks higher, by these criteria in turn: if the query is its name; if it has more of the
    query's words (ALL_WORDS if it has all, or contains the whole query); if its name or type
    contains the query; if bm25 rates it higher for the query's rare words; if it is older.
    """

    best: tuple[tuple[Rank, str], ...]
    is_cut: bool


class WordMatches(NamedTuple):
    """Entities that have words of the query, by id: name, score, and share of the query's words.
    `whole` lists (id, name) of the entities that have all words.
    """

    names: dict[int, str]
    scores: dict[int, float]
    shares: dict[int, float]
    whole: list[tuple[int, str]]


def find(db: Database, query: str, names: Sequence[str] = ()) -> Found:
    """Return the entities that contain the query as a substring or any of its words, best first.
    `names` are other names for the query: an entity with such a name ranks as if the query were its
    name. If there are more matches than are ranked (`is_cut`), `all_matching` yields all entities
    that contain the substring, or all words in one text.
    """
    needle, matches = query.lower(), _by_words(db, terms(query))
    in_names = list(islice(names_with(db, needle), POOL_ROWS))
    texts = list(islice(texts_with(db, needle), POOL_ROWS))
    by_name = {id_: name for id_, name, _ in graph.meant_by(db, [query, *names]).values()}
    in_name = dict(in_names)
    full = {**dict(matches.whole), **dict(texts), **in_name, **by_name}

    def rank(number: int) -> Rank:
        share = ALL_WORDS if number in full else -matches.shares.get(number, 0.0)
        score = -matches.scores.get(number, 0.0)
        return number not in by_name, share, number not in in_name, score, number

    ranked = ((rank(number), name) for number, name in {**matches.names, **full}.items())
    is_cut = max(len(in_names), len(texts), len(matches.whole)) >= POOL_ROWS
    return Found(tuple(sorted(ranked)), is_cut)


def all_matching(db: Database, query: str) -> Iterator[str]:
    """Yield the names of matching entities lazily, each once: first those with the query in their
    name or type, then those with the query in an observation, then those with all words of the
    query in one observation. Each group is in creation order, of entities or of observations.
    """
    needle = query.lower()
    yielded: set[int] = set()
    for pool in (names_with(db, needle), texts_with(db, needle), _with_all(db, terms(query))):
        for number, name in pool:
            if number not in yielded:
                yielded.add(number)
                yield name


def _by_words(db: Database, words_asked: Sequence[str]) -> WordMatches:
    matches = WordMatches({}, {}, {}, [])
    selective = _selective(db, words_asked)
    for index, ranked in _RANKED.items():
        match = conditions.match_expression(selective[index])
        for number, name, score in db.rows(ranked, (match, CANDIDATES)) if match else ():
            matches.names[number] = name
            if -score > matches.scores.get(number, 0.0):
                matches.scores[number] = -score
    if len(words_asked) < 2:
        matches.shares.update(dict.fromkeys(matches.names, 1.0))
        return matches._replace(whole=list(matches.names.items()))
    if all(len(words) == len(words_asked) for words in selective.values()):
        each = list(filter(None, (conditions.match_expression([term]) for term in words_asked)))
        wanted = json.dumps(each)
        holders: list[set[int]] = [set() for _ in each]
        for place, number in db.rows(_HOLDERS, (wanted, wanted)) if each else ():
            holders[place].add(number)
        every = sorted(set.intersection(*holders)) if holders else []
        matches.whole.extend(db.rows(_NAMES_OF, (json.dumps(every),)) if every else ())
        for number in matches.names if each else ():
            held = sum(number in holder for holder in holders)
            matches.shares[number] = held / len(words_asked)
    else:
        matches.whole.extend(islice(_with_all(db, words_asked), POOL_ROWS))
        likely = sorted(matches.names, key=lambda number: -matches.scores[number])[:COMPARED]
        masks = dict.fromkeys(likely, 0)
        bits = {word: 1 << i for i, word in enumerate(dict.fromkeys(map(stem, words_asked)))}
        mask_of, wanted = mask_reader(bits), json.dumps(likely)
        for number, text in db.rows(_TEXTS_OF, (wanted, wanted)):
            masks[number] |= mask_of(text)
        shares = {number: mask.bit_count() / max(1, len(bits)) for number, mask in masks.items()}
        matches.shares.update(shares)
    return matches


# For each index, a query for the best rows with any of the words.
_RANKED = {
    "observations_fts": "SELECT o.entity, e.name, f.score FROM (SELECT rowid, "
    "bm25(observations_fts, 0.6, 1.0, 0.5) AS score FROM observations_fts "
    "WHERE observations_fts MATCH ? ORDER BY score LIMIT ?) AS f CROSS JOIN observations AS o "
    "ON o.id = f.rowid CROSS JOIN entities AS e ON e.id = o.entity",
    "entities_fts": "SELECT e.id, e.name, f.score FROM (SELECT rowid, "
    "bm25(entities_fts, 1.0, 0.3, 0.5) AS score FROM entities_fts WHERE entities_fts MATCH ? "
    "ORDER BY score LIMIT ?) AS f CROSS JOIN entities AS e ON e.id = f.rowid",
}


def _selective(db: Database, words: Sequence[str]) -> dict[str, list[str]]:
    """Map each index to the words in at most MAX_SELECTIVE_ROWS of its rows, for ranking."""
    newest = db.row("SELECT (SELECT max(id) FROM observations), (SELECT max(id) FROM entities)")

    def is_selective(index: str, term: str) -> bool:
        match = conditions.match_expression([term])
        most = MAX_SELECTIVE_ROWS
        return not match or conditions.count_matches(db, index, match, most + 1) <= most

    return {
        index: [t for t in words if (rows or 0) <= MAX_SELECTIVE_ROWS or is_selective(index, t)]
        for index, rows in zip(_RANKED, newest or (0, 0), strict=True)
    }


def _with_all(db: Database, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    every = [conditions.match_expression([term]) for term in words[: conditions.MAX_TERMS]]
    if len(every) > 1 and all(every):
        rows = _in_portions(db, _ALL_WORDS_IN_ONE, " AND ".join(every), POOL_ROWS)
        yield from (row[1:] for row in rows)


def _in_portions(db: Database, sql: str, wanted: str, portion: int) -> Iterator[tuple[Any, ...]]:
    after = 0
    while rows := db.rows(sql, (wanted, after, portion)):
        yield from rows
        if len(rows) < portion:
            return
        after = rows[-1][0]


_ALL_WORDS_IN_ONE = (
    "SELECT o.id, o.entity, e.name FROM observations_fts AS f CROSS JOIN observations AS o "
    "ON o.id = f.rowid CROSS JOIN entities AS e ON e.id = o.entity "
    "WHERE observations_fts MATCH ? AND f.rowid > ? ORDER BY f.rowid LIMIT ?"
)


_HOLDERS = (
    "SELECT j.key, o.entity FROM json_each(?) AS j CROSS JOIN observations_fts AS f "
    "CROSS JOIN observations AS o ON o.id = f.rowid WHERE observations_fts MATCH j.value UNION ALL "
    "SELECT j.key, f.rowid FROM json_each(?) AS j CROSS JOIN entities_fts AS f "
    "WHERE entities_fts MATCH j.value"
)
_NAMES_OF = "SELECT e.id, e.name FROM json_each(?) AS j CROSS JOIN entities AS e ON e.id = j.value"
# Selects the texts of entities: name, type and aliases as one row, and each observation.
_TEXTS_OF = (
    "SELECT e.id, e.name || ' ' || e.type || ' ' || e.extra FROM json_each(?) AS j "
    "CROSS JOIN entities AS e ON e.id = j.value UNION ALL SELECT o.entity, o.text "
    "FROM json_each(?) AS j CROSS JOIN observations AS o ON o.entity = j.value"
)


def names_with(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    """Yield id and name of each entity with the text in its name or type, in creation order."""
    for number, name, kind in _rows_with_part(db, needle, *_BY_NAME):
        if needle in name.lower() or needle in kind.lower():
            yield number, name


def texts_with(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    """Yield an entity's id and name for each observation with the text, in creation order."""
    for _, number, name, text in _rows_with_part(db, needle, *_BY_TEXT):
        if needle in text.lower():
            yield number, name


# For names and for texts: one query with the trigram index, and one that scans the rows.
_BY_NAME = (
    "SELECT e.id, e.name, e.type FROM entities_trigrams AS t CROSS JOIN entities AS e "
    "ON e.id = t.rowid WHERE entities_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT e.id, e.name, e.type FROM entities AS e WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(e.name, j.value) OR instr(e.type, j.value)) AND e.id > ? ORDER BY e.id LIMIT ?",
)
_BY_TEXT = (
    "SELECT o.id, o.entity, e.name, o.text FROM observations_trigrams AS t "
    "CROSS JOIN observations AS o ON o.id = t.rowid CROSS JOIN entities AS e ON e.id = o.entity "
    "WHERE observations_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT o.id, o.entity, e.name, o.text FROM observations AS o CROSS JOIN entities AS e "
    "ON e.id = o.entity WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(o.text, j.value)) AND o.id > ? ORDER BY o.id LIMIT ?",
)


def _rows_with_part(db: Database, needle: str, by_parts: str, by_letters: str) -> Iterator[Any]:
    """Yield rows that may contain the needle; the caller must check them. The query `by_parts`
    finds rows with all of up to MAX_PARTS trigrams of the needle. If the needle has no usable
    trigram, the query `by_letters` finds rows with any of its `_spellings`.
    """
    parts = _certain_parts(needle)
    runs = (p[at : at + PART_CHARS] for p in parts for at in range(len(p) - PART_CHARS + 1))
    # Omit trigrams with NUL (FTS5 finds none) or a combining accent: texts may have a composed `é`.
    plain = (run for run in runs if not any(c == "\0" or "\u0300" <= c <= "\u036f" for c in run))
    if not (whole := list(dict.fromkeys(plain))):
        return _in_portions(db, by_letters, json.dumps(_spellings(needle)), PORTION)
    step = max(1.0, (len(whole) - 1) / (MAX_PARTS - 1))
    spread = [whole[round(place * step)] for place in range(min(MAX_PARTS, len(whole)))]
    last = needle[-PART_CHARS:]
    dotted = f"({_quoted(last)} OR {_quoted(last[:-1] + DOTTED)})"
    quoted = (dotted if run == last and run.endswith("i") else _quoted(run) for run in spread)
    return _in_portions(db, by_parts, " AND ".join(quoted), PORTION)


def _certain_parts(needle: str) -> list[str]:
    """Split the needle at each `i` with a combining dot; texts may write this as the letter `İ`."""
    return needle.removeprefix(DOT).split("i" + DOT)


def _quoted(run: str) -> str:
    return '"' + run.replace('"', '""') + '"'


def _spellings(needle: str) -> list[str]:
    """Return all case mixes of the needle's longest part; above PART_CHARS only lower and upper."""
    needle = max(_certain_parts(needle), key=len) or ("i" if "i" in needle else needle)
    if len(needle) > PART_CHARS:
        return [needle, needle.upper()]
    spellings = [""]
    for letter in needle:
        cases = {letter, letter.upper(), *(DOTTED if letter in ("i", DOT) else "")}
        spellings = [s + case for s in spellings for case in sorted(cases)]
    return sorted({form for s in spellings for form in (s, composed(s))})

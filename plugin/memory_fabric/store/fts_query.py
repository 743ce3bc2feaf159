"""FTS5 queries: any of some words, all of some phrases, and fewer matches in a large store.

Ranking every match of a large store would take noticeable time, so there only the rows with the
most of the query are matched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from memory_fabric.store.database import Database
from memory_fabric.text import encodable

Group = Sequence[str]

# Words in a query: those of a message (retrieve.SEARCHED_TERMS), most with one spelling.
MAX_TERMS = 96
# Words that are counted to drop those that no row holds.
MAX_LOOKED_UP = 2 * MAX_TERMS
# A word in more than half of all rows weighs nothing in bm25, but ranking its rows costs the most.
# Counting rows costs a twentieth of that, and in a small store both are cheap.
COMMON_SHARE, COMMON_FROM_ROWS = 0.5, 2_000
# Up to this number of matches, all are ranked (some 20 ms). Beyond it, a row has to hold several of
# the query's groups: as many as still leave SPARE times the wanted rows.
RANKED_ROWS, SPARE = 20_000, 16
# Only the rarest of the frequent groups count; bm25 reads every row of each.
MAX_IN_QUORUM = 4
# Rows are counted exactly up to the first number; beyond it, the count of the newest rows is scaled
# up.
COUNTED_ROWS, SAMPLED_ROWS = 2_000, 20_000

# Queries for the highest row number of each index.
_ROWS = {
    "observations_fts": "SELECT max(id) FROM observations",
    "records_fts": "SELECT max(seq) FROM records",
    "episodes_fts": "SELECT max(id) FROM episodes",
}


def match_expression(terms: Iterable[str], phrases: Iterable[str] = ()) -> str:
    """Return an FTS5 query for any of the terms, or for all phrases if there are any.

    Empty if nothing can match.
    """
    exact = [_quoted(p) for p in phrases if _has_word(p)][:MAX_TERMS]
    if exact:
        return " AND ".join(exact)
    quoted = [_quoted(t) for t in dict.fromkeys(terms) if _has_word(t)][:MAX_TERMS]
    return " OR ".join(quoted)


def selective_query(
    db: Database, index: str, groups: Sequence[Group], limit: int, phrases: Sequence[str] = ()
) -> str:
    """Return an FTS5 query for the rows of an index that are worth ranking.

    Each group holds the spellings of one word. In all but large stores the query matches any row
    with any of the words, without words that no row or more than half of the rows hold: a match of
    only such a word would rank last. If more than RANKED_ROWS rows match, it matches rows with a
    rare group, and rows with as many frequent groups as still leave several times `limit` rows.
    """
    every = [word for group in groups for word in group]
    if phrases:
        return match_expression(every, phrases)
    newest = db.row(_ROWS[index])
    rows = int(newest[0] or 0) if newest else 0
    if rows < COMMON_FROM_ROWS:
        return match_expression(every)
    known = _known(db, index, groups, rows)
    if rows <= RANKED_ROWS or sum(count for count, _ in known) <= RANKED_ROWS:
        return match_expression(word for _, group in known for word in group)
    return _most(db, index, known, limit)


def ranked_after(db: Database, index: str, words: Sequence[str]) -> int:
    """Return the row number behind which half of RANKED_ROWS hold one of the words, where more than
    RANKED_ROWS do; else 0.
    """
    newest = db.row(_ROWS[index]) if words else None
    rows = int(newest[0] or 0) if newest else 0
    if rows <= RANKED_ROWS:
        return 0
    holding = sum(_rows_with(db, index, match_expression([word]), rows) for word in words)
    return rows - rows * RANKED_ROWS // (2 * holding) if holding > RANKED_ROWS else 0


def _known(
    db: Database, index: str, groups: Sequence[Group], rows: int
) -> list[tuple[int, list[str]]]:
    """Return the groups with the number of rows that hold them.

    Words that no row holds are left out, and groups in more than half of all rows if others remain.
    """
    rarer: list[tuple[int, list[str]]] = []
    common: list[tuple[int, list[str]]] = []
    left, unread = MAX_TERMS, MAX_LOOKED_UP
    counts = _counts(db, index, groups, rows)
    for group in groups:
        kept, count = [], 0
        looked_up = group[: min(left, unread)]
        unread -= len(looked_up)
        for word in looked_up:
            holding = counts.get(word, -1)
            if holding < 0:
                holding = _rows_with(db, index, match_expression([word]), rows)
            if holding:
                kept.append(word)
                count += holding
        left -= len(kept)
        if kept:
            (common if count > rows * COMMON_SHARE else rarer).append((count, kept))
    return rarer or common


def _counts(db: Database, index: str, groups: Sequence[Group], rows: int) -> dict[str, int]:
    """Return the number of rows with each word, in one query; empty if not counted singly."""
    if rows > SAMPLED_ROWS:
        return {}
    words = [word for group in groups for word in group if _has_word(word)][:MAX_TERMS]
    found = db.rows(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH j.value LIMIT ?))"
        " FROM json_each(?) AS j ORDER BY j.key",
        (int(rows * COMMON_SHARE) + 1, json.dumps([match_expression([w]) for w in words])),
    )
    return {word: int(count) for word, (count,) in zip(words, found, strict=True)}


def _rows_with(db: Database, index: str, match: str, rows: int) -> int:
    """Return the number of rows that hold a word: exact for rare words, otherwise estimated or
    capped.
    """
    if not match:
        return 0
    if rows <= SAMPLED_ROWS:
        return _count(db, index, match, int(rows * COMMON_SHARE) + 1)
    counted = _count(db, index, match, COUNTED_ROWS)
    if counted < COUNTED_ROWS:
        return counted
    found = db.row(
        f"SELECT count(*) FROM {index} WHERE {index} MATCH ? AND rowid > ?",
        (match, rows - SAMPLED_ROWS),
    )
    sampled = int(found[0]) if found else 0
    return max(counted, sampled * rows // SAMPLED_ROWS)


def _most(db: Database, index: str, known: Sequence[tuple[int, list[str]]], limit: int) -> str:
    """Match rows with a rare group, and rows with the most frequent groups."""
    rare: list[str] = []
    frequent: list[str] = []
    rows_left = RANKED_ROWS // 2
    for count, group in sorted(known, key=lambda pair: pair[0]):
        rows_left -= count
        (rare if rows_left >= 0 else frequent).append(match_expression(group))
    frequent = frequent[:MAX_IN_QUORUM]
    expression = frequent[0]
    for needed in range(len(frequent), 1, -1):
        expression = _at_least(needed, frequent)
        holding = _count(db, index, expression, SPARE * limit)
        if holding >= SPARE * limit:
            break
    else:
        if len(frequent) > 1 and holding < limit and not rare:
            # frequent groups may never occur together
            expression = f"{expression} OR {frequent[0]}"
    return " OR ".join([*rare, expression])


def _at_least(needed: int, of: Sequence[str]) -> str:
    """Match rows that meet at least `needed` of the conditions; keeps the expression short."""
    if needed == 1:
        return " OR ".join(f"({one})" for one in of)
    if needed == len(of):
        return "(" + " AND ".join(f"({one})" for one in of) + ")"
    first, rest = of[0], of[1:]
    return f"((({first}) AND ({_at_least(needed - 1, rest)})) OR {_at_least(needed, rest)})"


def _count(db: Database, index: str, match: str, most: int) -> int:
    """Return the number of rows that match, counted up to `most`."""
    found = db.row(
        f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)",
        (match, most),
    )
    return int(found[0]) if found else 0


def _has_word(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _quoted(text: str) -> str:
    return '"' + encodable(text).replace('"', " ").replace("\0", " ") + '"'

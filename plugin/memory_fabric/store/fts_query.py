"""What the full-text indexes are asked: any of some words, all of some phrases; and, where a store
has grown so large that ranking every match would cost the person's time, only what holds most.
"""

from __future__ import annotations

from memory_fabric import jsontext
from memory_fabric.text import encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory_fabric.store.database import Database

    Group = Sequence[str]

# A query holds no more terms than this: the longest match first would not change the top.
MAX_TERMS = 48
# So many are looked up for those that any row holds.
MAX_LOOKED_UP = 3 * MAX_TERMS
# A word of more than half of all rows weighs nothing in bm25, and ranking its rows costs the most.
# Counting rows costs a twentieth of that, and in a small store neither is worth a thought.
COMMON_SHARE, COMMON_FROM_ROWS = 0.5, 2_000
# So many matches are ranked whatever they hold (some 20 ms). Beyond, a row has to hold several of
# the asked things; as many as so many times the wanted rows still do.
RANKED_ROWS, SPARE = 20_000, 16
# The rarest of the frequent things decide; bm25 reads every row of each.
MAX_IN_QUORUM = 4
# Rows are counted one by one up to here; beyond, the newest rows stand for all.
COUNTED_ROWS, SAMPLED_ROWS = 2_000, 20_000

# The rows behind each index.
_ROWS = {
    "observations_fts": "SELECT max(id) FROM observations",
    "records_fts": "SELECT max(seq) FROM records",
    "episodes_fts": "SELECT max(id) FROM episodes",
}


def match_expression(terms: Iterable[str], phrases: Iterable[str] = ()) -> str:
    """An FTS5 query for any of the terms and all of the phrases; empty when nothing can match."""
    exact = [_quoted(p) for p in phrases if _has_word(p)][:MAX_TERMS]
    if exact:
        return " AND ".join(exact)
    quoted = [_quoted(t) for t in dict.fromkeys(terms) if _has_word(t)][:MAX_TERMS]
    return " OR ".join(quoted)


def telling(
    db: Database, index: str, groups: Sequence[Group], limit: int, phrases: Sequence[str] = ()
) -> str:
    """An FTS5 query for the rows of an index worth ranking; each group has one thing's spellings.

    In all but large stores that is any row with any of the words, but for words that no row or more
    than half of them hold: what matches only such a word ranks below every other match. Where more
    than RANKED_ROWS rows match, those that hold something rare are asked for, and those that
    hold as many of the frequent things as still `limit` rows do, several times over.
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


def _known(
    db: Database, index: str, groups: Sequence[Group], rows: int
) -> list[tuple[int, list[str]]]:
    """The groups with the rows that hold them, without words of none or of more than half of all
    rows; if no other is left, with these.
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
    """How many rows hold each word, in one query; none where they are not counted one by one."""
    if rows > SAMPLED_ROWS:
        return {}
    words = [word for group in groups for word in group if _has_word(word)][:MAX_TERMS]
    found = db.rows(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH j.value LIMIT ?))"
        " FROM json_each(?) AS j ORDER BY j.key",
        (int(rows * COMMON_SHARE) + 1, jsontext.dumps([match_expression([w]) for w in words])),
    )
    return {word: int(count) for word, (count,) in zip(words, found, strict=True)}


def _rows_with(db: Database, index: str, match: str, rows: int) -> int:
    """How many rows hold a word: exact for rarer words, else about, or more than half of them."""
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
    """Rows with something rare, and those with the most of what is frequent."""
    rare: list[str] = []
    frequent: list[str] = []
    room = RANKED_ROWS // 2
    for count, group in sorted(known, key=lambda pair: pair[0]):
        room -= count
        (rare if room >= 0 else frequent).append(match_expression(group))
    frequent = frequent[:MAX_IN_QUORUM]
    expression = frequent[0]
    for needed in range(len(frequent), 1, -1):
        expression = _at_least(needed, frequent)
        holding = _count(db, index, expression, SPARE * limit)
        if holding >= SPARE * limit:
            break
    else:
        if len(frequent) > 1 and holding < limit and not rare:
            expression = f"{expression} OR {frequent[0]}"  # frequent things may never meet
    return " OR ".join([*rare, expression])


def _at_least(needed: int, of: Sequence[str]) -> str:
    """Rows that meet at least so many of the conditions; each stands in few places."""
    if needed == 1:
        return " OR ".join(f"({one})" for one in of)
    if needed == len(of):
        return "(" + " AND ".join(f"({one})" for one in of) + ")"
    first, rest = of[0], of[1:]
    return f"((({first}) AND ({_at_least(needed - 1, rest)})) OR {_at_least(needed, rest)})"


def _count(db: Database, index: str, match: str, most: int) -> int:
    """How many rows match, counted up to `most`."""
    found = db.row(
        f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT ?)",
        (match, most),
    )
    return int(found[0]) if found else 0


def _has_word(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _quoted(text: str) -> str:
    return '"' + encodable(text).replace('"', " ").replace("\0", " ") + '"'

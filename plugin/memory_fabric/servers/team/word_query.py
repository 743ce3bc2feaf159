"""Full-text queries of PostgreSQL that match few enough rows to rank, as store/fts_query for FTS5.

Ranking all rows with a common word would read most of a large table. The shares of common words
come from the statistics of the column (memory_fabric.word_shares); words that are not among these
are rare.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

from memory_fabric.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Rows that are ranked, in about 30 ms. Where more match, the rare words decide, and of frequent
# ones only rows with several of them are ranked, the newest first.
RANKED_ROWS = 8_000
# A word in more than half of all rows says nothing if there are others.
COMMON_SHARE = 0.5
# Of frequent groups only the rarest are combined.
MAX_IN_QUORUM = 4
# Groups that are scored, and words in each.
MAX_GROUPS, MAX_WORDS = 8, 24
# Newest rows that are ranked where all words are frequent, for each row that is wanted.
SPARE = 2
# The rows of a word without statistics, for its weight.
RARE_SHARE = 0.0005


class Word(Value):
    """The lexemes of a word, which all have to match, and the share of rows that hold them."""

    lexemes: tuple[str, ...] = ()
    share: float = 0.0


class WordQuery(Value):
    """A tsquery, that of each group of words with its weight, and the rows to rank.

    With `by_time` these are the newest ones.
    """

    query: str
    groups: tuple[str, ...]
    weights: tuple[float, ...]
    budget: int = RANKED_ROWS
    by_time: bool = False


class _Group(Value):
    query: str
    share: float


def word_query(
    groups: Sequence[Sequence[str]],
    known: Mapping[str, Word],
    rows: int,
    limit: int,
    phrases: Sequence[str] = (),
) -> WordQuery | None:
    """Return the query for rows with any of the words, or all of some phrases; None for no word.

    Each group holds the spellings of one word; `known` has all of them, and the phrases. Rows are
    matched as described in the module, out of about `rows`.
    """
    every = [found for found in (_group(group, known) for group in groups) if found]
    every = sorted(every, key=lambda one: one.share)[:MAX_GROUPS]
    if phrases:
        texts = [_all_of(known.get(phrase, Word())) for phrase in phrases]
        wanted = " & ".join(f"({text})" for text in texts if text)
        return _whole(wanted, every, rows) if wanted else None
    if not every:
        return None
    telling = [one for one in every if one.share <= COMMON_SHARE] or every
    if sum(one.share for one in telling) * rows <= RANKED_ROWS:
        return _whole(_any_of(telling), every, rows)
    return _selective(telling, every, rows, limit)


def _selective(
    telling: Sequence[_Group], every: Sequence[_Group], rows: int, limit: int
) -> WordQuery:
    """Match rows with a rare group, and rows with the most frequent groups."""
    rare: list[_Group] = []
    frequent: list[_Group] = []
    left = RANKED_ROWS / 2
    for one in telling:
        left -= one.share * rows
        (rare if left >= 0 else frequent).append(one)
    frequent = frequent[:MAX_IN_QUORUM]
    for needed in range(len(frequent), 1, -1):
        together = list(combinations(frequent, needed))
        holding = rows * sum(math.prod(one.share for one in some) for some in together)
        # Words of one subject occur together more often than by chance.
        if holding >= limit or needed == 2:
            quorum = " | ".join(f"({' & '.join(one.query for one in some)})" for some in together)
            break
    else:
        quorum, holding = _any_of(frequent[:1]), rows * frequent[0].share
    if rare:
        # What is left beside the rare words is only worth its place if it is narrow, too.
        parts = [_any_of(rare), *([quorum] if holding <= RANKED_ROWS / 2 else [])]
        return _whole(" | ".join(parts), every, rows)
    if RANKED_ROWS >= holding >= limit:
        return _whole(quorum, every, rows)
    if holding < limit:  # frequent words that may never occur together
        quorum = _any_of(frequent)
    return _whole(quorum, every, rows)._replace(budget=SPARE * limit, by_time=True)


def _whole(query: str, groups: Sequence[_Group], rows: int) -> WordQuery:
    return WordQuery(
        query, tuple(one.query for one in groups), tuple(_weight(one, rows) for one in groups)
    )


def _weight(group: _Group, rows: int) -> float:
    """Return the inverse document frequency, as bm25 has it."""
    holding = max(group.share or RARE_SHARE, 1 / max(1, rows)) * rows
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5)) if holding < rows else 0.1


def _group(words: Sequence[str], known: Mapping[str, Word]) -> _Group | None:
    found = {text: one.share for one in (known.get(w, Word()) for w in words[:MAX_WORDS])
             if (text := _all_of(one))}  # fmt: skip
    if not found:
        return None
    return _Group(f"({' | '.join(found)})", min(1.0, sum(found.values())))


def _any_of(groups: Sequence[_Group]) -> str:
    return " | ".join(one.query for one in groups)


def _all_of(word: Word) -> str:
    return " & ".join(map(_quoted, word.lexemes))


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"

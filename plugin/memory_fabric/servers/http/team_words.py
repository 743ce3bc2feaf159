"""PostgreSQL full-text queries that match few enough rows to rank, as queries/conditions for FTS5.

Ranking all rows with a common word would read most of a large table. The shares of common words
come from the statistics of the column (memory_fabric.common_words); words that are not among these
are rare.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from memory_fabric.sharing.server.connect import Connection

# Rows that are ranked, in about 15 ms. Where more match, the rare words decide, and of frequent
# ones only rows with several of them are ranked, the newest first.
RANKED_ROWS = 3_000
# A word in more than half of all rows says nothing if there are others.
COMMON_SHARE = 0.5
# Of frequent groups only the rarest are combined.
MAX_IN_QUORUM = 4
# Groups that are scored, as memory_fabric.find_heads has them.
MAX_GROUPS = 8
# Newest rows that are ranked where all words are frequent, for each row that is wanted: a scan by
# time costs more than ranking.
SPARE = 1
# The rows of a word without statistics, for its weight.
RARE_SHARE = 0.0005
# Statistics change slowly: PostgreSQL takes them anew after a few per cent of changes.
KEPT_S = 300.0
MAX_KNOWN = 50_000
# A space is counted exactly up to here, and else estimated.
COUNTED_ROWS = 20_000


class Word(NamedTuple):
    """The lexemes of a word, which all have to match, and the share of rows that hold them."""

    lexemes: tuple[str, ...] = ()
    share: float = 0.0


class WordQuery(NamedTuple):
    """Two tsqueries, and that of each group of words with its weight.

    `ranked` matches few enough rows to rank all of them; of those that `newest` matches only so
    many of the newest are. Either may be empty.
    """

    groups: tuple[str, ...]
    weights: tuple[float, ...]
    ranked: str = ""
    newest: str = ""


class _Group(NamedTuple):
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
        return _whole(every, rows)._replace(ranked=wanted) if wanted else None
    if not every:
        return None
    # Two spellings of a word in a question are one word.
    telling = list(dict.fromkeys(one for one in every if one.share <= COMMON_SHARE)) or every
    if sum(one.share for one in telling) * rows <= RANKED_ROWS:
        return _whole(every, rows)._replace(ranked=_any_of(telling))
    return _selective(telling, every, rows, limit)


def _selective(
    telling: Sequence[_Group], every: Sequence[_Group], rows: int, limit: int
) -> WordQuery:
    """Match rows with a rare group, and rows with the most frequent groups."""
    rare: list[_Group] = []
    frequent: list[_Group] = []
    budget = RANKED_ROWS / 2
    for group in telling:
        budget -= group.share * rows
        (rare if budget >= 0 else frequent).append(group)
    quorum, holding = _quorum(frequent[:MAX_IN_QUORUM], rows, limit)
    query = _whole(every, rows)
    if limit <= holding <= RANKED_ROWS:
        return query._replace(ranked=" | ".join([*([_any_of(rare)] if rare else []), quorum]))
    if holding < limit:  # frequent words that may never occur together
        quorum = _any_of(frequent[:MAX_IN_QUORUM])
    return query._replace(ranked=_any_of(rare), newest=quorum)


def _quorum(frequent: Sequence[_Group], rows: int, limit: int) -> tuple[str, float]:
    """Return a query for rows with as many of the groups as still leave enough, and their number.

    The number is that of words that occur independently; those of one subject are together more
    often.
    """
    for needed in range(len(frequent), 1, -1):
        holding = rows * sum(
            math.prod(one.share for one in some) for some in combinations(frequent, needed)
        )
        if holding >= limit or needed == 2:
            return _at_least(needed, frequent), holding
    return _any_of(frequent), rows * sum(one.share for one in frequent)


def _at_least(needed: int, groups: Sequence[_Group]) -> str:
    """Return a query for rows with at least `needed` of the groups."""
    if needed == 1:
        return _any_of(groups)
    if needed == len(groups):
        return f"({' & '.join(one.query for one in groups)})"
    first, rest = groups[0].query, groups[1:]
    return f"({first} & ({_at_least(needed - 1, rest)})) | {_at_least(needed, rest)}"


def _whole(groups: Sequence[_Group], rows: int) -> WordQuery:
    """Return the query of no rows, with the inverse document frequency of each group as bm25's."""
    counts = [max(group.share or RARE_SHARE, 1 / max(1, rows)) * rows for group in groups]
    weights = [math.log(1 + (rows - n + 0.5) / (n + 0.5)) if n < rows else 0.1 for n in counts]
    return WordQuery(tuple(group.query for group in groups), tuple(weights))


def _group(words: Sequence[str], known: Mapping[str, Word]) -> _Group | None:
    shares = {text: word.share for word in (known.get(w, Word()) for w in words)
             if (text := _all_of(word))}  # fmt: skip
    if not shares:
        return None
    return _Group(f"({' | '.join(sorted(shares))})", min(1.0, sum(shares.values())))


def _any_of(groups: Sequence[_Group]) -> str:
    return " | ".join(group.query for group in groups)


def _all_of(word: Word) -> str:
    quoted = (lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in word.lexemes)
    return " & ".join(f"'{lexeme}'" for lexeme in quoted)


class Vocabulary:
    """The words that were looked up lately, by space; shared by the threads of a process."""

    def __init__(self) -> None:
        # Lost updates are looked up again.
        self._since = time.monotonic()
        self._words: dict[tuple[str, str], Word] = {}
        self._rows: dict[str, int] = {}
        self._common: dict[str, dict[str, float]] = {}

    def look_up(
        self, connection: Connection, space: str, words: Iterable[str]
    ) -> Mapping[str, Word]:
        """Return the statistics of these words; all new words are looked up in one query."""
        self._forget_old()
        entries = {word: self._words.get((space, word)) for word in words}
        missing = [word for word, entry in entries.items() if entry is None]
        if missing:
            common = self._common.get(space)
            if common is None:
                sql = "SELECT lexeme, share FROM memory_fabric.common_words(%s)"
                common = self._common[space] = dict(connection.execute(sql, (space,)).fetchall())
            sql = (
                "SELECT w, tsvector_to_array(memory_fabric.words_of(w)) "
                "FROM unnest(%s::text[]) AS w"
            )
            for word, lexemes in connection.execute(sql, (missing,)).fetchall():
                share = min((common.get(lexeme, 0.0) for lexeme in lexemes), default=0.0)
                entries[word] = self._words[space, word] = Word(tuple(lexemes), share)
        return {word: entry for word, entry in entries.items() if entry is not None}

    def count_rows(self, connection: Connection, space: str) -> int:
        """Return about how many rows the space has."""
        self._forget_old()
        count = self._rows.get(space)
        if count is None:
            sql = "SELECT memory_fabric.count_heads(%s, %s)"
            ((count,),) = connection.execute(sql, (space, COUNTED_ROWS)).fetchall()
            self._rows[space] = int(count)
        return int(count)

    def _forget_old(self) -> None:
        now = time.monotonic()
        if now - self._since > KEPT_S or len(self._words) > MAX_KNOWN:
            self._since, self._words, self._rows, self._common = now, {}, {}, {}

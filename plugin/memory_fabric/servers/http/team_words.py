"""PostgreSQL full-text queries that keep the number of rows to rank low.

Ranking all rows with a common word would read most of a large table, so such words are combined or
ignored. The column's statistics (memory_fabric.common_words) list them, with the share of rows that
contain each. A word without statistics counts as rare. For SQLite, see queries/conditions.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from memory_fabric.sharing.server.connect import Connection

# Maximum number of rows to rank, which takes about 15 ms. If more rows match, all rows with rare
# words are ranked, but only the newest of the rows with several frequent words.
RANKED_ROWS = 3_000
# A word in more than this share of the rows is ignored if the query has other words.
COMMON_SHARE = 0.5
# Maximum number of frequent words to combine; if there are more, the least frequent are chosen.
MAX_IN_QUORUM = 4
# Maximum number of groups to score; memory_fabric.find_heads has the same limit.
MAX_GROUPS = 8
# A search by `newest` ranks this many times the number of rows to return. The factor is low,
# because scanning by time costs more than ranking.
SPARE = 1
# To calculate the weight of a word without statistics, this share of the rows is assumed.
RARE_SHARE = 0.0005
# Cache lifetime in seconds; PostgreSQL updates its statistics only after many rows have changed.
KEPT_S = 300.0
MAX_KNOWN = 50_000
# Up to this number, a space's rows are counted exactly; above it, the number is estimated.
COUNTED_ROWS = 20_000


class Word(NamedTuple):
    """The lexemes of a word, all of which must match, and the share of rows that contain them."""

    lexemes: tuple[str, ...] = ()
    share: float = 0.0


class WordQuery(NamedTuple):
    """A search. `ranked` and `newest` are tsqueries that find rows; either may be empty. `ranked`
    matches so few rows that all are ranked. Of the rows that `newest` matches, only some of the
    newest are ranked. A row's score is based on the `weights` of the words that it contains;
    `groups` has a tsquery for each word.
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
    """Return a query for rows with all `phrases`; without phrases, with any of the words. Return
    None if none of these phrases or words has a lexeme. Each group contains the spellings of one
    word; `known` has the statistics of all spellings and phrases. The space has about `rows` rows.
    Frequent words are combined, to match fewer rows, but still `limit` rows if possible.
    """
    every = []
    for spellings in groups:
        words = [known.get(text, Word()) for text in spellings]
        shares = {_all_of(word): word.share for word in words}
        shares.pop("", None)  # drop the empty query of spellings that have no lexemes
        if shares:
            every.append(_Group(f"({' | '.join(sorted(shares))})", min(1.0, sum(shares.values()))))
    every = sorted(every, key=lambda group: group.share)[:MAX_GROUPS]
    if phrases:
        texts = [_all_of(known.get(phrase, Word())) for phrase in phrases]
        wanted = " & ".join(f"({text})" for text in texts if text)
        return _whole(every, rows)._replace(ranked=wanted) if wanted else None
    if not every:
        return None
    # Equal groups, for instance of two spellings of a word in a question, count only once.
    telling = list(dict.fromkeys(one for one in every if one.share <= COMMON_SHARE)) or every
    if sum(one.share for one in telling) * rows <= RANKED_ROWS:
        return _whole(every, rows)._replace(ranked=_any_of(telling))
    return _selective(telling, every, rows, limit)


def _selective(telling: list[_Group], every: list[_Group], rows: int, limit: int) -> WordQuery:
    """Return a query for a rare word or several frequent words of `telling`, scored by `every`."""
    rare: list[_Group] = []
    frequent: list[_Group] = []
    budget = RANKED_ROWS / 2
    for group in telling:
        budget -= group.share * rows
        (rare if budget >= 0 else frequent).append(group)
    frequent = frequent[:MAX_IN_QUORUM]
    quorum, holding = _any_of(frequent), rows * sum(group.share for group in frequent)
    # Require two or more frequent words: as many as leave at least `limit` rows by this estimate.
    # It treats words as independent; in fact, related words occur together more often.
    for needed in range(len(frequent), 1, -1):
        shares = (math.prod(g.share for g in some) for some in combinations(frequent, needed))
        holding = rows * sum(shares)
        if holding >= limit or needed == 2:
            quorum = _at_least(needed, frequent)
            break
    query = _whole(every, rows)
    if limit <= holding <= RANKED_ROWS:
        return query._replace(ranked=" | ".join([*([_any_of(rare)] if rare else []), quorum]))
    if holding < limit:  # too few rows may contain two of the words, so one is enough
        quorum = _any_of(frequent)
    return query._replace(ranked=_any_of(rare), newest=quorum)


def _at_least(needed: int, groups: Sequence[_Group]) -> str:
    if needed == 1:
        return _any_of(groups)
    if needed == len(groups):
        return f"({' & '.join(one.query for one in groups)})"
    first, rest = groups[0].query, groups[1:]
    return f"({first} & ({_at_least(needed - 1, rest)})) | {_at_least(needed, rest)}"


def _whole(groups: Sequence[_Group], rows: int) -> WordQuery:
    """Return a query with weights as in BM25; the caller adds the tsqueries that find rows."""
    counts = [max(group.share or RARE_SHARE, 1 / max(1, rows)) * rows for group in groups]
    weights = [math.log(1 + (rows - n + 0.5) / (n + 0.5)) if n < rows else 0.1 for n in counts]
    return WordQuery(tuple(group.query for group in groups), tuple(weights))


def _any_of(groups: Sequence[_Group]) -> str:
    return " | ".join(group.query for group in groups)


def _all_of(word: Word) -> str:
    quoted = (lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in word.lexemes)
    return " & ".join(f"'{lexeme}'" for lexeme in quoted)


class Vocabulary:
    """A cache of the statistics of each space's words, shared by the threads of a process."""

    def __init__(self) -> None:
        # No lock: if threads overwrite each other's entries, the entries are looked up again.
        self._since = time.monotonic()
        self._words: dict[tuple[str, str], Word] = {}
        # For each space: the share of rows with each common lexeme, and the number of rows.
        self._spaces: dict[str, tuple[dict[str, float], int]] = {}

    def look_up(
        self, connection: Connection, space: str, words: Iterable[str]
    ) -> tuple[Mapping[str, Word], int]:
        """Return the statistics of these words, and the approximate number of rows in the space."""
        now = time.monotonic()
        if now - self._since > KEPT_S or len(self._words) > MAX_KNOWN:
            self._since, self._words, self._spaces = now, {}, {}
        statistics = self._spaces.get(space)
        if statistics is None:
            sql = "SELECT lexeme, share FROM memory_fabric.common_words(%s)"
            common: dict[str, float] = dict(connection.execute(sql, (space,)).fetchall())
            sql = "SELECT memory_fabric.count_heads(%s, %s)"
            ((count,),) = connection.execute(sql, (space, COUNTED_ROWS)).fetchall()
            statistics = self._spaces[space] = common, int(count)
        entries = {word: self._words.get((space, word)) for word in words}
        missing = [word for word, entry in entries.items() if entry is None]
        if missing:
            sql = "SELECT w, tsvector_to_array(memory_fabric.words_of(w)) FROM unnest(%s::text[]) w"
            for word, lexemes in connection.execute(sql, (missing,)).fetchall():
                share = min((statistics[0].get(lexeme, 0.0) for lexeme in lexemes), default=0.0)
                entries[word] = self._words[space, word] = Word(tuple(lexemes), share)
        return {w: entry for w, entry in entries.items() if entry is not None}, statistics[1]

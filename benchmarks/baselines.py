"""Plain rankers to stand beside ours: each is given the texts, and a question, and nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence

Texts = Sequence[tuple[str, str]]
Ranker = Callable[[str], list[str]]

LIMIT = 50
# The words that carry no content in a question; a plain ranker has a plain list.
_STOP = frozenset(
    """a an and are as at be been but by can could did do does for from had has have he her his how
    i in is it its me my of on or our she so that the their them they this to was we were what when
    where which who why will with would you your""".split()
)


def substring(texts: Texts) -> Ranker:
    """The whole question as one piece of a text, as the reference memory server searches."""

    def ranked(question: str) -> list[str]:
        wanted = question.lower()
        return [id_ for id_, text in texts if wanted in text.lower()]

    return ranked


def keyword(texts: Texts) -> Ranker:
    """Texts by how many of the question's content words stand in them."""
    lowered = [(id_, text.lower()) for id_, text in texts]

    def ranked(question: str) -> list[str]:
        wanted = _content(question)
        counted = [(sum(w in text for w in wanted), id_) for id_, text in lowered]
        counted.sort(key=lambda pair: pair[0], reverse=True)
        return _first(id_ for count, id_ in counted if count)

    return ranked


def fts5(texts: Texts) -> Ranker:
    """SQLite's full-text search as it comes: unicode61, any of the words, bm25."""
    return _full_text(texts, "unicode61", content_only=False)


def porter(texts: Texts) -> Ranker:
    """The same with English stems, and without the words that carry no content."""
    return _full_text(texts, "porter unicode61", content_only=True)


BASELINES: dict[str, Callable[[Texts], Ranker]] = {
    "substring": substring,
    "keyword": keyword,
    "fts5": fts5,
    "porter": porter,
}


class FullText:
    """A full-text index of SQLite that can grow: any of the words, by bm25."""

    def __init__(self, tokenizer: str = "porter unicode61", *, content_only: bool = True) -> None:
        self._content_only = content_only
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE t USING fts5 (id UNINDEXED, text, tokenize='{tokenizer}')"
        )

    def add(self, texts: Texts) -> None:
        """Index (id, text) pairs; an id may have several."""
        self._connection.executemany("INSERT INTO t VALUES (?, ?)", texts)

    def ranked(self, question: str, limit: int = LIMIT) -> list[str]:
        """Return the ids of the `limit` best texts, best first, each once."""
        wanted = _content(question) if self._content_only else _words(question)
        match = " OR ".join(f'"{word}"' for word in wanted)
        if not match:
            return []
        rows = self._connection.execute(
            "SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (match, limit)
        )
        return _first(row[0] for row in rows)


def _full_text(texts: Texts, tokenizer: str, *, content_only: bool) -> Ranker:
    index = FullText(tokenizer, content_only=content_only)
    index.add(texts)
    return index.ranked


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"[a-z0-9]+", text.lower())))


def _content(text: str) -> list[str]:
    found = _words(text)
    return [word for word in found if word not in _STOP] or found


def _first(found: object) -> list[str]:
    return list(dict.fromkeys(found))  # type: ignore[call-overload]

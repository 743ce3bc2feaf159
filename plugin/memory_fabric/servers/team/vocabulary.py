"""Lexemes and shares of words in a space, kept for a while by each process."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from memory_fabric.servers.team.word_query import Word
from memory_fabric.sharing.server.connect import Connection

# Statistics change slowly: PostgreSQL takes them anew after a few per cent of changes.
KEPT_S = 300.0
MAX_WORDS = 50_000
# A space is counted exactly up to here, and else estimated.
COUNTED_ROWS = 20_000


class Vocabulary:
    """The words that were looked up lately, by space; shared by the threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = time.monotonic()
        self._words: dict[tuple[str, str], Word] = {}
        self._rows: dict[str, int] = {}

    def look_up(
        self, connection: Connection, space: str, words: Iterable[str]
    ) -> Mapping[str, Word]:
        """Return what is known of these words, with one query for those that are new."""
        self._forget_old()
        found = {word: self._words.get((space, word)) for word in words}
        missing = [word for word, one in found.items() if one is None]
        if missing:
            rows = connection.execute(
                "SELECT word, lexemes, share FROM memory_fabric.word_shares(%s, %s)",
                (space, missing),
            ).fetchall()
            new = {word: Word(tuple(lexemes), share) for word, lexemes, share in rows}
            with self._lock:
                self._words |= {(space, word): one for word, one in new.items()}
            found |= new
        return {word: one for word, one in found.items() if one is not None}

    def count_rows(self, connection: Connection, space: str) -> int:
        """Return about how many rows the space has."""
        self._forget_old()
        known = self._rows.get(space)
        if known is None:
            row: tuple[Any, ...] | None = connection.execute(
                "SELECT memory_fabric.count_heads(%s, %s)", (space, COUNTED_ROWS)
            ).fetchone()
            known = int(row[0]) if row else 0
            with self._lock:
                self._rows[space] = known
        return known

    def _forget_old(self) -> None:
        now = time.monotonic()
        if now - self._since > KEPT_S or len(self._words) > MAX_WORDS:
            with self._lock:
                self._since, self._words, self._rows = now, {}, {}

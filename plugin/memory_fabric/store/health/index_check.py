"""Comparison of full-text indexes with their texts, of large ones by rows and samples.

SQLite compares an index with all texts in a transaction that writes, so that changes wait; for a
million observations that is half a minute.
"""

from __future__ import annotations

import re

from memory_fabric.store.database import Database
from memory_fabric.store.health import repair

# From so many rows on, an index is compared by rows and samples.
LARGE_ROWS = 50_000
# Samples: so many of the newest rows, and as many spread over all.
SAMPLES = 100
# Of each index its table of texts, the column of row numbers, and a column with text.
_TEXTS = {
    "entities_fts": ("entities", "id", "name"),
    "observations_fts": ("observations", "id", "text"),
    "records_fts": ("records", "seq", "what"),
    "episodes_fts": ("episodes", "id", "text"),
    "entities_trigrams": ("entities", "id", "name"),
    "observations_trigrams": ("observations", "id", "text"),
}
# A word that every tokenizer takes as one.
_WORD = re.compile(r"(?<!\w)[A-Za-z0-9]{3,}(?!\w)")
TRIGRAM_CHARS = 3


def is_large(database: Database, table: str) -> bool:
    """Return True if an index has so many texts that `check` compares samples of them."""
    texts, number, _ = _TEXTS[table]
    counted = database.row(
        f"SELECT count(*) FROM {texts} HAVING (SELECT max({number}) FROM {texts}) >= ?",
        (LARGE_ROWS,),
    )
    return counted is not None and counted[0] >= LARGE_ROWS


def matches(database: Database, table: str, *, full: bool = False) -> bool:
    """Return True if an index holds its texts, as far as they are compared.

    Raises StoreUnavailable.
    """
    if full or not is_large(database, table):
        return repair.index_matches(database, table)
    return samples_match(database, table)


def samples_match(database: Database, table: str) -> bool:
    """Return True if an index has the rows of its texts, and a word of each sampled one."""
    return _has_all_rows(database, table) and _has_samples(database, table)


def _has_all_rows(database: Database, table: str) -> bool:
    """Return True if index and texts have the same row numbers; an index of parts keeps none."""
    texts, number, _ = _TEXTS[table]
    sizes = f"{table}_docsize"
    if not database.row("SELECT 1 FROM sqlite_master WHERE name = ?", (sizes,)):
        return True
    missing = database.row(
        f"SELECT 1 FROM {texts} AS t WHERE NOT EXISTS "
        f"(SELECT 1 FROM {sizes} AS s WHERE s.id = t.{number}) LIMIT 1"
    )
    left = missing or database.row(
        f"SELECT 1 FROM {sizes} AS s WHERE NOT EXISTS "
        f"(SELECT 1 FROM {texts} AS t WHERE t.{number} = s.id) LIMIT 1"
    )
    return not left


def _has_samples(database: Database, table: str) -> bool:
    """Return True if a word of each sampled text leads to its row."""
    query = f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?"
    for number, text in _samples(database, table):
        words = _WORD.findall(text.partition("\0")[0])  # where indexes of parts end
        if not words:
            continue
        word = max(words, key=len)
        word = word[:TRIGRAM_CHARS] if table.endswith("_trigrams") else word
        if not database.row(query, (f'"{word}"', number)):
            return False
    return True


def _samples(database: Database, table: str) -> list[tuple[int, str]]:
    texts, number, column = _TEXTS[table]
    select = f"SELECT {number}, {column} FROM {texts}"
    newest = database.rows(f"{select} ORDER BY {number} DESC LIMIT {SAMPLES}")
    most = newest[0][0] if newest else 0
    spread = [
        row
        for at in range(0, most, max(1, most // SAMPLES))
        for row in database.rows(f"{select} WHERE {number} >= ? ORDER BY {number} LIMIT 1", (at,))
    ]
    return [(row[0], row[1]) for row in (*newest, *spread)]

"""Substring search in any case, as the reference server's search defines it.

Trigram indexes (without positions) give the rows that may hold the text, and each is checked. Only
for one or two letters the graph itself is read, until enough is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from memory_fabric.store.database import Database
from memory_fabric.text import composed

# Rows fetched at once.
PORTION = 200
# The shortest text that the index knows.
PART_CHARS = 3
# Trigrams of a long text that are looked up, evenly spread: each costs, and a few are selective
# enough.
MAX_PARTS = 4
# The one letter with a lower case of two characters: `i` and this dot.
DOTTED, DOT = "İ", "\u0307"


def names_with(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    """Yield ids and names of entities with the text in name or type, in creation order, lazily."""
    for number, name, kind in _rows_with_part(db, needle, *_NAMES):
        if needle in name.lower() or needle in kind.lower():
            yield number, name


def texts_with(db: Database, needle: str) -> Iterator[tuple[int, str]]:
    """Yield the same for observations, in creation order; an entity once for each of them."""
    for _, number, name, text in _rows_with_part(db, needle, *_TEXTS):
        if needle in text.lower():
            yield number, name


# For names and for texts: the query by trigrams, and the one by letters for short texts.
_NAMES = (
    "SELECT e.id, e.name, e.type FROM entities_trigrams AS t CROSS JOIN entities AS e "
    "ON e.id = t.rowid WHERE entities_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT e.id, e.name, e.type FROM entities AS e WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(e.name, j.value) OR instr(e.type, j.value)) AND e.id > ? ORDER BY e.id LIMIT ?",
)
_TEXTS = (
    "SELECT o.id, o.entity, e.name, o.text FROM observations_trigrams AS t "
    "CROSS JOIN observations AS o ON o.id = t.rowid CROSS JOIN entities AS e ON e.id = o.entity "
    "WHERE observations_trigrams MATCH ? AND t.rowid > ? ORDER BY t.rowid LIMIT ?",
    "SELECT o.id, o.entity, e.name, o.text FROM observations AS o CROSS JOIN entities AS e "
    "ON e.id = o.entity WHERE EXISTS (SELECT 1 FROM json_each(?) AS j "
    "WHERE instr(o.text, j.value)) AND o.id > ? ORDER BY o.id LIMIT ?",
)


def _rows_with_part(
    db: Database, needle: str, by_parts: str, by_letters: str
) -> Iterator[tuple[Any, ...]]:
    """Yield rows that may hold the needle, by row number, fetched in portions."""
    parts = _parts(needle)
    if parts:
        sql, values = by_parts, [" AND ".join(parts)]
    else:
        sql, values = by_letters, [json.dumps(_spellings(needle))]
    after = 0
    while rows := db.rows(sql, (*values, after, PORTION)):
        yield from rows
        if len(rows) < PORTION:
            return
        after = rows[-1][0]


def _parts(needle: str) -> list[str]:
    """Return trigrams of the needle, quoted for FTS5; fewer only find more rows to check."""
    whole = [
        run
        for piece in _certain_parts(needle)
        for start in range(len(piece) - PART_CHARS + 1)
        if not _is_unindexed(run := piece[start : start + PART_CHARS])
    ]
    whole = list(dict.fromkeys(whole))
    step = max(1.0, (len(whole) - 1) / (MAX_PARTS - 1))
    spread = [whole[round(place * step)] for place in range(min(MAX_PARTS, len(whole)))]
    last = needle[-PART_CHARS:]
    return [
        f"({_quoted(run)} OR {_quoted(run[:-1] + DOTTED)})"
        if run == last and run.endswith("i")
        else _quoted(run)
        for run in spread
    ]


def _certain_parts(needle: str) -> list[str]:
    """Split the needle where a stored `İ` may be, whose lower case is `i` and a dot.

    The needle may begin or end between the two.
    """
    return needle.removeprefix(DOT).split("i" + DOT)


def _quoted(run: str) -> str:
    return '"' + run.replace('"', '""') + '"'


def _is_unindexed(run: str) -> bool:
    """True if FTS5 cannot look it up, or may have stored another form of it."""
    return "\0" in run or any("\u0300" <= c <= "\u036f" for c in run)


def _spellings(needle: str) -> list[str]:
    """Return texts of which every row that holds the needle has at least one.

    They are all cases of the longest of its `_certain_parts`, accents composed or not; two for a
    long one.
    """
    needle = max(_certain_parts(needle), key=len) or ("i" if "i" in needle else needle)
    if len(needle) > PART_CHARS:
        return [needle, needle.upper()]
    spellings = [""]
    for letter in needle:
        cases = {letter, letter.upper(), *(DOTTED if letter in ("i", DOT) else "")}
        spellings = [s + case for s in spellings for case in sorted(cases)]
    return sorted({form for s in spellings for form in (s, composed(s))})

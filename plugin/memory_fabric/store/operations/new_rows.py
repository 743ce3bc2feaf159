"""New entities and observations of one operation, inserted by few statements.

Each `INSERT` is a savepoint, at which FTS5 writes to the database what it has collected: a
statement for each row costs four times as much as one for a hundred rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.text import index_extra, name_key

# The oldest builds of SQLite allow 999 bound values.
MAX_VALUES = 999
# What all rows have in common comes first, and is bound once.
_ENTITY = (
    "INSERT INTO entities (domain, created_at, updated_at, record, said_by, id, name, key, type, "
    "extra) VALUES "
)
_OBSERVATION = (
    "INSERT INTO observations (trust, source, session, agent, domain, created_at, record, entity, "
    "text, extra) VALUES "
)


class NewRows:
    """Rows that are collected, and stored by `insert`.

    `pending` are the numbers of the entities that have rows which are not stored yet.
    """

    def __init__(self, c: sqlite3.Connection, by: Provenance) -> None:
        self._c, self._by = c, by
        self._last = int(c.execute("SELECT coalesce(max(id), 0) FROM entities").fetchone()[0])
        self._entities: list[tuple[Any, ...]] = []
        self._observations: list[tuple[Any, ...]] = []
        self.pending: set[int] = set()

    def add_entity(self, name: str, kind: str) -> int:
        """Add an entity with a new name, and return its number."""
        self._last += 1
        self._entities.append((self._last, name, name_key(name), kind, index_extra(name)))
        self.pending.add(self._last)
        return self._last

    def add_texts(self, entity: int, name: str, texts: Iterable[str]) -> None:
        """Add observations that the entity of this number and name lacks."""
        for text in texts:
            self._observations.append((entity, text, index_extra(f"{name} {text}")))
            self.pending.add(entity)

    def insert(self) -> None:
        """Store all that was added since."""
        by = self._by
        stated = (by.trust, by.source, by.session, by.agent, by.domain, by.at)
        marks = "?1, ?2, ?3, ?4, ?5, ?6, ''"
        insert_many(self._c, _ENTITY, "?1, ?2, ?2, '', ''", stated[-2:], self._entities)
        insert_many(self._c, _OBSERVATION, marks, stated, self._observations)
        self._entities, self._observations = [], []
        self.pending.clear()


def insert_many(
    c: sqlite3.Connection,
    insert: str,
    common_marks: str,
    common: Sequence[Any],
    rows: Sequence[Sequence[Any]],
) -> None:
    """Insert rows with as few statements as the bound values allow.

    `insert` ends with `VALUES`; `common_marks` are the numbered marks of the columns whose values,
    `common`, are those of every row, and come before the columns of `rows`.
    """
    if not rows:
        return
    width = len(rows[0])
    most = (MAX_VALUES - len(common)) // width
    one = f"({common_marks}, {', '.join('?' * width)})"
    for start in range(0, len(rows), most):
        some = rows[start : start + most]
        values = [value for row in some for value in row]
        c.execute(insert + ", ".join([one] * len(some)), (*common, *values))

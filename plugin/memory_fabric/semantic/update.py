"""Embedding of memories without a vector, by the worker or by `memory-fabric semantic update`.

One process at a time (`embedding.lock` in home). Each batch is a transaction of its own, so a
process that is killed leaves what it has done, and the next one goes on from there. A vector is
stored only if its text is still the one that was read.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from memory_fabric.config import Settings
from memory_fabric.semantic import vectors
from memory_fabric.semantic.model import NAME, Model
from memory_fabric.setup.extras import EMBEDDED, KEYS, LOCK
from memory_fabric.store import files
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from memory_fabric.models import Progress

BATCH = 64
LAST = (1 << 63) - 1
# Of the user's turns, the newest.
MAX_TURNS = 20_000


class Kind(NamedTuple):
    """Rows that get vectors: their number and text as selected, and those that belong to it."""

    name: str
    key: str
    text: str
    where: str


# What a record states is in its own row; its observations repeat it.
KINDS = (
    Kind(
        vectors.RECORDS,
        KEYS[vectors.RECORDS],
        "rtrim(t.what || ' ' || t.why)",
        EMBEDDED[vectors.RECORDS],
    ),
    Kind(
        vectors.OBSERVATIONS,
        KEYS[vectors.OBSERVATIONS],
        "t.text",
        EMBEDDED[vectors.OBSERVATIONS],
    ),
    Kind(
        vectors.EPISODES,
        KEYS[vectors.EPISODES],
        "t.text",
        f"{EMBEDDED[vectors.EPISODES]} AND t.id > coalesce((SELECT q.id FROM episodes AS q "
        f"WHERE q.role = 'user' ORDER BY q.id DESC LIMIT 1 OFFSET {MAX_TURNS}), 0)",
    ),
)


def embed_all(
    memory: Memory, model: Model, *, give_up_s: float, progress: Progress | None = None
) -> int:
    """Embed everything in the databases of this memory that has no vector; return how much.

    Ends early at the time `give_up_s` (monotonic). Raises TimeoutError if another process does it,
    StoreUnavailable, OSError.
    """
    embedded = 0
    with lock(memory.settings):
        for database in memory.databases():
            _drop_unused(database)
            todo = sum(missing(database, kind) for kind in KINDS)
            before = embedded
            for kind in KINDS:
                below = LAST
                while time.monotonic() < give_up_s:
                    count, below = _embed_some(database, kind, model, below)
                    if not count:
                        break
                    embedded += count
                    if progress is not None:
                        progress(embedded - before, max(todo, embedded - before))
    return embedded


def lock(settings: Settings) -> files.Locked:
    """Return the lock of the one process that embeds; its file's time is that of the last start."""
    path = os.path.join(settings.home, LOCK)
    file_lock = files.Locked(path, 0)
    if os.path.exists(path):
        os.utime(path)
    return file_lock


def missing(database: Database, kind: Kind) -> int:
    """Return the number of rows of a kind that have no vector of this model."""
    rows = database.rows(f"SELECT count(*) {_lacking(kind)}", (kind.name, NAME))
    return int(rows[0][0])


def _drop_unused(database: Database) -> None:
    """Delete vectors of other models, and those of turns that are no longer among the newest."""
    with database.transaction(durable=False) as c:
        c.execute("DELETE FROM vectors WHERE model <> ?", (NAME,))
        c.execute(
            "DELETE FROM vectors WHERE kind = ? AND row <= coalesce((SELECT id FROM episodes "
            "WHERE role = 'user' ORDER BY id DESC LIMIT 1 OFFSET ?), 0)",
            (vectors.EPISODES, MAX_TURNS),
        )


def _lacking(kind: Kind) -> str:
    return (
        f"FROM {kind.name} AS t LEFT JOIN vectors AS v ON v.kind = ? AND v.row = t.{kind.key} "
        f"AND v.model = ? WHERE v.row IS NULL AND {kind.where}"
    )


def _embed_some(database: Database, kind: Kind, model: Model, below: int) -> tuple[int, int]:
    """Embed the newest rows below a number that have no vector; return their count and the last.

    A text that changes meanwhile gets no vector; a later run finds it again.
    """
    rows = database.rows(
        f"SELECT t.{kind.key}, {kind.text} {_lacking(kind)} AND t.{kind.key} < ? "
        f"ORDER BY t.{kind.key} DESC LIMIT ?",
        (kind.name, NAME, below, BATCH),
    )
    if not rows:
        return 0, below
    stored = vectors.packed(model.encode([text for _, text in rows]))
    with database.transaction(durable=False) as c:
        c.executemany(
            "INSERT OR REPLACE INTO vectors (kind, row, model, vector) "
            f"SELECT ?, t.{kind.key}, ?, ? FROM {kind.name} AS t "
            f"WHERE t.{kind.key} = ? AND {kind.text} = ?",
            [
                (kind.name, NAME, vector, row, text)
                for vector, (row, text) in zip(stored, rows, strict=True)
            ],
        )
    return len(rows), int(rows[-1][0])

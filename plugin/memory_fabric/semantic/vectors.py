"""Stored vectors: the table `vectors` of a database, and its copy in the memory of this process.

A vector is kept as 8-bit integers, scaled so that the largest number is 127; its length carries no
meaning. Rows are deleted with the text they belong to, by triggers.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memory_fabric.semantic.model import DIMENSIONS, NAME
from memory_fabric.store.database import Database

RECORDS, OBSERVATIONS, EPISODES = "records", "observations", "episodes"
KINDS = (RECORDS, OBSERVATIONS, EPISODES)
LARGEST = 127.0
# Rows that are converted to floats at a time: what fits into the processor's cache.
CHUNK = 2048
# Hits are named by the public ids of their rows. CROSS keeps the order: few ids, many vectors.
_OF_IDS = {
    RECORDS: "CROSS JOIN records AS r ON r.id = j.value CROSS JOIN vectors AS v ON v.row = r.seq",
    OBSERVATIONS: "CROSS JOIN vectors AS v ON v.row = j.value",
    EPISODES: (
        "CROSS JOIN episodes AS t ON t.uuid = j.value CROSS JOIN vectors AS v ON v.row = t.id"
    ),
}


def packed(vectors: Any) -> list[bytes]:
    """Return rows of floats as they are stored."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    return [row.tobytes() for row in np.rint(vectors / largest * LARGEST).astype(np.int8)]


def unpacked(stored: Sequence[bytes]) -> Any:
    """Return stored vectors as rows of floats of length 1."""
    rows = np.frombuffer(b"".join(stored), dtype=np.int8).reshape(-1, DIMENSIONS)
    floats = rows.astype(np.float32)
    return floats / np.maximum(np.linalg.norm(floats, axis=1, keepdims=True), 1e-9)


def of_ids(database: Database, kind: str, keys: Iterable[Any]) -> dict[Any, bytes]:
    """Return the stored vectors of rows by the ids of records, turns, or numbers of
    observations.
    """
    rows = database.rows(
        f"SELECT j.value, v.vector FROM json_each(?) AS j {_OF_IDS[kind]} "
        "AND v.kind = ? AND v.model = ?",
        (json.dumps(list(keys)), kind, NAME),
    )
    return dict(rows)


class Matrix:
    """All vectors of one database, for an exact search; read again as far as they changed."""

    def __init__(self) -> None:
        # The last number that was read, and the number of rows that the table then had.
        self._last = self._count = 0
        self._kinds = np.zeros(0, dtype=np.int8)
        self._rows = np.zeros(0, dtype=np.int64)
        self._vectors = np.zeros((0, DIMENSIONS), dtype=np.int8)
        self._lengths = np.zeros(0, dtype=np.float32)

    def refresh(self, database: Database) -> None:
        """Read what was added since the last call; everything if something was removed."""
        last, count = database.rows("SELECT coalesce(max(seq), 0), count(*) FROM vectors")[0]
        if last > self._last:
            self._count += self._append(database)
            self._last = last
        if count != self._count:
            self.__init__()  # type: ignore[misc]
            self._append(database)
            self._last, self._count = last, count

    def nearest(
        self, question: Any, most: Mapping[str, int], floor: float
    ) -> list[tuple[str, int]]:
        """Return (kind, row) of the rows nearest to a question's vector, nearest first.

        At most `most` of each kind, and none whose cosine similarity is below the floor.
        """
        similarity = self._similarities(question)
        nearest_rows: list[tuple[float, str, int]] = []
        for number, kind in enumerate(KINDS):
            (places,) = np.nonzero((self._kinds == number) & (similarity >= floor))
            count = most.get(kind, 0)
            if len(places) > count:
                places = places[np.argpartition(-similarity[places], count)[:count]]
            nearest_rows += [(-float(similarity[p]), kind, int(self._rows[p])) for p in places]
        return [(kind, row) for _, kind, row in sorted(nearest_rows)]

    def _similarities(self, question: Any) -> Any:
        similarities = np.zeros(len(self._rows), dtype=np.float32)
        for start in range(0, len(similarities), CHUNK):
            some = slice(start, start + CHUNK)
            similarities[some] = self._vectors[some].astype(np.float32) @ question
        return similarities / self._lengths

    def _append(self, database: Database) -> int:
        """Append what the table has after the last number; return how many rows that are."""
        found = database.rows(
            "SELECT kind, row, vector FROM vectors WHERE seq > ? AND model = ? ORDER BY seq",
            (self._last, NAME),
        )
        if not found:
            return 0
        stored = np.frombuffer(b"".join(row[2] for row in found), dtype=np.int8)
        vectors = stored.reshape(-1, DIMENSIONS)
        lengths = np.ones(len(found), dtype=np.float32)
        for start in range(0, len(found), CHUNK):
            some = slice(start, start + CHUNK)
            lengths[some] = np.linalg.norm(vectors[some].astype(np.float32), axis=1)
        kinds = np.array([KINDS.index(row[0]) for row in found], dtype=np.int8)
        rows = np.array([row[1] for row in found], dtype=np.int64)
        self._vectors = np.concatenate([self._vectors, vectors])
        self._lengths = np.concatenate([self._lengths, np.maximum(lengths, 1e-9)])
        self._kinds = np.concatenate([self._kinds, kinds])
        self._rows = np.concatenate([self._rows, rows])
        return len(found)

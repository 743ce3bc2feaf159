"""Stored vectors: the table `vectors` of a database, and its copy in this process's memory. A
vector is stored as 8-bit integers, scaled so that the largest absolute value is 127, because only
the direction matters. When a text is deleted or changed, database triggers delete its vector.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memory_fabric import config, models
from memory_fabric.semantic.model import DIMENSIONS, NAME, Model
from memory_fabric.setup.extras import EMBEDDED, KEYS, LOCK
from memory_fabric.store import files
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

RECORDS, OBSERVATIONS, EPISODES = "records", "observations", "episodes"
KINDS = (RECORDS, OBSERVATIONS, EPISODES)
LARGEST = 127.0
# The number of rows converted to floats at a time; they fit into the processor's cache.
CHUNK = 2048
# SQL joins from public ids to vectors. CROSS makes SQLite start with the ids, which are few.
_OF_IDS = {
    RECORDS: "CROSS JOIN records AS r ON r.id = j.value CROSS JOIN vectors AS v ON v.row = r.seq",
    OBSERVATIONS: "CROSS JOIN vectors AS v ON v.row = j.value",
    EPISODES: (
        "CROSS JOIN episodes AS t ON t.uuid = j.value CROSS JOIN vectors AS v ON v.row = t.id"
    ),
}


def packed(vectors: Any) -> list[bytes]:
    """Convert each row of floats to its stored form, a byte string of 8-bit integers."""
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    return [row.tobytes() for row in np.rint(vectors / largest * LARGEST).astype(np.int8)]


def unpacked(stored: Sequence[bytes]) -> Any:
    """Convert stored vectors to an array of floats whose rows have length 1."""
    rows = np.frombuffer(b"".join(stored), dtype=np.int8).reshape(-1, DIMENSIONS)
    floats = rows.astype(np.float32)
    return floats / np.maximum(np.linalg.norm(floats, axis=1, keepdims=True), 1e-9)


def of_ids(database: Database, kind: str, keys: Iterable[Any]) -> dict[Any, bytes]:
    """Map keys to their stored vectors; a key without a vector is left out. Depending on the table
    `kind`, a key is the id of a record, the id of a turn, or the row number of an observation.
    """
    rows = database.rows(
        f"SELECT j.value, v.vector FROM json_each(?) AS j {_OF_IDS[kind]} "
        "AND v.kind = ? AND v.model = ?",
        (json.dumps(list(keys)), kind, NAME),
    )
    return dict(rows)


class Matrix:
    """All vectors of a database, loaded for an exact search; `refresh` loads any new vectors."""

    def __init__(self) -> None:
        # At the last refresh: the highest `seq` in the table, and the table's number of rows.
        self._last = self._count = 0
        self._kinds = np.zeros(0, dtype=np.int8)
        self._rows = np.zeros(0, dtype=np.int64)
        self._vectors = np.zeros((0, DIMENSIONS), dtype=np.int8)
        self._lengths = np.zeros(0, dtype=np.float32)

    def refresh(self, database: Database) -> None:
        """Load the rows added since the last call; reload all rows if rows were deleted."""
        last, count = database.rows("SELECT coalesce(max(seq), 0), count(*) FROM vectors")[0]
        if last > self._last:
            self._count += self._append(database)
            self._last = last
        if count != self._count:
            self.__init__()  # type: ignore[misc]
            self._append(database)
            self._last, self._count = last, count

    def nearest(self, question: Any, most: dict[str, int], floor: float) -> list[tuple[str, int]]:
        """Return (kind, row number) of the rows whose vectors are most similar to `question`, best
        first: of each kind at most `most[kind]` (default 0), with a similarity of at least `floor`.
        """
        similarity = np.zeros(len(self._rows), dtype=np.float32)
        for start in range(0, len(similarity), CHUNK):
            some = slice(start, start + CHUNK)
            similarity[some] = self._vectors[some].astype(np.float32) @ question
        similarity = similarity / self._lengths
        nearest_rows: list[tuple[float, str, int]] = []
        for number, kind in enumerate(KINDS):
            (places,) = np.nonzero((self._kinds == number) & (similarity >= floor))
            count = most.get(kind, 0)
            if len(places) > count:
                places = places[np.argpartition(-similarity[places], count)[:count]]
            nearest_rows += [(-float(similarity[p]), kind, int(self._rows[p])) for p in places]
        return [(kind, row) for _, kind, row in sorted(nearest_rows)]

    def _append(self, database: Database) -> int:
        query = "SELECT kind, row, vector FROM vectors WHERE seq > ? AND model = ? ORDER BY seq"
        new_rows = database.rows(query, (self._last, NAME))
        if not new_rows:
            return 0
        stored = np.frombuffer(b"".join(row[2] for row in new_rows), dtype=np.int8)
        vectors = stored.reshape(-1, DIMENSIONS)
        lengths = np.ones(len(new_rows), dtype=np.float32)
        for start in range(0, len(new_rows), CHUNK):
            some = slice(start, start + CHUNK)
            lengths[some] = np.linalg.norm(vectors[some].astype(np.float32), axis=1)
        kinds = np.array([KINDS.index(row[0]) for row in new_rows], dtype=np.int8)
        rows = np.array([row[1] for row in new_rows], dtype=np.int64)
        self._vectors = np.concatenate([self._vectors, vectors])
        self._lengths = np.concatenate([self._lengths, np.maximum(lengths, 1e-9)])
        self._kinds = np.concatenate([self._kinds, kinds])
        self._rows = np.concatenate([self._rows, rows])
        return len(new_rows)


# Similarities are rounded, because their last digits (and so their order) differ by machine.
DIGITS = 4
# The mean of all found vectors is subtracted from each of them. With few vectors, the mean is close
# to each, and little would remain; therefore, this many zero vectors are included in the mean.
UNHEARD_TEXTS = 10


def text_of(hit: models.Hit) -> str:
    """Return the text of a hit for embedding; a record's text is followed by its reason."""
    return f"{hit.text} {hit.metadata.get('why') or ''}".rstrip()


def stored(databases: Sequence[Database], hits: Sequence[models.Hit]) -> dict[str, Any]:
    """Map the ids of hits to their stored vectors; hits without a stored vector are left out."""
    by_id: dict[str, bytes] = {}
    for database in databases:
        # The row keys to look up in each table, mapped to the ids of their hits.
        by_kind: dict[str, dict[Any, str]] = {}
        for hit in hits:
            source, _, key = hit.id.partition(":")
            number = key.rpartition("#")[2]
            if hit.metadata.get("store") != database.kind:
                continue
            if source == "record":
                by_kind.setdefault(RECORDS, {})[key] = hit.id
            elif source == "episode":
                by_kind.setdefault(EPISODES, {})[key] = hit.id
            elif source == "graph" and "#" in key and number.isdecimal():
                by_kind.setdefault(OBSERVATIONS, {})[int(number)] = hit.id
        for kind, keys in by_kind.items():
            by_id |= {keys[key]: v for key, v in of_ids(database, kind, keys).items()}
    return dict(zip(by_id, unpacked(list(by_id.values())), strict=True))


def similarities(question: Any, found: Mapping[str, Any]) -> dict[str, float]:
    """Map each key of `found` to its vector's similarity to the vector `question`, from −1 to 1."""
    if not found:
        return {}
    rows = np.stack(list(found.values()))
    mean = rows.sum(axis=0) / (len(rows) + UNHEARD_TEXTS)
    near = np.clip(_unit(rows - mean) @ _unit(question[None] - mean)[0], -1.0, 1.0)
    return {id_: round(float(value), DIGITS) for id_, value in zip(found, near, strict=True)}


def _unit(rows: Any) -> Any:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-6)


BATCH_ROWS, LAST = 64, (1 << 63) - 1
# Only this many of the user's newest turns are embedded.
MAX_TURNS = 20_000
# For each table, SQL for a row `t`: the text to embed, and the condition for embedding the row.
# EMBEDDED (setup.extras) excludes observations copied from a record, which repeat its text.
TEXTS = {RECORDS: "rtrim(t.what || ' ' || t.why)", OBSERVATIONS: "t.text", EPISODES: "t.text"}
WHERE = {
    **EMBEDDED,
    EPISODES: f"{EMBEDDED[EPISODES]} AND t.id > coalesce((SELECT q.id FROM episodes AS q "
    f"WHERE q.role = 'user' ORDER BY q.id DESC LIMIT 1 OFFSET {MAX_TURNS}), 0)",
}


def embed_all(memory: Memory, model: Model, *, give_up_s: float) -> int:
    """Embed the rows that have no vector yet, until the monotonic clock reaches `give_up_s`; return
    their number. Raises StoreUnavailable, OSError, and TimeoutError if another process embeds rows.
    """
    embedded = 0
    with lock(memory.settings):
        for database in memory.databases():
            with database.transaction(durable=False) as c:
                c.execute("DELETE FROM vectors WHERE model <> ?", (NAME,))
                c.execute(
                    "DELETE FROM vectors WHERE kind = ? AND row <= coalesce((SELECT id FROM "
                    "episodes WHERE role = 'user' ORDER BY id DESC LIMIT 1 OFFSET ?), 0)",
                    (EPISODES, MAX_TURNS),
                )
            for kind in KINDS:
                below = LAST
                while time.monotonic() < give_up_s:
                    count, below = _embed_some(database, kind, model, below)
                    if not count:
                        break
                    embedded += count
    return embedded


def lock(settings: config.Settings) -> files.Locked:
    """Return the embedding lock, not yet held; set its file's mtime (time of the last start)."""
    path = os.path.join(settings.home, LOCK)
    if os.path.exists(path):
        os.utime(path)
    return files.Locked(path, 0)


def _embed_some(database: Database, kind: str, model: Model, below: int) -> tuple[int, int]:
    """Embed up to BATCH_ROWS rows without a vector: those with the highest keys less than `below`.
    Return (number of rows, lowest key: the next `below`), or (0, `below`) if none are left.
    """
    key = KEYS[kind]
    rows = database.rows(
        f"SELECT t.{key}, {TEXTS[kind]} FROM {kind} AS t LEFT JOIN vectors AS v ON v.kind = ? "
        f"AND v.row = t.{key} AND v.model = ? WHERE v.row IS NULL AND {WHERE[kind]} "
        f"AND t.{key} < ? ORDER BY t.{key} DESC LIMIT ?",
        (kind, NAME, below, BATCH_ROWS),
    )
    if not rows:
        return 0, below
    stored = packed(model.encode([text for _, text in rows]))
    with database.transaction(durable=False) as c:
        c.executemany(
            "INSERT OR REPLACE INTO vectors (kind, row, model, vector) "
            f"SELECT ?, t.{key}, ?, ? FROM {kind} AS t WHERE t.{key} = ? AND {TEXTS[kind]} = ?",
            [(kind, NAME, vector, *row) for vector, row in zip(stored, rows, strict=True)],
        )
    return len(rows), int(rows[-1][0])

#!/usr/bin/env python3
"""Time and room that finding by meaning takes in a large store.

    python benchmarks/vectors.py [--records 100000] [--questions 30]

Fills a fresh memory with records and with random vectors for them, as the extra stores them, and
prints how long the first and further questions take, and what each part of one takes. Random
vectors are as slow to search as real ones; `--embed N` also measures embedding N texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

import conversations
from memory_fabric import ids
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.semantic import vectors
from memory_fabric.semantic.measure import Measure, measure_for
from memory_fabric.semantic.model import DIMENSIONS, NAME
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

BATCH = 10_000
QUESTIONS = ("tooth pain", "which editor does Ann use", "how do we ship the shop", "what is slow")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 0."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        memory = _memory(folder)
        measure = measure_for(memory.settings)
        if measure is None or not measure.ready():
            raise SystemExit("this needs the extra: pip install '.[semantic]'")
        (database,) = memory.databases()
        bare = os.path.getsize(database.path)
        fill(database, options.records)
        print(f"{options.records} records")
        _print_times(memory, measure, options.questions)
        memory.close()
        grown = os.path.getsize(database.path) - bare
        print(f"database: {grown / options.records:.0f} bytes a record with its vector")
    if options.embed:
        texts = [f"Ann told Ben on day {n} why the shop was late" for n in range(options.embed)]
        took = _ms(lambda: measure.model.encode(texts))
        print(f"embedding: {took / len(texts):.1f} ms a text of about 10 words")
    return 0


def fill(database: Database, records: int) -> None:
    """Copy the one record of a database, each copy with a text of its own and a random vector."""
    columns = [row[1] for row in database.rows("PRAGMA table_info(records)")]
    own = {"seq": "?1", "id": "'r' || ?1", "what": "'note ' || ?1 || ' of ' || (?1 % 997)"}
    select = ", ".join(own.get(name, name) for name in columns)
    import numpy as np  # after the extra has been imported, which limits its threads

    random = np.random.default_rng(1)
    for start in range(2, records + 2, BATCH):
        numbers = range(start, min(start + BATCH, records + 2))
        floats = random.standard_normal((len(numbers), DIMENSIONS), dtype=np.float32)
        with database.transaction(durable=False) as c:
            c.executemany(
                f"INSERT INTO records SELECT {select} FROM records WHERE seq = 1",
                [(number,) for number in numbers],
            )
            c.executemany(
                "INSERT INTO vectors (kind, row, model, vector) VALUES ('records', ?, ?, ?)",
                zip(numbers, [NAME] * len(numbers), vectors.packed(floats), strict=True),
            )


def _print_times(memory: Memory, measure: Measure, questions: int) -> None:
    (database,) = memory.databases()
    asked = [f"{QUESTIONS[n % len(QUESTIONS)]} {n}" for n in range(questions)]
    matrix = vectors.Matrix()
    print(f"first reading of the vectors: {_ms(lambda: matrix.refresh(database)):.0f} ms")
    fabric = Fabric(memory, ids.timestamp(), measure)
    fabric.recall("first")
    by_words = Fabric(memory, ids.timestamp())
    some = measure.model.encode(["warm"])[0]
    parts: dict[str, Callable[[str], object]] = {
        "the question's vector": lambda text: measure.model.encode([text]),
        "search of the vectors": lambda _: matrix.nearest(some, {"records": 30}, 0.25),
        "recall by words": by_words.recall,
        "recall by words and meaning": fabric.recall,
    }
    for name, do in parts.items():
        began = time.process_time()
        times = sorted(_ms(lambda text=text, do=do: do(text)) for text in asked)  # type: ignore[misc]
        cpu = 1000 * (time.process_time() - began) / len(asked)
        print(
            f"{name}: {times[len(times) // 2]:.1f} ms, at most {times[-1]:.1f} ms; CPU {cpu:.1f} ms"
        )


def _memory(folder: str) -> Memory:
    os.makedirs(os.path.join(folder, "project"))
    settings = read_settings(
        {
            "HOME": folder,
            "MEMORY_FABRIC_HOME": os.path.join(folder, "memory"),
            "CLAUDE_PROJECT_DIR": os.path.join(folder, "project"),
        },
        {},
    )
    memory = Memory.open(settings)
    memory.remember(Record(what="A first note", type="note"), Provenance("cli", "user"))
    return memory


def _ms(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return 1000 * (time.perf_counter() - began)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--embed", type=int, default=0, help="also embed so many texts")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    assert conversations.ROOT  # it makes the package importable
    sys.exit(main())

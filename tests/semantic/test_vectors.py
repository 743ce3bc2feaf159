"""Stored vectors: made in the background, found by meaning, gone with their texts."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_fabric.models import CANDIDATE_FROM, Hit, Provenance
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.semantic import vectors
from memory_fabric.semantic.measure import measure_for
from memory_fabric.semantic.model import DIMENSIONS, NAME
from memory_fabric.semantic.vectors import embed_all
from memory_fabric.setup import extras, packages
from memory_fabric.store.forget import purge, purge_steps
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers.file_locations import locations
from recall.given import NOW, USER, open_memory, remember
from semantic import extra

DENTIST = "Dr. Weiss is the dentist whom Ann sees in Bonn"
OTHERS = (
    "The shop uses pnpm for its packages",
    "Deployments wait for the nightly build",
    "Ben prefers dark themes in his editor",
)
QUESTION = "tooth pain"
BY = Provenance("cli", trust="user")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory that knows a dentist, in a record."""
    found = open_memory(tmp_path)
    for text in (DENTIST, *OTHERS):
        remember(found, text)
    yield found
    found.close()


def embed(memory: Memory) -> int:
    """Embed everything."""
    return embed_all(memory, extra.model(), give_up_s=math.inf)


def ask(memory: Memory, question: str = QUESTION) -> list[str]:
    """The texts that recall finds with the extra, best first."""
    return [h.text for h in Fabric(memory, NOW, measure_for(memory.settings)).recall(question).hits]


def stored(memory: Memory) -> list[tuple[Any, ...]]:
    """Kind, row and vector of all that is stored."""
    return [
        row
        for database in memory.databases()
        for row in database.rows("SELECT kind, row, vector FROM vectors ORDER BY kind, row")
    ]


def files_with(folder: Path, content: bytes) -> list[Path]:
    """The files below a folder that hold these bytes."""
    return [p for p in folder.rglob("*") if p.is_file() and content in p.read_bytes()]


def test_after_embedding_a_question_finds_a_record_that_shares_no_word_with_it(
    memory: Memory,
) -> None:
    assert ask(memory) == []
    assert Fabric(memory, NOW).recall(QUESTION).hits == ()

    assert embed(memory) == 4

    assert ask(memory)[0] == DENTIST
    assert Fabric(memory, NOW).recall(QUESTION).hits == ()
    assert embed(memory) == 0


def test_semantic_search_also_finds_observations_and_turns_of_the_user(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    entity = {"name": "Ann", "entityType": "person", "observations": [DENTIST]}
    memory.write("create_entities", {"entities": [entity]}, USER)
    said = [("user", "My new car is a red Volvo"), ("assistant", "A red Volvo is a nice car")]
    turns = [
        {"id": role, "session": "s", "role": role, "text": text, "created_at": NOW}
        for role, text in said
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)

    embed(memory)

    assert [kind for kind, _, _ in stored(memory)] == ["episodes", "observations"]
    assert ask(memory)[0] == DENTIST
    assert "My new car is a red Volvo" in ask(memory, "which automobile")
    memory.close()


def test_filters_in_a_query_also_apply_to_semantic_results(memory: Memory) -> None:
    embed(memory)

    assert ask(memory, f"{QUESTION} type:problem") == []
    assert ask(memory, f"{QUESTION} before:2026-01-01") == []


def test_a_purge_removes_every_byte_of_vector_of(memory: Memory, tmp_path: Path) -> None:
    embed(memory)
    before = stored(memory)
    (record,) = memory.find_records("what = ?", (DENTIST,))
    row = memory.databases()[0].row("SELECT seq FROM records WHERE id = ?", (record.id,))
    assert row is not None
    (vector,) = [v for _, number, v in before if number == row[0]]
    assert files_with(tmp_path, vector)
    assert ask(memory)[0] == DENTIST

    purge.purge(memory, purge.find(memory, record.id), BY)

    assert not files_with(tmp_path, vector)
    assert DENTIST not in ask(memory)
    assert len(stored(memory)) == len(before) - 1


def test_a_changed_text_gets_a_new_vector(memory: Memory) -> None:
    embed(memory)
    assert ask(memory)[0] == DENTIST
    (database,) = memory.databases()
    before = dict(database.rows("SELECT row, vector FROM vectors"))
    with database.transaction() as c:
        c.execute("UPDATE records SET what = 'The lamp is green' WHERE what = ?", (DENTIST,))
        c.execute("UPDATE records SET sightings = 2")

    assert len(stored(memory)) == len(before) - 1
    assert embed(memory) == 1

    after = dict(database.rows("SELECT row, vector FROM vectors"))
    assert sum(before[row] != after[row] for row in after) == 1
    assert "The lamp is green" in ask(memory, "which colour has the light")
    assert ask(memory) == []


def test_forgetting_a_record_deletes_its_vector_and_removes_it_from_semantic_results(
    memory: Memory,
) -> None:
    embed(memory)
    assert ask(memory)[0] == DENTIST
    (record,) = memory.find_records("what = ?", (DENTIST,))

    memory.forget([record.id], BY)

    assert len(stored(memory)) == 3
    assert ask(memory) == []


def test_packing_and_unpacking_a_vector_preserves_its_direction() -> None:
    some = extra.model().encode([DENTIST, *OTHERS, QUESTION])

    again = vectors.unpacked(vectors.packed(some))

    assert ((some * again).sum(axis=1) > 0.999).all()


def test_removing_the_semantic_extra_deletes_all_vectors_from_disk(
    memory: Memory, tmp_path: Path
) -> None:
    embed(memory)
    made = stored(memory)

    deleted = purge_steps.delete_vectors(memory, locations(memory, everywhere=True))

    assert deleted == len(made) and not stored(memory)
    memory.close()
    assert not any(files_with(tmp_path, vector) for _, _, vector in made)


def test_a_killed_embedding_process_loses_no_stored_vectors(tmp_path: Path) -> None:
    extra.fill(tmp_path / "data")
    memory = open_memory(
        tmp_path, CLAUDE_PLUGIN_DATA=str(tmp_path / "data"), CLAUDE_PLUGIN_ROOT=str(extra.ROOT)
    )
    entities = [
        {"name": f"thing {n}", "entityType": "thing", "observations": [f"stands in row {n}"]}
        for n in range(3 * vectors.BATCH_ROWS)
    ]
    memory.write("create_entities", {"entities": entities}, USER)
    started = extras.start_embedding_when_due(memory.settings, memory.databases())
    assert started
    while not stored(memory):
        assert os.waitpid(started, os.WNOHANG) == (0, 0)
    os.kill(started, signal.SIGKILL)
    os.waitpid(started, 0)
    half = stored(memory)
    assert len(half) % vectors.BATCH_ROWS == 0

    # At once after a start there is no other.
    assert extras.start_embedding_when_due(memory.settings, memory.databases()) == 0
    again = extras.start_embedding(memory.settings)

    assert os.waitpid(again, 0) == (again, 0)
    assert len(stored(memory)) == len(entities)
    assert set(half) <= set(stored(memory))
    assert not any(map(extras.is_due, memory.databases()))
    memory.close()


def test_only_one_process_computes_vectors_at_a_time(memory: Memory) -> None:
    with vectors.lock(memory.settings), pytest.raises(TimeoutError):
        embed(memory)
    assert not stored(memory)


def test_hooks_compute_no_vectors_without_the_semantic_extra(memory: Memory) -> None:
    assert extras.start_embedding_when_due(memory.settings, memory.databases()) == 0


def test_embedding_does_not_start_with_packages_installed_for_another_release(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    other = data / f"{extras.SEMANTIC}-{sys.implementation.cache_tag}-00000000"
    other.mkdir(parents=True)
    (other / packages.MARKER).touch()
    memory = open_memory(tmp_path, CLAUDE_PLUGIN_DATA=str(data), CLAUDE_PLUGIN_ROOT=str(extra.ROOT))
    remember(memory, DENTIST)

    assert extras.start_embedding_when_due(memory.settings, memory.databases()) == 0
    memory.close()


def is_due(memory: Memory) -> bool:
    """True if the process would be started for one of the databases."""
    return any(map(extras.is_due, memory.databases()))


def test_a_new_record_needs_embedding_but_an_unconfirmed_candidate_does_not(memory: Memory) -> None:
    assert is_due(memory)
    embed(memory)
    assert not is_due(memory)

    remember(memory, "The office moves to the harbour", confidence=CANDIDATE_FROM)
    assert not is_due(memory)

    remember(memory, "The office moved to the harbour")
    assert is_due(memory)


def test_a_record_whose_text_changed_needs_embedding_again(memory: Memory) -> None:
    embed(memory)
    oldest = "SELECT min(seq) FROM records"

    with memory.session_database().transaction() as c:
        c.execute(f"UPDATE records SET what = 'Ann sees Dr. Weiss' WHERE seq = ({oldest})")

    assert is_due(memory)


def vector_of(*values: float) -> Any:
    """A vector that begins with these numbers; the others are zero."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(values)] = values
    return vector


def put(memory: Memory, *rows: tuple[str, int, Any], model: str = NAME) -> None:
    """Store vectors, each for a kind and a row number."""
    with memory.session_database().transaction() as c:
        for kind, row, vector in rows:
            c.execute(
                "INSERT INTO vectors (kind, row, model, vector) VALUES (?, ?, ?, ?)",
                (kind, row, model, vectors.packed(vector[None])[0]),
            )


EAST = vector_of(1.0)
MANY = {"records": 9, "observations": 9, "episodes": 9}
FLOOR = 0.25


def test_the_nearest_rows_of_each_kind_are_found_in_order_of_similarity(memory: Memory) -> None:
    put(
        memory,
        ("records", 11, vector_of(1.0, 1.0)),
        ("records", 12, EAST),
        ("records", 13, vector_of(1.0, 3.0)),
        ("records", 14, vector_of(0.0, 1.0)),
        ("observations", 15, vector_of(2.0, 1.0)),
    )
    matrix = vectors.Matrix()
    matrix.refresh(memory.session_database())

    near = matrix.nearest(EAST, MANY, FLOOR)

    records = [("records", row) for row in (12, 11, 13)]
    assert near == [records[0], ("observations", 15), *records[1:]]
    assert matrix.nearest(EAST, {"records": 2}, FLOOR) == records[:2]
    assert matrix.nearest(EAST, MANY, 1.0) == records[:1]


def test_later_added_or_deleted_rows_are_noticed_and_those_of_another_model_ignored(
    memory: Memory,
) -> None:
    database, matrix = memory.session_database(), vectors.Matrix()

    def found() -> list[int]:
        matrix.refresh(database)
        return [row for _, row in matrix.nearest(EAST, MANY, FLOOR)]

    assert found() == []
    put(memory, ("records", 11, EAST), ("records", 12, EAST))
    put(memory, ("records", 13, EAST), model="another")
    assert found() == [11, 12]
    put(memory, ("records", 14, EAST))
    assert found() == [11, 12, 14]
    with database.transaction() as c:
        c.execute("DELETE FROM vectors WHERE row = 11")
    assert found() == [12, 14]


def test_similarities_are_measured_from_the_mean_of_the_found_vectors() -> None:
    found = vectors.similarities(EAST, {"a": EAST, "b": vector_of(0.0, 1.0), "c": -EAST})

    mean = 1 / (3 + vectors.UNHEARD_TEXTS)  # of "b", since "a" and "c" cancel out
    assert list(found) == ["a", "b", "c"]
    assert found["a"] == 1.0
    assert found["b"] == round(-mean / math.hypot(1, mean), 4)
    assert found["c"] == round((-1 + mean**2) / (1 + mean**2), 4)
    assert vectors.similarities(EAST, {}) == {}


def test_the_stored_vector_of_a_hit_is_looked_up_in_its_own_database(memory: Memory) -> None:
    embed(memory)
    record = memory.find_records("what = ?", (DENTIST,))[0]
    hit = Hit(f"record:{record.id}", DENTIST, "records", metadata={"store": "project"})
    ids = ("record:unknown", "graph:Ann#x", "graph:Ann", "episode:unknown")
    others = [hit._replace(metadata={"store": "user"}), *(hit._replace(id=one) for one in ids)]

    found = vectors.stored(memory.databases(), [hit, *others])

    assert list(found) == [hit.id]
    assert found[hit.id] @ extra.model().encode([DENTIST])[0] > 0.999
    assert vectors.stored(memory.databases(), others) == {}


def test_no_row_is_embedded_after_the_time_limit(memory: Memory) -> None:
    assert embed_all(memory, extra.model(), give_up_s=-math.inf) == 0
    assert stored(memory) == []


def test_vectors_of_another_model_are_replaced_or_deleted(memory: Memory) -> None:
    no_longer_embedded = ("records", 99, EAST)
    put(memory, ("records", 1, EAST), no_longer_embedded, model="another")

    assert embed(memory) == 4
    [database] = memory.databases()
    assert database.rows("SELECT DISTINCT model FROM vectors") == [(NAME,)]


def test_the_file_of_the_embedding_lock_shows_when_embedding_was_last_started(
    memory: Memory,
) -> None:
    path = Path(memory.settings.home) / extras.LOCK
    with vectors.lock(memory.settings):
        os.utime(path, (0, 0))

    vectors.lock(memory.settings)

    assert path.stat().st_mtime > 0

"""Lists of the texts that other programs bring in: the backlog, what is done, and one by its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.ids import timestamp
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from store.queues.ingested import BY, NOW, claimed, one
from store.support import USER, World, database


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def test_the_backlog_names_the_oldest_open_text_and_the_newest_error(memory: Memory) -> None:
    for number, wait_s in enumerate((0.0, 50.0, 20.0)):
        at = timestamp(NOW + number)
        [told] = ingest_queue.accept(memory, [Ingest(f"text {number}")], BY._replace(at=at))
        claimed(memory, "w1", NOW + number + wait_s)
        ingest_queue.fail(memory, told.id, "w1", f"error {number}", NOW + number + wait_s)
    ingest_queue.drop(memory, [ingest_queue.listed(memory, ("waiting",))[0].id], USER)

    found = ingest_queue.backlog(memory)

    assert (found.waiting, found.oldest_at) == (2, timestamp(NOW + 1))
    assert found.last_error == "error 1"


def test_the_newest_processed_texts_are_listed_first_and_waiting_ones_last(
    memory: Memory,
) -> None:
    ids = [one(memory, f"text {number}") for number in range(4)]
    for id_ in ids[:3]:
        claimed(memory)
        ingest_queue.finish(memory, id_, "w1", {})
    database(memory).connection.execute("UPDATE intake SET ended_at = '2026' WHERE ended_at <> ''")

    assert [text.id for text in ingest_queue.newest_done(memory, 2)] == [ids[2], ids[1]]
    assert [text.id for text in ingest_queue.listed(memory, ("done", "waiting"), 3)] == ids[:3]


def test_an_abbreviated_id_must_be_long_enough_and_mean_one_text(memory: Memory) -> None:
    id_, other = one(memory), one(memory, "another")
    database(memory).connection.execute("UPDATE intake SET id = 'abcdef-1' WHERE id = ?", (id_,))
    database(memory).connection.execute("UPDATE intake SET id = 'abcdef-2' WHERE id = ?", (other,))

    assert ingest_queue.find_by_short_id(memory, " CDEF-_1% ").id == "abcdef-1"
    assert ingest_queue.find_by_short_id(memory, "cdef-2").id == "abcdef-2"
    with pytest.raises(NotFound):
        ingest_queue.find_by_short_id(memory, "def-2")
    with pytest.raises(BadInput, match="abcdef-1, abcdef-2"):
        ingest_queue.find_by_short_id(memory, "abcdef")


def test_dropping_or_retrying_an_unknown_text_changes_nothing(memory: Memory) -> None:
    assert ingest_queue.drop(memory, ["unknown"], USER) == 0
    assert ingest_queue.retry(memory, ["unknown"], NOW) == 0
    assert memory.databases() == []
    one(memory)

    assert ingest_queue.drop(memory, [], USER) == 0

    assert database(memory).rows("SELECT count(*) FROM operations") == [(1,)]

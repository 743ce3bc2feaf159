"""Many texts in one commit, and what keeps too many out."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.servers.http import ingest as group
from memory_fabric.servers.http.ingest import BatchedWriter
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue as queue
from memory_fabric.store.queues.ingest_queue import Accepted, IdempotencyConflict
from servers.mcp_clients import settings

WAIT_S = 60


def told(
    home: Path,
    story: Callable[[BatchedWriter], Awaitable[None]],
    most: int = 1000,
    opens: Callable[[Settings], Memory] = Memory.open,
) -> list[str]:
    """Run a story with an writer of this home; what was accepted called this often."""
    called: list[str] = []
    store = StoreThread(lambda: Memory.open(settings(home)))
    own = StoreThread(lambda: opens(settings(home)))
    writer = BatchedWriter(own, store, most, lambda: called.append("accepted"))

    async def whole() -> None:
        await asyncio.wait_for(_told(story, writer), WAIT_S)

    asyncio.run(whole())
    writer.close(WAIT_S)
    assert store.close(WAIT_S)
    return called


async def _told(story: Callable[[BatchedWriter], Awaitable[None]], writer: BatchedWriter) -> None:
    await story(writer)


def stored(home: Path) -> int:
    """Return the number of texts in the database."""
    (path,) = home.rglob("*.db")
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM intake").fetchone()
    return int(count)


def test_waiting_texts_are_committed_in_one_batch(tmp_path: Path) -> None:
    async def story(writer: BatchedWriter) -> None:
        texts = [Ingest(f"Text {number}") for number in range(100)]
        outcomes = await asyncio.gather(*map(writer.accept, texts))

        assert len({outcome.id for outcome in outcomes}) == 100

    commits = told(tmp_path, story)

    assert stored(tmp_path) == 100
    # The first came alone, the others while it was written.
    assert len(commits) <= 3


def test_an_idempotency_conflict_fails_only_the_conflicting_text_of_a_batch(tmp_path: Path) -> None:
    async def story(writer: BatchedWriter) -> None:
        texts = [Ingest("a", idempotency_key="k"), Ingest("b", idempotency_key="k"), Ingest("c")]
        first, second, third = await asyncio.gather(*map(writer.accept, texts))

        assert isinstance(first, Accepted) and isinstance(third, Accepted)
        assert second == IdempotencyConflict(first.id)

    told(tmp_path, story)

    assert stored(tmp_path) == 2


def test_a_batch_is_stored_completely_even_if_one_request_is_cancelled(
    tmp_path: Path,
) -> None:
    async def story(writer: BatchedWriter) -> None:
        gone = asyncio.create_task(writer.accept(Ingest("gone")))
        stays = asyncio.create_task(writer.accept(Ingest("stays")))
        await asyncio.sleep(0)
        gone.cancel()

        assert isinstance(await stays, Accepted)

    told(tmp_path, story)

    assert stored(tmp_path) == 2


def test_texts_beyond_the_maximum_number_of_waiting_texts_are_refused(tmp_path: Path) -> None:
    async def story(writer: BatchedWriter) -> None:
        texts = [Ingest(f"Text {number}") for number in range(group.MAX_WAITING + 5)]
        outcomes = await asyncio.gather(*map(writer.accept, texts), return_exceptions=True)

        refused = [one for one in outcomes if isinstance(one, StoreUnavailable)]
        assert len(refused) == 5
        assert len([one for one in outcomes if isinstance(one, Accepted)]) == group.MAX_WAITING

    told(tmp_path, story)


@pytest.mark.parametrize(
    "ingest",
    [
        lambda sign: Ingest(sign * 10_000),
        lambda sign: Ingest(sign, key_decisions=(sign * 5_000, sign * 5_000)),
        # One sign beyond the others makes Python keep four bytes of each.
        lambda sign: Ingest("\N{ELEPHANT}" + sign * 2_500),
    ],
)
def test_the_total_size_of_waiting_texts_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ingest: Callable[[str], Ingest]
) -> None:
    monkeypatch.setattr(group, "MAX_WAITING_BYTES", 25_000)

    async def story(writer: BatchedWriter) -> None:
        texts = [ingest(str(number)) for number in range(3)]
        outcomes = await asyncio.gather(*map(writer.accept, texts), return_exceptions=True)

        assert [type(one) for one in outcomes] == [Accepted, Accepted, StoreUnavailable]

    told(tmp_path, story)


def test_only_texts_that_still_wait_count_towards_the_total_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Ingest("x" * 100)
    size = sys.getsizeof(text.session_summary)
    monkeypatch.setattr(group, "MAX_WAITING_BYTES", 2 * size)

    async def story(writer: BatchedWriter) -> None:
        for _ in range(3):  # exactly as much as may wait, again and again
            outcomes = await asyncio.gather(*(writer.accept(text) for _ in range(2)))
            assert [type(one) for one in outcomes] == [Accepted, Accepted]

    told(tmp_path, story)

    assert stored(tmp_path) == 6


def test_a_text_is_found_by_its_id_and_more_are_accepted_below_the_backlog_limit(
    tmp_path: Path,
) -> None:
    async def story(writer: BatchedWriter) -> None:
        first = await writer.accept(Ingest("one"))
        assert isinstance(first, Accepted)
        assert (await writer.backlog()).waiting == 1 and not writer.is_full
        assert isinstance(await writer.accept(Ingest("two")), Accepted)
        found = await writer.find(first.id)
        assert found is not None and (found.id, found.length) == (first.id, 3)
        assert await writer.find("01890000-0000-7000-8000-000000000000") is None

    told(tmp_path, story, most=2)


def test_a_single_invalid_text_is_refused_and_the_memory_stays_writable(tmp_path: Path) -> None:
    async def story(writer: BatchedWriter) -> None:
        shapeless = Ingest("No shape", key_decisions=(5,))  # type: ignore[arg-type]
        with pytest.raises(BadInput):
            await writer.accept(shapeless)
        assert await writer.complaint() == ""

    assert told(tmp_path, story) == []


def test_no_text_is_accepted_while_memory_is_switched_off(tmp_path: Path) -> None:
    def opens(of: Settings) -> Memory:
        return Memory.open(settings(tmp_path, MEMORY_FABRIC="off"))

    async def story(writer: BatchedWriter) -> None:
        with pytest.raises(StoreUnavailable, match="Memory is switched off here"):
            await writer.accept(Ingest("x"))
        assert "switched off" in await writer.complaint()

    assert told(tmp_path, story, opens=opens) == []


def test_texts_are_refused_while_the_processing_backlog_is_full(tmp_path: Path) -> None:
    async def story(writer: BatchedWriter) -> None:
        await writer.accept(Ingest("one"))
        while not writer.is_full:
            await asyncio.sleep(0)

        with pytest.raises(StoreUnavailable, match="More than 1 texts wait to be processed"):
            await writer.accept(Ingest("two"))

    told(tmp_path, story, most=1)

    assert stored(tmp_path) == 1


def test_a_health_check_notices_that_a_full_backlog_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "LOOK_EVERY_S", 0.0)

    async def story(writer: BatchedWriter) -> None:
        accepted = await writer.accept(Ingest("one"))
        assert isinstance(accepted, Accepted)
        while not writer.is_full:
            await asyncio.sleep(0)
        with closing(Memory.open(settings(tmp_path))) as memory:
            queue.drop(memory, [accepted.id], group.SAID_BY)
        while writer.is_full:
            assert await writer.complaint() == ""

    told(tmp_path, story, most=1)


def test_a_database_that_cannot_be_created_is_reported_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")

    async def story(writer: BatchedWriter) -> None:
        before = await writer.complaint()
        with pytest.raises(StoreUnavailable):
            await writer.accept(Ingest("x"))
        after = await writer.complaint()

        assert before and after
        assert str(tmp_path) not in before + after

    told(tmp_path / "home", story)


def test_a_full_disk_is_reported_until_writing_works_again(
    tmp_path: Path,
) -> None:
    opened: list[Database] = []

    def opens(of: Settings) -> Memory:
        memory = Memory.open(of)
        database = memory.database("project", create=True)
        assert database is not None
        (pages,) = database.row("PRAGMA page_count") or (0,)
        database.connection.execute(f"PRAGMA max_page_count = {pages}")
        opened.append(database)
        return memory

    async def story(writer: BatchedWriter) -> None:
        with pytest.raises(StoreUnavailable, match="The disk is full"):
            await writer.accept(Ingest("many words " * 20_000))
        full = [await writer.complaint() for _ in range(3)]
        opened[0].connection.execute("PRAGMA max_page_count = 1000000")
        later = [await writer.complaint() for _ in range(2)]

        assert full == ["The disk is full."] * 3
        assert later == ["", ""]
        assert isinstance(await writer.accept(Ingest("many words " * 20_000)), Accepted)

    told(tmp_path, story, opens=opens)


def test_a_failing_text_does_not_fail_the_other_texts_of_its_batch(tmp_path: Path) -> None:
    def opens(of: Settings) -> Memory:
        memory = Memory.open(of)
        database = memory.database("project", create=True)
        assert database is not None
        (pages,) = database.row("PRAGMA page_count") or (0,)
        database.connection.execute(f"PRAGMA max_page_count = {pages + 10}")
        return memory

    async def story(writer: BatchedWriter) -> None:
        shapeless = Ingest("No shape", key_decisions=(5,))  # type: ignore[arg-type]
        texts = [Ingest("First"), Ingest("Small"), shapeless, Ingest("many words " * 20_000)]
        outcomes = await asyncio.gather(
            *map(writer.accept, [*texts, Ingest("Last")]), return_exceptions=True
        )

        assert [type(one) for one in outcomes[:3]] == [Accepted, Accepted, BadInput]
        assert [isinstance(one, StoreUnavailable) for one in outcomes[3:]] == [True, True]
        assert await writer.complaint() == "The disk is full."

    told(tmp_path, story, opens=opens)

    assert stored(tmp_path) == 2


def test_a_full_disk_is_reported_even_before_a_text_is_sent(tmp_path: Path) -> None:
    def opens(of: Settings) -> Memory:
        memory = Memory.open(of)
        database = memory.database("project", create=True)
        assert database is not None
        database.connection.execute("PRAGMA max_page_count = 1")
        return memory

    async def story(writer: BatchedWriter) -> None:
        assert await writer.complaint() == "The disk is full."

    told(tmp_path, story, opens=opens)


def test_an_unexpected_error_is_logged_once_and_reported_without_details(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def opens(_: Settings) -> Memory:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    async def story(writer: BatchedWriter) -> None:
        complaints = [await writer.complaint() for _ in range(2)]

        assert complaints == ["The memory cannot be written."] * 2

    told(tmp_path, story, opens=opens)

    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "PermissionError" in said[0] and str(tmp_path) in said[0]

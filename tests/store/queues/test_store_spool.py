"""The spool: durable, bounded, for the owner only, and each item once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.store.queues import spool
from memory_fabric.store.queues.spool import SpoolFull

HERE, THERE = "http://127.0.0.1:9/v1/memory/ingest", "https://other.example/v1/memory/ingest"
NOW_S = 1_800_000_000.0


def body(key: str, text: str = "said") -> dict[str, Any]:
    return {"session_summary": text, "idempotency_key": key}


def add(home: Path, key: str, text: str = "said", to: str = HERE, now_s: float = NOW_S) -> bool:
    return spool.add(str(home), to, "shop-1", body(key, text), now_s)


def keys(home: Path) -> list[str]:
    return [item.key for item in spool.waiting(str(home))]


def test_items_are_sent_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    for number in range(12):
        assert add(tmp_path, f"key{number}", now_s=NOW_S + number)

    assert keys(tmp_path) == [f"key{number}" for number in range(12)]
    first = spool.waiting(str(tmp_path))[0]
    assert spool.read(first) == {"to": HERE, "place": "shop-1", "body": body("key0")}


def test_files_and_folders_are_accessible_only_to_the_owner(tmp_path: Path) -> None:
    add(tmp_path, "a")
    add(tmp_path, "b")
    spool.reject(str(tmp_path), spool.waiting(str(tmp_path))[0], {"status": 422})

    for path in (tmp_path / "forward", *(tmp_path / "forward").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_spooled_item_and_its_folder_are_synced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "first")  # makes the folder
    synced: list[str] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    add(tmp_path, "second")

    assert len(synced) == 2
    assert synced[0].endswith(".tmp") and synced[1] == str(tmp_path / "forward")


@pytest.mark.parametrize("becomes", ["waiting", "sent", "rejected"])
def test_an_item_with_a_known_key_is_not_added_again(tmp_path: Path, becomes: str) -> None:
    add(tmp_path, "a")
    [item] = spool.waiting(str(tmp_path))
    if becomes == "sent":
        spool.mark_sent(str(tmp_path), item, NOW_S)
    elif becomes == "rejected":
        spool.reject(str(tmp_path), item, {"status": 409})

    assert not add(tmp_path, "a", "other words")
    assert keys(tmp_path) == (["a"] if becomes == "waiting" else [])


def test_a_rejected_item_is_set_aside_with_the_response(tmp_path: Path) -> None:
    add(tmp_path, "a", "what was said")
    [item] = spool.waiting(str(tmp_path))

    spool.reject(str(tmp_path), item, {"status": 422, "told": "A field is wrong."})

    assert keys(tmp_path) == []
    [aside] = (tmp_path / "forward" / "rejected").iterdir()
    kept = json.loads(aside.read_text("utf-8"))
    assert kept["body"]["session_summary"] == "what was said"
    assert kept["answer"] == {"status": 422, "told": "A field is wrong."}
    assert spool.backlog(str(tmp_path), HERE).refusal == "A field is wrong."


def test_a_full_spool_accepts_no_item_and_reports_that_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MAX_ITEMS", 3)
    for key in "abc":
        add(tmp_path, key)
    spool.reject(str(tmp_path), spool.waiting(str(tmp_path))[0], {"status": 422})

    with pytest.raises(
        SpoolFull, match=r"2 items wait .* 1 were rejected.*memory-fabric sync"
    ) as full:
        add(tmp_path, "d")

    assert (full.value.waiting, full.value.rejected) == (2, 1)
    assert len(keys(tmp_path)) == 2


def test_a_spool_also_has_a_limit_of_bytes_which_items_may_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "a")
    [first] = spool.waiting(str(tmp_path))
    size = os.path.getsize(first.path)
    monkeypatch.setattr(spool, "MAX_BYTES", 2 * size)

    with pytest.raises(SpoolFull):
        add(tmp_path, "b", "said!")
    assert add(tmp_path, "b")


def test_only_the_newest_keys_of_sent_items_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "KEPT_KEYS", 2)
    for key in "abc":
        add(tmp_path, key)
        spool.mark_sent(str(tmp_path), spool.waiting(str(tmp_path))[0], NOW_S)

    assert spool.backlog(str(tmp_path), HERE).last_success == "2027-01-15T08:00:00.000Z"
    assert [add(tmp_path, key) for key in "abc"] == [True, False, False]


def test_the_backlog_shows_the_last_error_and_the_next_attempt_while_items_wait(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    add(tmp_path, "a")
    errors = {"last_error": "refused", "remedy": "Ask.", "error_at": "2027"}
    spool.update_state(home, next_at=NOW_S + 60, **errors)

    found = spool.backlog(home, HERE)

    assert (found.last_error, found.remedy, found.error_at) == ("refused", "Ask.", "2027")
    assert found.next_at == "2027-01-15T08:01:00.000Z"
    spool.mark_sent(home, spool.waiting(home)[0], NOW_S)
    assert spool.backlog(home, HERE).next_at == ""


def test_dropped_items_are_counted_and_reported_again_only_after_an_item_was_sent(
    tmp_path: Path,
) -> None:
    add(tmp_path, "a")

    told = [spool.count_dropped(str(tmp_path)) for _ in range(3)]
    spool.mark_sent(str(tmp_path), spool.waiting(str(tmp_path))[0], NOW_S)
    told.append(spool.count_dropped(str(tmp_path)))

    assert told == [True, False, False, True]
    assert spool.backlog(str(tmp_path), HERE).dropped == 4


def test_a_failed_address_is_retried_later_without_delaying_other_addresses(tmp_path: Path) -> None:
    assert not spool.is_due(str(tmp_path), HERE, NOW_S)
    add(tmp_path, "a")
    spool.update_state(str(tmp_path), to=HERE, next_at=NOW_S + 60)

    assert not spool.is_due(str(tmp_path), HERE, NOW_S)
    assert spool.is_due(str(tmp_path), HERE, NOW_S + 60)
    assert spool.is_due(str(tmp_path), THERE, NOW_S)


def test_a_clock_that_was_set_back_does_not_block_items_for_years(tmp_path: Path) -> None:
    add(tmp_path, "a")
    due = []
    for wait_s in (24 * 3600, 24 * 3600 + 1, 3e8):
        spool.update_state(str(tmp_path), to=HERE, next_at=NOW_S + wait_s)
        due.append(spool.is_due(str(tmp_path), HERE, NOW_S))

    assert due == [False, True, True]


def test_the_spool_backlog_reports_its_oldest_item_and_the_other_addresses(tmp_path: Path) -> None:
    add(tmp_path, "a")
    add(tmp_path, "b", to=THERE, now_s=NOW_S + 5)

    found = spool.backlog(str(tmp_path), HERE)

    assert (found.waiting, found.elsewhere) == (2, (THERE,))
    assert found.oldest_at == "2027-01-15T08:00:00.000Z"


def test_erasing_removes_matching_waiting_or_rejected_items_and_no_others(tmp_path: Path) -> None:
    said = {"a": "Ann leaves in May", "b": "Ann leaves in May, too", "c": "Tabs, not spaces"}
    for number, (key, text) in enumerate(said.items()):
        add(tmp_path, key, text, now_s=NOW_S + number)
    spool.reject(str(tmp_path), spool.waiting(str(tmp_path))[1], {"text": "no"})

    assert spool.erase(str(tmp_path), lambda data: b"Ann leaves" in data) == 2

    assert keys(tmp_path) == ["c"]
    assert spool.rejected(str(tmp_path)) == []


def test_an_item_erased_while_it_is_sent_is_not_restored(tmp_path: Path) -> None:
    add(tmp_path, "a")
    [item] = spool.waiting(str(tmp_path))
    assert spool.erase(str(tmp_path), lambda data: True) == 1

    spool.reject(str(tmp_path), item, {"status": 422})

    assert spool.rejected(str(tmp_path)) == []


def test_a_foreign_file_or_an_invalid_state_file_does_not_stop_the_spool(tmp_path: Path) -> None:
    folder = Path(spool.folder_of(str(tmp_path)))
    folder.mkdir(parents=True)
    (folder / "zz.k\r\nX-Evil: 1.json").write_text("{}")
    (folder / "zz.k.txt").write_text("{}")
    (folder / "zz..json").write_text("{}")
    (folder / "state.json").write_text('{"sent": 5, "dropped": true, "next_at": "soon"}')

    assert add(tmp_path, "k-1")
    found = spool.backlog(str(tmp_path), HERE)
    assert (found.waiting, found.dropped, found.next_at) == (1, 0, "")
    assert spool.is_due(str(tmp_path), HERE, NOW_S)

    [item] = spool.waiting(str(tmp_path))
    spool.mark_sent(str(tmp_path), item, NOW_S)
    assert not add(tmp_path, "k-1")


def test_an_item_whose_name_has_no_time_does_not_hide_the_backlog(tmp_path: Path) -> None:
    folder = Path(spool.folder_of(str(tmp_path)))
    folder.mkdir(parents=True)
    (folder / "zz.k1.json").write_text("{}")

    found = spool.backlog(str(tmp_path), HERE)

    assert (found.waiting, found.elsewhere) == (1, ())
    assert found.oldest_at == "1970-01-01T00:00:00.000Z"


def test_a_home_without_a_spool_has_no_items_and_no_spool_is_created(tmp_path: Path) -> None:
    assert spool.waiting(str(tmp_path)) == []
    assert spool.backlog(str(tmp_path), HERE) == spool.Backlog()
    assert spool.erase(str(tmp_path), lambda data: True) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_spool_item_is_set_aside_with_its_content_unchanged(tmp_path: Path) -> None:
    add(tmp_path, "a")
    [item] = spool.waiting(str(tmp_path))
    Path(item.path).write_text("{half", "utf-8")

    assert spool.read(item) == {}
    spool.set_aside(str(tmp_path), item, "An item could not be read and was set aside.")

    assert keys(tmp_path) == []
    [aside] = (tmp_path / "forward" / "rejected").iterdir()
    assert aside.read_text("utf-8") == "{half"
    found = spool.backlog(str(tmp_path), HERE)
    assert found.last_error == "An item could not be read and was set aside." and found.error_at
    assert (found.waiting, found.rejected, found.refusal) == (0, 1, "")

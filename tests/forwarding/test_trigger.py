"""The hook's part of forwarding: which addresses are this machine, when the sender is started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from memory_fabric.config import Settings
from memory_fabric.forwarding import trigger
from memory_fabric.store.queues import spool

KEY = "-".join(("a", "plain", "key"))
URL = "http://127.0.0.1:9/v1/memory/ingest"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(str(tmp_path), str(tmp_path), forward_url=URL)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost/x", True),
        ("http://localhost:8002/x", True),
        ("http://127.0.0.1:8002/x", True),
        ("http://[::1]:8002/x", True),
        ("http://[::1]/x", True),
        ("http://127.0.0.1/x", True),
        ("http://localhost?x=/", True),
        ("http://localhost:port/x", False),
        ("http://127.0.0.x/x", False),
        ("http://127/x", False),
        ("http://[::2]:8002/x", False),
        ("http://127.example/x", False),
        ("http://localhost.example/x", False),
        ("http://example/localhost", False),
    ],
)
def test_only_loopback_addresses_count_as_this_machine(url: str, here: bool) -> None:
    assert trigger.is_loopback(url) == here
    assert trigger.is_plain(url) != here
    assert not trigger.is_plain(url.replace("http:", "https:"))


def test_the_host_of_an_address_is_named_with_its_port_and_nothing_else() -> None:
    urls = ("http://h:80/a//b?c", "https://h?a=/b", "http://h", "http://[::1]:80/", "h/a")

    assert [trigger.host_of(url) for url in urls] == ["h:80", "h", "h", "[::1]:80", ""]


def test_no_sender_starts_without_a_receiver_or_while_memory_is_off(settings: Settings) -> None:
    assert len(trigger.receipts(settings)) == 1
    for off in ({"forward_url": ""}, {"writes": False}, {"ci": True}):
        assert trigger.receipts(settings._replace(**off)) == ()
    unattended = settings._replace(attended=False)
    assert len(trigger.receipts(unattended)) == 1
    assert trigger.receipts(unattended._replace(capture_unattended="off")) == ()


@pytest.mark.parametrize("due", [True, False])
def test_the_sender_process_is_started_only_if_a_waiting_item_is_due(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, due: bool
) -> None:
    spawned: list[tuple[list[str], dict[str, str]]] = []

    def spawn(path: str, words: list[str], environ: dict[str, str], **_: object) -> int:
        spawned.append((words, environ))
        return 1

    monkeypatch.setattr(os, "posix_spawn", spawn)
    settings = settings._replace(forward_key=KEY)
    [receipt] = trigger.receipts(settings)
    receipt()
    assert spawned == []  # nothing waits

    now_s = time.time()
    body = {"idempotency_key": "a", "session_summary": "said"}
    spool.add(str(tmp_path), URL, "", body, now_s)
    spool.update_state(str(tmp_path), to=URL, next_at=now_s - 1 if due else now_s + 600)
    receipt()

    assert len(spawned) == due
    for words, environ in spawned:
        assert KEY not in " ".join(words)
        assert environ["MEMORY_FABRIC_FORWARD_KEY"] == KEY
        assert environ["MEMORY_FABRIC_FORWARD_URL"] == URL
        assert environ["MEMORY_FABRIC_HOME"] == str(tmp_path)


def test_a_new_receiver_of_forwarded_data_is_announced_once_if_a_user_is_present(
    settings: Settings,
) -> None:
    alone = settings._replace(attended=False)

    told = [trigger.news(s) for s in (alone, settings, settings)]

    assert told[0] == told[2] == ""
    assert URL in told[1]
    other = settings._replace(forward_url="http://127.0.0.1:8/v1/memory/ingest")
    assert other.forward_url in trigger.news(other) and trigger.news(other) == ""
    asking = settings._replace(forward_url=f"{URL}?token={KEY}")
    assert f"forwarded to {URL}?HIDDEN, without" in trigger.news(asking)


def test_a_receiver_is_not_announced_while_nothing_is_forwarded(settings: Settings) -> None:
    assert trigger.news(settings._replace(writes=False)) == ""
    assert URL in trigger.news(settings)

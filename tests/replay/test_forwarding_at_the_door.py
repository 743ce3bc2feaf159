"""Recorded events through the front door with a receiver on loopback: what arrives, and when."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from launchers.support import until
from memory_fabric.forwarding.sender import LOCK
from memory_fabric.store import spool
from memory_fabric.store.files import Locked
from receiver import Receiver, Request, Says
from replay.door import TESTS, Door, recordings

SENDING = [p for p in recordings() if p.stem.partition(".")[0] in ("Stop", "PostCompact")]
SECRET = "-".join(("receivers", "own", "key", "41"))


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def named(door: Door, receiver: Receiver) -> dict[str, str]:
    return {
        "MEMORY_FABRIC_FORWARD_URL": receiver.origin,
        "MEMORY_FABRIC_FORWARD_KEY": SECRET,
        "HOME": str(door.user_home),
    }


def empty(door: Door) -> bool:
    return spool.waiting(str(door.memory)) == []


@pytest.mark.parametrize("path", SENDING, ids=lambda path: path.stem)
def test_a_recorded_event_arrives(path: Path, door: Door) -> None:
    event = door.recorded(path)
    with Receiver() as receiver:
        rang = door.ring(event, named(door, receiver))
        [request] = receiver.until(1)
        until(lambda: empty(door), "the item goes once it has arrived")

    assert rang.status == 0
    assert (b"forwarded to" in rang.stdout) == (event["hook_event_name"] == "Stop")
    assert request.path == "/v1/memory/ingest"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    body = request.body
    assert body["session_id"] == event["session_id"]
    assert body["project"] == "project" and body["domain"] == "session"
    if event["hook_event_name"] == "PostCompact":
        assert body["session_summary"].startswith("1. Primary Request")
    else:
        assert body["session_summary"].endswith(event["last_assistant_message"].strip())
    assert [line for line in door.log if "forward" in line] == []


def test_the_real_transcript_gives_its_last_ten_messages(door: Door) -> None:
    event = door.recorded(TESTS / "events" / "Stop.json")
    with Receiver() as receiver:
        door.ring({**event, "last_assistant_message": ""}, named(door, receiver))
        [request] = receiver.until(1)

    lines = (TESTS / "events" / "transcript.jsonl").read_text("utf-8").splitlines()
    said: dict[str, str] = {}
    for entry in map(json.loads, lines):
        if entry.get("type") == "assistant" and not entry.get("isSidechain"):
            texts = [b["text"] for b in entry["message"]["content"] if b["type"] == "text"]
            known = said.pop(entry["message"]["id"], "")
            said[entry["message"]["id"]] = "\n".join(filter(None, [known, *texts]))
    expected = [text for text in said.values() if text][-10:]
    assert request.body["session_summary"].split("\n\n---\n\n") == expected


def test_the_reply_does_not_wait_for_the_receiver(door: Door) -> None:
    event = door.recorded(TESTS / "events" / "Stop.json")
    let_go = Path(door.folder / "let-go")
    waiting = Says(before=lambda: until(let_go.exists, "the test lets the receiver answer"))
    with Receiver(waiting) as receiver:
        began = time.monotonic()
        rang = door.ring(event, named(door, receiver))
        took_s = time.monotonic() - began
        receiver.until(1)
        there = not empty(door)
        let_go.touch()
        until(lambda: empty(door), "the item goes once it has arrived")

    assert rang.status == 0 and there and took_s < 10


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_what_waited_is_sent_by_the_next_start_or_end(door: Door, event: str) -> None:
    stop = door.recorded(TESTS / "events" / "Stop.json")
    with Receiver(Says(503, (("Retry-After", "3600"),))) as receiver:
        door.ring(stop, named(door, receiver))
        until(lambda: bool(backlog(door, receiver).last_error), "the first try has failed")
        until(lambda: not sending(door), "the sender has ended")
        spool.update_state(str(door.memory), next_at=0)
        before = len(receiver.requests)
        door.ring(door.recorded(TESTS / "events" / f"{event}.json"), named(door, receiver))
        *_, last = receiver.until(before + 1)
        until(lambda: empty(door), "the item goes once it has arrived")

    assert last.key == receiver.requests[0].key


def test_before_it_is_due_no_event_starts_a_sender(door: Door) -> None:
    stop = door.recorded(TESTS / "events" / "Stop.json")
    with Receiver(Says(429, (("Retry-After", "3600"),))) as receiver:
        door.ring(stop, named(door, receiver))
        until(lambda: bool(backlog(door, receiver).last_error), "the first try has failed")
        until(lambda: not sending(door), "the sender has ended")
        for number in range(3):
            door.ring({**stop, "prompt_id": f"p{number}"}, named(door, receiver))

        assert len(receiver.requests) == 1
        assert len(spool.waiting(str(door.memory))) == 4


def test_the_key_stands_in_no_file_and_no_argument(door: Door) -> None:
    stop = door.recorded(TESTS / "events" / "Stop.json")
    arguments: list[bytes] = []

    def look() -> None:
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                arguments.append(Path("/proc", number, "cmdline").read_bytes())
            except OSError:
                continue  # it ended meanwhile

    with Receiver(Says(401, before=look)) as receiver:
        door.ring(stop, named(door, receiver))
        receiver.until(1)
        until(lambda: bool(backlog(door, receiver).last_error), "the refusal is noted")

    assert any(b"sender" in words for words in arguments)
    assert [words for words in arguments if SECRET.encode() in words] == []
    files = [p for p in door.folder.rglob("*") if p.is_file()]
    assert [p for p in files if SECRET.encode() in p.read_bytes()] == []


def test_two_installations_that_ring_for_one_stop_send_it_once(door: Door) -> None:
    stop = door.recorded(TESTS / "events" / "Stop.json")
    with Receiver() as receiver:
        for _ in range(2):
            door.ring(stop, named(door, receiver))
        receiver.until(1)
        until(lambda: empty(door) and not sending(door), "all is sent")
        requests: list[Request] = receiver.requests

    assert len(requests) == 1


def backlog(door: Door, receiver: Receiver) -> spool.Backlog:
    return spool.backlog(str(door.memory), receiver.url)


def sending(door: Door) -> bool:
    """Whether a sender is at work."""
    try:
        with Locked(os.path.join(spool.folder_of(str(door.memory)), LOCK), 0):
            return False
    except TimeoutError:
        return True

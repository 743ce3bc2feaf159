"""Recorded events through real hooks with a receiver on loopback: what arrives, and when."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_fabric.forwarding.sender import LOCK
from memory_fabric.store.files import Locked
from memory_fabric.store.queues import spool
from receiver import Receiver, Request, Says
from replay.hook_runner import TESTS, HookRunner, content, recordings
from waiting import until

SENDING = [p for p in recordings() if p.stem.partition(".")[0] in ("Stop", "PostCompact")]
SECRET = "-".join(("receivers", "own", "key", "41"))


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    return HookRunner(tmp_path)


def named(hooks: HookRunner, receiver: Receiver) -> dict[str, str]:
    return {
        "MEMORY_FABRIC_FORWARD_URL": receiver.origin,
        "MEMORY_FABRIC_FORWARD_KEY": SECRET,
        "HOME": str(hooks.user_home),
    }


def empty(hooks: HookRunner) -> bool:
    return spool.waiting(str(hooks.memory)) == []


@pytest.mark.parametrize("path", SENDING, ids=lambda path: path.stem)
def test_each_recorded_event_is_forwarded_to_the_receiver(path: Path, hooks: HookRunner) -> None:
    event = hooks.recorded(path)
    with Receiver() as receiver:
        result = hooks.run(event, named(hooks, receiver))
        [request] = receiver.until(1)
        until(lambda: empty(hooks), "the item goes once it has arrived")

    assert result.status == 0
    assert (b"forwarded to" in result.stdout) == (event["hook_event_name"] == "Stop")
    assert request.path == "/v1/memory/ingest"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    body = request.body
    assert body["session_id"] == event["session_id"]
    assert body["project"] == "project" and body["domain"] == "session"
    if event["hook_event_name"] == "PostCompact":
        assert body["session_summary"].startswith("1. Primary Request")
    else:
        assert body["session_summary"].endswith(event["last_assistant_message"].strip())
    assert [line for line in hooks.log if "forward" in line] == []


def test_the_last_ten_messages_of_a_real_transcript_are_forwarded(hooks: HookRunner) -> None:
    event = hooks.recorded(TESTS / "events" / "Stop.json")
    with Receiver() as receiver:
        hooks.run({**event, "last_assistant_message": ""}, named(hooks, receiver))
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


def test_the_reply_of_a_hook_does_not_wait_for_the_receiver(hooks: HookRunner) -> None:
    event = hooks.recorded(TESTS / "events" / "Stop.json")
    let_go = Path(hooks.folder / "let-go")
    waiting = Says(before=lambda: until(let_go.exists, "the test lets the receiver answer"))
    with Receiver(waiting) as receiver:
        result = hooks.run(event, named(hooks, receiver))
        receiver.until(1)
        there = not empty(hooks)
        let_go.touch()
        until(lambda: empty(hooks), "the item goes once it has arrived")

    assert result.status == 0 and there


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_an_unsent_event_is_sent_when_the_next_session_starts_or_ends(
    hooks: HookRunner, event: str
) -> None:
    stop = hooks.recorded(TESTS / "events" / "Stop.json")
    with Receiver(Says(503, (("Retry-After", "3600"),))) as receiver:
        hooks.run(stop, named(hooks, receiver))
        until(lambda: bool(backlog(hooks, receiver).last_error), "the first try has failed")
        until(lambda: not sending(hooks), "the sender has ended")
        spool.update_state(str(hooks.memory), next_at=0)
        before = len(receiver.requests)
        hooks.run(hooks.recorded(TESTS / "events" / f"{event}.json"), named(hooks, receiver))
        *_, last = receiver.until(before + 1)
        until(lambda: empty(hooks), "the item goes once it has arrived")

    assert last.key == receiver.requests[0].key


def test_events_are_kept_and_not_sent_before_the_retry_time(hooks: HookRunner) -> None:
    stop = hooks.recorded(TESTS / "events" / "Stop.json")
    with Receiver(Says(429, (("Retry-After", "3600"),))) as receiver:
        hooks.run(stop, named(hooks, receiver))
        until(lambda: bool(backlog(hooks, receiver).last_error), "the first try has failed")
        until(lambda: not sending(hooks), "the sender has ended")
        for number in range(3):
            hooks.run({**stop, "prompt_id": f"p{number}"}, named(hooks, receiver))

        assert len(receiver.requests) == 1
        assert len(spool.waiting(str(hooks.memory))) == 4


def test_the_forwarding_key_appears_in_no_file_and_no_command_line(hooks: HookRunner) -> None:
    stop = hooks.recorded(TESTS / "events" / "Stop.json")
    arguments: list[bytes] = []

    def look() -> None:
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                arguments.append(Path("/proc", number, "cmdline").read_bytes())
            except OSError:
                continue  # it ended meanwhile

    with Receiver(Says(401, before=look)) as receiver:
        hooks.run(stop, named(hooks, receiver))
        receiver.until(1)
        until(lambda: bool(backlog(hooks, receiver).last_error), "the refusal is noted")

    assert any(b"sender" in words for words in arguments)
    assert [words for words in arguments if SECRET.encode() in words] == []
    assert [p for p in hooks.folder.rglob("*") if SECRET.encode() in content(p)] == []


def test_a_stop_event_received_twice_is_forwarded_only_once(
    hooks: HookRunner,
) -> None:
    stop = hooks.recorded(TESTS / "events" / "Stop.json")
    with Receiver() as receiver:
        for _ in range(2):
            hooks.run(stop, named(hooks, receiver))
        receiver.until(1)
        until(lambda: empty(hooks) and not sending(hooks), "all is sent")
        requests: list[Request] = receiver.requests

    assert len(requests) == 1


def backlog(hooks: HookRunner, receiver: Receiver) -> spool.Backlog:
    return spool.backlog(str(hooks.memory), receiver.url)


def sending(hooks: HookRunner) -> bool:
    """True if a sender is running."""
    try:
        with Locked(os.path.join(spool.folder_of(str(hooks.memory)), LOCK), 0):
            return False
    except TimeoutError:
        return True

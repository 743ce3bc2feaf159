"""Forwarding in the real client: what one home's session said is told in another home's session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks
from e2e.harness.script import Script
from e2e.harness.tiers import rows
from memory_fabric.store.queues import spool
from ports import free_port
from waiting import GIVE_UP_S, until

pytestmark = pytest.mark.e2e

SAID = "Noted decision: PostgreSQL is used for the ledger. Why: analytics needs window functions."
LATE = "Noted decision: RabbitMQ carries the order events. Why: the partners speak AMQP."
COMPACTED = "The user decided to keep invoices for ten years because the tax office asks for it."
COMPACT = "/compact keep it short"


@contextmanager
def server_of(home: Home, port: str) -> Iterator[None]:
    """Run `memory-fabric serve` in this home's project until the block ends."""
    process = subprocess.Popen(
        [str(home.program), "serve", "--port", port],
        env=home.environment({}),
        cwd=home.project,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert f":{port}/" in process.stdout.readline()
        yield
    finally:
        process.terminate()
        process.communicate(timeout=GIVE_UP_S)


def has_arrived(sender: Home, receiver: Home) -> None:
    """Wait until nothing is left to be sent, and the receiver has worked off what came."""
    until(lambda: not spool.waiting(str(sender.memory)), "all has arrived")
    until(lambda: states(receiver) == {"done"}, "the worker has worked it off")
    assert "The queue is empty" in receiver.fabric("queue")


def states(home: Home) -> set[str]:
    """The states of the texts that others sent to a home."""
    return {state for (state,) in rows(home, "SELECT state FROM intake")}


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The end of a session whose receiver came later, the number of events that waited for it,
    and the receiver.
    """

    told: Result
    waiting: int
    receiver: Home


@pytest.fixture(scope="module")
def forwarded(shared_home: Callable[[], Home]) -> Forwarded:
    """A home was sent what turns of another ended with, and a summary of a compaction."""
    sender, receiver = shared_home(), shared_home()
    port = str(free_port())
    sender.extra["MEMORY_FABRIC_FORWARD_URL"] = f"http://127.0.0.1:{port}"
    summary = f"<analysis>a thought</analysis><summary>{COMPACTED}</summary>"
    with sender.open(Script(main=(LATE, SAID), summary=summary)) as session:
        session.say("Which queue?")
        waiting = len(spool.waiting(str(sender.memory)))
        with server_of(receiver, port):
            sender.fabric("sync")
            has_arrived(sender, receiver)
            session.say("Which database do we take for the ledger?")
            session.say("How long do we keep invoices?")
            session.say(COMPACT)
            told = session.end()
            has_arrived(sender, receiver)
    return Forwarded(told, waiting, receiver)


def test_messages_forwarded_after_a_turn_can_be_recalled_by_the_receiver(
    forwarded: Forwarded,
) -> None:
    receiver = forwarded.receiver

    assert "window functions" in receiver.fabric("recall", "which database for the ledger?")
    later = receiver.session(Script(prompts=("Which database should the ledger talk to?",)))
    assert "PostgreSQL" in "\n".join(blocks(later.main_texts[0]))


def test_the_summary_of_a_compaction_is_forwarded_and_can_be_recalled_by_the_receiver(
    forwarded: Forwarded,
) -> None:
    assert "tax office" in forwarded.receiver.fabric("recall", "how long are invoices kept?")


def test_an_event_is_forwarded_later_if_the_receiver_was_unreachable(
    forwarded: Forwarded,
) -> None:
    assert forwarded.told.complaints == []
    assert forwarded.waiting == 1
    assert "partners speak AMQP" in forwarded.receiver.fabric("recall", "RabbitMQ order events")

"""Forwarding in the real client: what one home's session said is told in another home's session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from e2e.harness.home import Home
from e2e.harness.result import blocks
from e2e.harness.script import Script
from e2e.harness.tiers import rows
from memory_fabric.store.queues import spool
from ports import free_port
from waiting import GIVE_UP_S, until

pytestmark = pytest.mark.e2e

SAID = "Noted decision: PostgreSQL is used for the ledger. Why: analytics needs window functions."
COMPACTED = "The user decided to keep invoices for ten years because the tax office asks for it."
COMPACT = "/compact keep it short"


@contextmanager
def server_of(home: Home, port: str = "0") -> Iterator[str]:
    """The address of `memory-fabric serve` in this home's project."""
    process = subprocess.Popen(
        [str(home.program), "serve", "--port", port],
        env=home.environment({}),
        cwd=home.project,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1].partition("/?")[0]
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


@pytest.fixture(scope="module")
def receiver(shared_home: Callable[[], Home]) -> Home:
    """A home that was sent what a turn of another ended with, and a summary of a compaction."""
    sender, receiver = shared_home(), shared_home()
    with server_of(receiver) as url:
        script = Script(
            prompts=(
                "Which database do we take for the ledger?",
                "How long do we keep invoices?",
                COMPACT,
            ),
            main=(SAID,),
            summary=f"<analysis>a thought</analysis><summary>{COMPACTED}</summary>",
            env={"MEMORY_FABRIC_FORWARD_URL": url},
        )
        sender.session(script)
        has_arrived(sender, receiver)
    return receiver


def test_the_receiver_can_recall_messages_forwarded_after_a_turn(receiver: Home) -> None:
    assert "window functions" in receiver.fabric("recall", "which database for the ledger?")
    later = receiver.session(Script(prompts=("Which database should the ledger talk to?",)))
    assert "PostgreSQL" in "\n".join(blocks(later.main_texts[0]))


def test_a_compaction_summary_is_forwarded_to_the_receiver(receiver: Home) -> None:
    assert "tax office" in receiver.fabric("recall", "how long are invoices kept?")


def test_an_unreachable_receiver_does_not_fail_the_session_and_is_sent_the_event_later(
    shared_home: Callable[[], Home],
) -> None:
    sender, receiver = shared_home(), shared_home()
    port = str(free_port())
    named = {"MEMORY_FABRIC_FORWARD_URL": f"http://127.0.0.1:{port}"}

    told = sender.session(Script(prompts=("Which database?",), main=(SAID,), env=named))

    assert told.complaints == []
    assert len(spool.waiting(str(sender.memory))) == 1
    with server_of(receiver, port):
        sender.extra.update(named)
        sender.fabric("sync")
        has_arrived(sender, receiver)
    assert "window functions" in receiver.fabric("recall", "which database for the ledger?")

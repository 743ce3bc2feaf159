"""Hooks that the session's server answers, in the real client: as told as without it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import waiting
from e2e.harness.home import Home
from e2e.harness.result import Result, blocks
from e2e.harness.script import Script
from e2e.harness.stub import Request
from replay.hook_runner import content
from servers.live_server import is_still

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
CACHE = "We decided to use Redis for the sessions because it is fast."
QUESTIONS = (
    "Which database should the analytics service talk to?",
    "Please rename the button on the login page to Continue.",
    "Thanks.",
)


@dataclass(frozen=True, slots=True)
class Served:
    """A session whose server is killed, one that is asked and whose server hangs in the end, and
    a later one; the ways in which hooks were answered, a letter each.
    """

    home: Home
    killed: str
    asking: list[Request]
    asked: str
    hung: str
    later: Result


@pytest.fixture(scope="module")
def served(shared_home: Callable[[], Home]) -> Served:
    """Three sessions in one home: what the first two are told without a server is kept."""
    home = shared_home()
    with home.open() as session:
        session.say("Thanks.")
        waiting.until(lambda: list((home.memory / "live").glob("*.sock")), "a server that listens")
        stop(home, signal.SIGKILL)
        before = home.ways
        session.say(DECISION)
        killed = home.ways.removeprefix(before)
        session.end()
    with home.open() as session:
        # A start and the first prompts may come before the server.
        waiting.until(lambda: session.say("Thanks.") and home.ways.endswith("W"))
        before = home.ways
        asking = [request for question in QUESTIONS for request in session.say(question)]
        asked = home.ways.removeprefix(before)

        server = stop(home, signal.SIGSTOP)
        before = home.ways
        session.say(CACHE)
        hung = home.ways.removeprefix(before)
        os.kill(server, signal.SIGCONT)
        session.end()
    later = home.session(Script(prompts=("What holds the sessions?",)))
    return Served(home, killed, asking, asked, hung, later)


def stop(home: Home, number: signal.Signals) -> int:
    """Send a signal to the server of the client that runs, and return its process."""
    [name] = (home.memory / "live").glob("*.sock")
    server = server_of(int(name.name.partition("-")[0]))
    os.kill(server, number)
    waiting.until(lambda: is_still(server), "it has met the signal")
    return server


def test_most_hook_events_of_a_session_are_answered_by_the_server_of_that_session(
    served: Served,
) -> None:
    told = [request.text for request in served.asking if request.kind == "main"]

    assert any("PostgreSQL" in block for block in blocks(told[0]))
    # Each prompt and the end of its turn.
    assert served.asked.count("W") >= len(QUESTIONS), served.asked
    assert set(served.asked) <= set("WNBD"), served.asked
    assert list((served.home.memory / "live").glob("*.sock")) == []
    assert served.home.log == ""


def test_a_session_continues_after_its_server_is_killed(served: Served) -> None:
    told = [request.text for request in served.asking if request.kind == "main"]

    assert any("PostgreSQL" in block for block in blocks(told[0]))
    # The client starts a killed server again, which is busy until it has rehearsed.
    assert served.killed[0] in "NBW", served.killed


def test_a_session_continues_while_its_server_hangs(served: Served) -> None:
    assert any("Redis" in block for block in blocks(served.later.main_texts[0]))
    assert served.hung[0] == "S", served.hung


def server_of(client: int) -> int:
    """The process of the server that a client has started."""
    children = Path(f"/proc/{client}/task/{client}/children").read_text("utf-8").split()
    (found,) = (
        int(child)
        for child in children
        if b"hooks/mcp.py" in content(Path(f"/proc/{child}/cmdline"))
    )
    return found

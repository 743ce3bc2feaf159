"""Hooks that the session's server answers, in the real client: as told as without it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import waiting
from e2e.harness.home import Home
from e2e.harness.result import blocks
from e2e.harness.script import Script
from replay.hook_runner import content
from servers.live_server import is_still

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
QUESTIONS = (
    "Which database should the analytics service talk to?",
    "Please rename the button on the login page to Continue.",
    "Thanks.",
)


def test_most_events_of_a_session_are_answered_by_its_server(
    shared_home: Callable[[], Home],
) -> None:
    home = shared_home()
    home.session(Script(prompts=(DECISION,)))
    with home.open() as session:
        # A start and the first prompts may come before the server.
        waiting.until(lambda: session.say("Thanks.") and home.ways.endswith("W"))
        before = home.ways

        asking = [request for question in QUESTIONS for request in session.say(question)]

        session.end()
    ways = home.ways.removeprefix(before)
    told = [request.text for request in asking if request.kind == "main"]
    assert any("PostgreSQL" in block for block in blocks(told[0]))
    # Each prompt and the end of its turn.
    assert ways.count("W") >= len(QUESTIONS), ways
    assert set(ways) <= set("WNBD"), ways
    assert list((home.memory / "live").glob("*.sock")) == []
    assert home.log == ""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
def test_a_session_continues_after_its_server_stops(home: Home, number: signal.Signals) -> None:
    place = home.memory / "live"
    with home.open(Script(main=("Done.",) * 4)) as session:
        session.say("Thanks.")
        waiting.until(lambda: list(place.glob("*.sock")), "a server that listens")
        (name,) = place.glob("*.sock")
        server = server_of(int(name.name.partition("-")[0]))
        os.kill(server, number)
        waiting.until(lambda: is_still(server), "it has met the signal")
        before = home.ways

        session.say(DECISION)

        ways = home.ways.removeprefix(before)
        if number == signal.SIGSTOP:
            os.kill(server, signal.SIGCONT)
        session.end()
    later = home.session(Script(prompts=QUESTIONS[:1]))

    assert any("PostgreSQL" in block for block in blocks(later.main_texts[0]))
    # The client starts a killed server again, which is busy until it has rehearsed.
    assert ways[0] in ("S" if number == signal.SIGSTOP else "NBW"), ways


def server_of(client: int) -> int:
    """The process of the server that a client has started."""
    children = Path(f"/proc/{client}/task/{client}/children").read_text("utf-8").split()
    (found,) = (
        int(child)
        for child in children
        if b"hooks/mcp.py" in content(Path(f"/proc/{child}/cmdline"))
    )
    return found

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
    place = home.memory / "live" / "ways"
    before = place.read_text("utf-8")

    asking = home.session(Script(prompts=QUESTIONS))

    ways = place.read_text("utf-8").removeprefix(before)
    assert any("PostgreSQL" in block for block in blocks(asking.main_texts[0]))
    # Each prompt and the end of its turn; a start and the first prompts may come before the server.
    assert ways.count("W") >= len(QUESTIONS), ways
    assert set(ways) <= set("WNBD"), ways
    assert list(place.parent.glob("*.sock")) == []
    assert home.log == ""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
def test_a_session_goes_on_when_its_server_does_not(home: Home, number: signal.Signals) -> None:
    place = home.memory / "live" / "ways"
    with home.open(Script(main=("Done.",) * 4)) as session:
        session.say("Thanks.")
        waiting.until(lambda: list(place.parent.glob("*.sock")), "a server that listens")
        (name,) = place.parent.glob("*.sock")
        server = server_of(int(name.name.partition("-")[0]))
        os.kill(server, number)
        before = place.read_text("utf-8")

        session.say(DECISION)

        ways = place.read_text("utf-8").removeprefix(before)
        if number == signal.SIGSTOP:
            os.kill(server, signal.SIGCONT)
        session.end()
    later = home.session(Script(prompts=QUESTIONS[:1]))

    assert any("PostgreSQL" in block for block in blocks(later.main_texts[0]))
    # The client starts a killed server again.
    assert ways[0] == ("S" if number == signal.SIGSTOP else "N") or "W" in ways, ways


def server_of(client: int) -> int:
    """The process of the server that a client has started."""
    children = Path(f"/proc/{client}/task/{client}/children").read_text("utf-8").split()
    (found,) = (
        int(child)
        for child in children
        if b"hooks/mcp.py" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    return found

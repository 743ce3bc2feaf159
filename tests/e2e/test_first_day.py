"""A new user's first day, small: past sessions of both clients, from the notice to answers."""

from __future__ import annotations

import pytest

from e2e.harness.first_day import SETTLED, FirstDay
from e2e.harness.home import Home
from e2e.harness.script import Script
from e2e.test_client_skills import REFUSED, answered, shell

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SESSIONS = 20
# What the skill has the assistant run, until it asks the user.
SKILL = Script(
    main=(
        shell("memory-fabric learn"),
        shell("memory-fabric learn --run"),
        shell("memory-fabric learn --condensed --budget 0"),
        shell("memory-fabric learn --condensed"),
        shell("memory-fabric load"),
        shell(f"memory-fabric remember --type decision --step learn-1a2b '{SETTLED}'"),
        "Shall I keep these notes?",
    ),
    asks_first=True,
    env={"ENABLE_TOOL_SEARCH": "false"},
)


def test_from_the_first_notice_to_answers_about_last_month(home: Home) -> None:
    day = FirstDay(home, SESSIONS, prompts=2)

    offered = day.first_session()
    preview = day.preview()
    read = day.learn()
    answers = [day.recall(), day.ask_claude(), day.ask_codex()]
    with home.open(SKILL) as session:
        skill = answered(session.say("/memory-fabric:learn"))

    assert offered == "/memory-fabric:learn"
    assert "20 sessions of Claude Code (16), Codex (4) since" in preview
    assert "/bin/memory-fabric learn --run reads them" in preview
    assert read.count("\n") > 4 and "Memory has these sessions now" in read
    assert [SETTLED in " ".join(answer.split()) for answer in answers] == [True] * 3
    # With those of this day, of which the hooks kept as much as was written.
    assert "memory has all 2" in day.types("status")
    known, run, price, condensed, _, noted = skill.answers
    assert "sessions of Claude Code (" in known and "none to read" in known
    assert "in condensed form about" in price and "tokens" in price
    assert (
        "newest first: about" in condensed and f"answered: We settled this: {SETTLED}" in condensed
    )
    # Reading in and noting are asked for, each with what it would do.
    assert REFUSED in run and REFUSED in noted

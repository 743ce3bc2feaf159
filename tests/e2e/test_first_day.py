"""A new user's first day, small: past sessions of both clients, from the notice to answers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from e2e.harness.first_day import SETTLED, FirstDay
from e2e.harness.home import Home, clone
from e2e.harness.script import Script
from e2e.test_client_skills import REFUSED, answered, shell
from importing.past import Machine

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


def test_past_sessions_offered_on_the_first_day_can_be_read_and_recalled(home: Home) -> None:
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


def test_from_the_installation_to_the_first_accepted_rule_takes_less_than_three_minutes(
    empty_home: Home, tmp_path: Path
) -> None:
    day = FirstDay(empty_home, SESSIONS, prompts=2)
    typed = Machine(tmp_path / "typed")
    typed.home = day.home.path
    for number in range(9):
        typed.session(day.home.project, f"Now the tests of part {number}.", "Done.")
    typed.session(day.home.project, "DO NOT CONTINUE USING THE MOCK DATABASE", "Sorry.")

    day.install(clone(tmp_path / "memory-fabric"))
    day.first_session()
    day.preview()
    proposals = day.learn()
    found = re.search(
        r"^(\w{8}) .*DO NOT CONTINUE USING THE MOCK DATABASE", proposals, re.MULTILINE
    )
    assert found, proposals
    with day.timed("learn --accept"):
        accepted = day.types("learn", "--accept", found[1])

    assert accepted.startswith("Remembered: rule ")
    assert sum(day.seconds.values()) < 180, day.seconds
    told = day.home.session(Script(prompts=("Which database do the tests use?",))).main_texts
    assert "DO NOT CONTINUE USING THE MOCK DATABASE" in "".join(told)

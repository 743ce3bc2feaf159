"""A new user's first day, small: past sessions of both clients, from the notice to answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from e2e.harness.first_day import SETTLED, FirstDay
from e2e.harness.home import Home
from e2e.harness.script import Script
from e2e.test_client_skills import REFUSED, Answered, answered, shell
from importing.past import Machine

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

SESSIONS = 20
TYPED_RULE = "DO NOT CONTINUE USING THE MOCK DATABASE"
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


@dataclass(frozen=True, slots=True)
class Story:
    """What a person was told on the first day, in order, and what a session knew of a rule that
    was accepted.
    """

    offered: str
    preview: str
    read: str
    answers: list[str]
    status: str
    skill: Answered
    accepted: str
    told: str


@pytest.fixture(scope="module")
def story(shared_home: Callable[[], Home]) -> Story:
    """Past sessions are offered, read, asked about, and one of their rules is accepted."""
    home = shared_home()
    day = FirstDay(home, SESSIONS, prompts=2)
    typed = Machine(home.root / "typed")
    typed.home = home.path
    for number in range(9):
        typed.session(home.project, f"Now the tests of part {number}.", "Done.")
    typed.session(home.project, TYPED_RULE, "Sorry.")

    offered = day.first_session()
    preview = day.preview()
    read = day.learn()
    answers = [day.recall(), day.ask_claude(), day.ask_codex()]
    status = home.fabric("status")
    [id_] = re.findall(rf"^(\w{{8}}) .*{TYPED_RULE}", read, re.MULTILINE)
    accepted = day.types("learn", "--accept", id_)
    with home.open(SKILL) as session:
        asked = session.say("/memory-fabric:learn")
        session.end()
    told = next(request.text for request in asked if request.kind == "main")
    return Story(offered, preview, read, answers, status, answered(asked), accepted, told)


def test_past_sessions_offered_on_the_first_day_can_be_read_into_memory_and_recalled(
    story: Story,
) -> None:
    assert story.offered == "/memory-fabric:learn"
    assert "30 sessions of Claude Code (26), Codex (4) since" in story.preview
    assert "/bin/memory-fabric learn --run reads them" in story.preview
    assert story.read.count("\n") > 4 and "Memory has these sessions now" in story.read
    assert [SETTLED in " ".join(answer.split()) for answer in story.answers] == [True] * 3
    # With those of this day, of which the hooks kept as much as was written.
    assert "memory has all 3" in story.status


def test_the_learn_skill_needs_permission_to_read_past_sessions_and_to_store_notes(
    story: Story,
) -> None:
    known, run, price, condensed, _, noted = story.skill.answers

    assert "sessions of Claude Code (" in known and "none to read" in known
    assert "in condensed form about" in price and "tokens" in price
    assert (
        "newest first: about" in condensed and f"answered: We settled this: {SETTLED}" in condensed
    )
    # Reading in and noting are asked for, each with what it would do.
    assert REFUSED in run and REFUSED in noted


def test_a_rule_found_in_a_past_session_is_shown_after_the_user_accepted_it(story: Story) -> None:
    assert story.accepted.startswith("Remembered: rule ")
    assert TYPED_RULE in story.told

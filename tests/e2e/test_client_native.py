"""Beside the client's own MEMORY.md: what it shows is not said again, whom it misses is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.harness.home import PLUGIN, Home
from e2e.harness.result import blocks, injected
from e2e.harness.script import Script, delegate
from e2e.harness.stub import Request

pytestmark = pytest.mark.e2e

DECISION = "PostgreSQL is used for the analytics DB"
QUESTION = "Which database should the analytics service talk to?"


TASK = "Review the schema of the analytics DB."
AGENT_TYPES = ("general-purpose", "Explore", "Plan")


@pytest.fixture(scope="module")
def promoted(shared_home: Callable[[], Home]) -> Home:
    """A home whose MEMORY.md holds a decision that was remembered on purpose."""
    home = shared_home()
    home.fabric("remember", "--why", "it handles our query load", DECISION)
    [native] = home.config.glob("projects/*/memory/MEMORY.md")
    assert "PostgreSQL" in native.read_text(encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def reviewed(promoted: Home) -> dict[str, list[Request]]:
    """The requests of questions, and of prompts after each of which another type of subagent has a
    review.
    """
    with promoted.open() as session:
        sent = {"questions": [*session.say(QUESTION), *session.say(QUESTION)]}
        sent |= {
            agent_type: session.say(
                "Please have the schema reviewed.", delegate(TASK, agent_type), "Reviewed."
            )
            for agent_type in AGENT_TYPES
        }
        session.end()
    return sent


def test_a_decision_in_memory_md_is_not_injected_a_second_time(
    reviewed: dict[str, list[Request]],
) -> None:
    texts = [request.text for request in reviewed["questions"] if request.kind == "main"]

    assert [text.count("PostgreSQL") for text in texts] == [1, 1]
    assert blocks(texts[-1]) == []


@pytest.mark.parametrize(
    "switch", ["CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_CLAUDE_MDS"]
)
def test_a_decision_is_injected_at_session_start_if_memory_md_is_disabled(
    promoted: Home, switch: str
) -> None:
    is_told_by_the_start(promoted, switch)


def is_told_by_the_start(home: Home, switch: str) -> None:
    """Assert that a session with this switch gets the decision by a hook, once."""
    later = home.session(Script(prompts=(QUESTION,), env={switch: "yes"}))

    [told] = injected(later.main_texts[0], "SessionStart")
    assert "PostgreSQL" in told and later.main_texts[0].count("PostgreSQL") == 1
    [native] = home.config.glob("projects/*/memory/MEMORY.md")
    assert "PostgreSQL" in native.read_text(encoding="utf-8")


# The client gives MEMORY.md to some kinds of subagents and not to others.
@pytest.mark.parametrize("agent_type", AGENT_TYPES)
def test_each_type_of_subagent_is_shown_a_decision_exactly_once(
    reviewed: dict[str, list[Request]], agent_type: str
) -> None:
    sent = reviewed[agent_type]

    [subagent] = [request for request in sent if request.kind == "subagent"]
    assert subagent.text.count("PostgreSQL") == 1
    assert len(injected(subagent.text, "SubagentStart")) == (agent_type != "general-purpose")
    *_, last = [request for request in sent if request.kind == "main"]
    assert last.text.count("PostgreSQL") == 1


def test_a_decision_in_memory_md_survives_uninstalling_and_reinstalling(
    promoted: Home, new_home: Callable[[], Home]
) -> None:
    home = new_home()
    home.copy_with_project(promoted)
    home.claude("plugin", "uninstall", PLUGIN)

    later = home.session(Script(prompts=(QUESTION,)))

    assert "PostgreSQL" in later.main_texts[0]
    assert later.hooks == []
    home.claude("plugin", "install", PLUGIN)
    home.bring_packages()
    is_told_by_the_start(home, "CLAUDE_CODE_REMOTE")

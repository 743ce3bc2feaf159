"""Beside the client's own MEMORY.md: what it shows is not said again, whom it misses is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from e2e.harness.home import Home
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
    """The requests of prompts after each of which a subagent of another type has a review."""
    with promoted.open() as session:
        sent = {
            agent_type: session.say(
                "Please have the schema reviewed.", delegate(TASK, agent_type), "Reviewed."
            )
            for agent_type in AGENT_TYPES
        }
        session.end()
    return sent


def test_a_decision_shown_by_memory_md_is_in_the_request_once(promoted: Home) -> None:
    later = promoted.session(Script(prompts=(QUESTION, QUESTION)))

    assert [text.count("PostgreSQL") for text in later.main_texts] == [1, 1]
    assert blocks(later.main_texts[-1]) == []


@pytest.mark.parametrize(
    "switch",
    [
        {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "yes"},
        {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"},
        {"CLAUDE_CODE_REMOTE": "true"},
    ],
    ids=lambda switch: str(*switch),
)
def test_the_session_start_shows_the_decision_if_the_client_does_not_show_memory_md(
    promoted: Home, switch: dict[str, str]
) -> None:
    later = promoted.session(Script(prompts=(QUESTION,), env=switch))

    [told] = injected(later.main_texts[0], "SessionStart")
    assert "PostgreSQL" in told and later.main_texts[0].count("PostgreSQL") == 1
    [native] = promoted.config.glob("projects/*/memory/MEMORY.md")
    assert "PostgreSQL" in native.read_text(encoding="utf-8")


# The client gives MEMORY.md to some kinds of subagents and not to others.
@pytest.mark.parametrize("agent_type", AGENT_TYPES)
def test_a_subagent_knows_the_decision_whether_or_not_it_gets_memory_md(
    reviewed: dict[str, list[Request]], agent_type: str
) -> None:
    sent = reviewed[agent_type]

    [subagent] = [request for request in sent if request.kind == "subagent"]
    assert subagent.text.count("PostgreSQL") == 1
    assert len(injected(subagent.text, "SubagentStart")) == (agent_type != "general-purpose")
    *_, last = [request for request in sent if request.kind == "main"]
    assert last.text.count("PostgreSQL") == 1


def test_uninstalling_keeps_the_decision_in_memory_md(
    promoted: Home, new_home: Callable[[], Home]
) -> None:
    home = new_home()
    home.copy_with_project(promoted)
    home.claude("plugin", "uninstall", "memory-fabric@memory-fabric")

    later = home.session(Script(prompts=(QUESTION,)))

    assert "PostgreSQL" in later.main_texts[0]
    assert later.hooks == []

"""Beside the client's own MEMORY.md: what it shows is not said again, whom it misses is told."""

from __future__ import annotations

import pytest

from e2e.harness.home import Home
from e2e.harness.result import blocks, injected
from e2e.harness.script import Script, delegate

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
QUESTION = "Which database should the analytics service talk to?"


@pytest.fixture
def promoted(home: Home) -> Home:
    """A home whose MEMORY.md holds the decision of an earlier session.

    Print mode is unattended, and such a session promotes nothing unless the user's settings say so.
    """
    home.memory.mkdir(parents=True)
    (home.memory / "config.toml").write_text('[capture]\nunattended = "full"\n', encoding="utf-8")
    home.session(Script(prompts=(DECISION,)))
    [native] = home.config.glob("projects/*/memory/MEMORY.md")
    assert "PostgreSQL" in native.read_text(encoding="utf-8")
    return home


def test_a_decision_that_memory_md_shows_is_in_the_request_once(promoted: Home) -> None:
    later = promoted.session(Script(prompts=(QUESTION, QUESTION)))

    assert [text.count("PostgreSQL") for text in later.main_texts] == [1, 1]
    assert blocks(later.main_texts[-1]) == []


# The client gives MEMORY.md to some kinds of subagents and not to others.
@pytest.mark.parametrize("agent_type", ["general-purpose", "Explore", "Plan"])
def test_a_subagent_knows_the_decision_whether_or_not_it_gets_memory_md(
    promoted: Home, agent_type: str
) -> None:
    script = Script(
        prompts=("Please have the schema reviewed.",),
        main=(delegate("Review the schema of the analytics DB.", agent_type), "Reviewed."),
        subagent=("Looks fine.",),
    )

    later = promoted.session(script)

    [subagent] = later.requests("subagent")
    assert subagent.text.count("PostgreSQL") == 1
    assert len(injected(subagent.text, "SubagentStart")) == (agent_type != "general-purpose")
    assert later.main_texts[-1].count("PostgreSQL") == 1


def test_uninstalling_leaves_the_decision_in_memory_md(promoted: Home) -> None:
    promoted.claude("plugin", "uninstall", "memory-fabric@memory-fabric")

    later = promoted.session(Script(prompts=(QUESTION,)))

    assert "PostgreSQL" in later.main_texts[0]
    assert later.hooks == []

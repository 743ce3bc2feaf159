"""Domains in the real client: agents that config.toml isolates, and whose call a tool's is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from e2e.harness.home import ATTENDED, Home
from e2e.harness.result import injected
from e2e.harness.script import Script, call, delegate
from e2e.harness.stub import Request
from e2e.harness.tiers import rows
from e2e.test_client_tools import LISTED, PREFIX, until_offered

pytestmark = pytest.mark.e2e

WALLS = """
[domains.legal]
agents = ["legal-advisor"]
isolate = true

[domains.review]
agents = ["code-critic"]
isolate = true
"""
AGENTS = ("legal-advisor", "code-critic")
LAW = "Noted decision: Retention lasts ten years. Why: the tax office asks for it."
CODE = "Noted decision: Retention lasts ten days. Why: the disks are small."
TASK = "How long does retention last? Say what we decided about retention."
QUESTION = {"query": "how long does retention last"}


CONTRACTS = {"text": "Contracts are signed in blue ink.", "domain": "review"}


@dataclass(frozen=True, slots=True)
class Isolated:
    """A home with two isolated types of agents, and each agent's requests when it was asked."""

    home: Home
    asked: dict[str, list[Request]]


@pytest.fixture(scope="module")
def isolated(shared_home: Callable[[], Home]) -> Isolated:
    """A session in which each agent ends with a finding, calls `recall`, and one keeps a note."""
    home = shared_home()
    folder = home.project / ".claude/agents"
    folder.mkdir(parents=True)
    for name in AGENTS:
        text = f"---\nname: {name}\ndescription: a {name}\n---\nYou do your work.\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    home.memory.mkdir(parents=True, exist_ok=True)
    (home.memory / "config.toml").write_text(ATTENDED + WALLS, encoding="utf-8")
    recall, remember = call(PREFIX + "recall", QUESTION), call(PREFIX + "remember", CONTRACTS)
    answers = (LAW, CODE, recall, "Done.", recall, "Done.", remember, "Done.")
    with home.open(Script(env=LISTED, subagent=answers)) as session:
        until_offered(session)
        for agent in AGENTS:
            session.say("Please have it looked into.", delegate("Look into it.", agent), "Thanks.")
        asked = {
            agent: session.say("Please have it looked into.", delegate(TASK, agent), "It was done.")
            for agent in AGENTS
        }
        noting = delegate("Note how contracts are signed.", AGENTS[0])
        session.say("Please have it noted.", noting, "It was done.")
        session.end()
    return Isolated(home, asked)


def told_and_answered(sent: list[Request]) -> tuple[str, str]:
    """Return what the agent was told at its start, and what it read after the tool's answer."""
    first, *_, last = [request for request in sent if request.kind == "subagent"]
    assert last.text.startswith(first.text)
    return "\n".join(injected(first.text, "SubagentStart")), last.text.removeprefix(first.text)


def test_two_isolated_agents_get_different_memories_for_the_same_prompt(
    isolated: Isolated,
) -> None:
    asked = isolated.asked

    told, answer = told_and_answered(asked["legal-advisor"])
    assert "ten years" in told and "ten days" not in told
    assert "[Domain-Filtered Memory (expert_domain=legal)]" in told
    assert "ten years" in answer and "ten days" not in answer
    told, answer = told_and_answered(asked["code-critic"])
    assert "ten days" in told and "ten years" not in told
    assert "ten days" in answer and "ten years" not in answer


def test_a_memory_stored_by_an_isolated_agent_through_a_tool_is_in_that_agents_domain(
    isolated: Isolated,
) -> None:
    kept_in = rows(isolated.home, "SELECT domain FROM records WHERE what LIKE '%blue ink%'")

    assert kept_in == [("legal",)]


def test_a_session_that_runs_as_an_isolated_agent_recalls_only_that_agents_domain(
    isolated: Isolated,
) -> None:
    script = Script(env=LISTED, arguments=("--agent", "legal-advisor"))
    with isolated.home.open(script) as session:
        until_offered(session)
        session.say(TASK, call(PREFIX + "recall", QUESTION), "Done.")
        result = session.end()

    seen = result.main_texts[-1]
    assert "ten years" in seen and "ten days" not in seen

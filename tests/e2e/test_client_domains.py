"""Domains in the real client: agents that config.toml isolates, and whose call a tool's is."""

from __future__ import annotations

import json

import pytest

from e2e.harness.home import ATTENDED, Home
from e2e.harness.result import Result, injected
from e2e.harness.script import Script, call, delegate
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
LAW = "We decided that retention lasts ten years because the tax office asks for it."
CODE = "We decided that retention lasts ten days because the disks are small."
TASK = "How long does retention last? Say what we decided about retention."
QUESTION = {"query": "how long does retention last"}


def with_agents(home: Home) -> Home:
    """A home with two types of agents, each behind a wall."""
    folder = home.project / ".claude/agents"
    folder.mkdir(parents=True)
    for name in ("legal-advisor", "code-critic"):
        text = f"---\nname: {name}\ndescription: a {name}\n---\nYou do your work.\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    home.memory.mkdir(parents=True, exist_ok=True)
    (home.memory / "config.toml").write_text(ATTENDED + WALLS, encoding="utf-8")
    return home


def both_have_said_it(home: Home) -> None:
    """Each of the two agents ends a session of its own with what it found."""
    for agent, found in (("legal-advisor", LAW), ("code-critic", CODE)):
        script = Script(
            prompts=("Please have it looked into.",),
            main=(delegate("Look into it.", agent), "Thanks."),
            subagent=(found,),
        )
        home.session(script)


def asking(home: Home, agent: str) -> Result:
    """A session in which the agent gets the task, and asks the tool `recall` as well."""
    turns = (call(PREFIX + "recall", QUESTION), "Done.")
    with home.open(Script(env=LISTED, subagent=turns)) as session:
        until_offered(session)
        session.queue(delegate(TASK, agent), "It was done.")
        session.say("Please have it looked into.")
        return session.end()


def told_and_answered(session: Result) -> tuple[str, str]:
    """What the agent was told at its start, and what it read more once the tool had answered."""
    first, *_, last = session.requests("subagent")
    assert last.text.startswith(first.text)
    return "\n".join(injected(first.text, "SubagentStart")), last.text.removeprefix(first.text)


def test_two_isolated_agents_are_given_different_memories_for_the_same_words(home: Home) -> None:
    with_agents(home)
    both_have_said_it(home)

    legal, review = asking(home, "legal-advisor"), asking(home, "code-critic")

    told, answer = told_and_answered(legal)
    assert "ten years" in told and "ten days" not in told
    assert "[Domain-Filtered Memory (expert_domain=legal)]" in told
    assert "ten years" in answer and "ten days" not in answer
    told, answer = told_and_answered(review)
    assert "ten days" in told and "ten years" not in told
    assert "ten days" in answer and "ten years" not in answer


def test_what_an_isolated_agent_remembers_by_a_tool_lies_in_its_domain(home: Home) -> None:
    with_agents(home)
    kept = {"text": "Contracts are signed in blue ink.", "domain": "review"}
    turns = (call(PREFIX + "remember", kept), "Done.")
    with home.open(Script(env=LISTED, subagent=turns)) as session:
        until_offered(session)
        session.queue(delegate("Note how contracts are signed.", "legal-advisor"), "It was done.")
        session.say("Please have it noted.")
        session.end()

    counts = json.loads(home.fabric("domains", "--json"))["domains"]
    kept_in = {count["domain"] for count in counts if count["records"]}
    assert "legal" in kept_in and "review" not in kept_in


def test_a_session_that_runs_as_an_isolated_agent_sees_its_domain_only(home: Home) -> None:
    with_agents(home)
    both_have_said_it(home)

    script = Script(env=LISTED, arguments=("--agent", "legal-advisor"))
    with home.open(script) as session:
        until_offered(session)
        session.queue(call(PREFIX + "recall", QUESTION), "Done.")
        session.say(TASK)
        result = session.end()

    seen = result.main_texts[-1]
    assert "ten years" in seen and "ten days" not in seen

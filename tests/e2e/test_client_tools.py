"""The plugin's MCP server in the real client: what is offered, and that it shares the memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pytest

from e2e.harness.home import REPOSITORY, Home
from e2e.harness.result import Result, injected
from e2e.harness.script import Script, call
from e2e.harness.session import Session
from waiting import until

pytestmark = pytest.mark.e2e

PREFIX = "mcp__plugin_memory-fabric_memory__"
REFERENCE_TOOLS = {
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
}
LISTED = {"ENABLE_TOOL_SEARCH": "false"}
GATEWAY = {
    "name": "zephyr-gateway",
    "entityType": "component",
    "observations": ["zephyr-gateway terminates TLS with rustls"],
}


def until_offered(session: Session) -> set[str]:
    """Greet until the client offers the server's tools; their names without the prefix."""

    def greeted() -> bool:
        session.say("Hello.")
        return bool(of_the_server(session.offered))

    until(greeted)
    return of_the_server(session.offered)


def of_the_server(tools: Iterable[str]) -> set[str]:
    """The names of the server's tools among these, without the prefix."""
    return {tool.removeprefix(PREFIX) for tool in tools if tool.startswith(PREFIX)}


@pytest.fixture(scope="module")
def noted(shared_home: Callable[[], Home]) -> Result:
    """A session in which the model creates an entity, and a prompt names it."""
    with shared_home().open(Script(env=LISTED)) as session:
        until_offered(session)
        create = call(PREFIX + "create_entities", {"entities": [GATEWAY]})
        session.say("Please note how our gateway works.", create, "Noted.")
        session.say("What does zephyr-gateway do?")
        return session.end()


def test_the_model_is_offered_the_nine_tools_of_the_reference_server(noted: Result) -> None:
    offered = of_the_server(noted.requests("main")[-1].tools)

    assert offered >= REFERENCE_TOOLS
    assert len(offered - REFERENCE_TOOLS) <= 4


def test_the_documentation_quotes_the_exact_texts_sent_to_the_model(
    shared_home: Callable[[], Home],
) -> None:
    listed = (REPOSITORY / "docs/shown.md").read_text("utf-8").split("\n## Skills\n")[1]
    skills, instructions = re.findall(r"```text\n(.*?)\n```", listed, re.DOTALL)
    names = "".join(f"\n{PREFIX}{name}" for name in sorted(re.findall(r"^\*\*(\w+)", listed, re.M)))

    with shared_home().open(Script()) as session:
        until(lambda: session.say("Hello.")[-1].text.count(PREFIX) > 0)
        told = session.end()

    assert names.count(PREFIX) == 13
    for text in (skills, instructions, names):
        assert text in told.main_texts[-1]
    assert of_the_server(told.requests("main")[-1].tools) == set()


def test_an_entity_created_by_a_tool_is_recalled_for_the_next_prompt(noted: Result) -> None:
    recalled = injected(noted.main_texts[-1], "UserPromptSubmit")

    assert any("terminates TLS with rustls" in block for block in recalled)

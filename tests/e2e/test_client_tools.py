"""The plugin's MCP server in the real client: what is offered, and that it shares the memory."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from e2e.harness.home import Home
from e2e.harness.result import injected
from e2e.harness.script import Script, call
from e2e.harness.session import Session

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
# The client gives a server 30 s to connect.
CONNECTING_S = 60
# About 15 s on an idle machine; it goes on after the session that began it.
INSTALLING_S = 200
GATEWAY = {
    "name": "zephyr-gateway",
    "entityType": "component",
    "observations": ["zephyr-gateway terminates TLS with rustls"],
}


def until(condition: Callable[[], bool], deadline_s: float) -> bool:
    """Whether the condition came true in time."""
    ends = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.5)
    return True


def until_offered(session: Session) -> set[str]:
    """Greet until the client offers the server's tools; their names without the prefix."""

    def offered() -> set[str]:
        return {t.removeprefix(PREFIX) for t in session.offered if t.startswith(PREFIX)}

    def greeted() -> bool:
        session.say("Hello.")
        return bool(offered())

    until(greeted, CONNECTING_S)
    return offered()


def test_the_nine_tools_of_the_reference_server_are_offered(home: Home) -> None:
    with home.open(Script(env=LISTED)) as session:
        offered = until_offered(session)

    assert offered >= REFERENCE_TOOLS
    assert len(offered - REFERENCE_TOOLS) <= 4


def test_an_entity_created_through_the_tools_is_recalled_by_the_next_prompt(home: Home) -> None:
    with home.open(Script(env=LISTED)) as session:
        until_offered(session)
        session.queue(call(PREFIX + "create_entities", {"entities": [GATEWAY]}), "Noted.")
        session.say("Please note how our gateway works.")
        session.say("What does zephyr-gateway do?")
        result = session.end()

    recalled = injected(result.main_texts[-1], "UserPromptSubmit")
    assert any("terminates TLS with rustls" in block for block in recalled)


def test_the_server_comes_up_from_packages_installed_in_the_background(
    new_home: Callable[[], Home],
) -> None:
    home = new_home()
    home.session(Script(prompts=("Hello.",)))

    assert until(lambda: home.installed, INSTALLING_S)
    with home.open(Script(env=LISTED)) as session:
        assert until_offered(session) >= REFERENCE_TOOLS

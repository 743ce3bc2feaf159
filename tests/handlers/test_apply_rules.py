"""Tool calls are not compared with rules any more once no rule names a call."""

from __future__ import annotations

import os

import pytest

from memory_fabric.models import WHEN, Provenance, Record
from memory_fabric.rules import bound
from memory_fabric.store import launch_marks
from simulated_client import SimulatedClient


def remember(client: SimulatedClient, what: str, when: str) -> None:
    memory = client.memory()
    rule = Record("constraint", what, confidence=0.9, evidence={WHEN: when})
    memory.remember(rule, Provenance("cli", trust="user"))
    memory.close()


def push(client: SimulatedClient) -> bool:
    """Call git and return True if the next call starts Python, by the mark of rules."""
    client.fire("PreToolUse", tool_name="Bash", tool_input={"command": "git push"})
    memory = client.memory()
    path = launch_marks.mark_path(memory.path_of("project"), launch_marks.RULES)
    memory.close()
    return os.path.exists(path)


@pytest.mark.parametrize(("most", "goes_on"), [(3, False), (2, True)])
def test_rules_that_were_not_all_read_may_name_a_call(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch, most: int, goes_on: bool
) -> None:
    monkeypatch.setattr(bound, "MAX_RULES", most)
    remember(client, "Lists have a cursor", "working on lists")
    remember(client, "Tables have a cursor", "working on tables")

    assert push(client) == goes_on

"""The source of a memory, in a phrase."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from memory_fabric.cli.formatting import said_by
from memory_fabric.models import Record


@pytest.mark.parametrize(
    ("source", "trust", "told"),
    [
        ("prompt", "user", "the user, by prompt"),
        ("cli", "user", "the user, by cli"),
        ("prompt", "assistant", "the user, by prompt"),
        ("assistant", "assistant", "the assistant, by assistant"),
        ("mcp", "tool", "the tool, by mcp"),
        ("journal", "foreign", "someone else, as claimed, by journal"),
    ],
)
def test_a_memory_source_is_shown_as_author_channel_and_time(
    source: str, trust: str, told: str
) -> None:
    record = Record("note", "x", source=source, trust=trust, created_at="2026-01-15T10:00:00.000Z")

    assert said_by(record) == f"{told}, on 2026-01-15 10:00 UTC"


def test_history_shows_whether_a_memory_is_a_rule_or_a_fact(shell: Shell) -> None:
    shell.remember("--type", "rule", "Never push to main without asking")
    shell.remember("--type", "fact", "The staging host restarts every night")

    shown = shell.run("history").out

    assert "remembered rule " in shown and "remembered fact " in shown

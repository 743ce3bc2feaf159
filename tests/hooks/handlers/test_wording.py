"""Notices: what they name works where a person reads them."""

from __future__ import annotations

import re

from cli.shell import ROOT
from simulated_client import SimulatedClient

SKILLS = {path.parent.name for path in ROOT.glob("skills/*/SKILL.md")}


def unreachable(notice: str) -> list[str]:
    """Commands in a notice that neither a skill nor a shell without our PATH would find."""
    named = re.findall(r"`([^`]*memory-fabric[^`]*)`", notice)
    skills = tuple(f"/memory-fabric:{name}" for name in SKILLS)
    return [text for text in named if not text.startswith((*skills, str(ROOT)))]


def test_commands_shown_in_the_welcome_exist_in_the_client(client: SimulatedClient) -> None:
    client.environ["CLAUDE_PLUGIN_ROOT"] = str(ROOT)

    notice = client.fire("SessionStart", source="startup")["systemMessage"]

    assert "/memory-fabric:memory status" in notice
    assert unreachable(notice) == []


def test_commands_shown_in_a_warning_exist_in_the_client(client: SimulatedClient) -> None:
    (client.project / ".claude").write_text("no folder", "utf-8")
    client.prompt("We decided to use PostgreSQL for the analytics DB because it is quick.")

    notice = client.fire("Stop", last_assistant_message="Noted.")["systemMessage"]

    assert "/memory-fabric:memory status" in notice
    assert unreachable(notice) == []

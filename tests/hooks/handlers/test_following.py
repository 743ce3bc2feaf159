"""Rules from instruction files: told where their file is not read, and as it is now."""

from __future__ import annotations

import os

import pytest

from memory_fabric.client import VARIABLE
from simulated_client import SimulatedClient

RULES = "# Shop\n\n- Use tabs, not spaces\n- Deploy on Mondays\n"


@pytest.fixture
def client(client: SimulatedClient) -> SimulatedClient:
    """A client whose project has a CLAUDE.md with two rules, which were imported."""
    (client.project / "CLAUDE.md").write_text(RULES)
    done = client.command("import", "CLAUDE.md")
    assert done.returncode == 0, done.stderr
    return client


def start(client: SimulatedClient, key: str, session: str) -> str:
    """The text that a new session of a client is told."""
    client.environ[VARIABLE] = key
    return client.context("SessionStart", session, source="startup")


def rewrite(client: SimulatedClient, text: str) -> None:
    """Write the file, later than before."""
    path = client.project / "CLAUDE.md"
    path.write_text(text)
    later = path.stat().st_mtime + 60
    os.utime(path, (later, later))


def test_codex_gets_the_rules_of_claude_md_and_claude_code_does_not(
    client: SimulatedClient,
) -> None:
    codex, claude = start(client, "codex", "s-1"), start(client, "claude-code", "s-2")
    client.environ[VARIABLE] = "codex"
    asked = client.prompt("Should I use tabs or spaces?", "s-3")
    client.environ[VARIABLE] = "claude-code"
    shown = client.prompt("Should I use tabs or spaces?", "s-4")

    assert "Imported, unconfirmed:" in codex
    assert "from CLAUDE.md, unverified" in codex
    assert "Use tabs, not spaces" in codex
    assert "Use tabs" not in claude
    assert "Use tabs, not spaces" in asked
    assert "Use tabs" not in shown


def test_a_session_start_shows_the_current_rules_of_an_edited_instruction_file(
    client: SimulatedClient,
) -> None:
    rewrite(client, RULES.replace("tabs, not spaces", "four spaces, not tabs"))

    told = start(client, "codex", "s-1")

    assert "Use four spaces, not tabs" in told
    assert "Use tabs, not spaces" not in told
    assert client.log == ""


def test_a_large_instruction_file_is_read_only_at_a_turns_end(client: SimulatedClient) -> None:
    filler = "\n".join(f"<!-- {number} {'x' * 90} -->" for number in range(1000))
    rewrite(client, f"{RULES}- Name branches after issues\n\n{filler}\n")
    at_start = start(client, "codex", "s-1")

    client.fire("Stop", "s-1", last_assistant_message="Done.")

    assert "Name branches" not in at_start
    assert "Name branches after issues" in start(client, "codex", "s-2")
    assert client.log == ""


def test_instruction_files_and_memory_md_are_never_written(client: SimulatedClient) -> None:
    client.command("pin", client.recall("tabs")["results"][0]["id"][-8:])

    client.fire("Stop", "s-1", last_assistant_message="Done.")

    assert (client.project / "CLAUDE.md").read_text() == RULES
    memory_md = client.memory_md_file()
    assert not memory_md.exists() or "tabs" not in memory_md.read_text("utf-8")


def test_the_shared_journal_contains_no_rules_of_instruction_files(client: SimulatedClient) -> None:
    client.note("fact", "The queue is Redis")
    client.fire("Stop", "s-1", last_assistant_message="Done.")

    journal = client.project / ".claude" / "memory" / "decisions.jsonl"
    text = journal.read_text("utf-8")

    assert "The queue is Redis" in text
    assert "tabs" not in text

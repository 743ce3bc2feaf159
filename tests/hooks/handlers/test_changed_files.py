"""Memories that name a file which has changed since are told with a mark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory_fabric.hooks.handlers import checkpoint_restore
from memory_fabric.recall.render import mark_records
from memory_fabric.recall.session_block import SESSION_CHARS
from simulated_client import SimulatedClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record
    from memory_fabric.store.memory import Memory

RULE = "Handlers in src/api/x.py page with cursors"
MARK = "(src/api/x.py has changed since)"
PROMPT = "How do the handlers page, with cursors?"


@pytest.fixture
def named(client: SimulatedClient) -> SimulatedClient:
    """A client whose memory holds a rule about a file, noted in a session before."""
    file = client.project / "src" / "api" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("page = 1\n")
    client.note("fact", RULE)
    return client


def edit(client: SimulatedClient) -> None:
    file = client.project / "src" / "api" / "x.py"
    file.write_text("pages = 2\n")


def test_a_record_is_not_flagged_while_its_file_is_unchanged(named: SimulatedClient) -> None:
    told = named.prompt(PROMPT, "session-2")

    assert RULE in told and "changed since" not in told


def test_a_prompt_gets_the_flagged_record_of_a_changed_file(named: SimulatedClient) -> None:
    edit(named)

    assert f"{RULE} {MARK}" in named.prompt(PROMPT, "session-2")
    assert named.log == ""


def test_a_deleted_file_is_reported_as_deleted(named: SimulatedClient) -> None:
    (named.project / "src" / "api" / "x.py").unlink()

    assert "(src/api/x.py is gone)" in named.prompt(PROMPT, "session-2")


def test_a_session_start_flags_records_of_changed_files(client: SimulatedClient) -> None:
    file = client.project / "deploy.sh"
    file.write_text("one\n")
    client.note("decision", "deploy.sh stays in plain sh", "")
    file.write_text("another\n")

    assert "(deploy.sh has changed since)" in client.context(
        "SessionStart", "session-2", source="startup"
    )


def test_the_load_command_flags_records_of_changed_files(client: SimulatedClient) -> None:
    file = client.project / "deploy.sh"
    file.write_text("one\n")
    client.note("decision", "deploy.sh stays in plain sh", "")
    file.write_text("another\n")

    assert "(deploy.sh has changed since)" in client.command("load").stdout


def test_a_record_restored_after_a_compaction_is_flagged_if_its_file_has_changed(
    named: SimulatedClient,
) -> None:
    edit(named)
    named.fire("PreCompact", trigger="manual", custom_instructions="")

    assert MARK in named.context("SessionStart", source="compact")


def test_a_compaction_checks_only_files_mentioned_by_restored_records(
    client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []

    def spy(records: Sequence[Record], memory: Memory) -> list[Record]:
        looked_at.extend(record.what for record in records)
        return mark_records(records, memory)

    for number in range(12):
        (client.project / f"part_{number}.py").write_text("a = 1\n")
        client.note("decision", f"part_{number}.py holds the {'long ' * 45}table {number}", "")
        (client.project / f"part_{number}.py").write_text("a = 12\n")
    client.fire("PreCompact", trigger="manual", custom_instructions="")
    monkeypatch.setattr(checkpoint_restore, "mark_records", spy)

    told = client.context("SessionStart", source="compact")

    assert len(told) <= SESSION_CHARS
    assert 0 < told.count("has changed since") < 12
    assert len(looked_at) == len(set(looked_at)) < 12
    assert told.count(".py holds") == told.count("has changed since")


def test_recall_and_why_commands_flag_records_of_changed_files(named: SimulatedClient) -> None:
    edit(named)
    (record,) = named.records()

    found = named.command("recall", "cursors").stdout
    why = named.command("why", record.id[-8:]).stdout

    assert "[src/api/x.py has changed since]" in found
    assert "src/api/x.py has changed since" in why


def test_a_note_repeated_in_another_session_clears_the_changed_file_flag(
    named: SimulatedClient,
) -> None:
    edit(named)

    named.note("fact", RULE, session="session-2")

    assert "changed since" not in named.prompt(PROMPT, "session-3")


def test_a_fix_is_flagged_once_a_file_that_it_mentions_has_changed(
    named: SimulatedClient, tmp_path: Path
) -> None:
    (named.project / "cart.py").write_text("total = 1\n")
    named.note("fix", "The cart crashed with KeyError total; cart.py sets it first.", "")
    os.utime(named.project / "cart.py", ns=(1, 1))

    assert "changed since" not in named.prompt("KeyError total in the cart", "session-2")
    (named.project / "cart.py").write_text("total = 12\n")
    assert "(cart.py has changed since)" in named.prompt("KeyError total, the cart", "session-3")

"""The source of a memory, in a phrase."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from memory_fabric.cli.formatting import origin_facts, said_by
from memory_fabric.models import IMPORTED, LINE, PLACE, SHARED_LOG, Record
from memory_fabric.store.history.changes import Change
from memory_fabric.store.history.trace import RecordTrace


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


AT = "2026-01-15T10:00:00.000Z"


def facts_of(record: Record, **changes: object) -> dict[str, str]:
    """Return what `why` prints about a record."""
    trace = RecordTrace(record, ("s1", "", "s2"), "project", ("graph", "journal"), ())
    return dict(origin_facts(trace._replace(**changes)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ({IMPORTED: "CLAUDE.md", PLACE: "docs/CLAUDE.md", LINE: 4}, "docs/CLAUDE.md, line 4"),
        ({IMPORTED: "CLAUDE.md", PLACE: "CLAUDE.md"}, ""),
        ({PLACE: "a", LINE: 4}, None),
    ],
)
def test_why_shows_the_program_file_and_line_of_an_imported_memory(
    evidence: dict[str, object], shown: str | None
) -> None:
    origin = facts_of(Record("note", "x", evidence=evidence))["imported from"]

    parts = [] if shown is None else [part for part in ("CLAUDE.md", shown) if part]
    assert origin == ", ".join(parts)


def test_why_shows_the_state_of_a_memory() -> None:
    record = Record("note", "x", created_at=AT)
    replaced = record._replace(superseded_by="0190-aaaa-12345678")
    deletion = Change("c1", "forget", {}, (), {"at": AT}, "project", 1, False)

    assert facts_of(record)["state"] == "active"
    assert facts_of(record._replace(pinned=True))["state"] == "active, pinned"
    assert facts_of(replaced)["state"] == "active, superseded by 12345678"
    assert facts_of(record, deletion=deletion)["state"] == "removed"


def test_why_shows_project_sessions_alternatives_trust_and_scope_of_a_memory() -> None:
    facts = facts_of(Record("note", "x", project="shop", origin="", alternatives=("a", "b")))

    assert (facts["where"], facts["sessions"], facts["instead of"]) == ("shop", "s1, s2", "a, b")
    assert facts["trust"] == "assistant, confidence 0.50"
    assert facts["scope"] == "team, domain general"


def test_the_author_of_a_shared_memory_is_a_claim_unless_a_server_vouches_for_it() -> None:
    theirs = Record("note", "x", author="bob", source="journal", trust="foreign", created_at=AT)
    by = "by journal, on 2026-01-15 10:00 UTC"

    assert said_by(theirs) == f"bob, as claimed, {by}"
    assert said_by(theirs._replace(origin=SHARED_LOG)) == f"bob, {by}"
    assert said_by(theirs._replace(agent="reviewer")) == f"bob, as claimed (agent reviewer), {by}"
    imported = theirs._replace(trust="tool", evidence={IMPORTED: "mem0", "client": "codex"})
    assert said_by(imported) == f"mem0, by journal in Codex, {by.partition(', ')[2]}"

"""The line on what sharing brought: once a day, by author, with what contradicts one's own."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hooks_here import fire_here
from memory_fabric.config import read_settings
from memory_fabric.ids import new_id
from memory_fabric.models import Provenance, Record
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts
from replay.hook_runner import HookRunner

START = {"hook_event_name": "SessionStart", "source": "startup"}
LINE = "since you were away"


@pytest.fixture
def hooks(tmp_path: Path) -> HookRunner:
    """The hooks of somebody who shares the project, and has decided something there."""
    hooks = HookRunner(tmp_path)
    hooks.environ |= {"USER": "ann", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    (hooks.project / ".git").mkdir()
    start(hooks, "first")
    with closing(Memory.open(read_settings(hooks.environ, {}))) as memory:
        decision = Record("decision", "Never use Kafka for the order events", confidence=0.9)
        memory.remember(decision, Provenance("cli", trust="user", author="ann"))
    [project] = (hooks.memory / "projects").iterdir()
    (hooks.memory / "share.json").write_text(json.dumps({project.name: True}))
    return hooks


def start(hooks: HookRunner, session: str, *, through_hooks: bool = False, **fields: str) -> str:
    """Start a session; the notice for the user."""
    event = {**START, "session_id": session, **fields}
    result = hooks.run(event) if through_hooks else fire_here(hooks, event)
    assert result.status == 0 and LINE not in result.context
    return str((result.reply or {}).get("systemMessage", ""))


def say(hooks: HookRunner, author: str, *texts: str) -> None:
    """Append what somebody states to the shared journal, as git would bring it."""
    journal = hooks.project / ".claude/memory/decisions.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a", encoding="utf-8") as stream:
        for text in texts:
            line = {"id": new_id(), "type": "decision", "what": text, "author": author}
            stream.write(json.dumps(line) + "\n")


def yesterday(hooks: HookRunner) -> None:
    """Let the day pass on which the line was told."""
    [path] = hooks.memory.glob("projects/*/graph.db")
    with closing(sqlite3.connect(path)) as database, database:
        [(value,)] = database.execute(
            "SELECT value FROM meta WHERE key = ?", (counts.ARRIVALS_TOLD,)
        )
        moved = "2026-01-02 " + value.partition(" ")[2]
        database.execute("UPDATE meta SET value = ? WHERE key = ?", (moved, counts.ARRIVALS_TOLD))


def test_a_session_start_reports_new_team_records_once_a_day(
    hooks: HookRunner,
) -> None:
    say(hooks, "carl", "Mails are sent by cron")
    assert LINE not in start(hooks, "with sharing for the first time, so all is new")

    say(hooks, "bob", "Use Kafka for the order events", "The shop has one database")
    say(hooks, "bob", "Payments are idempotent")
    say(hooks, "dora", "Invoices are numbered by year")
    told = start(hooks, "back", through_hooks=True)
    assert told.endswith(
        "memory-fabric, since you were away: 3 from bob, 1 from dora, 1 contradicts yours "
        "(/memory-fabric:review)"
    )

    say(hooks, "bob", "Logs are kept for a month")
    assert LINE not in start(hooks, "on the same day")
    yesterday(hooks)
    assert "since you were away: 1 from bob" in start(hooks, "the next day")
    yesterday(hooks)
    assert LINE not in start(hooks, "after a day on which nothing came")
    assert hooks.log == []


def test_new_team_records_are_reported_only_when_a_person_starts_a_new_session(
    hooks: HookRunner,
) -> None:
    start(hooks, "before")
    say(hooks, "bob", "The shop has one database")

    assert LINE not in start(hooks, "before", source="resume")
    assert LINE not in start(hooks, "agent", agent_type="reviewer")
    hooks.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    assert LINE not in start(hooks, "alone")
    hooks.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
    assert "1 from bob" in start(hooks, "person")


def test_only_the_newest_received_records_are_checked_for_contradictions(hooks: HookRunner) -> None:
    start(hooks, "before")
    say(hooks, "bob", *(f"Shop {number} is in town {number * 7}" for number in range(30)))
    say(hooks, "bob", "Use Kafka for the order events")

    told = re.search(r"31 from bob, 1 of the newest (\d+) contradicts yours", start(hooks, "back"))

    assert told is not None and 1 <= int(told[1]) <= 20


def test_a_locally_created_record_is_not_reported_as_received(hooks: HookRunner) -> None:
    start(hooks, "before")
    with closing(Memory.open(read_settings(hooks.environ, {}))) as memory:
        said = Record("decision", "The shop has one database", confidence=0.9)
        memory.remember(said, Provenance("cli", trust="user", author="ann"))

    assert LINE not in start(hooks, "after")


def test_without_sharing_no_data_about_received_records_is_stored(hooks: HookRunner) -> None:
    (hooks.memory / "share.json").unlink()

    start(hooks, "alone")

    [path] = hooks.memory.glob("projects/*/graph.db")
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("SELECT 1 FROM meta WHERE key = ?", (counts.ARRIVALS_TOLD,))
        assert found.fetchall() == []


def test_queries_for_received_records_use_indexes(hooks: HookRunner) -> None:
    [path] = hooks.memory.glob("projects/*/graph.db")
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(f"EXPLAIN QUERY PLAN {counts._ARRIVED}", (1, 2)).fetchall()

    plan = " | ".join(row[3] for row in rows)
    assert "SEARCH records USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in plan
    assert "team_heads_by_key" in plan and "SCAN" not in plan and "TEMP B-TREE" not in plan

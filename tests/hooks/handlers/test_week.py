"""The line on the week: once in seven days, only for a person, and only if there is something."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

import pytest

from counted_time import Counted, fire
from memory_fabric.store.home.log import add
from simulated_client import SimulatedClient

# The times that the line depends on.
TIMES = (("records", "created_at"), ("records", "valid_to"), ("meta", "value"))


def start(client: SimulatedClient, session: str, source: str = "startup", **fields: str) -> str:
    """Start a session; the notice for the user."""
    reply = client.fire("SessionStart", session, source=source, **fields)
    assert "this week" not in str(reply.get("hookSpecificOutput", ""))
    return str(reply.get("systemMessage", ""))


def let_pass(client: SimulatedClient, days: int) -> None:
    """Move all times of the project's database so many days back."""
    [path] = client.fabric_home.glob("projects/*/graph.db")
    with sqlite3.connect(path) as database:
        for table, column in TIMES:
            rows = database.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()
            for (at,) in rows:
                if at[:2] != "20":
                    continue
                moved = datetime.fromisoformat(at) - timedelta(days=days)
                earlier = moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")
                database.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (earlier, at)
                )
    database.close()


def work(client: SimulatedClient) -> None:
    """Note two rules, replace one of them, and hear one sentence that nobody notes."""
    start(client, "s0")
    client.note("rule", "Never start the dev server; the user runs it himself")
    client.note("decision", "The cache of the order page is Redis")
    first = client.records("type = 'decision'")[0]
    client.note("decision", "The cache of the order page is Valkey", instead_of=first.id[-8:])
    client.fire("UserPromptSubmit", "s1", prompt="Never push to the main branch of the shop.")
    client.fire("Stop", "s1", last_assistant_message="All right.")
    told = start(client, "next")  # which is told once
    assert "Replaced today" in told or "Replaced yesterday" in told  # at midnight


def test_the_weekly_summary_is_shown_once_in_seven_days(client: SimulatedClient) -> None:
    work(client)
    assert "this week" not in start(client, "same day")
    let_pass(client, 2)

    assert start(client, "later") == (
        "memory-fabric this week: 3 noted, 1 replaced, 1 to review (/memory-fabric:review)"
    )
    assert start(client, "again") == ""
    let_pass(client, 4)
    client.note("fact", "The staging shop is in Frankfurt", session="s2")
    assert start(client, "four days on") == ""
    let_pass(client, 3)
    assert "this week: 1 noted, 1 to review" in start(client, "seven days on", "clear")
    assert client.log == ""


def test_a_week_without_work_has_no_summary_and_does_not_delay_the_next(
    client: SimulatedClient,
) -> None:
    work(client)
    let_pass(client, 9)

    assert start(client, "a") == ""
    client.note("fact", "The staging shop is in Frankfurt", session="s2")
    assert "this week: 1 noted, 1 to review" in start(client, "b")


@pytest.mark.parametrize(
    "environ",
    [
        {"CLAUDE_CODE_SESSION_ATTENDED": "0"},
        {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"},
        {"CI": "true"},
    ],
)
def test_the_weekly_summary_waits_for_an_attended_session(
    client: SimulatedClient, environ: dict[str, str]
) -> None:
    work(client)
    let_pass(client, 2)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setitem(client.environ, name, value)
        assert "this week" not in start(client, "alone")
    assert "this week" not in start(client, "resumed", "resume")
    assert "this week" not in start(client, "agent", agent_type="reviewer")
    assert "this week: 3 noted" in start(client, "person")


@pytest.mark.parametrize("line", ["weekly = false", 'notices = "problems"', 'notices = "off"'])
def test_a_setting_turns_off_the_weekly_summary(client: SimulatedClient, line: str) -> None:
    work(client)
    let_pass(client, 2)
    (client.fabric_home / "config.toml").write_text(f"{line}\n", "utf-8")

    assert start(client, "later") == ""


def test_an_invalid_weekly_setting_is_reported_and_counts_as_on(client: SimulatedClient) -> None:
    work(client)
    let_pass(client, 2)
    (client.fabric_home / "config.toml").write_text('weekly = "never"\n', "utf-8")

    told = start(client, "later")

    assert "weekly must be true or false, not 'never'" in told and "this week: 3" in told


def test_the_weekly_summary_omits_other_projects_and_people(client: SimulatedClient) -> None:
    client.note("decision", "The shop has one database")
    client.note("preference", "Answers are in German", For="everywhere")
    let_pass(client, 2)
    [path] = client.fabric_home.glob("projects/*/graph.db")
    other = client.project.parent / "other"
    (other / ".git").mkdir(parents=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(client.environ, "CLAUDE_PROJECT_DIR", str(other))
        assert "this week" not in start(client, "elsewhere")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE records SET source = 'journal'")
    database.close()
    assert "this week" not in start(client, "here")


def test_the_weekly_summary_shows_commands_of_the_running_client(
    client: SimulatedClient,
) -> None:
    work(client)
    let_pass(client, 2)
    client.environ["MEMORY_FABRIC_CLIENT"] = "qwen"

    assert "1 to review (memory-fabric review)" in start(client, "later")


def test_the_weekly_summary_waits_while_the_database_is_locked(
    client: SimulatedClient,
) -> None:
    work(client)
    let_pass(client, 2)
    [path] = client.fabric_home.glob("projects/*/graph.db")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert "this week" not in start(client, "locked")
    other.execute("ROLLBACK")
    other.close()
    assert "this week: 3 noted" in start(client, "free")


def test_a_start_without_time_for_the_weekly_summary_still_shows_memories_and_notices(
    client: SimulatedClient,
) -> None:
    work(client)
    let_pass(client, 9)
    client.note("fact", "The staging shop is in Frankfurt", session="s2")
    add(str(client.fabric_home), "A line was passed over.")

    reply = fire(client, Counted(0), "SessionStart", source="startup", session_id="later")

    assert "A line was passed over." in reply["systemMessage"]
    assert "Valkey" in reply["hookSpecificOutput"]["additionalContext"]
    assert "this week" in client.starts("next")[0]

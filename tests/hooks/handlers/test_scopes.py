"""BR-18 through hooks and commands: who knows what, how long, and what is taken out before."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from memory_fabric.ids import timestamp
from memory_fabric.models import Entity, Provenance, Record, Relation
from memory_fabric.store.upkeep import maintenance
from simulated_client import SimulatedClient

LOCAL = "The staging freeze of the invoice exporter ends on Friday"
USERS = "Always write commit messages in the imperative mood"
ASKED = "When does the staging freeze of the invoice exporter end?"


def remember(client: SimulatedClient, *words: str, session: str = "") -> dict[str, Any]:
    if session:
        client.environ["CLAUDE_CODE_SESSION_ID"] = session
    done = client.command("remember", "--json", *words)
    client.environ.pop("CLAUDE_CODE_SESSION_ID", None)
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def move_to(client: SimulatedClient, name: str) -> None:
    other = client.project.parent / name
    (other / ".git").mkdir(parents=True)
    client.project = other
    client.environ["CLAUDE_PROJECT_DIR"] = str(other)


# --- local -------------------------------------------------------------------------------------


def test_a_local_record_is_recalled_only_in_its_own_session(client: SimulatedClient) -> None:
    client.fire("SessionStart", "session-1", source="startup")
    remember(client, LOCAL, "--scope", "local", session="session-1")

    assert "Friday" in client.prompt(ASKED, "session-1")
    assert "Friday" not in client.prompt(ASKED, "session-2")
    assert "Friday" not in client.context("SessionStart", "session-2", source="startup")


def test_a_local_record_leaves_no_trace_after_its_session_ends(client: SimulatedClient) -> None:
    client.fire("SessionStart", "session-1", source="startup")
    remember(client, LOCAL, "--scope", "local", session="session-1")
    client.fire("Stop", last_assistant_message="Done.")
    journal = client.project / ".claude" / "memory" / "decisions.jsonl"
    notes = client.memory_md_file()
    assert not journal.exists() or "Friday" not in journal.read_text()
    assert not notes.exists() or "Friday" not in notes.read_text()

    client.fire("SessionEnd", reason="other")

    assert client.records("1") == []
    assert "Friday" not in client.command("history").stdout


def ended_days_ago(client: SimulatedClient, days: float) -> None:
    memory = client.memory()
    then = timestamp(time.time() - days * 24 * 3600)
    with memory.session_database().transaction() as c:
        c.execute("UPDATE sessions SET seen_at = ?, started_at = ?", (then, then))
        c.execute("UPDATE records SET created_at = ?", (then,))
    memory.close()


@pytest.mark.parametrize(("days", "left"), [(0.5, 1), (2, 0)])
def test_a_local_record_is_deleted_a_day_after_its_session_was_interrupted(
    client: SimulatedClient, days: float, left: int
) -> None:
    client.fire("SessionStart", "session-1", source="startup")
    remember(client, LOCAL, "--scope", "local", session="session-1")
    ended_days_ago(client, days)
    client.fire("SessionStart", "session-2", source="startup")

    memory = client.memory()
    maintenance.run(memory, keep_days=90)

    assert len(client.records("scope = 'local'")) == left


def test_backups_omit_local_records_of_an_interrupted_session(client: SimulatedClient) -> None:
    client.fire("SessionStart", "session-1", source="startup")
    remember(client, LOCAL, "--scope", "local", session="session-1")
    ended_days_ago(client, 2)

    maintenance.run(client.memory(), keep_days=90)

    copies = [p for p in client.fabric_home.rglob("backups/*") if p.is_file()]
    assert copies
    assert not any(b"staging freeze" in p.read_bytes() for p in copies)


# --- user --------------------------------------------------------------------------------------


def test_another_project_sees_user_records_but_no_team_records(
    client: SimulatedClient,
) -> None:
    remember(client, USERS, "--scope", "user")
    remember(client, "Always write commit messages behind the ticket number")
    move_to(client, "other")

    start = client.context("SessionStart", "session-2", source="startup")
    given = client.prompt("How do I write commit messages?", "session-3")

    for shown in (start, given, client.command("recall", "commit messages").stdout):
        assert "imperative mood" in " ".join(shown.split())
        assert "ticket number" not in shown


# --- global ------------------------------------------------------------------------------------


@pytest.fixture
def told(client: SimulatedClient) -> SimulatedClient:
    """A project with a remote of a company's own, and a machine and a person with names."""
    config = client.project / ".git" / "config"
    config.write_text(
        '[core]\n\tbare = false\n[remote "origin"]\n'
        "\turl = git@git.acme-corp.example:payments-guild/ledgerly.git\n"
    )
    client.environ |= {"USER": "annabel"}
    return client


TELLING = ("ledgerly", "payments-guild", "acme-corp", "annabel", "shop")


def test_text_of_a_global_record_does_not_reveal_its_origin(told: SimulatedClient) -> None:
    secret_path = told.project / "src" / "pool.py"
    text = (
        f"Ledgerly of payments-guild uses PgBouncer, see {secret_path} on {os.uname().nodename}, "
        "ask annabel@git.acme-corp.example"
    )
    why = "annabel found that Ledgerly ran out of connections"
    remember(told, "--global", text, "--why", why, "--category", "ledgerly-db")
    move_to(told, "second")

    (record,) = told.records()
    whole = str(record).lower()
    assert record.scope == "global"
    assert "pgbouncer" in whole
    for name in (*TELLING, os.uname().nodename.lower(), "pool.py", str(told.project.parent)):
        assert name not in whole, name


def test_no_field_of_a_global_record_reveals_its_origin(told: SimulatedClient) -> None:
    memory = told.memory()
    record = Record(
        "decision",
        "Use PgBouncer",
        alternatives=("the pool of Ledgerly", "HAProxy"),
        constraints=("payments-guild approves",),
        tradeoffs=("annabel has to run it",),
        entities=(Entity("ledgerly", "project"), Entity("PgBouncer", "technology")),
        relations=(
            Relation("ledgerly", "chose", "PgBouncer"),
            Relation("PgBouncer", "replaces", "HAProxy"),
        ),
        category="ledgerly",
        confidence=0.9,
        scope="global",
        evidence={"file": "/home/annabel/ledgerly/a.py", "commit": "abc"},
    )
    stored = memory.remember(record, Provenance("cli", trust="user", session="session-1"))
    memory.close()

    assert stored is not None
    whole = str(stored).lower()
    assert [name for name in TELLING if name in whole] == []
    assert stored.relations == (Relation("PgBouncer", "replaces", "HAProxy"),)
    assert (stored.session, stored.author, stored.origin, stored.evidence) == ("", "", "", {})
    graph = told.command("export").stdout.lower()
    assert "pgbouncer" in graph
    assert [name for name in TELLING if name in graph] == []


def test_a_record_for_all_projects_omits_names_of_hosts_people_and_companies(
    client: SimulatedClient,
) -> None:
    said = ("--type", "decision", "--global")
    remember(client, *said, "Copy dumps off host build7.acme.internal, says user Bob Smith")
    remember(client, *said, "Acme Corp wants cursor-based pagination for list endpoints")
    move_to(client, "second")

    start = client.context("SessionStart", "elsewhere", source="startup")

    assert "Copy dumps off a host" in start and "pagination" in start
    for name in ("build7", "acme", "Bob", "Smith", "Acme"):
        assert name not in start


def test_a_record_for_all_projects_is_refused_if_it_may_name_somebody(
    client: SimulatedClient,
) -> None:
    done = client.command("remember", "--global", "The Tyrell team owns the queue")

    assert done.returncode == 2 and "may name somebody: Tyrell" in done.stderr
    assert client.records("1") == []
    assert client.command("remember", "The Tyrell team owns the queue").returncode == 0


# --- generalizable -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        (["Use PostgreSQL for analytics because it has window functions"], True),
        (["Use PostgreSQL for analytics", "--why", "it has window functions"], True),
        (["Use PostgreSQL for analytics"], False),
        (["Use the big table for analytics because it is there"], False),
    ],
)
def test_a_record_is_marked_generalizable_only_with_a_reason_and_a_known_entity(
    client: SimulatedClient, words: list[str], marked: bool
) -> None:
    record = remember(client, *words)

    assert record.get("generalizable", False) is marked
    assert record["scope"] == "team"
    move_to(client, "other")
    assert client.command("recall", "PostgreSQL analytics table").returncode == 3


def test_an_exported_record_does_not_repeat_a_reason_that_its_sentence_contains(
    client: SimulatedClient,
) -> None:
    remember(client, "Use PostgreSQL for analytics because it has window functions")

    assert "— because" not in client.command("export").stdout


def test_a_generalizable_note_remains_in_the_team_scope(client: SimulatedClient) -> None:
    client.note(
        "decision",
        "Use PostgreSQL instead of MySQL for reports",
        why="it has window functions",
        instead_of="MySQL",
    )

    (record,) = client.records()
    assert (record.generalizable, record.scope) == (True, "team")


def test_a_preference_for_all_projects_that_is_stated_and_noted_is_stored_once(
    client: SimulatedClient,
) -> None:
    said = "I prefer tabs over spaces in every project"

    notice = client.note("preference", "Tabs over spaces", said, For="everywhere")

    assert "contradicts" not in notice
    assert [(r.what, r.scope) for r in client.records()] == [("Tabs over spaces", "user")]

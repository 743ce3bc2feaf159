"""Candidates: heard once and shown nowhere, until another session says it on its own."""

from __future__ import annotations

import pytest

from memory_fabric.models import Entity, Provenance, Record
from memory_fabric.store.health import maintenance
from memory_fabric.store.history import undo
from memory_fabric.store.tiers import sync
from simulated_client import SimulatedClient

SAID = "The invoice exporter keeps its templates in the billing bucket"
ASKED = "Where does the invoice exporter keep its templates, in which billing bucket?"


def hear(
    client: SimulatedClient,
    what: str = SAID,
    session: str = "session-1",
    **by: str,
) -> None:
    """Store what was heard and nobody noted."""
    memory = client.memory()
    record = Record("decision", what, confidence=0.4)
    record = record._replace(entities=(Entity("invoice-exporter", "component"),))
    provenance = Provenance("assistant", trust=by.pop("trust", "assistant"), session=session, **by)
    memory.remember(record, provenance)
    memory.close()


def statuses(client: SimulatedClient) -> list[str]:
    return [r.status for r in client.records("1")]


def test_it_is_shown_nowhere(client: SimulatedClient) -> None:
    hear(client)
    client.fire("Stop", last_assistant_message="Done.")

    shown = [
        client.context("SessionStart", "session-2", source="startup"),
        client.context("SessionStart", "session-1", source="compact"),
        client.prompt(ASKED, "session-2"),
        client.prompt("What do you know about the invoice-exporter?", "session-3"),
        client.context("SubagentStart", "session-2", agent_id="a", agent_type="database-engineer"),
        client.command("recall", ASKED).stdout,
        client.command("recall").stdout,
        client.command("load").stdout,
        client.command("export").stdout,
    ]
    files = [client.memory_md_file(), client.project / ".claude" / "memory" / "decisions.jsonl"]
    shown += [path.read_text() for path in files if path.exists()]

    assert statuses(client) == ["candidate"]
    assert "template" not in "".join(shown)
    assert "invoice-exporter" not in "".join(shown)


def test_a_second_session_makes_it_a_record(client: SimulatedClient) -> None:
    hear(client)
    hear(client, session="session-2")

    (record,) = client.records()
    assert record.confidence == 0.5
    assert "billing bucket" in client.prompt(ASKED, "session-3")
    assert client.command("candidates", "--json").stdout.count("billing") == 0


def test_so_does_the_user_who_says_it_surely_in_the_same_session(client: SimulatedClient) -> None:
    hear(client)
    memory = client.memory()
    by = Provenance("prompt", trust="user", session="session-1")
    memory.remember(Record("decision", SAID, confidence=0.75), by)
    memory.close()

    (record,) = client.records()
    assert (record.trust, record.confidence) == ("user", 0.75)


@pytest.mark.parametrize(
    "echo",
    [
        {"session": "session-1"},
        {"session": "session-1", "agent": "database-engineer"},
        {"session": ""},
    ],
    ids=["same session", "a subagent of it", "no session"],
)
def test_an_echo_is_no_second_sighting(client: SimulatedClient, echo: dict[str, str]) -> None:
    hear(client)
    for _ in range(2):
        hear(client, **echo)

    assert statuses(client) == ["candidate"]


def test_another_project_and_another_domain_are_no_witnesses(client: SimulatedClient) -> None:
    hear(client)
    hear(client, session="session-2", domain="code_reviewer")
    other = client.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    client.environ["CLAUDE_PROJECT_DIR"] = str(other)
    hear(client, session="session-3")
    assert statuses(client) == ["candidate"]

    client.environ["CLAUDE_PROJECT_DIR"] = str(client.project)
    assert statuses(client) == ["candidate", "candidate"]


def test_candidates_leave_after_their_days_and_records_stay(client: SimulatedClient) -> None:
    hear(client)
    hear(client, "The mailer reads its queue name from the vault")
    hear(client, "The mailer reads its queue name from the vault", "session-2")
    memory = client.memory()
    sync.expire_candidates(memory, "2000-01-01")
    assert sorted(r.status for r in memory.find_records("1")) == ["active", "candidate"]
    sync.expire_candidates(memory, "9999")
    assert [r.status for r in memory.find_records("1")] == ["active"]
    memory.close()
    assert maintenance.CANDIDATES_KEPT_DAYS == 90

    hear(client)
    assert statuses(client) == ["candidate", "active"]


def test_the_sighting_that_made_it_a_record_can_be_undone(client: SimulatedClient) -> None:
    hear(client)
    hear(client, session="session-2")
    memory = client.memory()
    undo.undo(memory, [undo.last(memory)], Provenance("cli", trust="user"))
    memory.close()

    assert statuses(client) == ["candidate"]
    assert "template" not in client.prompt(ASKED, "session-3")


def test_a_rebuilt_database_counts_the_same_sightings(client: SimulatedClient) -> None:
    hear(client)
    client.fire("Stop", last_assistant_message="Done.")
    for path in client.fabric_home.glob("projects/*/graph.db*"):
        path.unlink()
    assert client.command("repair").returncode == 0

    assert statuses(client) == ["candidate"]
    hear(client, session="session-3")
    assert statuses(client) == ["active"]

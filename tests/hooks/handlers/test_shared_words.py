"""The user's own words behind notes: on this machine, and in what is shared only if released."""

from __future__ import annotations

import json

import pytest

from simulated_client import SimulatedClient

RULE = "Calls to the bank are mocked in tests"
SAID = "please mock the bank in all tests, Bob Miller was very angry last time"
LATER = "and never again mail real customers, Bob Miller had to apologise"


@pytest.mark.parametrize("is_released", [False, True])
def test_the_shared_journal_contains_quotations_only_if_share_words_is_set(
    client: SimulatedClient, *, is_released: bool
) -> None:
    journal = client.project / ".claude" / "memory" / "decisions.jsonl"
    client.note("rule", RULE, SAID)
    assert "Bob Miller" in journal.read_text("utf-8")
    if is_released:
        (client.fabric_home / "config.toml").write_text("share_words = true\n")

    done = client.command("share", "on")
    client.note("rule", "Customers are never mailed from tests", LATER)

    assert done.returncode == 0, done.stderr
    lines = journal.read_text("utf-8")
    assert RULE in lines and "Customers are never mailed" in lines
    assert ("Bob Miller" in lines) == is_released
    assert {"Bob Miller" in str(record.evidence) for record in client.records()} == {True}


def test_an_entity_of_a_rule_is_shown_with_the_users_quotation_first(
    client: SimulatedClient,
) -> None:
    said = "never talk to PostgreSQL on the analytics host directly, ask Redis first"
    client.note("rule", "Analytics queries go through Redis before PostgreSQL", said)

    found = client.command("recall", "Redis", "--type", "technology").stdout

    assert f"“{said}” (noted as: Analytics queries go through Redis" in " ".join(found.split())


def test_an_observation_of_a_rule_begins_with_the_users_quotation(client: SimulatedClient) -> None:
    said = "never talk to PostgreSQL on the analytics host directly, ask Redis first"
    client.note("rule", "Analytics queries go through Redis before PostgreSQL", said)

    done = client.command("recall", "--json", "Redis", "--type", "technology")

    found = [hit for hit in json.loads(done.stdout)["results"] if hit["source"] != "records"]
    assert found and all(hit["metadata"]["quotation"] == said for hit in found)


def test_text_around_a_statement_is_not_in_the_shared_journal(client: SimulatedClient) -> None:
    client.prompt("From now on mock the bank in all tests. Bob Miller was very angry last time.")
    client.fire("Stop", last_assistant_message="Done.")
    assert client.command("share", "on").returncode == 0

    journal = client.project / ".claude" / "memory" / "decisions.jsonl"
    lines = journal.read_text("utf-8")
    assert "mock the bank" in lines and "Bob Miller" not in lines

"""A team in the real client: what one member's session decided is told in another's, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks
from e2e.harness.stub import Request
from e2e.harness.tiers import rows
from team.postgres import ANN, BOB, OWNER, Cluster
from waiting import until

pytestmark = pytest.mark.e2e

SPACE = "shop"
LEDGER = "Noted decision: PostgreSQL is used for the ledger. Why: analytics needs window functions."
QUEUE = "Noted decision: RabbitMQ carries the order events. Why: the partners speak AMQP."


class Team(NamedTuple):
    """Two machines, each of one member, tied to one space."""

    ann: Home
    bob: Home


@pytest.fixture(scope="module")
def team(shared_home: Callable[[], Home]) -> Iterator[Team]:
    """Two homes with the plugin, tied by its own commands to a real PostgreSQL."""
    cluster = Cluster()
    try:
        cluster.start()
        cluster.make_roles()
        with cluster.database() as database:
            ann, bob = shared_home(), shared_home()
            for home in (ann, bob):
                (home.project / ".git").mkdir()
                home.attend()
            ann.fabric("team", "init", cluster.dsn(OWNER, database), "--space", SPACE)
            for home, member in ((ann, ANN), (bob, BOB)):
                ann.fabric("team", "add", member)
                home.fabric("team", "join", cluster.dsn(member, database), "--space", SPACE)
            yield Team(ann, bob)
            for home in (ann, bob):  # no process of a hook must look for the server afterwards
                home.fabric("team", "leave", "--drop", "--json")
    finally:
        cluster.remove()


def waits(home: Home) -> int:
    """The number of changes of a home that its server does not have."""
    [found] = json.loads(home.fabric("status", "--json"))["team"]
    return int(found["due"] + found["waiting"])


def has(home: Home, text: str) -> bool:
    """True if a memory of this home holds the text."""
    return any(text in what for (what,) in rows(home, "SELECT what FROM records"))


def told_of(sent: list[Request], words: str) -> list[str]:
    """The blocks of the conversation that speak of these words."""
    [*_, last] = [request for request in sent if request.kind == "main"]
    return [block for block in blocks(last.text) if words in block]


@dataclass(frozen=True, slots=True)
class Told:
    """The requests of questions about another member's decisions, and the end of the session."""

    ledger: list[Request]
    events: list[Request]
    result: Result


@pytest.fixture(scope="module")
def told(team: Team) -> Told:
    """Bob's session is asked about a decision made before it, and about one made meanwhile."""
    with team.ann.open() as deciding:
        deciding.say("Which database do we take?", LEDGER)
        until(lambda: waits(team.ann) == 0, "ann's machine has sent it")
        with team.bob.open() as session:
            session.say("Good morning.")
            until(lambda: has(team.bob, "used for the ledger"), "bob's machine has read it")
            ledger = session.say("Is PostgreSQL used for the ledger?")
            deciding.say("What carries the events?", QUEUE)
            until(lambda: has(team.bob, "carries the order events"), "bob's server has read it")
            events = session.say("Does RabbitMQ carry the order events?")
            result = session.end()
        deciding.end()
    return Told(ledger, events, result)


def test_a_decision_of_one_member_is_shown_to_another_with_its_authors_name(told: Told) -> None:
    [block] = told_of(told.ledger, "ledger")

    assert "PostgreSQL is used for the ledger" in block
    assert ANN in block
    assert told.result.complaints == []


def test_a_running_session_is_shown_decisions_that_other_members_made_meanwhile(told: Told) -> None:
    [block] = told_of(told.events, "order events")

    assert "RabbitMQ" in block and ANN in block


@pytest.mark.usefixtures("told")
def test_records_received_from_another_member_get_the_lowest_trust(team: Team) -> None:
    said = rows(team.bob, "SELECT source, trust FROM records WHERE type = 'decision'")

    assert said
    assert {tuple(row) for row in said} == {("journal", "foreign")}

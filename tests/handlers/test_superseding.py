"""Superseded records are not given any more, and open questions stay open."""

from __future__ import annotations

from memory_fabric.capture import remember as capturing
from memory_fabric.models import Entity, Provenance, Record
from simulated_client import SimulatedClient

OLD = "We use MongoDB for the order archive."
NEW = "We moved the order archive from MongoDB to Postgres because reports need joins."
ASKED = "Which database holds the order archive?"


def told(client: SimulatedClient, record: Record, *, trust: str = "user") -> None:
    memory = client.memory()
    by = Provenance("cli", trust=trust, session="session-9")
    assert memory.remember(record, by)
    memory.close()


def remember(
    client: SimulatedClient, text: str, instead_of: tuple[str, ...] = (), kind: str = ""
) -> Record:
    """Say a text on purpose, in a session of its own: MEMORY.md follows later."""
    memory = client.memory()
    by = Provenance("cli", trust="user", session="session-9")
    stored, _ = capturing.state(memory, capturing.stated(memory, text, type=kind), by, instead_of)
    memory.close()
    assert stored is not None
    return stored


def moved(client: SimulatedClient) -> tuple[Record, Record]:
    old = remember(client, OLD)
    new = remember(client, NEW, (old.id,))
    (old,) = client.records(f"id = '{old.id}'")
    return old, new


def test_a_later_session_gets_the_newer_and_not_the_older(client: SimulatedClient) -> None:
    old, new = moved(client)

    context = client.prompt(ASKED, "session-3")

    assert old.superseded_by == new.id
    assert "from MongoDB to Postgres" in context
    assert "We use MongoDB" not in context


def test_its_turns_and_its_place_in_the_graph_do_not_come_back_either(
    client: SimulatedClient,
) -> None:
    moved(client)

    for prompt in (ASKED, "Tell me about MongoDB in the order archive", "What uses MongoDB?"):
        assert "We use MongoDB" not in client.prompt(prompt, f"later {prompt}")


def test_the_session_block_and_memory_md_drop_it(client: SimulatedClient) -> None:
    moved(client)
    client.fire("Stop", "session-2", last_assistant_message="")

    block = client.context("SessionStart", "session-3", source="startup")
    notes = client.memory_md_file().read_text()

    assert "We use MongoDB" not in block + notes
    assert "from MongoDB to Postgres" in block + notes


def test_a_question_about_the_past_finds_it_with_its_link(client: SimulatedClient) -> None:
    old, new = moved(client)

    (first, *_) = client.recall("What did we use for the order archive before Postgres?")["results"]
    assert {first["id"]} <= {f"record:{old.id}", f"record:{new.id}"}
    found = client.recall("What did we use for the order archive before Postgres?")["results"]
    (mine,) = [hit for hit in found if hit["id"] == f"record:{old.id}"]
    assert mine["metadata"]["superseded_by"] == new.id
    text = client.command("recall", "order archive").stdout
    assert f"superseded by {new.id.replace('-', '')[-8:]}"[:13] in " ".join(text.split())


def test_an_open_question_is_asked_at_each_start_until_it_is_answered(
    client: SimulatedClient,
) -> None:
    question = remember(client, "Which region hosts the order archive?", kind="open")
    remember(client, OLD)
    starts = [client.context("SessionStart", f"s{n}", source="startup") for n in range(2)]
    assert starts[0] == starts[1]
    assert "## Open Questions\n- [question" in starts[0]
    assert starts[0].index("We use MongoDB") < starts[0].index("Open Questions")

    answer = "The order archive is hosted in the region Frankfurt"
    remember(client, answer)
    assert "Open Questions" in client.context("SessionStart", "s3", source="startup")

    remember(client, answer, (question.id,))
    assert "Open Questions" not in client.context("SessionStart", "s4", source="startup")


def test_a_pinned_record_stays_first_however_many_came_later(client: SimulatedClient) -> None:
    told(client, Record("note", "Deploys need two approvals", confidence=0.6, pinned=True))
    for n in range(70):
        told(client, Record("decision", f"Service {n} is owned by team {n}", confidence=0.6))

    start = client.context("SessionStart", "s1", source="startup").splitlines()
    again = client.context("SessionStart", "s1", source="compact")

    assert "Deploys need two approvals" in next(line for line in start if line.startswith("- ["))
    assert "Deploys need two approvals" in again


def test_a_question_with_entities_keeps_within_the_block(client: SimulatedClient) -> None:
    for n in range(12):
        names = tuple(Entity(f"part-{n}-{i}-{'x' * 40}", "component") for i in range(4))
        told(client, Record("question", f"Why does {n} {'so ' * 200}", entities=names))
        told(client, Record("decision", f"Rule {n}: {'because ' * 60}", confidence=0.8))

    block = client.context("SessionStart", "s1", source="startup")

    assert len(block.partition("Memory notes.")[0]) <= 3000
    assert block.count("[question") == 3


def test_the_command_says_what_the_new_one_stands_for(client: SimulatedClient) -> None:
    old = remember(client, "Use MongoDB for the order archive")
    moved_to = "We moved the order archive from MongoDB to Postgres"
    done = client.command("remember", moved_to, "--instead-of", old.id)

    assert "replaces" in done.stdout
    assert "Use MongoDB for the order archive" in " ".join(done.stdout.split())
    then = client.command("recall", "order archive", "--as-of", "2020-01-01")
    assert then.returncode == 3
    assert client.command("recall", "order archive", "--as-of", "soon").returncode == 2

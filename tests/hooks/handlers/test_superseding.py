"""Superseded records are not given any more, and open questions stay open."""

from __future__ import annotations

from memory_fabric.models import Entity, Provenance, Record
from simulated_client import SimulatedClient

OLD = "MongoDB holds the order archive"
NEW = "Postgres holds the order archive, since reports need joins"
ASKED = "Which database holds the order archive?"


def told(client: SimulatedClient, record: Record, *, trust: str = "user") -> None:
    memory = client.memory()
    by = Provenance("cli", trust=trust, session="session-9")
    assert memory.remember(record, by) is not None
    memory.close()


def moved(client: SimulatedClient) -> tuple[Record, Record]:
    client.note("decision", OLD, session="session-1")
    client.note("decision", NEW, session="session-2", instead_of="MongoDB")
    new, old = client.records("type = 'decision'")
    return old, new


def test_a_later_session_gets_only_the_newer_decision(client: SimulatedClient) -> None:
    old, new = moved(client)

    context = client.prompt(ASKED, "session-3")

    assert old.superseded_by == new.id
    assert "Postgres holds" in context
    assert "MongoDB holds" not in context


def test_a_note_replaces_by_its_id_a_decision_from_when_the_clock_was_ahead(
    client: SimulatedClient,
) -> None:
    told(client, Record("decision", OLD, confidence=0.8, valid_from="2099-01-01T00:00:00.000Z"))
    (old,) = client.records()

    client.note("decision", NEW, instead_of=old.id[-8:])

    (old,) = client.records(f"id = '{old.id}'")
    assert old.superseded_by != "" and old.valid_to == old.valid_from


def test_a_note_that_may_not_replace_what_it_names_by_id_keeps_its_own_time(
    client: SimulatedClient,
) -> None:
    told(client, Record("decision", OLD, confidence=0.9, valid_from="2099-01-01T00:00:00.000Z"))
    (old,) = client.records()

    client.note("decision", NEW, quotation="", instead_of=old.id[-8:])

    (new,) = client.records(f"id <> '{old.id}'")
    assert new.valid_from < old.valid_from


def test_an_older_note_that_names_a_newer_decision_in_words_does_not_replace_it(
    client: SimulatedClient,
) -> None:
    told(client, Record("decision", OLD, confidence=0.8, valid_from="2099-01-01T00:00:00.000Z"))

    client.note("decision", NEW, instead_of=OLD)

    assert [record.superseded_by for record in client.records("type = 'decision'")] == ["", ""]


def test_a_replaced_decision_is_not_recalled_from_its_message_or_the_graph(
    client: SimulatedClient,
) -> None:
    client.say("user", OLD, session="session-1")
    client.fire("Stop", "session-1")
    moved(client)

    for prompt in (ASKED, "Tell me about MongoDB in the order archive", "What uses MongoDB?"):
        assert "MongoDB holds" not in client.prompt(prompt, f"later {prompt}")


def test_a_replaced_decision_stays_replaced_when_its_transcript_is_read_later(
    client: SimulatedClient,
) -> None:
    for sentence, fields in ((OLD, {}), (NEW, {"instead_of": "MongoDB"})):
        client.say("user", sentence)
        client.say("assistant", f"Noted decision: {sentence}.")
        client.transcript.rename(client.transcript.with_name("kept"))
        client.note("decision", sentence, **fields)
        client.transcript.with_name("kept").rename(client.transcript)
    client.fire("Stop", last_assistant_message="")

    assert [r.superseded_by == "" for r in client.records("type = 'decision'")] == [True, False]


def test_session_block_and_memory_md_do_not_show_a_replaced_rule(client: SimulatedClient) -> None:
    client.note("rule", "Orders are always archived in MongoDB")
    assert "MongoDB" in client.memory_md_file().read_text()
    client.note("rule", "Orders are always archived in Postgres", instead_of="MongoDB")

    told = client.context("SessionStart", "session-2", source="startup")
    block = client.context("SessionStart", "session-3", source="startup")
    notes = client.memory_md_file().read_text()

    assert "Replaced today" in told or "Replaced yesterday" in told  # once; at midnight
    assert "MongoDB" not in block + notes
    assert "in Postgres" in block + notes


def test_the_assistant_does_not_supersede_a_record_of_the_user(client: SimulatedClient) -> None:
    client.note("decision", OLD)
    notice = client.note("decision", NEW, quotation="", instead_of="MongoDB")

    mine, said = client.records("type = 'decision'")
    assert (said.superseded_by, mine.evidence["contradicts"]) == ("", [said.id])
    assert f"contradicts {said.id[-8:]}: {said.what}" in notice


def test_an_assistants_decision_supersedes_its_earlier_decision(client: SimulatedClient) -> None:
    client.note("decision", OLD, quotation="")
    notice = client.note("decision", NEW, quotation="", instead_of="MongoDB")

    new, old = client.records("type = 'decision'")
    assert old.superseded_by == new.id
    assert f"replaces {old.id[-8:]}: {old.what}" in notice


def test_a_question_about_the_past_finds_a_replaced_decision_and_its_successor(
    client: SimulatedClient,
) -> None:
    old, new = moved(client)

    (first, *_) = client.recall("What did we use for the order archive before Postgres?")["results"]
    assert {first["id"]} <= {f"record:{old.id}", f"record:{new.id}"}
    found = client.recall("What did we use for the order archive before Postgres?")["results"]
    (mine,) = [hit for hit in found if hit["id"] == f"record:{old.id}"]
    assert mine["metadata"]["superseded_by"] == new.id
    text = client.command("recall", "order archive").stdout
    assert f"superseded by {new.id.replace('-', '')[-8:]}"[:13] in " ".join(text.split())


def test_a_note_replaces_the_decision_whose_id_it_gives(
    client: SimulatedClient,
) -> None:
    client.note("decision", "Packages are installed with npm", session="session-1")
    (old,) = client.records()
    client.note(
        "decision", "Packages are installed with pnpm", session="session-2", instead_of=old.id[-8:]
    )

    new, old = client.records("type = 'decision'")
    assert old.superseded_by == new.id


def test_a_rejected_alternative_does_not_replace_a_decision_on_another_subject(
    client: SimulatedClient,
) -> None:
    client.note("decision", "The docs site is built with npm", session="session-1")
    client.note("decision", "Orders are archived with pnpm", session="session-2", instead_of="npm")

    new, old = client.records("type = 'decision'")
    assert new.alternatives == ("npm",)
    assert old.superseded_by == ""


def test_an_open_question_is_shown_until_a_note_with_its_id_answers_it(
    client: SimulatedClient,
) -> None:
    client.note("open", "The region that hosts the order archive is not chosen")
    client.note("decision", OLD)
    (question,) = client.records("type = 'question'")
    starts = [client.context("SessionStart", f"s{n}", source="startup") for n in range(2)]
    assert starts[0] == starts[1]
    assert "## Open Questions\n- [question" in starts[0]
    assert starts[0].index("Open Questions") < starts[0].index("MongoDB holds")

    answer = "The order archive is hosted in the region Frankfurt"
    client.note("decision", answer)
    assert "Open Questions" in client.context("SessionStart", "s3", source="startup")

    client.note("decision", f"{answer}, as agreed", instead_of=question.id[-8:])
    assert "Open Questions" not in client.context("SessionStart", "s4", source="startup")


def test_a_pinned_record_is_shown_first_despite_many_newer_records(client: SimulatedClient) -> None:
    told(client, Record("note", "Deploys need two approvals", confidence=0.6, pinned=True))
    for n in range(70):
        told(client, Record("decision", f"Service {n} is owned by team {n}", confidence=0.6))

    start = client.context("SessionStart", "s1", source="startup").splitlines()
    again = client.context("SessionStart", "s1", source="compact")

    assert "Deploys need two approvals" in next(line for line in start if line.startswith("- ["))
    assert "Deploys need two approvals" in again


def test_session_start_context_stays_within_3000_characters_despite_many_records(
    client: SimulatedClient,
) -> None:
    for n in range(12):
        names = tuple(Entity(f"part-{n}-{i}-{'x' * 40}", "component") for i in range(4))
        told(client, Record("question", f"Why does {n} {'so ' * 60}", entities=names))
        told(client, Record("decision", f"Rule {n}: {'because ' * 60}", confidence=0.8))

    block = client.context("SessionStart", "s1", source="startup")

    assert len(block) <= 3000
    assert block.count("[question") == 3


def test_the_remember_command_reports_which_record_was_replaced(client: SimulatedClient) -> None:
    client.command("remember", "Use MongoDB for the order archive")
    done = client.command("remember", "We moved the order archive from MongoDB to Postgres")

    assert "replaces" in done.stdout
    assert "Use MongoDB for the order archive" in " ".join(done.stdout.split())
    then = client.command("recall", "order archive", "--as-of", "2020-01-01")
    assert then.returncode == 3
    assert client.command("recall", "order archive", "--as-of", "soon").returncode == 2

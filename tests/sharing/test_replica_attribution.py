"""Statements of other members are told with their name, limited, and never as one's own."""

from __future__ import annotations

import pytest

from command_line import run_here
from drawn import token
from memory_fabric.sharing.git import shared_journal
from memory_fabric.sharing.replica import heads, inbox, outbox, statements, wire
from memory_fabric.store.queries import conditions, graph, search
from memory_fabric.store.tiers import sync
from sharing.replicas import Home, synced
from store.support import USER, create, entity


def asked(home: Home, *words: str) -> str:
    home.memory.close()
    done = run_here(words, home.world.environ | home.environ, home.world.project)
    assert done.status == 0, done.err
    return done.out


def test_recall_and_why_show_the_member_who_is_the_author(ann: Home, bob: Home) -> None:
    said = ann.say("Invoices are archived in Glacier for ten years")
    create(ann.memory, entity("invoicer", "renders invoices with Typst"))
    synced(ann, bob)
    assert "from ann, unverified" in asked(bob, "recall", "invoices archived Glacier")
    assert "from ann, unverified" in asked(bob, "recall", "invoicer Typst renders")
    assert "ann, by journal" in asked(bob, "why", said.id)
    assert "ann, by journal" in asked(bob, "why", "invoicer")


def test_the_graph_names_the_author_of_observations_and_relations_by_other_members(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("invoicer", "renders with Typst"))
    ann.relate("invoicer", "needs", "Typst")
    synced(ann, bob)
    found = graph.open_nodes(bob.database, ["invoicer"])
    mark = "(from ann, unverified)"
    assert found.entities[0].observations == (f"renders with Typst {mark}",)
    assert [relation.type for relation in found.relations] == [f"needs {mark}"]
    assert graph.read_graph(bob.database).relations == found.relations
    assert graph.open_nodes(ann.database, ["invoicer"]).entities[0].observations == (
        "renders with Typst",
    )


def test_a_search_shows_the_users_own_observation_despite_many_by_others(
    ann: Home, bob: Home
) -> None:
    flood = [entity(f"ledger {n}", f"ledger ledger closes at {n}") for n in range(60)]
    create(ann.memory, *flood)
    synced(ann, bob)
    create(bob.memory, entity("books", "the ledger closes on Friday evening after the export"))
    match = conditions.match_expression(["ledger"])
    found = search.observations(bob.database, match, 8)
    assert found[0].text == "the ledger closes on Friday evening after the export"
    assert [one.metadata.get("author") for one in found[1:]] == ["ann", "ann"]
    assert [one.metadata["trust"] for one in found[1:]] == ["foreign", "foreign"]


def test_records_of_others_are_neither_written_to_memory_md_nor_fully_trusted(
    ann: Home, bob: Home
) -> None:
    mine = bob.say("Never deploy on Friday", confidence=0.95)
    theirs = ann.say("Deploy on Friday", confidence=0.95, pinned=True)
    synced(ann, bob)
    assert [record.id for record in sync.promotable(bob.memory)] == [mine.id]
    found = bob.records()[theirs.what]
    assert (found.pinned, found.trust) == (False, "foreign")
    assert found.confidence <= 0.6
    bob.memory.flush()
    assert "Deploy on Friday" not in bob.world.native().read_text()


def test_dropping_records_shared_by_git_keeps_records_from_the_team_log(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC")
    synced(ann, bob)
    assert shared_journal.drop_all(bob.memory) == 0
    assert list(bob.records()) == ["Use UTC"]
    ann.memory.forget([said.id], USER)
    synced(ann, bob)
    assert bob.records() == {}


def test_operations_in_a_newer_format_are_kept_and_applied_after_an_update(
    ann: Home, bob: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ann.say("Use UTC")
    ann.say("Use tabs")
    outbox.settle(ann.memory, ann.database)
    monkeypatch.setattr(wire, "FORM", 2)
    later = [one._replace(form=2, author="ann") for one in outbox.waiting(ann.database, 10)]
    monkeypatch.setattr(wire, "FORM", 1)
    unknown = later[0]._replace(op_id="x", form=1, kind="diagram")
    merged = bob.merge([*later, unknown])
    assert (merged.unread, bob.counts().unread, bob.records()) == (3, 3, {})
    assert inbox.read_again(bob.memory, bob.database, bob.verified).applied == 0
    monkeypatch.setattr(wire, "FORM", 2)
    assert inbox.read_again(bob.memory, bob.database, bob.verified).applied == 2
    assert bob.records()["Use UTC"].id == said.id
    assert bob.counts().unread == 1


def test_a_readable_operation_replaces_an_earlier_one_in_a_newer_format(
    ann: Home, bob: Home
) -> None:
    said = ann.say("Use UTC")
    ann.push()
    [first] = ann.log.operations
    bob.merge([first._replace(form=2)])
    ann.memory.forget([said.id], USER)
    ann.push()
    bob.merge(ann.log.operations[1:])
    assert bob.counts().unread == 0
    assert bob.records() == {}


@pytest.mark.parametrize(
    ("name", "shown"), [("eve]\n- [you] `x", "eve - you x"), ("*", heads.NAMELESS)]
)
def test_a_member_name_with_markup_is_shown_without_the_markup(
    ann: Home, bob: Home, name: str, shown: str
) -> None:
    ann.say("Use UTC")
    create(ann.memory, entity("Clock", "is right"))
    ann.push()
    bob.merge([one._replace(author=name) for one in ann.log.operations])
    assert bob.records()["Use UTC"].author == shown
    assert bob.database.rows("SELECT agent FROM observations") == [(shown,)]
    assert bob.database.rows("SELECT said_by FROM entities") == [(shown,)]


def test_a_secret_in_a_statement_of_another_member_is_redacted() -> None:
    secret = token()
    value = {"entity": "deploy job", "text": f"It logs in with {secret} each night"}

    stored = statements.fields("observation", wire.key_in("observation", value), value)

    assert stored is not None and stored["entity"] == "deploy job"
    assert secret not in stored["text"] and stored["text"].endswith("each night")

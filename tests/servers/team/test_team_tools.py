"""Tools and page lists of a team's memory, as two of its members see them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from memory_fabric import ids
from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Entity, Filters, Provenance, Record, Relation
from memory_fabric.servers.http import team_memory, team_store, team_tools
from memory_fabric.servers.http.team_memory import TeamMemory, undo_last
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.servers.http.team_tools import SAID_BY
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.store.queries import graph
from memory_fabric.store.queues import ingest_queue
from team.postgres import ANN, BOB
from team.statements import AT, entity, observation, record, relation

LATER = "2026-02-11T10:00:00.000Z"
Say = Callable[..., None]
MemoryOf = Callable[..., TeamMemory]


def anew(memory: TeamMemory) -> TeamMemory:
    """The memory with a new reader, as for the next request: a reader caches what it finds."""
    own = memory.reader
    reader = TeamReader(own.connection, own.space, own.member, own.vocabulary, own.domains)
    return TeamMemory(memory.settings, reader)


def said(memory: TeamMemory, tool: str, **arguments: Any) -> list[str]:
    """The lines of the only text of a tool's answer."""
    outcome = getattr(team_tools, tool)(anew(memory), arguments, SAID_BY)
    assert not outcome.failed
    (text,) = outcome.texts
    return list(text.splitlines())


def structure(memory: TeamMemory, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool."""
    outcome = getattr(team_tools, tool)(anew(memory), arguments, SAID_BY)
    return dict(outcome.structure)


def names(shown: dict[str, Any]) -> list[str]:
    return [one["name"] for one in shown["entities"]]


def write(memory: TeamMemory, kind: str, **payload: Any) -> dict[str, Any]:
    return anew(memory).write(kind, payload, SAID_BY)


def new(name: str, *texts: str, kind: str = "service") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(texts)}


def edge(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "relationType": kind, "to": target}


def test_remember_says_what_it_stored_replaced_and_could_not_replace(
    say: Say, memory_of: MemoryOf
) -> None:
    theirs = record("Deploys happen on Fridays")
    say(BOB, theirs)
    memory = memory_of(ANN)

    first = said(memory, "remember", text="Deploys happen on Tuesdays")
    again = said(memory, "remember", text="Deploys happen on Tuesdays")
    id_ = first[0].split()[3]
    done = said(memory, "remember", text="Deploys happen on Mondays", instead_of=f"[{id_}]")
    other = theirs.key[-8:]
    kept = said(memory, "remember", text="Deploys happen on Sundays", instead_of=other)

    assert re.fullmatch(
        r"Remembered as \w+ [0-9a-f]{8} \(scope team\): Deploys happen on Tuesdays", first[0]
    )
    assert first[1:] == ["Stored in the team's shared log."]
    assert again[0].startswith(f"Known already: {' '.join(first[0].split()[2:4])} ")
    assert done[1] == f"Replaces record {id_} of {ANN}: Deploys happen on Tuesdays"
    assert kept[1] == (
        "Not replaced, since only its author can: "
        f"record {other} of {BOB}: Deploys happen on Fridays"
    )
    reader = anew(memory).reader
    (ended,) = reader.fetched(reader.ids("records_ending", id_))
    (stays,) = reader.fetched(reader.ids("records_ending", other))
    assert ended.value["superseded_by"][-8:] == done[0].split()[3]
    assert ended.value["valid_to"] and not stays.value.get("superseded_by")
    with pytest.raises(NotFound, match="No record has the id"):
        said(memory, "remember", text="Deploys happen daily", instead_of="0123abcd")
    with pytest.raises(BadInput, match="not for the scope user"):
        said(memory, "remember", text="Deploys happen daily", scope="user")


def test_forget_withdraws_only_what_its_preview_listed(say: Say, memory_of: MemoryOf) -> None:
    say(BOB, observation("Ledger", "It is old"))
    memory = memory_of(ANN)
    write(memory, "create_entities", entities=[new("Ledger", "It is append-only")])

    preview = said(memory, "forget", what="Ledger")
    with pytest.raises(BadInput, match="nothing was forgotten"):
        said(memory, "forget", what="Ledger", confirm="000000")
    code = preview[-1].split('"')[1]
    done = said(memory, "forget", what="Ledger", confirm=code)

    note = f"Others said more of this; only they can take it back: {BOB}."
    entity_, observed = "Ledger (service)", "Ledger: It is append-only"
    lines = {f"- entity of {ANN}: {entity_}", f"- observation of {ANN}: {observed}", note}
    assert set(preview[:-1]) == lines
    assert done == [f"Forgotten: 2. The log keeps what was said for 30 days. {note}"]
    assert names(structure(memory, "open_nodes", names=["Ledger"])) == ["Ledger"]
    with pytest.raises(NotFound, match="You said nothing like 'Ledger'") as caught:
        said(memory, "forget", what="Ledger")
    assert caught.value.remedy == note


def test_a_record_is_forgotten_by_its_words_or_its_id(say: Say, memory_of: MemoryOf) -> None:
    one, two = record("The office cat is called Turing"), record("The office dog is called Ada")
    theirs = record("The office cat sleeps")
    say(ANN, one, two)
    say(BOB, theirs)
    memory = memory_of(ANN)

    by_words = said(memory, "forget", what="office cat Turing")
    by_id = said(memory, "forget", what=two.key[-8:])
    code = by_id[-1].split('"')[1]
    done = said(memory, "forget", what=two.key[-8:], confirm=code)

    assert by_words[:-1] == [f"- record {one.key[-8:]} of {ANN}: The office cat is called Turing"]
    assert by_id[:-1] == [f"- record {two.key[-8:]} of {ANN}: The office dog is called Ada"]
    assert done == ["Forgotten: 1. The log keeps what was said for 30 days."]
    with pytest.raises(NotFound) as caught:
        said(memory, "forget", what=theirs.key[-8:])
    assert BOB in caught.value.remedy
    assert [row.key for row in memory.reader.own([one.key, two.key])] == [one.key]


def test_history_lists_all_statements_with_their_authors_newest_first(
    say: Say, memory_of: MemoryOf
) -> None:
    first = observation("Ledger", "It is old")
    said_of = record("Use tabs", entities=["Makefile"])
    say(ANN, entity("Ledger"), first, said_of)
    say(BOB, observation("Ledger", "It is <memory-fabric> new"))
    memory = memory_of(ANN)

    told = said(memory, "history", name="Ledger")
    last = said(memory, "history", name="Ledger", limit=1)
    by_id = said(memory, "history", name=said_of.key[-8:])

    at = "2026-02-01 10:00"
    assert told == [
        f"* {at} {BOB}: Ledger: It is ‹memory-fabric> new",
        f"* {at} {ANN}: Ledger: It is old",
        f"* {at} {ANN}: Ledger (service)",
    ]
    assert (last, by_id) == (told[:1], [f"* {at} {ANN}: Use tabs"])
    with pytest.raises(NotFound, match="The team knows nothing of 'Nobody'"):
        said(memory, "history", name="Nobody")
    page = team_store.history(memory, "Ledger", 2)
    authors = [(one["by"]["author"], one["by"]["trust"]) for one in page]
    assert authors == [(BOB, "foreign"), (ANN, "tool")]
    assert page[1] == {
        "id": f"{ANN} {page[1]['at']}",
        "kind": "observation",
        "at": "2026-02-01T10:00:00",
        "what": "Ledger: It is old",
        "by": page[1]["by"],
        "undone": False,
    }
    assert team_store.history(memory, "", 9) == team_store.history(memory, "Nobody", 9) == []


def test_the_pages_of_the_graph_contain_each_entity_once_in_the_order_of_creation(
    say: Say, memory_of: MemoryOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_tools, "PAGE_ENTITIES", 2)
    say(ANN, *(entity(name) for name in "cab"), observation("a", "x"))
    say(BOB, relation("a", "uses", "c"), relation("c", "uses", "b"), observation("a", "y"))
    memory = memory_of(ANN)

    first = structure(memory, "read_graph")
    cursor = first["note"].removeprefix("For the rest call again with cursor ").removesuffix(".")
    rest = structure(memory, "read_graph", cursor=cursor)
    blank = structure(memory, "search_nodes", query=" ")

    assert names(first) == ["c", "a"] and first["entities"][1]["observations"] == ["x", "y"]
    assert sorted(one["to"] for one in first["relations"]) == ["b", "c"]
    assert (names(rest), rest["relations"], "note" in rest) == (["b"], [], False)
    assert blank == first
    opened = structure(memory, "open_nodes", names=["b", "none", "c"])
    assert names(opened) == ["b", "c"] and len(opened["relations"]) == 2
    assert '"name": "c"' in team_tools.whole_graph(memory)
    for wrong in ("x", "-1", "²", "1" * 19):
        with pytest.raises(BadInput, match="is no cursor"):
            structure(memory, "read_graph", cursor=wrong)
    assert names(structure(memory, "read_graph", cursor="9" * 18)) == []


def test_a_search_finds_entities_by_name_before_those_with_the_word_in_an_observation(
    say: Say, memory_of: MemoryOf
) -> None:
    say(ANN, entity("cart"), observation("cart", "It needs the mailer"), entity("mailer"))
    say(ANN, entity("disk"), observation("disk", "It is full"))

    found = structure(memory_of(BOB), "search_nodes", query="mailer")

    assert names(found) == ["mailer", "cart"]


def test_created_entities_observations_and_relations_are_those_that_nobody_had_stated(
    say: Say, memory_of: MemoryOf
) -> None:
    say(BOB, entity("Ledger"), observation("Ledger", "It is old"))
    say(BOB, relation("Ledger", "feeds", "BI"))
    memory = memory_of(ANN)

    entities = [
        new("Ledger", "It is old", "It is slow"),
        new("Cart", "x", "x"),
        new("Cart", "x", "y"),
    ]
    made = write(memory, "create_entities", entities=entities)
    feeds = [edge("Ledger", "feeds", "BI"), edge("Redis", "feeds", "Cart")]
    relations = write(memory, "create_relations", relations=feeds)
    more = [{"entityName": "Ledger", "contents": ["It is slow", "It is new", "It is new"]}]
    added = write(memory, "add_observations", observations=more)

    assert made["entities"] == [new("Cart", "x", "y")]
    assert made["merged"] == [{"name": "Ledger", "observations": ["It is slow"]}]
    assert (relations["relations"], relations["created_ends"]) == (feeds[1:], ["Redis"])
    assert added["results"] == [{"entityName": "Ledger", "addedObservations": ["It is new"]}]
    types = {one["name"]: one["entityType"] for one in structure(memory, "read_graph")["entities"]}
    assert types == {"Ledger": "service", "Cart": "service", "Redis": "technology"}
    only_mentioned = [{"entityName": "BI", "contents": ["is loved"]}]
    assert write(memory, "add_observations", observations=only_mentioned)["results"]


def test_a_deletion_withdraws_the_own_statements_that_it_names(
    say: Say, memory_of: MemoryOf
) -> None:
    say(BOB, observation("Ledger", "It is slow"))
    memory = memory_of(ANN)
    ledger = new("Ledger", "It is old", "It is slow", "It is new")
    write(memory, "create_entities", entities=[ledger])
    write(memory, "create_relations", relations=[edge("Ledger", "feeds", "BI")])

    texts = [{"entityName": "Ledger", "observations": ["It is old", "It is slow", "none"]}]
    done = [write(memory, "delete_observations", deletions=texts)]
    done += [write(memory, "delete_relations", relations=[edge("Ledger", "feeds", "BI")])]
    left = structure(memory, "open_nodes", names=["Ledger"])
    done += [write(memory, "delete_entities", entityNames=["Ledger"]) for _ in range(2)]

    assert [one["deleted"] for one in done] == [2, 1, 2, 0]
    assert set(left["entities"][0]["observations"]) == {"It is slow", "It is new"}
    assert left["relations"] == []
    last = structure(memory, "open_nodes", names=["Ledger"])["entities"]
    assert last == [{"name": "Ledger", "entityType": "unknown", "observations": ["It is slow"]}]


def test_undo_takes_back_the_last_change_with_all_its_statements(
    say: Say, memory_of: MemoryOf
) -> None:
    say(BOB, entity("Disk"))
    say(ANN, entity("Cart"))
    memory = memory_of(ANN)
    write(memory, "create_entities", entities=[new("Ledger", "It is old")])

    assert undo_last(memory) == 2
    assert names(structure(memory, "read_graph")) == ["Disk", "Cart"]
    assert undo_last(memory) == 0


@pytest.mark.parametrize("is_undone", [True, False])
def test_undo_takes_back_no_change_twice_and_passes_over_none_for_a_statement_of_a_machine(
    memory_of: MemoryOf, *, is_undone: bool
) -> None:
    memory = memory_of(ANN)
    write(memory, "create_entities", entities=[new("Cart")])
    if is_undone:
        undo_last(memory)
    replaced = (
        "SELECT op_id::text FROM memory_fabric.operations WHERE NOT superseded AND space = %s"
    )
    base = [id_ for (id_,) in memory.reader.query(replaced, (memory.space,)) if is_undone]
    said = entity("Cart")._replace(origin="laptop", base=tuple(base))
    SharedLog(memory.connection, memory.space).push([said])

    undone = undo_last(memory)

    left = names(structure(memory, "read_graph"))
    assert (undone, left) == ((0, ["Cart"]) if is_undone else (1, []))


def test_a_team_has_no_local_database_and_keeps_no_sessions(memory_of: MemoryOf) -> None:
    memory = memory_of(ANN)

    assert memory.database("project", create=False) is None
    assert memory.databases() == [] and memory.readers() == [memory.reader]
    with pytest.raises(StoreUnavailable, match="keeps no sessions"):
        memory.database("project", create=True)
    team_memory.append(memory, [])
    assert set(memory.reader.counts().values()) == {0}


def test_a_statement_in_a_hidden_domain_is_stored_in_the_first_visible_one(
    memory_of: MemoryOf,
) -> None:
    whole, legal = memory_of(ANN), memory_of(BOB, "legal", "tax")

    assert [whole.domain_of(name) for name in ("legal", "general")] == ["legal", "general"]
    assert [legal.domain_of(name) for name in ("tax", "ops")] == ["tax", "legal"]
    limited = whole.limited_to(["ops", "legal"])
    assert isinstance(limited, TeamMemory) and limited.domains == ("ops", "legal")
    inside = legal.limited_to(["ops", "legal"])
    assert isinstance(inside, TeamMemory) and inside.domains == ("legal",)
    by = Provenance("mcp", trust="tool", domain="tax")
    stored = [
        legal.remember(Record("note", f"Text {name}", confidence=0.9, domain=name), by)
        for name in ("general", "ops", "legal")
    ]
    assert [one.domain for one in stored if one] == ["tax", "legal", "legal"]


def test_the_newest_memories_are_records_before_observations(say: Say, memory_of: MemoryOf) -> None:
    old, late = record("Old", created_at=AT), record("New", created_at=LATER)
    say(ANN, old, late, observation("Ledger", "It is old"))
    reader = memory_of(BOB).reader

    found = [[one.text for one in reader.recent(n, Filters(), "")] for n in (1, 2, 3)]

    assert found == [["New"], ["New", "Old"], ["New", "Old", "It is old"]]
    by_id = reader.records_by_id([old.key[2:], "none"], Filters(), "")
    assert [one.text for one in by_id] == ["Old"]
    of_ledger = reader.observations_of(["ledger", "none"], 5, Filters())
    assert [one.text for one in of_ledger] == ["It is old"]
    counts = {"records": 2, "entities": 0, "observations": 1, "relations": 0}
    assert reader.counts() == counts
    assert reader.entities_by_key(["ledger", "none"]) == {"ledger": Entity("Ledger", "unknown")}


def test_relations_are_found_from_both_ends_with_the_time_of_the_own_statement(
    say: Say, memory_of: MemoryOf
) -> None:
    uses = relation("api", "uses", "disk")
    later = {**(uses.value or {}), "created_at": LATER}
    say(ANN, uses, relation("disk", "holds", "disk"))
    say(BOB, uses._replace(value=later, op_id=ids.new_id(), base=()))
    reader = memory_of(ANN).reader
    both = (Relation("api", "uses", "disk"), Relation("disk", "holds", "disk"))

    around = reader.relations_by_key(["api", "disk"], graph.NOW, Filters())
    one = reader.relations_by_key(["api"], graph.NOW, Filters())

    assert set(around) == {"api", "disk"} and around["api"] == [both[0]]
    assert sorted(around["disk"]) == sorted(both)
    assert one == {"api": [both[0]]}
    assert reader.relations_of(["api"], AT[:10], Filters()) == []
    assert reader.stated_at(both[1]) == AT
    assert reader.stated_at(Relation("a", "b", "c")) == ""
    assert [memory_of(one).reader.stated_at(both[0]) for one in (ANN, BOB)] == [AT, LATER]


def test_words_names_and_aliases_of_a_space_are_recognised(say: Say, memory_of: MemoryOf) -> None:
    say(ANN, entity("PostgreSQL", aliases=["pg"]), entity("pg2", aliases=["postgresql"]))
    say(ANN, record("Billing uses PostgreSQL", domain="legal"))
    reader = memory_of(BOB).reader

    assert dict(reader.aliases(["pg", "postgresql", "none"])) == {"pg": "PostgreSQL"}
    near = reader.names_like("postgresqk", 1)
    assert sorted(near) == [("postgresql", "PostgreSQL"), ("postgresql", "pg2")]
    assert dict(reader.rows_with(["billing", "zebra"], ())) == {"billing": 1}
    assert reader.has_domain("legal") and not reader.has_domain("ops")
    assert not memory_of(BOB, "ops").reader.has_domain("legal")


def test_a_text_is_accepted_once_for_its_idempotency_key(memory_of: MemoryOf) -> None:
    memory = memory_of(ANN)
    text = Ingest("We talked.", key_decisions=("Use UTC",), domain="ops", idempotency_key="k")

    first = team_store.accept(memory, text)
    again = team_store.accept(memory, text)
    other = team_store.accept(memory, text._replace(session_summary="Another."))

    assert isinstance(first, ingest_queue.Accepted)
    assert (first.length, first.domain, first.repeated) == (10, "ops", False)
    assert again == first._replace(repeated=True)
    assert other == ingest_queue.IdempotencyConflict(first.id)
    queued = team_store.find(memory, first.id)
    assert queued is not None
    assert (queued.id, queued.state, queued.domain) == (first.id, "waiting", "ops")
    assert team_store.find(memory, ids.new_id()) is None
    assert team_store.find(memory_of(BOB), first.id) is None


def test_the_page_counts_what_it_leaves_out(
    say: Say, memory_of: MemoryOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(ANN, *(record(f"Use library {n}", entities=["cart"]) for n in range(3)))
    say(ANN, entity("cart"), entity("disk"), observation("cart", "a"), observation("cart", "b"))
    say(ANN, relation("cart", "uses", "disk"), relation("disk", "holds", "cart"))
    limits = {"records": 2, "entities": 2, "observations": 1, "relations": 1}
    whole = team_store.picture(memory_of(BOB))
    monkeypatch.setattr(team_store, "LIMITS", limits)

    seen = team_store.picture(memory_of(BOB))

    assert set(whole["left_out"].values()) == {0} and len(whole["records"]) == 3
    one_each = dict.fromkeys(("records", "observations", "relations"), 1)
    assert seen["left_out"] == {**one_each, "entities": 0, "changes": 0}
    assert [len(seen[name]) for name in ("records", "entities", "relations")] == [2, 2, 1]
    (cart,) = [n for n, one in enumerate(seen["entities"]) if one["name"] == "cart"]
    assert [one["entities"] for one in seen["records"]] == [[cart], [cart]]
    assert (seen["live"], seen["changes"]) == (True, [])
    assert seen["project"]["name"] == seen["project"]["id"]
    (tier,) = seen["tiers"]
    assert (tier["tier"], tier["state"], tier["findings"]) == ("graph", "healthy", [])
    assert tier["counts"] == {"records": 3, "entities": 2, "observations": 2, "relations": 2}


def test_a_question_of_the_page_tells_the_words_that_were_searched(
    say: Say, memory_of: MemoryOf
) -> None:
    say(ANN, record("Billing uses Postgres"), record("Carts expire", created_at=LATER))
    memory = memory_of(BOB)

    found = team_store.explained(memory, "billing", 5, "")
    newest = team_store.explained(memory, "", 1, "")
    before = team_store.explained(memory, "billing", 5, "2026-01-01")

    assert [one["text"] for one in found["results"]] == ["Billing uses Postgres"]
    assert "billing" in [one["word"] for one in found["searched"]]
    assert [one["text"] for one in newest["results"]] == ["Carts expire"]
    assert before["results"] == []


def test_forget_withdraws_all_that_its_caller_said_however_much_it_is(
    memory_of: MemoryOf,
) -> None:
    memory = memory_of(ANN)
    write(memory, "create_entities", entities=[new("Ledger", *(f"Rule {n}" for n in range(60)))])

    preview = said(memory, "forget", what="Ledger")
    code = preview[-1].split('"')[1]
    done = said(memory, "forget", what="Ledger", confirm=code)

    assert done == ["Forgotten: 61. The log keeps what was said for 30 days."]
    assert structure(memory, "open_nodes", names=["Ledger"])["entities"] == []


def test_a_name_with_more_than_one_blank_hides_no_entity_of_its_page(memory_of: MemoryOf) -> None:
    memory = memory_of(ANN)
    entities = [new("order\t service", "It is old"), new("db", "It is small")]
    write(memory, "create_entities", entities=entities)
    write(memory, "create_relations", relations=[edge("order\t service", "uses", "db")])

    shown = structure(memory, "read_graph")

    assert names(shown) == ["order service", "db"]
    assert shown["relations"] == [edge("order service", "uses", "db")]
    assert names(structure(memory, "open_nodes", names=["order\t service"])) == ["order service"]


@pytest.mark.parametrize("query", ["Order", "Order  Service", "slow"])
def test_an_entity_with_two_blanks_in_its_name_is_found_and_opened_as_it_is_shown(
    query: str, memory_of: MemoryOf
) -> None:
    memory = memory_of(ANN)
    write(memory, "create_entities", entities=[new("Order  Service", "It is slow")])

    found = structure(memory, "search_nodes", query=query)

    assert names(found) == ["Order Service"]
    assert structure(memory, "open_nodes", names=names(found)) == found

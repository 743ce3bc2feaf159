"""A memory of which only some domains can be read: what it shows, and what stays possible."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.models import Entity, Provenance
from memory_fabric.store import records
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget import purge
from memory_fabric.store.history import changes, undo
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import graph
from memory_fabric.store.scoped_memory import MAX_SCOPED, within, without
from store.support import World, decision

LAW = Provenance("prompt", "user", "s1", "legal-advisor", at="2026-01-02", domain="law")
OPS = Provenance("prompt", "user", "s2", "ops", at="2026-01-03", domain="ops")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = World(tmp_path).memory()
    yield opened
    opened.close()


def create(memory: Memory, name: str, text: str, by: Provenance) -> dict[str, object]:
    item = {"name": name, "entityType": "component", "observations": [text]}
    return memory.write("create_entities", {"entities": [item]}, by)


def rows(memory: Memory, sql: str) -> list[tuple[object, ...]]:
    return [row for database in memory.databases() for row in database.rows(sql)]


def test_a_domain_view_of_a_shared_entity_shows_only_observations_of_that_domain(
    memory: Memory,
) -> None:
    create(memory, "api", "is under contract", LAW)
    create(memory, "api", "runs on two nodes", OPS)
    scoped = within(memory, ("ops",))

    assert rows(scoped, "SELECT name, domain, created_at FROM entities") == [
        ("api", "ops", "2026-01-03")
    ]
    assert rows(scoped, "SELECT text FROM observations") == [("runs on two nodes",)]


def test_a_view_without_a_domain_shows_nothing(memory: Memory) -> None:
    create(memory, "api", "is under contract", LAW)

    assert rows(within(memory, ()), "SELECT name FROM entities") == []
    assert rows(within(memory, ("it's; DROP",)), "SELECT name FROM entities") == []


def test_rows_of_a_view_cannot_be_changed_by_direct_sql(memory: Memory) -> None:
    create(memory, "api", "runs on two nodes", OPS)
    [database] = within(memory, ("ops",)).databases()

    with pytest.raises(StoreUnavailable):
        database.rows("DELETE FROM observations")


def test_a_write_through_a_domain_view_can_be_read_in_the_view(memory: Memory) -> None:
    scoped = within(memory, ("ops",))

    create(scoped, "api", "runs on two nodes", OPS)
    scoped.remember(decision("Page the owner", domain="ops"), OPS)

    assert rows(scoped, "SELECT text FROM observations") == [("runs on two nodes",)]
    assert [record.what for record in scoped.find_records("1")] == ["Page the owner"]


def test_a_domain_view_reports_no_similar_entity_names_of_other_domains(memory: Memory) -> None:
    create(memory, "law-book", "is under contract", LAW)

    assert "variants" in create(memory, "law_book", "is cited", OPS)
    assert create(within(memory, ("ops",)), "LawBook", "is read", OPS)["variants"] == {
        "LawBook": ["law_book"]
    }


def test_a_domain_view_hides_changes_that_deleted_rows_of_another_domain(memory: Memory) -> None:
    create(memory, "api", "is under contract", LAW)
    memory.write("delete_entities", {"entityNames": ["api"]}, OPS)

    assert len(changes.read_all(memory)) == 2
    assert changes.read_all(within(memory, ("ops",))) == []


TOLD = decision("Use Redis", entities=(Entity("Redis", "technology"),))
SAID = {"entityName": "Redis", "observations": ["Use Redis"]}


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("delete_entities", {"entityNames": ["Redis"]}),
        ("delete_observations", {"deletions": [SAID]}),
        ("forget", {"ids": [], "entityNames": ["Redis"], "deletions": [SAID]}),
    ],
)
def test_deleting_an_observation_in_one_domain_keeps_the_same_observation_of_another(
    memory: Memory, kind: str, payload: dict[str, object]
) -> None:
    scoped = within(memory, ("law",))
    scoped.remember(TOLD._replace(domain="law"), LAW)
    memory.remember(TOLD._replace(domain="ops"), OPS)

    scoped.write(kind, payload, LAW, store="project")

    assert rows(memory, "SELECT text, domain FROM observations") == [("Use Redis", "ops")]
    assert rows(scoped, "SELECT text FROM observations") == []
    undo.undo(memory, [undo.last(memory)], LAW)
    assert rows(memory, "SELECT text, domain FROM observations") == [("Use Redis", "law")]


def test_forgetting_one_of_two_records_moves_the_observation_to_the_domain_of_the_other(
    memory: Memory,
) -> None:
    law = memory.remember(TOLD._replace(domain="law"), LAW)
    memory.remember(TOLD._replace(domain="ops"), OPS)
    assert law is not None

    memory.forget([law.id], LAW)

    assert rows(memory, "SELECT text, domain FROM observations") == [("Use Redis", "ops")]


def test_forgetting_a_text_in_one_domain_keeps_it_in_another_domain(memory: Memory) -> None:
    ops = memory.remember(TOLD._replace(domain="ops"), OPS)
    create(within(memory, ("law",)), "Redis", "Use Redis", LAW)
    assert ops is not None

    memory.forget([ops.id], OPS)

    assert rows(memory, "SELECT text, domain FROM observations") == [("Use Redis", "law")]


def test_an_observation_that_two_domains_state_in_the_same_words_is_shown_once(
    memory: Memory,
) -> None:
    create(memory, "api", "runs on two nodes", OPS)
    create(within(memory, ("law",)), "api", "runs on two nodes", LAW)

    [entity] = graph.read_all(memory.databases()).entities

    assert entity.observations == ("runs on two nodes",)
    assert len(rows(memory, "SELECT id FROM observations")) == 2


def test_memories_shown_through_a_domain_view_are_recorded_for_the_session(memory: Memory) -> None:
    scoped = within(memory, ("ops",))

    sessions.record_injections(
        scoped.session_database(), "s1", "", ["record:x"], "prompt", "2026-01-01"
    )

    assert sessions.injected(memory.session_database(), "s1", "") == {"record:x"}


def test_purging_through_a_domain_view_is_refused(memory: Memory) -> None:
    create(memory, "api", "runs on two nodes", OPS)

    with pytest.raises(BadInput, match="all domains"):
        purge.find(within(memory, ("ops",)), "api")


def test_only_a_few_views_are_kept_open_and_a_closed_view_can_be_reopened(memory: Memory) -> None:
    create(memory, "api", "runs on two nodes", OPS)
    first = within(memory, ("ops",))
    assert rows(first, "SELECT name FROM entities") == [("api",)]

    for number in range(2 * MAX_SCOPED):
        within(memory, (f"d{number}",))

    assert within(memory, ("ops",)) is not first
    assert rows(first, "SELECT name FROM entities") == [("api",)]
    first.close()


TEXTS = "SELECT text FROM observations ORDER BY text"


def test_a_view_of_a_view_shows_only_what_both_show(memory: Memory) -> None:
    hr = OPS._replace(domain="hr")
    for name, by in (("law", LAW), ("ops", OPS), ("hr", hr)):
        create(memory, "api", name, by)
    no_law = without(memory, ("law",))

    def shown(view: Memory) -> list[object]:
        return [row[0] for row in rows(view, TEXTS)]

    assert shown(no_law) == ["hr", "ops"]
    assert shown(without(no_law, ("hr",))) == shown(within(no_law, ("law", "ops"))) == ["ops"]
    assert shown(without(within(memory, ("law", "ops")), ("law", "hr"))) == ["ops"]
    assert shown(within(within(memory, ("law", "ops")), ("ops", "hr"))) == ["ops"]
    assert shown(within(without(no_law, ("hr",)), ("hr", "law"))) == []
    assert no_law.domains is None
    assert within(within(memory, ("ops",)), ("law", "ops")).domains == ("ops",)
    assert within(no_law, ("law", "ops")).domains == ("ops",)


def test_a_view_opened_again_has_the_changed_settings_of_its_memory(memory: Memory) -> None:
    within(memory, ("law", "ops"))
    memory.settings = memory.settings._replace(author="bob")

    assert within(memory, ("ops", "law")).settings.author == "bob"


@pytest.mark.parametrize("follow", ["follow_switches", "follow_settings"])
def test_a_view_follows_the_switches_of_its_memory(memory: Memory, follow: str) -> None:
    view = within(memory, ("ops",))
    switches.turn(*memory.switched_by, ["write"], False)
    before = view.settings.writes

    getattr(view, follow)()

    assert (before, view.settings.writes, memory.settings.writes) == (True, False, False)


def test_a_record_is_stored_in_a_domain_that_its_view_shows(memory: Memory) -> None:
    shown, hidden = within(memory, ("law", "ops")), without(memory, ("law",))
    law = decision("Sign first", domain="law")
    hr = OPS._replace(domain="hr")

    stored = [
        shown.remember(law, OPS),
        shown.remember(decision("Ask twice"), hr),
        hidden.remember(law._replace(what="Sign last"), OPS),
    ]

    assert [record.domain for record in stored if record] == ["ops", "law", "law"]
    kept = records.as_object(decision("Page the owner", id="r1", domain="ops"))
    for view, domain in ((within(memory, ("law",)), "law"), (shown, "ops"), (memory, "ops")):
        payload = {"record": kept, "seen_in": []}
        view.write_now("put_record", payload, LAW, store="project")
        assert [r.domain for r in memory.find_records("id = 'r1'")] == [domain]


def test_an_observation_is_added_only_to_an_entity_that_the_view_shows(memory: Memory) -> None:
    create(memory, "law-book", "is cited", LAW)
    create(memory, "api", "runs", OPS)
    scoped = within(memory, ("ops",))

    def say(view: Memory, *names: str) -> None:
        stated = [{"entityName": name, "contents": ["is new"]} for name in names]
        view.write("add_observations", {"observations": stated}, OPS)

    with pytest.raises(NotFound, match="law-book"):
        say(scoped, "api", "law-book")
    assert rows(scoped, TEXTS) == [("runs",)]
    say(scoped, "api")
    say(without(memory, ("law",)), "law-book")
    assert len(rows(memory, TEXTS)) == 4 and len(rows(scoped, TEXTS)) == 3


def test_a_view_reports_no_entity_of_another_domain_as_left_without_content(
    memory: Memory,
) -> None:
    edges = {"relations": [{"from": "api", "relationType": "u", "to": "book"}]}
    scoped = within(memory, ("ops",))
    create(memory, "api", "runs", OPS)
    book = {"name": "book", "entityType": "component", "observations": []}
    memory.write("create_entities", {"entities": [book]}, LAW)
    scoped.write("create_relations", edges, OPS)

    gone = scoped.write("delete_relations", edges, OPS)

    assert (gone["deleted"], gone["orphans"]) == (1, [])
    memory.write("create_relations", edges, OPS)
    assert memory.write("delete_relations", edges, OPS)["orphans"] == ["book"]


def test_a_view_limited_to_domains_shows_no_aliases_and_one_that_hides_some_shows_them(
    memory: Memory,
) -> None:
    create(memory, "api", "runs", OPS)
    memory.write("alias", {"entity": "api", "aliases": ["gateway"]}, OPS, store="project")
    aliases = "SELECT alias FROM aliases"

    assert rows(within(memory, ("ops",)), aliases) == []
    assert rows(without(memory, ("law",)), aliases) == [("gateway",)]
    assert [db.is_scoped for db in within(memory, ("ops",)).databases()] == [True]
    assert [db.is_scoped for db in memory.databases()] == [False]


def test_opening_a_missing_database_through_a_view_creates_it_in_the_memory(
    memory: Memory,
) -> None:
    scoped = within(memory, ("ops",))
    assert scoped.database("project", create=False) is None and memory.open_databases() == []

    opened = scoped.session_database()

    assert opened.is_scoped and memory.open_databases() != [opened]
    memory.close()
    assert scoped.open_databases() == []

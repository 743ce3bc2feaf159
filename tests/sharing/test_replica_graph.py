"""The graph through a shared log: a set of statements, each with the member who makes it."""

from __future__ import annotations

from memory_fabric.store.queries import graph
from sharing.replicas import Home, synced
from store.support import TOOL, create, entity, observations_of
from team.statements import entity as entity_of
from team.statements import observation, withdrawal
from team.statements import relation as relation_of


def said(home: Home) -> list[tuple[str, str, str, str]]:
    return home.database.rows(
        "SELECT e.name, o.text, o.source, o.agent FROM observations AS o "
        "JOIN entities AS e ON e.id = o.entity ORDER BY e.name, o.text"
    )


def names(home: Home) -> dict[str, tuple[str, str]]:
    rows = home.database.rows("SELECT name, type, said_by FROM entities")
    return {name: (kind, by) for name, kind, by in rows}


def delete(home: Home, name: str, text: str) -> None:
    payload = {"deletions": [{"entityName": name, "observations": [text]}]}
    home.memory.write("delete_observations", payload, TOOL)


def test_statements_of_a_member_are_in_the_graph_with_their_author(ann: Home, bob: Home) -> None:
    create(ann.memory, entity("api", "answers within 50 ms", kind="service"))
    ann.relate("api", "uses", "Redis")
    synced(ann, bob)
    assert said(bob) == [("api", "answers within 50 ms", "journal", "ann")]
    assert names(bob) == {"api": ("service", "ann"), "Redis": ("technology", "ann")}
    assert bob.database.rows("SELECT type, said_by FROM relations") == [("uses", "ann")]
    assert bob.push() == 0


def test_a_statement_of_two_members_is_stored_once_until_both_withdraw_it(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    create(bob.memory, entity("api", "is old"))
    assert said(bob) == [("api", "is old", "mcp", "")]
    synced(bob, ann)
    assert said(ann) == [("api", "is old", "mcp", "")]
    delete(ann, "api", "is old")
    synced(ann, bob)
    assert said(ann) == [("api", "is old", "journal", "bob")]
    assert said(bob) == [("api", "is old", "mcp", "")]
    delete(bob, "api", "is old")
    synced(bob, ann)
    assert (said(ann), said(bob)) == ([], [])


def test_a_withdrawn_entity_is_removed_with_its_observations_and_relations(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old", "is slow"))
    ann.relate("api", "uses", "Redis")
    synced(ann, bob)
    ann.memory.write("delete_entities", {"entityNames": ["api", "Redis"]}, TOOL)
    synced(ann, bob)
    assert names(bob) == {}
    assert graph.read_graph(bob.database).relations == ()


def test_a_withdrawal_that_names_no_earlier_operation_still_removes_the_statement(
    ann: Home,
) -> None:
    """As of another machine of the member, or from a server that was set back."""
    for said_, gone in (
        (observation("api", "is old"), names),
        (relation_of("api", "uses", "Redis"), names),
        (entity_of("Kafka", "technology"), names),
    ):
        withdrawn = withdrawal(said_)._replace(base=(), author="bob")
        ann.merge([said_._replace(author="bob")])
        assert gone(ann) != {}
        ann.merge([withdrawn])
        assert gone(ann) == {}


def test_the_users_observations_remain_when_another_member_deletes_the_entity(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    payload = {"observations": [{"entityName": "api", "contents": ["is fast"]}]}
    bob.memory.write("add_observations", payload, TOOL)
    synced(bob, ann)
    ann.memory.write("delete_entities", {"entityNames": ["api"]}, TOOL)
    synced(ann, bob)
    assert observations_of(bob.database, "api") == ("is fast",)
    assert names(bob)["api"] == ("component", "")


def test_a_merge_of_entities_is_also_applied_for_other_members(ann: Home, bob: Home) -> None:
    create(ann.memory, entity("Postgres", "holds orders"), entity("PostgreSQL", "is 15"))
    synced(ann, bob)
    ann.memory.write("merge", {"into": "PostgreSQL", "names": ["Postgres"]}, TOOL, store="project")
    synced(ann, bob)
    assert [row[:2] for row in said(bob)] == [
        ("PostgreSQL", "holds orders"),
        ("PostgreSQL", "is 15"),
    ]
    assert list(names(bob)) == ["PostgreSQL"]


def test_a_merge_of_entities_keeps_the_user_as_author_of_an_observation(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("Postgres", "is 15"))
    synced(ann, bob)
    create(bob.memory, entity("PostgreSQL", "is 15"))
    bob.memory.write("merge", {"into": "PostgreSQL", "names": ["Postgres"]}, TOOL, store="project")
    assert said(bob) == [("PostgreSQL", "is 15", "mcp", "")]
    synced(bob, ann)
    assert ("PostgreSQL", "is 15", "journal", "bob") in said(ann)


def test_deleting_an_own_observation_keeps_the_same_observation_of_another_member(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    create(bob.memory, entity("api", "is old"))
    synced(bob, ann)
    delete(bob, "api", "is old")
    bob.push()
    assert said(bob) == [("api", "is old", "journal", "ann")]


def test_a_forgotten_observation_of_another_member_does_not_return_when_stated_again(
    ann: Home, bob: Home
) -> None:
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    payload = {
        "ids": [],
        "deletions": [{"entityName": "api", "observations": ["is old"]}],
    }
    bob.memory.write("forget", payload, TOOL, store="project")
    delete(ann, "api", "is old")
    synced(ann, bob)
    create(ann.memory, entity("api", "is old"))
    synced(ann, bob)
    assert said(bob) == []


def test_all_machines_of_a_user_have_the_same_graph(desk: Home, laptop: Home) -> None:
    create(desk.memory, entity("PostgreSQL", "is 15", kind="technology"))
    desk.relate("api", "uses", "PostgreSQL")
    payload = {"entity": "PostgreSQL", "aliases": ["pg"]}
    desk.memory.write("alias", payload, TOOL, store="project")
    synced(desk, laptop)
    assert said(laptop) == said(desk)
    assert names(laptop) == names(desk)
    assert laptop.database.rows("SELECT alias FROM aliases") == [("pg",)]
    assert laptop.push() == 0
    delete(laptop, "PostgreSQL", "is 15")
    laptop.memory.write("delete_entities", {"entityNames": ["api"]}, TOOL)
    synced(laptop, desk)
    assert said(desk) == []
    assert names(desk) == names(laptop) == {"PostgreSQL": ("technology", "")}
    assert desk.push() == 0


def test_paths_in_a_statement_are_sent_as_relative_paths(ann: Home, bob: Home) -> None:
    text = f"is configured in {ann.world.project}/etc/api.toml"
    create(ann.memory, entity("api", text))
    synced(ann, bob)
    assert observations_of(bob.database, "api") == ("is configured in etc/api.toml",)
    delete(ann, "api", text)
    synced(ann, bob)
    assert observations_of(bob.database, "api") == ()

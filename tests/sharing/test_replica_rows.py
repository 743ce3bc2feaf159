"""Rows from statements of others and of other machines, and the form in which own rows are sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from memory_fabric.models import CONFIRMED, FOR_TEAM, OTHER_MACHINE, QUOTATION, RELEASED, WHEN
from memory_fabric.sharing.replica import own, space, wire
from memory_fabric.sharing.replica.wire import TeamOperation
from memory_fabric.store import records
from sharing.replicas import Home, synced
from store.support import USER, create, decision, entity
from team.statements import AT, observation, record, withdrawal
from team.statements import entity as entity_of
from team.statements import relation as relation_of


def by(author: str, said: TeamOperation, **fields: Any) -> TeamOperation:
    """Return the operation as this member's, with these fields in its value."""
    value = None if said.value is None else {**said.value, **fields}
    return said._replace(op_id=f"{author} {said.op_id}", author=author, value=value)


def proved(said: TeamOperation, **fields: Any) -> TeamOperation:
    return by("ann", said, **fields)._replace(proof="by ann")


def rows(home: Home, columns: str, table: str) -> list[tuple[Any, ...]]:
    return home.database.rows(f"SELECT {columns} FROM {table} ORDER BY 1")


def evidence(home: Home) -> list[tuple[str, dict[str, Any]]]:
    return [(found.what, dict(found.evidence)) for found in home.memory.find_records("1")]


@pytest.mark.parametrize(
    ("said", "table", "author"),
    [
        (observation("api", "is old"), "observations", "agent"),
        (relation_of("api", "uses", "Redis"), "relations", "said_by"),
        (entity_of("api"), "entities", "said_by"),
    ],
)
def test_a_statement_of_two_others_remains_until_both_have_withdrawn_it(
    ann: Home, said: TeamOperation, table: str, author: str
) -> None:
    first, second = by("bob", said), by("cho", said._replace(clock="f" * 17 + "machine1"))
    ann.merge([first, second])
    assert rows(ann, author, table) == [("bob",)]

    ann.merge([withdrawal(first)._replace(author="bob")])
    assert rows(ann, author, table) == [("cho",)]
    ann.merge([withdrawal(second)._replace(author="cho")])

    assert rows(ann, "name", "entities") == rows(ann, author, table) == []


@pytest.mark.parametrize(
    ("stated", "is_now"), [("2999-01-01T00:00:00.000Z", True), ("", True), (AT, False)]
)
def test_a_statement_of_another_member_is_never_from_the_future(
    ann: Home, stated: str, *, is_now: bool
) -> None:
    said = by("bob", observation("api", "is old"), created_at=stated)
    ann.merge([said, by("bob", entity_of("Kafka"), created_at=stated)])

    found = rows(ann, "created_at", "observations") + rows(ann, "created_at", "entities")

    assert len(found) == 3
    assert all((AT < at < "2999") if is_now else at == AT for (at,) in found)


def test_a_member_can_change_the_type_and_the_domain_of_what_the_member_stated(ann: Home) -> None:
    before = [entity_of("api", "service"), observation("api", "is old")]
    before.append(relation_of("api", "uses", "Redis"))
    ann.merge([by("bob", said) for said in before])
    after = [
        by(
            "bob",
            said._replace(op_id=f"new {said.op_id}", base=(f"bob {said.op_id}",)),
            domain="legal",
        )
        for said in before
    ]
    after[0] = by("bob", after[0], type="gateway")
    ann.merge(after)

    assert rows(ann, "name, type, domain, said_by", "entities") == [
        ("Redis", "unknown", "general", "bob"),
        ("api", "gateway", "legal", "bob"),
    ]
    assert rows(ann, "text, domain, agent", "observations") == [("is old", "legal", "bob")]
    assert rows(ann, "type, domain, said_by", "relations") == [("uses", "legal", "bob")]


def test_a_statement_of_others_does_not_change_an_equal_one_of_the_user(ann: Home) -> None:
    create(ann.memory, entity("api", "is old"), store="project")
    ann.relate("api", "uses", "Redis")
    tables = ("entities", "observations", "relations")
    before = [rows(ann, "*", table) for table in tables]

    said = [entity_of("api"), observation("api", "is old"), relation_of("api", "uses", "Redis")]
    ann.merge([by("bob", one, domain="legal") for one in said])
    assert [rows(ann, "*", table) for table in tables] == before
    ann.merge([withdrawal(by("bob", one))._replace(author="bob") for one in said])

    assert [rows(ann, "*", table) for table in tables] == before


def test_leaving_a_space_keeps_the_entities_to_which_the_user_refers(ann: Home, bob: Home) -> None:
    create(ann.memory, entity("api", "is old"), entity("lone", "is far"), store="project")
    ann.relate("api", "runs on", "lone")
    synced(ann, bob)
    bob.relate("api", "needs", "Redis")

    space.end(bob.database, keep=False)

    assert rows(bob, "name, said_by", "entities") == [("Redis", ""), ("api", "")]
    assert rows(bob, "type", "relations") == [("needs",)]
    assert rows(bob, "text", "observations") == []


def test_a_confirmation_of_anothers_record_lasts_until_its_text_changes(ann: Home) -> None:
    said = by("bob", record("Use UTC"))
    ann.merge([said])
    with ann.database.transaction() as c:
        for found, seen in records.find(c, "1", ()):
            records.put(c, found._replace(evidence={CONFIRMED: AT}), seen)

    again = by("bob", said._replace(base=(said.op_id,)), category="time", words="use utc")
    ann.merge([again])
    kept = evidence(ann)
    ann.merge([by("bob", again._replace(base=(again.op_id,)), why="zones differ")])

    assert kept == [("Use UTC", {CONFIRMED: AT, QUOTATION: "use utc"})]
    assert evidence(ann) == [("Use UTC", {QUOTATION: "use utc"})]


def test_a_rule_of_an_owner_counts_before_the_record_of_another_member(ann: Home) -> None:
    plain = by("bob", record("Push at will", when="git push"))
    rule = by("owen", plain._replace(clock="f" * 17 + "machine1"), what="Never push")
    ann.merge([plain, rule])
    assert evidence(ann) == [("Push at will", {})]

    space.set_owners(ann.database, ["owen"], "billing")
    by_owner = evidence(ann)
    space.end(ann.database, keep=True)

    assert by_owner == [("Never push", {WHEN: "git push", FOR_TEAM: True})]
    # A user who has left is not asked before commands any more.
    assert evidence(ann) == [("Never push", {})]


@pytest.mark.parametrize(
    ("stated", "trust", "source"),
    [
        ({"trust": "user", "source": "prompt"}, "user", "prompt"),
        ({"trust": "root", "source": ""}, "tool", "cli"),
        ({"source": 5}, "tool", "cli"),
        (None, "tool", "cli"),
    ],
)
def test_an_observation_from_another_machine_has_the_source_that_was_stated_there(
    desk: Home, stated: object, trust: str, source: str
) -> None:
    desk.merge([proved(observation("api", "is old", "legal"), own=stated)])

    assert rows(desk, "text, trust, source, domain, created_at", "observations") == [
        ("is old", trust, source, "legal", AT)
    ]
    assert rows(desk, "name, type, said_by", "entities") == [("api", "unknown", "")]
    [origin] = set(
        desk.database.rows("SELECT json_extract(provenance, '$.origin') FROM operations")
    )
    assert origin == (OTHER_MACHINE,)


def test_a_record_from_another_machine_keeps_the_session_and_quotation_that_are_known_here(
    desk: Home,
) -> None:
    said = desk.say("Use UTC", evidence={QUOTATION: "utc please", "prompt": "p", WHEN: "deploy"})
    desk.push()
    [sent] = desk.log.operations
    new = sent._replace(op_id="new", base=(sent.op_id,))
    own_part = {"trust": "user", "source": "prompt", "evidence": {WHEN: "git push"}}
    desk.merge([proved(new, why="zones differ", own=own_part)])

    [found] = desk.memory.find_records("1")
    assert (found.id, found.why, found.session) == (said.id, "zones differ", "s1")
    assert found.evidence == {QUOTATION: "utc please", "prompt": "p", WHEN: "git push"}


def test_an_alias_removed_on_another_machine_is_removed_here(desk: Home) -> None:
    first = proved(entity_of("Ledger", "service", ["accounts", "the book"]))
    desk.merge([first])
    given = rows(desk, "alias", "aliases")
    second = first._replace(op_id="second", base=(first.op_id,))
    desk.merge([proved(second, aliases=["accounts"], type="book")])

    assert given == [("accounts",), ("the book",)]
    assert rows(desk, "alias", "aliases") == [("accounts",)]
    assert rows(desk, "name, type, domain, created_at", "entities") == [
        ("Ledger", "book", "general", AT)
    ]


def test_a_withdrawal_by_another_machine_removes_only_unused_entities(desk: Home) -> None:
    by_hand = {"trust": "tool", "source": "cli"}
    said = [proved(observation("api", text), own=by_hand) for text in ("is old", "is new")]
    said += [proved(relation_of("api", "uses", "Redis")), proved(entity_of("Kafka"))]
    desk.merge(said)

    desk.merge([withdrawal(said[0])._replace(author="ann", proof="by ann")])
    kept = rows(desk, "name", "entities"), rows(desk, "text", "observations")
    redis = wire.key_of(wire.ENTITY, "Redis")
    own_heads = [head for head in desk.heads().values() if head.value and head.key != redis]
    desk.merge(
        [
            said[0]._replace(
                op_id=f"w {h.op_id}", kind=h.kind, key=h.key, value=None, base=(h.op_id,)
            )
            for h in own_heads
        ]
    )

    assert kept == ([("Kafka",), ("Redis",), ("api",)], [("is new",)])
    assert rows(desk, "text", "observations") == rows(desk, "type", "relations") == []
    assert rows(desk, "name", "entities") == [("Redis",)]


def test_paths_of_this_machine_are_shortened_only_where_they_end(ann: Home) -> None:
    root, home = ann.world.project, ann.world.root
    texts = {
        f"in {root}": "in .",
        f"in {root}/ now": "in ./ now",
        f"in {root}/src": "in src",
        f"in {root}/.env": "in .env",
        f"in {root}, {root}.": "in ., ..",
        f"in {root}-old/a": f"in ~/{root.name}-old/a",
        f"in {root}_old": f"in ~/{root.name}_old",
        f"in {root}2": f"in ~/{root.name}2",
        f"in {home}": "in ~",
        f"in {home}/": "in ~/",
        f"in {home}2/a": f"in {home}2/a",
        f"in x{home}/a": f"in x{home}/a",
        f"in {home}\\a": "in ~\\a",
    }
    create(ann.memory, entity("api", *texts), store="project")
    ann.push()

    sent = {one.value["text"] for one in ann.log.operations if one.value and "text" in one.value}
    assert sent == set(texts.values())


@pytest.mark.parametrize(
    ("kept", "words", "sent"),
    [
        ({}, False, (False, None, None)),
        ({}, True, (True, None, None)),
        ({RELEASED: True}, False, (True, "utc please", None)),
        ({FOR_TEAM: True}, False, (True, "utc please", "deploy")),
    ],
)
def test_a_quotation_is_sent_if_it_was_released_and_a_condition_if_it_is_for_the_team(
    kept: dict[str, bool], words: bool, sent: Sequence[Any]
) -> None:
    evidence = {QUOTATION: "utc please", WHEN: "deploy", "prompt": "secret plans", **kept}

    value = own.value_of(decision("Use UTC", evidence=evidence), words=words)

    whole = value["own"]["evidence"]
    assert (QUOTATION in whole, value.get("words"), value.get("when")) == tuple(sent)
    assert whole[WHEN] == "deploy" and "secret plans" not in json.dumps(value)
    assert set(kept) <= set(whole)


def test_a_deleted_row_has_a_key_in_the_log_only_if_it_was_sent_as_it_was(ann: Home) -> None:
    create(ann.memory, entity("api", "is old"), store="project")
    c = ann.database.connection
    names = ["gone", "api", "/opt/gone", "gone\\now"]

    found = [own.key_of_gone(c, wire.ENTITY, json.dumps([name])) for name in names]

    assert found == [wire.key_of(wire.ENTITY, "gone"), "", "", ""]
    is_old, is_new = (json.dumps(["api", text]) for text in ("is old", "is new"))
    assert own.key_of_gone(c, wire.OBSERVATION, is_old) == ""
    assert own.key_of_gone(c, wire.OBSERVATION, is_new).startswith("o:")


def test_a_text_whose_path_was_shortened_by_the_user_stays_with_the_others(
    ann: Home, bob: Home
) -> None:
    whole = f"runs {ann.world.project}/run.sh"
    create(ann.memory, entity("api", whole), store="project")
    synced(ann, bob)
    added = {"observations": [{"entityName": "api", "contents": ["runs run.sh"]}]}
    ann.memory.write("add_observations", added, USER, store="project")
    deleted = {"deletions": [{"entityName": "api", "observations": [whole]}]}
    ann.memory.write("delete_observations", deleted, USER, store="project")
    synced(ann, bob)

    assert rows(ann, "text", "observations") == rows(bob, "text", "observations")


def test_paths_are_shortened_alike_wherever_in_the_project_a_session_started(
    ann: Home, bob: Home
) -> None:
    folder = ann.world.project / "web"
    folder.mkdir()
    text = f"see {folder}/x.py"
    create(ann.memory, entity("api", text), store="project")
    synced(ann, bob)
    ann.reopen(CLAUDE_PROJECT_DIR=str(folder))
    ann.say(f"Settings are in {folder}/config.toml")
    deleted = {"deletions": [{"entityName": "api", "observations": [text]}]}
    ann.memory.write("delete_observations", deleted, USER, store="project")
    synced(ann, bob)

    assert list(bob.records()) == ["Settings are in web/config.toml"]
    assert rows(bob, "text", "observations") == []

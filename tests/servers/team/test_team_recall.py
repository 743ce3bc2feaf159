"""Recall over a space in PostgreSQL: the same stages as over SQLite."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_fabric.models import Answer, Filters, Relation
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.servers.http.responses import Forbidden
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from memory_fabric.sharing.server.spaces import remove
from team.postgres import ANN, BOB, EVE, OWNER
from team.statements import entity, observation, record, relation, withdrawal

NOW = "2026-03-01T10:00:00.000Z"

Say = Callable[..., None]
MemoryOf = Callable[..., TeamMemory]


def asked(memory: TeamMemory, text: str, **options: object) -> Answer:
    answer = Fabric(memory, NOW).recall(text, **options)  # type: ignore[arg-type]
    assert memory.reader.failed is None
    assert answer.failures == ()
    return answer


def texts(memory: TeamMemory, text: str, **options: object) -> list[str]:
    return [hit.text for hit in asked(memory, text, **options).hits]


def test_a_question_finds_records_of_another_member(say: Say, memory_of: MemoryOf) -> None:
    say(ANN, record("We use PostgreSQL for billing", entities=["PostgreSQL"]))

    (hit,) = asked(memory_of(BOB), "Which database does billing use?").hits

    assert hit.text == "We use PostgreSQL for billing"
    assert (hit.metadata["author"], hit.metadata["trust"]) == (ANN, "foreign")


def test_only_the_author_of_a_record_sees_its_trust_level_and_pinned_state(
    say: Say, memory_of: MemoryOf
) -> None:
    said = record("We use PostgreSQL for billing", own={"trust": "user", "pinned": True})
    say(ANN, said)

    (mine,) = asked(memory_of(ANN), "billing").hits
    (theirs,) = asked(memory_of(BOB), "billing").hits

    assert (mine.metadata["trust"], mine.metadata["pinned"]) == ("user", True)
    assert (theirs.metadata["trust"], theirs.metadata["pinned"]) == ("foreign", False)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what about routers", "FastAPIRouter handles the webhooks"),
        ("cached sessions", "Sessions are caching in Redis"),
        ("which cafe", "The Café opens at nine"),
        ("数据库", "我们使用数据库连接池"),
        ("file spec.shards", "The limit is in spec.shards"),
        ("restart zph", "It is restarted at night"),
        ("restart zephirion", "It is restarted at night"),
        ('"opens at nine"', "The Café opens at nine"),
    ],
)
def test_a_question_matches_word_forms_word_parts_aliases_and_non_latin_scripts(
    say: Say, memory_of: MemoryOf, question: str, text: str
) -> None:
    said = (
        "FastAPIRouter handles the webhooks",
        "Sessions are caching in Redis",
        "The Café opens at nine",
        "我们使用数据库连接池",
        "The limit is in spec.shards",
    )
    say(ANN, *map(record, said), entity("Zephyrion", "cluster", ["zph"]))
    say(ANN, observation("Zephyrion", "It is restarted at night"))

    assert texts(memory_of(BOB), question)[0] == text


def test_a_question_about_a_relationship_returns_the_path_in_the_graph(
    say: Say, memory_of: MemoryOf
) -> None:
    say(ANN, relation("Gateway", "calls", "Billing"))
    say(BOB, relation("Billing", "uses", "Postgres"))

    answer = asked(memory_of(BOB), "How is Gateway related to Postgres?")

    walked = (Relation("Gateway", "calls", "Billing"), Relation("Billing", "uses", "Postgres"))
    assert walked in answer.paths


def test_only_the_newest_version_of_a_record_is_found(say: Say, memory_of: MemoryOf) -> None:
    first = record("Billing uses MySQL")
    say(ANN, first)
    say(ANN, record("Billing uses Oracle", id=first.key[2:], base=[first.op_id]))

    assert texts(memory_of(BOB), "billing") == ["Billing uses Oracle"]
    assert texts(memory_of(BOB), "MySQL") == []


def test_only_the_later_of_two_concurrent_versions_is_found(say: Say, memory_of: MemoryOf) -> None:
    first = record("Billing uses MySQL")
    say(ANN, first, record("Billing uses Oracle", id=first.key[2:]))

    assert texts(memory_of(BOB), "billing uses") == ["Billing uses Oracle"]


def test_a_withdrawn_observation_is_not_found(say: Say, memory_of: MemoryOf) -> None:
    said = observation("Billing", "It listens on 8080")
    say(ANN, said, withdrawal(said))

    assert texts(memory_of(BOB), "billing 8080") == []


def test_the_same_observation_by_two_members_is_returned_once(
    say: Say, memory_of: MemoryOf
) -> None:
    say(ANN, observation("Billing", "It listens on 8080"))
    say(BOB, observation("Billing", "It listens on 8080"))

    (hit,) = asked(memory_of(BOB), "billing 8080").hits

    assert hit.metadata["author"] == BOB


def test_recall_is_limited_to_one_domain_by_the_api_key_or_by_the_question(
    say: Say, memory_of: MemoryOf
) -> None:
    say(ANN, record("The contract ends in May", domain="legal"), record("The cache ends in May"))

    assert texts(memory_of(BOB, "legal"), "what ends in May") == ["The contract ends in May"]
    assert texts(memory_of(BOB), "domain:legal May") == ["The contract ends in May"]
    assert texts(memory_of(BOB), "what ends in May in the legal domain") == [
        "The contract ends in May"
    ]
    assert texts(memory_of(BOB, "legal"), "domain:general May") == []


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (Filters(types=("decision",)), 1),
        (Filters(types=("pattern",)), 0),
        (Filters(types=("cluster",)), 1),
        (Filters(scopes=("team",)), 2),
        (Filters(scopes=("user",)), 0),
        (Filters(sessions=("s1",)), 0),
        (Filters(projects=("app",)), 1),
        (Filters(agents=("reviewer",)), 1),
        (Filters(categories=("Storage",)), 1),
        (Filters(since="2026-03-01"), 0),
        (Filters(before="2026-03-01"), 2),
        (Filters(as_of="2026-01-01"), 0),
    ],
)
def test_filters_restrict_the_hits_of_a_question(
    say: Say, memory_of: MemoryOf, filters: Filters, count: int
) -> None:
    said = record("The nodes hold shards", project="App", agent="reviewer", category="storage")
    say(ANN, said, entity("Zephyrion", "Cluster"), observation("Zephyrion", "Its nodes hold rows"))

    assert len(texts(memory_of(BOB), "nodes hold", filters=filters)) == count


def test_a_message_of_several_sentences_finds_records(say: Say, memory_of: MemoryOf) -> None:
    say(ANN, record("We use PostgreSQL for billing", entities=["PostgreSQL"]))

    found = texts(memory_of(BOB), "I am back at the invoices. What does billing store them in?")

    assert found == ["We use PostgreSQL for billing"]


def test_an_empty_question_returns_the_newest_records(say: Say, memory_of: MemoryOf) -> None:
    say(ANN, record("Old", created_at="2026-01-01T00:00:00.000Z"), record("New"))

    assert texts(memory_of(BOB), "") == ["New", "Old"]


def test_a_purged_record_is_not_found(
    say: Say, memory_of: MemoryOf, open_log: Callable[[str], SharedLog]
) -> None:
    said = record("Billing belongs to Quentin", entities=["Quentin"])
    say(ANN, said, record("Quentin owns the cache", entities=["Quentin", "Cache"]))

    open_log(ANN).purge([said.key])

    memory = memory_of(BOB)
    assert texts(memory, "billing") == []
    assert memory.reader.names_like("quentin", 1) == [("quentin", "Quentin")]


def test_a_user_who_is_not_a_member_is_refused(say: Say, memory_of: MemoryOf) -> None:
    say(ANN, record("We use PostgreSQL for billing"))
    memory = memory_of(EVE)

    with pytest.raises(Forbidden):
        Fabric(memory, NOW).recall("billing")


def test_a_removed_member_is_refused(
    say: Say, memory_of: MemoryOf, open_connection: Callable[[str], Connection], space: str
) -> None:
    say(ANN, record("We use PostgreSQL for billing"))
    remove(open_connection(OWNER), space, BOB)
    memory = memory_of(BOB)

    with pytest.raises(Forbidden):
        Fabric(memory, NOW).recall("billing")


def test_a_question_recognises_only_the_current_aliases_of_an_entity(
    say: Say, memory_of: MemoryOf, space: str
) -> None:
    first = entity("PostgreSQL", aliases=["pgsql"])
    second = entity("PostgreSQL", aliases=["pgsql", "elephant"])._replace(base=(first.op_id,))
    third = entity("PostgreSQL", aliases=["elephant"])._replace(base=(second.op_id,))
    names = "SELECT asked FROM memory_fabric.names_of(%s, %s) WHERE is_alias"
    known = []

    say(ANN, record("PostgreSQL keeps the bills", entities=["PostgreSQL"]))
    for said in (first, second, third):
        say(ANN, said)
        found = memory_of(BOB).reader.query(names, (space, ["pgsql", "elephant"]))
        known.append({alias for (alias,) in found})

    assert known == [{"pgsql"}, {"pgsql", "elephant"}, {"elephant"}]

"""History and why: what became of a memory, in words, also when it is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drawn import token
from memory_fabric.errors import NotFound
from memory_fabric.models import Provenance
from memory_fabric.store.conversations import sessions
from memory_fabric.store.forget import plan
from memory_fabric.store.history import merge, trace, undo
from memory_fabric.store.history.trace import EntityTrace, RecordTrace
from memory_fabric.store.memory import Memory
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    entity,
    pagination,
    relation,
)

BY = Provenance("cli", trust="user", author="ann")
NOW = "2026-01-15T10:00:00.000Z"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def told(memory: Memory, name: str | None = None) -> list[str]:
    return [one.what for one in trace.history(memory, name, 50)]


def test_history_describes_every_change_in_words_newest_first(memory: Memory) -> None:
    create(memory, entity("Redis", "is fast", "is old"))
    create(memory, entity("Redis", "is fast", "is kept in memory"))
    create(memory, entity("Redis", "is fast"))
    said = {"observations": [{"entityName": "Redis", "contents": ["x", "y"]}]}
    memory.write("add_observations", said, TOOL)
    edges = {"relations": [relation("api", "uses", "Redis")]}
    memory.write("create_relations", edges, TOOL)
    gone = {"deletions": [{"entityName": "Redis", "observations": ["x"]}]}
    memory.write("delete_observations", gone, TOOL)
    memory.write("delete_relations", edges, TOOL)
    memory.write("delete_entities", {"entityNames": ["Redis"]}, TOOL)

    assert told(memory, "Redis") == [
        "deleted Redis with 4 observations",
        "deleted the relation api uses Redis",
        "deleted 1 observation of Redis",
        "related api uses Redis",
        "added 2 observations to Redis",
        "nothing new about Redis",
        "added 1 observation to Redis",
        "created Redis (component) with 2 observations",
    ]
    assert "created" not in told(memory, "api")[0]


def test_history_shows_records_with_type_and_id(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    memory.remember(pagination(confidence=0.95), USER._replace(session="s2"))
    plan.forget(memory, plan.find(memory, record.id), BY)
    undo.undo(memory, [undo.last(memory)], BY)

    what = f"decision {record.id[-8:]}: {record.what}"
    lines = told(memory, record.id)

    assert lines[0] == f"undid: forgot {what}"
    assert lines[1:] == [f"forgot {what}", f"strengthened {what}", f"remembered {what}"]
    changes = trace.history(memory, record.id, 50)
    assert [change.undone for change in changes] == [False, True, False, False]
    assert changes[0].by["author"] == "ann"


def test_the_history_of_an_entity_includes_changes_by_records(memory: Memory) -> None:
    memory.remember(pagination(), USER)

    assert [line.split(" ")[0] for line in told(memory, "list_endpoints")] == ["remembered"]


def test_a_merged_entity_has_the_history_of_all_its_names(memory: Memory) -> None:
    create(memory, entity("redis-server", "a"))
    create(memory, entity("Redis", "b"))
    merge.merge(memory, merge.plan(memory, "Redis", ["redis-server"]), BY)
    merge.change_aliases(memory, "Redis", ["cache"], BY)
    merge.change_aliases(memory, "Redis", ["cache", "redis-server"], BY, remove=True)

    for name in ("Redis", "redis-server"):
        assert "merged redis-server into Redis" in told(memory, name)
        assert "created redis-server (component) with 1 observation" in told(memory, name)
    assert told(memory, "Redis")[:2] == [
        "Redis is no longer called cache, redis-server",
        "Redis is also called cache",
    ]


def test_history_lists_all_changes_newest_first_up_to_the_limit(memory: Memory) -> None:
    create(memory, entity("one"))
    create(memory, entity("two"), store="user")
    create(memory, entity("three"))

    assert told(memory) == [f"created {name} (component)" for name in ("three", "two", "one")]
    assert [len(trace.history(memory, None, limit)) for limit in (2, 0)] == [2, 0]
    assert told(memory, "nobody") == []


def test_why_names_the_sessions_that_stated_a_record_or_received_it(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    memory.remember(pagination(), USER._replace(session="s2"))
    memory.flush()
    sessions.record_injections(
        database(memory), "s9", "a1", [f"record:{record.id}"], "subagent", NOW
    )

    origin = trace.why(memory, record.id[-8:])

    assert isinstance(origin, RecordTrace)
    assert (origin.record.id, origin.seen_in, origin.store) == (record.id, ("s1", "s2"), "project")
    assert origin.tiers == ("graph", "decisions.jsonl", "MEMORY.md")
    assert [(g.session, g.agent, g.channel) for g in origin.injections] == [
        ("s9", "a1", "subagent")
    ]
    assert origin.deletion is None


def test_why_of_an_entity_says_who_said_each_observation(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    create(memory, entity("cursor-pagination", "needs an index"))
    merge.change_aliases(memory, "cursor-pagination", ["keyset"], BY)
    number = database(memory).rows("SELECT id FROM observations WHERE record = ''")[0][0]
    given = [f"graph:cursor-pagination#{number}", f"record:{record.id}", "graph:other#1"]
    sessions.record_injections(database(memory), "s9", "", given, "prompt", NOW)

    origin = trace.why(memory, "keyset")

    assert isinstance(origin, EntityTrace)
    assert (origin.name, origin.type, origin.aliases) == (
        "cursor-pagination",
        "pattern",
        ("keyset",),
    )
    assert [(s.trust, s.source, s.record) for s in origin.statements] == [
        ("user", "prompt", record.id),
        ("tool", "mcp", ""),
    ]
    assert [[g.session for g in s.injections] for s in origin.statements] == [["s9"], ["s9"]]
    assert origin.statements[1].session == "s1"


def test_why_names_the_change_that_deleted_a_memory(memory: Memory) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    create(memory, entity("Redis", "is fast"))
    plan.forget(memory, plan.find(memory, record.id), BY)
    memory.write("delete_entities", {"entityNames": ["Redis"]}, TOOL)

    gone, deleted = trace.why(memory, record.id), trace.why(memory, "Redis")

    assert isinstance(gone, RecordTrace) and gone.deletion is not None
    assert gone.record.what == record.what and gone.deletion.what.startswith("forgot decision")
    assert isinstance(deleted, EntityTrace) and deleted.deletion is not None
    assert [s.text for s in deleted.statements] == ["is fast"]
    assert deleted.deletion.what == "deleted Redis with 1 observation"


def test_why_of_an_unknown_memory_raises_not_found(memory: Memory) -> None:
    create(memory, entity("Redis"))
    for unknown in ("nobody", "0123456789abcdef"):
        with pytest.raises(NotFound):
            trace.why(memory, unknown)


def test_a_change_logged_before_a_redaction_rule_is_shown_redacted(
    memory: Memory,
) -> None:
    secret = token()
    create(memory, entity("Redis", "waits for a text"))
    with database(memory).transaction() as connection:
        connection.execute(
            "UPDATE operations SET inverse = replace(inverse, 'Redis', ?), "
            "payload = replace(replace(payload, 'Redis', ?), 'waits for a text', ?)",
            (secret, secret, secret),
        )

    (change,) = trace.history(memory, None, 10)

    assert secret not in json.dumps(trace.as_json(change))
    assert "[redacted: " in change.what


def test_why_names_the_deletion_of_a_record_and_its_entity_only_until_it_is_undone(
    memory: Memory,
) -> None:
    record = memory.remember(pagination(), USER)
    assert record is not None
    for _ in range(2):
        plan.forget(memory, plan.find(memory, record.id), BY)
        deletion = undo.last(memory)
        gone = trace.why(memory, record.id[-8:])
        entity_gone = trace.why(memory, "cursor-pagination")
        assert isinstance(gone, RecordTrace) and gone.deletion is not None
        assert (gone.deletion.id, gone.seen_in, gone.tiers) == (deletion.id, ("s1",), ())
        assert isinstance(entity_gone, EntityTrace) and entity_gone.deletion is not None
        assert entity_gone.type == "pattern" and entity_gone.store == "project"
        assert [s.record for s in entity_gone.statements] == [record.id]
        undo.undo(memory, [deletion], BY)

        there = trace.why(memory, record.id[-8:])
        assert isinstance(there, RecordTrace) and there.deletion is None
        entity_there = trace.why(memory, "cursor-pagination")
        assert isinstance(entity_there, EntityTrace) and entity_there.deletion is None


@pytest.mark.parametrize("name", ["a%b", "a_b", "a\\b", 'a "b" é', "a\nb"])
def test_the_history_of_an_entity_is_found_for_any_characters_in_its_name(
    memory: Memory, name: str
) -> None:
    create(memory, entity(name), entity("a-b"))
    create(memory, entity("axb"))

    assert len(trace.history(memory, name, 9)) == 1


def test_a_change_is_shown_with_its_author_but_without_empty_fields(memory: Memory) -> None:
    memory.write("create_entities", {"entities": [entity("Redis")]}, TOOL._replace(at=NOW))
    (change,) = trace.history(memory, "Redis", 9)

    shown = trace.as_json(change)

    assert shown["by"] == {**shown["by"], "source": "mcp", "trust": "tool", "author": "ann"}
    assert "agent" not in shown["by"] and "at" not in shown["by"]
    assert (shown["at"], shown["store"], shown["undone"]) == (NOW, "project", False)
    assert shown["payload"]["entities"][0]["name"] == "Redis"


def test_injections_are_listed_by_time_without_those_of_agents_and_forks(memory: Memory) -> None:
    db = database(memory)
    sessions.touch(db, "s1", "2026-01", "/a/s1.jsonl")
    sessions.record_injections(db, "s1", "", ["record:2"], "prompt", "2026-03")
    sessions.record_injections(db, "s1", "", ["record:1"], "session", "2026-02")
    sessions.record_injections(db, "s1", "agent", ["record:3"], "subagent", "2026-03")
    sessions.touch(db, "fork", "2026-04", "/b/fork.jsonl")
    sessions.copy_ledger(db, "s1", "fork")

    first = ("s1", "record:1", "session", "2026-02")
    second = ("s1", "record:2", "prompt", "2026-03")
    assert trace.injections_since([db], "2026-01") == [first, second]
    assert trace.injections_since([db], "2026-03") == [second]
    assert sorted(trace.transcript_folders([db])) == ["/a", "/b"]


def test_the_time_in_which_hooks_ran_spans_all_databases(memory: Memory) -> None:
    project, user = database(memory), database(memory, "user")
    assert trace.span([]) == trace.span([project]) == ("", "")
    sessions.touch(project, "s1", "2026-02")
    sessions.touch(project, "s1", "2026-03")
    sessions.touch(user, "s2", "2026-01")

    assert trace.span([project, user]) == ("2026-01", "2026-03")
    assert trace.span([project]) == ("2026-02", "2026-03")
    assert trace.sessions([project, user]) == {"s1", "s2"}
    with user.transaction() as c:
        c.execute("""INSERT INTO meta VALUES ('learned b session s2', '["s2", -1]')""")
    assert trace.span([project, user]) == ("2026-02", "2026-03")
    assert trace.sessions([project, user]) == {"s1"}

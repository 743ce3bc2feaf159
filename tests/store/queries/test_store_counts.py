"""Counts for reports: what sessions were told, what came of it, and whose rows there are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.ids import timestamp
from memory_fabric.models import PROMPT, Provenance, Record
from memory_fabric.store.conversations import sessions
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts, quick_counts
from memory_fabric.store.queries.counts import Arrival, Cases, Share, Week
from store.support import TOOL, USER, World, create, database, decision, entity, relation

# Two Mondays; 2026-03-08 is a Sunday.
FIRST, SECOND = "2026-03-02", "2026-03-09"
NOW_S = 1_800_000_000.0
DAY_S = 24 * 3600


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def tell(memory: Memory, *rows: tuple[Any, ...]) -> None:
    """Store what was told: session, channel, memory, kind, characters, time, outcome."""
    columns = "session, channel, memory, kind, chars, created_at, followed, agent, prompt"
    with database(memory).transaction() as c:
        marks = "?, ?, ?, ?, ?, ?, ?, '', 0"
        c.executemany(f"INSERT INTO told ({columns}) VALUES ({marks})", rows)


def test_rows_are_counted_by_table_over_all_databases(memory: Memory) -> None:
    create(memory, entity("a", "x", "y"), entity("b"))
    create(memory, entity("mine", "z"), store="user")
    memory.write("create_relations", {"relations": [relation("a", "is", "b")]}, TOOL)
    memory.remember(decision("Use Redis"), USER)
    memory.remember(decision("Maybe", confidence=0.4), USER)

    assert counts.rows_of(memory.databases()) == {
        "entities": 3,
        "observations": 3,
        "relations": 1,
        "records": 2,
        "episodes": 0,
        "candidates": 1,
    }


def test_the_newest_change_is_that_of_all_databases(memory: Memory) -> None:
    assert counts.newest(memory.databases(), counts.LAST_CHANGE) == ""
    for at, scope in (("2026-03", "team"), ("2026-05", "user"), ("2026-04", "team")):
        memory.remember(decision(f"At {at}", scope=scope), USER._replace(at=at))

    databases = memory.databases()
    assert counts.newest(databases, counts.LAST_CHANGE) == "2026-05"
    assert counts.newest(databases, counts.LAST_READ) == ""
    sessions.record_injections(databases[0], "s1", "", ["record:x"], "prompt", "2026-06")
    assert counts.newest(databases, counts.LAST_READ) == "2026-06"


def test_sentences_that_could_not_be_parsed_are_added_up(memory: Memory) -> None:
    assert counts.unread(memory) == 0
    for number in (2, 3):
        counts.add_unread(memory, number)

    assert counts.unread(memory) == 5


def test_sessions_in_which_a_rule_was_shown_are_counted_by_rule(memory: Memory) -> None:
    assert counts.times_rules_told(memory) == {}
    for session in ("s1", "s2"):
        ids = ["rule:a", *(["rule:b", "record:c"] if session == "s2" else [])]
        sessions.record_injections(database(memory), session, "", ids, "rule", "2026")

    assert counts.times_rules_told(memory) == {"a": 2, "b": 1}


def test_a_prompt_of_the_user_is_found_by_its_words(memory: Memory) -> None:
    turns = [
        {"id": role, "session": "s", "role": role, "text": f"said by {role}", "created_at": "2026"}
        for role in ("user", "assistant")
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)

    assert counts.has_turn(memory, "by user") and not counts.has_turn(memory, "by assistant")


def test_what_was_told_is_summed_by_kind_and_by_channel_with_the_largest_first(
    memory: Memory,
) -> None:
    kept = memory.remember(decision("Use Redis"), USER)
    assert kept is not None
    known, gone = f"record:{kept.id}", "record:gone"
    tell(
        memory,
        ("s1", "prompt", known, "", 40, "2026-03", None),
        ("s2", "session", known, "", 10, "2026-03", None),
        ("s2", "session", gone, "", 90, "2026-03", None),
        ("s2", "session", "", "frame", 50, "2026-04", None),
        ("s3", "prompt", "", "frame", 7, "2026-02", None),
    )

    found = counts.told_since(memory, "2026-03")

    assert (found.since, found.sessions) == ("2026-03", 2)
    assert found.kinds == (
        Share(counts.FORGOTTEN, 1, 90),
        Share("decision", 2, 50),
        Share("frame", 1, 50),
    )
    assert found.channels == (Share("session", 3, 150), Share("prompt", 1, 40))
    assert found.total == Share("", 4, 190)


def test_outcomes_are_counted_by_the_week_in_which_a_session_was_told_first(
    memory: Memory,
) -> None:
    assert counts.worth_by_week(World(Path(memory.settings.home)).memory(), "2026") == []
    tell(
        memory,
        ("s1", "held", "rule:a", "constraint", 5, f"{FIRST}T00:00:00.000Z", 1),
        ("s1", "held", "rule:b", "constraint", 5, "2026-03-08T23:59:59.999Z", 0),
        ("s1", "asked", "rule:a", "constraint", 0, f"{FIRST}T01:00:00.000Z", 1),
        ("s1", "fix", "record:f", "solution", 3, f"{FIRST}T01:00:00.000Z", 0),
        ("s1", "prompt", "record:d", "decision", 4, f"{FIRST}T01:00:00.000Z", 0),
        ("s1", "session", "record:d", "decision", 4, f"{SECOND}T01:00:00.000Z", 1),
        ("s2", "prompt", "record:e", "decision", 4, f"{SECOND}T00:00:00.000Z", None),
    )

    newer, older = counts.worth_by_week(memory, "2026")

    assert (newer.monday, newer.sessions, newer.chars) == (SECOND, 2, 8)
    assert {*newer.figures.values()} == {Cases()}
    assert (older.monday, older.sessions, older.chars) == (FIRST, 1, 17)
    assert older.figures == {
        "held_not_run": Cases(2, 1),
        "asked_not_run": Cases(1, 1),
        "fixes_applied": Cases(1, 0),
        "decisions_named": Cases(1, 1),
        "said_again": Cases(),
    }
    assert counts.worth_as_json(older)["tokens"] == 4
    assert counts.worth_as_json(older)["held_not_run"] == {"n": 2, "yes": 1}
    assert [week.monday for week in counts.worth_by_week(memory, SECOND)] == [SECOND]


def test_a_statement_counts_as_said_again_only_in_another_session(memory: Memory) -> None:
    def say(what: str, session: str, day: str, **fields: Any) -> None:
        by = USER._replace(session=session, at=f"2026-03-0{day}T10:00:00.000Z")
        memory.remember(decision(what, **fields), by)

    say("Use Redis", "s1", "2")
    say("Use Redis", "s1", "3")
    say("Use Redis", "s2", "4")
    say("Use Redis", "s2", "5")
    say("Use Kafka", "s2", "4")
    say("Maybe Mongo", "s2", "4", confidence=0.4)
    memory.remember(decision("Use tabs"), TOOL._replace(at="2026-03-04T10:00:00.000Z"))
    said = USER._replace(trust="assistant", session="s3", at="2026-03-04T11:00:00.000Z")
    memory.remember(decision("Use spaces"), said)

    [week] = counts.worth_by_week(memory, "2026")

    assert (week.sessions, week.chars) == (0, 0)
    assert week.figures["said_again"] == Cases(3, 1)


def test_rows_are_counted_by_domain_with_the_first_relations_between_domains(
    memory: Memory,
) -> None:
    create(memory, entity("a", "x"), entity("b"))
    law = TOOL._replace(domain="law")
    memory.write("create_entities", {"entities": [entity("c", "y", "z")]}, law)
    edges = [relation("a", "is", "b"), relation("a", "uses", "c"), relation("c", "uses", "b")]
    memory.write("create_relations", {"relations": edges}, TOOL)
    memory.remember(decision("Use Redis", domain="law"), USER)

    found = counts.count_by_domain(memory.databases(), 1)

    assert found.counts == (("general", (2, 3, 1, 0, 0)), ("law", (1, 0, 2, 1, 0)))
    assert found.crossings == 2
    crossing = {"from": "a", "from_domain": "general", "relation": "uses", "to": "c"}
    assert found.first == (crossing | {"to_domain": "law", "store": "project"},)
    assert len(counts.count_by_domain(memory.databases(), 5).first) == 2
    assert counts.count_by_domain([], 5) == counts.DomainCounts()


def test_the_weekly_summary_counts_seven_days_and_is_due_seven_days_after_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = World(tmp_path).memory(CLAUDE_CODE_SESSION_ATTENDED="1")
    monkeypatch.setattr(time, "time", lambda: NOW_S)

    def note(what: str, days_ago: float, **fields: Any) -> Record | None:
        by = USER._replace(at=timestamp(NOW_S - days_ago * DAY_S))
        return memory.remember(decision(what, **fields), by)

    note("Use Redis today", 0.5)
    assert counts.week_due(memory, "startup", "") == Week()
    note("Use Kafka for a week", 7)
    note("Use Mongo for long", 7.1)
    note("Maybe Valkey", 9, confidence=0.4)
    note("Try it", 0.1, scope="local")
    imported = Provenance("import", trust="user", at=timestamp(NOW_S))
    memory.remember(decision("Use an import"), imported)

    for source, agent_type in (("resume", ""), ("startup", "reviewer")):
        assert counts.week_due(memory, source, agent_type) == Week()
    assert counts.week_due(memory, "clear", "") == Week(2, 0, 1)
    assert counts.week_due(memory, "startup", "") == Week()
    note("Use Postgres", -6.9)
    monkeypatch.setattr(time, "time", lambda: NOW_S + 7 * DAY_S)
    assert counts.week_due(memory, "startup", "") == Week()
    monkeypatch.setattr(time, "time", lambda: NOW_S + 7 * DAY_S + 1)
    assert counts.week_due(memory, "startup", "") == Week(1, 0, 1)


def test_shared_records_are_reported_once_and_not_at_the_first_start_with_sharing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strftime = time.strftime
    monkeypatch.setattr(
        time, "strftime", lambda form, *at: strftime(form, *at) if at else "2026-05-01"
    )
    memory = World(tmp_path).memory(CLAUDE_CODE_SESSION_ATTENDED="1")
    db = database(memory)

    def share(name: str, author: str) -> None:
        memory.remember(decision(f"Use {name}"), USER)
        with db.transaction() as c:
            c.execute(
                "UPDATE records SET source = 'journal', id = ?, "
                "body = json_set(body, '$.author', ?) WHERE what = ?",
                (name, author, f"Use {name}"),
            )

    def next_day() -> None:
        with db.transaction() as c:
            c.execute("UPDATE meta SET value = '2026-01-02' || substr(value, 11)")

    share("a", "bob")
    assert counts.arrived(memory, "startup", "") == []
    share("b", "bob")
    share("c", "")
    memory.remember(decision("Use mine"), USER)
    assert counts.arrived(memory, "resume", "") == []

    told = counts.arrived(memory, "startup", "")

    assert told == [Arrival("c", "somebody"), Arrival("b", "bob")]
    share("d", "bob")
    assert counts.arrived(memory, "startup", "") == []
    next_day()
    assert counts.arrived(memory, "clear", "") == [Arrival("d", "bob")]
    next_day()
    assert counts.arrived(memory, "startup", "") == []


def test_the_status_line_counts_current_records_told_memories_and_candidates(
    memory: Memory,
) -> None:
    for record in (
        decision("Use Redis"),
        decision("Use tabs", scope="user"),
        decision("Try it", scope="local"),
        decision("Maybe", confidence=0.4),
        decision("Summary")._replace(type="session"),
        Record("note", "Heard", confidence=0.4, evidence={PROMPT: "x"}),
    ):
        memory.remember(record, USER)
    tell(
        memory,
        ("s1", "prompt", "record:a", "", 1, "2026", None),
        ("s1", "session", "record:a", "", 1, "2026", None),
        ("s1", "session", "record:b", "", 1, "2026", None),
        ("s1", "session", "", "frame", 1, "2026", None),
        ("s2", "session", "record:c", "", 1, "2026", None),
    )
    paths = [db.path for db in memory.databases()]

    assert quick_counts.of([*paths, "/none"], "s1", 60.0) == quick_counts.Counts(2, 2, 2)
    memory.close()
    assert quick_counts.of(paths, "s2", 60.0) == quick_counts.Counts(2, 1, 2)
    assert quick_counts.of([], "s1", 60.0) == quick_counts.Counts()


def test_the_status_line_counts_nothing_if_a_database_cannot_be_read(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember(decision("Use Redis"), USER)
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 1000)

    assert quick_counts.of([database(memory).path, str(broken)], "s1", 60.0) is None

"""The prompts of a session: the newest are kept, each session's for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.models import ERASED
from memory_fabric.store.conversations import prompts, sessions
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from store.support import USER, World

NOW = "2026-03-01T10:00:00.000Z"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


@pytest.fixture
def database(memory: Memory) -> Database:
    return memory.session_database()


def test_only_the_newest_prompts_of_a_long_session_are_kept(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "MAX_KEPT", 2)
    prompts.add(database, "other", "Count the berths.", NOW)
    for text in ("one", "two", "three"):
        prompts.add(database, "s", text, NOW)

    assert [prompt.text for prompt in prompts.of_session(database, "s")] == ["three", "two"]
    assert [prompt.text for prompt in prompts.of_session(database, "other")] == [
        "Count the berths."
    ]


def texts(stored: list[prompts.Prompt]) -> list[str]:
    return [prompt.text for prompt in stored]


def test_a_prompt_is_saved_once_and_unanswered_until_its_turn_has_ended(database: Database) -> None:
    for _ in range(2):
        prompts.add(database, "s", "one", "2026-01")
    prompts.add(database, "s", "two", "2026-02", prompts.TYPED)
    prompts.add(database, "s", "x" * prompts.MAX_PROMPT_CHARS + "y", "2026-03")
    one, two, long = prompts.unanswered(database, "s")

    prompts.settle(database, one, prompts.BY_MACHINE)
    prompts.mark_answered(database, [two])

    assert (one.text, one.origin, two.origin) == ("one", prompts.STAGED, prompts.TYPED)
    assert len(long.text) <= prompts.MAX_PROMPT_CHARS
    assert prompts.unanswered(database, "s") == [one._replace(origin=prompts.BY_MACHINE), long]
    assert texts(prompts.of_session(database, "s", "2026-02")) == ["two", "one"]


def test_only_typed_prompts_are_copied_to_a_fork_and_count_as_answered(database: Database) -> None:
    prompts.add(database, "parent", "typed", NOW, prompts.TYPED)
    prompts.add(database, "parent", "sent", NOW, prompts.BY_MACHINE)

    for _ in range(2):
        prompts.copy_typed(database, "fork", ["typed", "sent", "unknown"])

    assert texts(prompts.of_session(database, "fork")) == ["typed"]
    assert prompts.unanswered(database, "fork") == []


def talk(memory: Memory, *turns: tuple[str, str, str, str]) -> None:
    """Store turns, given as (session, role, text, time)."""
    fields = ("session", "role", "text", "created_at")
    episodes = [dict(zip(fields, turn, strict=True)) for turn in turns]
    for number, episode in enumerate(episodes):
        episode["id"] = f"turn-{number}"
    memory.write("add_episodes", {"episodes": episodes}, USER)


def test_the_turns_of_the_preceding_session_are_returned_newest_first(
    memory: Memory, database: Database
) -> None:
    assert prompts.last_turns(database, "now", 9) == ("", [])
    talk(
        memory,
        ("early", "user", "Which port?", "2026-01"),
        ("last", "user", "Why?", "2026-02"),
        ("last", "assistant", ERASED, "2026-02"),
        ("last", "assistant", "It was free.", "2026-03"),
        ("beside", "user", "And now?", "2026-05"),
    )
    sessions.touch(database, "now", "2026-04")
    newest = ("assistant", "It was free.", "2026-03")

    assert prompts.last_turns(database, "now", 9) == ("last", [newest, ("user", "Why?", "2026-02")])
    assert prompts.last_turns(database, "now", 1) == ("last", [newest])
    assert prompts.last_turns(database, "unknown", 1)[0] == "beside"


def test_stored_turns_are_read_by_session_by_time_and_by_words(
    memory: Memory, database: Database
) -> None:
    talk(
        memory,
        ("one", "user", "Which port has Redis?", "2026-01"),
        ("one", "assistant", "Redis has 6379.", "2026-02"),
        ("two", "user", "Is Redis up?", "2026-03"),
    )

    newest = prompts.newest_of_all(database, 9)

    assert [row[1:4] for row in newest] == [
        ("two", "Is Redis up?", "2026-03"),
        ("one", "Which port has Redis?", "2026-01"),
    ]
    assert prompts.newest_of_all(database, 1) == newest[:1]
    assert prompts.answered_before(database, "one", newest[0][0]) == "Redis has 6379."
    assert prompts.answered_before(database, "one", newest[1][0]) == ""
    assert prompts.matching_elsewhere(database, "redis", "one", 9) == ["Is Redis up?"]
    assert prompts.kept_sessions(database) == [("two", "2026-03"), ("one", "2026-01")]
    assert prompts.kept_sessions(database, "2026-02") == [("one", "2026-01")]
    assert prompts.turns_of(database, "one") == [
        ("user", "Which port has Redis?"),
        ("assistant", "Redis has 6379."),
    ]

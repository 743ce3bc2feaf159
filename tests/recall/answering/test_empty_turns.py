"""Turns without content and one's own questions are not found by recall."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Provenance
from memory_fabric.recall.answering import says_something, without_empty_turns
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries.search import Candidate
from recall.given import NOW, a_candidate, open_memory

QUESTION = "What do we use for tests?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    turns = [
        ("user", "We use pytest for tests, never unittest."),
        ("assistant", "OK."),
        ("user", QUESTION),
        ("assistant", "Noted."),
        ("user", "Do the slow tests use a database?"),
        ("assistant", "Continue to iterate?"),
    ]
    episodes = [
        {
            "id": f"turn-{number}",
            "session": "s7",
            "role": role,
            "text": text,
            "created_at": f"2026-02-21T10:0{number}:00.000Z",
        }
        for number, (role, text) in enumerate(turns)
    ]
    memory.write("add_episodes", {"episodes": episodes}, Provenance("prompt", "user"))
    yield memory
    memory.close()


def texts(memory: Memory, question: str, session: str = "") -> list[str]:
    return [hit.text for hit in Fabric(memory, NOW).recall(question, session=session).hits]


@pytest.mark.parametrize(
    "text", ["OK.", "Noted.", "Continue to iterate?", "Yes, please go on!", "👍", ""]
)
def test_a_turn_that_only_expresses_agreement_has_no_content(text: str) -> None:
    assert not says_something(text)


@pytest.mark.parametrize("text", ["Postgres.", "Use pnpm", "42", "使用 pnpm"])
def test_a_name_or_a_number_counts_as_content(text: str) -> None:
    assert says_something(text)


def test_recall_omits_turns_without_content(memory: Memory) -> None:
    found = texts(memory, QUESTION)

    assert found[0] == "We use pytest for tests, never unittest."
    assert not {"OK.", "Noted.", "Continue to iterate?"}.intersection(found)


def test_recall_does_not_return_a_turn_that_equals_the_question(memory: Memory) -> None:
    assert QUESTION not in texts(memory, "what do we use for tests")
    assert QUESTION not in texts(memory, QUESTION)


def test_recall_omits_questions_asked_earlier_in_the_same_session(memory: Memory) -> None:
    asked = "Do the slow tests use a database?"

    assert asked in texts(memory, "slow tests with a fixture", session="s9")
    assert asked not in texts(memory, "slow tests with a fixture", session="s7")


def test_an_exact_phrase_also_finds_turns_without_content(memory: Memory) -> None:
    assert "Noted." in texts(memory, '"noted"')


def test_recall_omits_a_past_question_with_the_same_meaning(memory: Memory) -> None:
    asked = "Do the slow tests use a database?"

    assert asked in texts(memory, "why are the tests slow")
    assert asked not in texts(memory, "is there a database for slow tests")


@pytest.mark.parametrize("errand", ["undo", "undo 1a2b3c4d", "push it"])
def test_recall_omits_an_unrelated_request_but_finds_a_short_answer(
    memory: Memory, errand: str
) -> None:
    turns = ["The lamp shade is too dark.", errand, "Which lamp shade is next?", "Sapphire"]
    episodes = [
        {
            "id": f"lamp-{number}",
            "session": "s8",
            "role": "user",
            "text": text,
            "created_at": f"2026-02-22T10:0{number}:00.000Z",
        }
        for number, text in enumerate(turns)
    ]
    memory.write("add_episodes", {"episodes": episodes}, Provenance("prompt", "user"))

    found = texts(memory, "lamp shade colour")

    assert errand not in found
    assert "Sapphire" in found


def kept(question: str, *candidates: Candidate, session: str = "") -> list[str]:
    """Return the texts that are left of these candidates."""
    query = parse(question, now=NOW)
    return [one.text for one in without_empty_turns(candidates, query, session)]


def a_turn(text: str, role: str = "user", **fields: Any) -> Candidate:
    metadata = {"role": role, "session": "s7"}
    return a_candidate(text, source="episodes", metadata=metadata, **fields)


def test_only_a_users_question_that_adds_nothing_or_is_of_this_session_is_left_out() -> None:
    asked, more = "which lamp shade?", "which lamp shade is a bargain?"

    assert kept("lamp shade", a_turn(asked)) == []
    assert kept("lamp shade", a_turn(asked, "assistant")) == [asked]
    assert kept("lamp shade", a_candidate(asked)) == [asked]
    assert kept("lamp shade", a_turn(more)) == [more]
    assert kept("lamp shade", a_turn(more), session="s7") == []
    assert kept("lamp shade", a_turn(more), session="s8") == [more]


@pytest.mark.parametrize(("chars", "count"), [(80, 0), (81, 1)])
def test_only_a_short_turn_is_judged_by_whether_it_says_something(chars: int, count: int) -> None:
    assert len(kept("lamp shade", a_turn("ok ".ljust(chars - 1, ".") + "!"))) == count


def test_a_short_request_is_left_out_only_if_it_is_a_turn_on_another_subject() -> None:
    assert kept("lamp shade", a_turn("deploy staging")) == []
    assert kept("lamp shade", a_turn("deploy staging now")) == ["deploy staging now"]
    assert kept("lamp shade", a_turn("sapphire shade")) == ["sapphire shade"]
    assert kept("lamp shade", a_turn("使用 pnpm")) == ["使用 pnpm"]
    assert kept("lamp shade", a_candidate("deploy staging")) == ["deploy staging"]
    assert kept("lamp shade", a_turn("Sapphire", before="Which one? ")) == ["Sapphire"]
    assert kept("lamp shade", a_turn("Sapphire", before="That one.")) == []

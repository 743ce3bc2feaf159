"""Recall gives a record, and not also the turns that state it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.models import Provenance
from memory_fabric.recall.answering import folded
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, a_hit, open_memory, remember

RULE = "Integration tests need a database of their own"


def a_turn(text: str, number: int = 1) -> dict[str, str]:
    return {
        "id": f"turn-{number}",
        "session": "s7",
        "role": "user",
        "text": text,
        "created_at": f"2026-02-21T10:0{number}:00.000Z",
    }


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    remember(memory, RULE, by=USER._replace(session="s7"))
    yield memory
    memory.close()


def say(memory: Memory, *texts: str) -> None:
    turns = [a_turn(text, number) for number, text in enumerate(texts)]
    memory.write("add_episodes", {"episodes": turns}, Provenance("prompt", "user"))


@pytest.mark.parametrize(
    "said",
    [
        RULE,
        f"One more thing before lunch: {RULE.lower()}, so that runs do not disturb one another.",
    ],
)
def test_recall_returns_only_the_record_if_a_turn_states_the_same_content(
    memory: Memory, said: str
) -> None:
    say(memory, said)

    hits = Fabric(memory, NOW).recall("What do integration tests need?").hits

    assert [(hit.source, hit.text) for hit in hits] == [("records", RULE)]


def test_a_turn_with_different_content_is_not_merged_into_a_record(memory: Memory) -> None:
    say(memory, "The integration tests took nine minutes on the old machine")

    hits = Fabric(memory, NOW).recall("What do integration tests need?").hits

    assert [hit.source for hit in hits] == ["records", "episodes"]


def test_a_record_lists_its_merged_turns_and_takes_the_rank_of_the_best_one() -> None:
    record = a_hit(RULE)
    turn = a_hit(f"{RULE}, please", id="episode:t1", source="episodes")
    other = a_hit("Deploys run on Friday", id="record:other")

    hits = folded([turn, other, record])

    assert [hit.id for hit in hits] == [record.id, "record:other"]
    assert hits[0].metadata["said_in_turns"] == ["episode:t1"]


def test_a_turn_with_a_different_number_is_not_merged() -> None:
    record = a_hit("Login tokens of the public web page expire after exactly 15 long minutes")
    turn = a_hit(
        "Login tokens of the public web page expire after exactly 30 long minutes",
        id="episode:t1",
        source="episodes",
    )

    assert len(folded([record, turn])) == 2


def words_of(count: int) -> str:
    return " ".join(f"thing{'abcdfhijkl'[n]}" for n in range(count))


@pytest.mark.parametrize(("in_record", "in_turn", "left"), [(10, 9, 1), (10, 8, 2), (3, 3, 1)])
def test_a_turn_with_nearly_all_words_of_a_record_is_merged(
    in_record: int, in_turn: int, left: int
) -> None:
    turn = a_hit(words_of(in_turn), id="episode:t1", source="episodes")

    assert len(folded([a_hit(words_of(in_record)), turn])) == left


def test_a_record_of_two_words_takes_in_no_turn() -> None:
    turn = a_hit("Use Redis today", id="episode:t1", source="episodes")

    assert len(folded([a_hit("Use Redis"), turn])) == 2


@pytest.mark.parametrize(("chars", "left"), [(600, 1), (601, 2)])
def test_only_a_turn_of_at_most_600_characters_is_merged(chars: int, left: int) -> None:
    turn = a_hit(f"{RULE}. ".ljust(chars, "."), id="episode:t1", source="episodes")

    assert len(folded([a_hit(RULE), turn])) == left


def test_a_record_lists_all_its_merged_turns_and_keeps_its_score() -> None:
    record = a_hit(RULE, score=0.5)
    turns = [a_hit(RULE, id=f"episode:t{n}", source="episodes", score=0.3) for n in (1, 2)]

    [hit] = folded([record, *turns])

    assert hit.score == 0.5
    assert hit.metadata["said_in_turns"] == ["episode:t1", "episode:t2"]


def test_hits_without_records_are_returned_unchanged() -> None:
    turns = [a_hit(RULE, id=f"episode:t{n}", source="episodes") for n in range(2)]

    assert folded(turns) == turns
    assert folded([]) == []

"""Near words: what a search that somebody asks for finds beside the very words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.language.concepts import concepts, near_words
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, open_memory, remember


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def near(text: str) -> set[str]:
    return {word for concept in concepts(parse(text)) for word in near_words(concept)}


def texts(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in Fabric(memory, NOW).recall(question).hits]


def test_synonyms_are_symmetric_and_exclude_the_word_itself() -> None:
    assert "outage" in near("crash")
    assert "crash" in near("outage")
    assert "crash" not in near("crash")
    assert near("frobnicate") == set()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("which database?", "Orders are kept in PostgreSQL"),
        ("how does sign-in work? login", "Authentication goes through the gateway"),
        ("outages in spring", "The crash came from a full disk"),
    ],
)
def test_a_search_finds_records_by_synonyms(memory: Memory, question: str, said: str) -> None:
    remember(memory, said)
    remember(memory, "The office has a new coffee machine")

    assert texts(memory, question) == [said]


def test_an_exact_word_ranks_above_its_synonyms(memory: Memory) -> None:
    remember(memory, "The crash came from a full disk")
    remember(memory, "The outage came from a full disk")

    assert texts(memory, "outage") == [
        "The outage came from a full disk",
        "The crash came from a full disk",
    ]


def test_automatic_recall_for_a_prompt_ignores_synonyms(memory: Memory) -> None:
    remember(memory, "The crash came from a full disk")

    assert Fabric(memory, NOW).hits_to_inject("outage") == []

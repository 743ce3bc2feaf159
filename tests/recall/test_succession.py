"""Records found by the words of those that they replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import Record
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.relevance import MAX_STEPS, measure
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, a_candidate, open_memory

QUESTION = "What parses the arguments of subcommands?"
OLD = "Arguments are parsed by structopt"
NEW, NEWEST = "We moved to clap 4", "We went back to lexopt"
DAYS = ("2026-01-05", "2026-02-03", "2026-02-20")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def state(memory: Memory, *texts: str, scope: str = "team") -> list[Record]:
    """Records of one day after the other, each in the place of the one before."""
    stored: list[Record] = []
    for text, day in zip(texts, DAYS, strict=False):
        said = Record("decision", text, confidence=0.8, scope=scope)
        by = USER._replace(at=f"{day}T10:00:00.000Z")
        record = memory.remember(said, by, [one.id for one in stored[-1:]])
        assert record is not None
        stored.append(record)
    return stored


def texts(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in Fabric(memory, NOW).recall(question).hits]


def test_the_successor_is_found_by_the_words_of_the_record_that_it_replaced(memory: Memory) -> None:
    old, _ = state(memory, OLD, NEW)

    hits = Fabric(memory, NOW).recall(QUESTION, explain=True).hits

    assert [hit.text for hit in hits] == [NEW, OLD]
    assert hits[0].metadata["replaces"] == old.id
    assert {"arguments"} <= set(hits[0].metadata["matched"])


def test_a_prompt_gets_the_replacement_instead_of_the_replaced_record(memory: Memory) -> None:
    state(memory, OLD, NEW)

    assert [hit.text for hit in Fabric(memory, NOW).hits_to_inject(QUESTION)] == [NEW]


def test_a_prompt_about_the_past_gets_the_replaced_record_labelled_as_superseded(
    memory: Memory,
) -> None:
    state(memory, OLD, NEW)

    injection = Fabric(memory, NOW).inject_for_prompt("What parsed the arguments before clap?")

    assert OLD in injection.text
    assert "superseded by" in injection.text
    assert OLD not in Fabric(memory, NOW).inject_for_prompt(QUESTION).text


def test_a_chain_of_replacements_leads_to_the_newest_record(memory: Memory) -> None:
    state(memory, OLD, NEW, NEWEST)

    assert texts(memory, QUESTION)[0] == NEWEST
    assert [hit.text for hit in Fabric(memory, NOW).hits_to_inject(QUESTION)] == [NEWEST]


def test_a_question_about_the_past_finds_the_replaced_record_first(memory: Memory) -> None:
    state(memory, OLD, NEW)

    assert texts(memory, f"as_of:2026-01-15 {QUESTION}") == [OLD]
    assert texts(memory, "What parsed the arguments before?")[0] == OLD


def test_a_newer_record_that_replaced_a_match_must_also_match_the_filter(memory: Memory) -> None:
    state(memory, OLD, NEW)

    assert texts(memory, f"before:2026-02-01 {QUESTION}") == [OLD]


def test_a_replacement_with_local_scope_is_found_only_in_its_own_session(memory: Memory) -> None:
    state(memory, OLD, NEW, scope="local")
    fabric = Fabric(memory, NOW)

    assert [hit.text for hit in fabric.recall(QUESTION, session="s1").hits] == [NEW, OLD]
    assert fabric.recall(QUESTION, session="s2").hits == ()


def test_the_json_answer_contains_the_id_of_the_replaced_record(memory: Memory) -> None:
    old, _ = state(memory, OLD, NEW)

    first = answer_as_json(Fabric(memory, NOW).recall(QUESTION))["results"][0]

    assert (first["text"], first["metadata"]["replaces"]) == (NEW, old.id)


def chain(links: Sequence[int]) -> list[str]:
    """The records reached from the one that holds a word asked for, where each may have taken the
    place of any, itself included.
    """
    found = [
        a_candidate(
            "arguments are parsed" if i == 0 else f"other text {i}",
            id=f"record:{i}",
            source="records",
            metadata={"record": str(i), "superseded_by": str(after), "valid_to": ""},
        )
        for i, after in enumerate(links)
    ]
    measured = measure(found, parse(QUESTION), NOW)
    return [one.candidate.id for one in measured if one.mask]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_following_replacements_ends_despite_cycles(links: list[int]) -> None:
    ever = [0]
    while (following := links[ever[-1]]) < len(links) and following not in ever:
        ever.append(following)

    reached = chain(links)

    assert {f"record:{i}" for i in ever[: MAX_STEPS + 1]} <= set(reached)
    assert set(reached) <= {f"record:{i}" for i in ever}

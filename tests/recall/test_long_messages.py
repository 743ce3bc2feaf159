"""What a long message is about is found and told, wherever in it that stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.models import Filters
from memory_fabric.recall import inject, retrieve
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, open_memory, remember

RECORD = "Money is stored as integer cents, never as float"
REQUEST = "Store the money of a refund in the new column."
# Some 200 content words in sentences of their own.
CONTEXT = " ".join(
    f"In week {n} the gardener{n} planted tulip{n} and watered fern{n} beside the shed{n}."
    for n in range(40)
)
CHINESE_CONTEXT = "昨天我和同事去山上看了日出，天气非常冷但是风景很漂亮。" * 3 + (
    "回来的路上我们讨论了周末的聚餐计划，还买了一些水果。今天早上火车晚点，我在车站等了很久。"
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    remember(memory, RECORD)
    remember(memory, "退款金额必须用整数分保存")
    for n in range(6):
        remember(memory, f"The gardener{n} of the shed{n} is paid on Fridays")
    yield memory
    memory.close()


@pytest.mark.parametrize(
    "text",
    [
        f"{CONTEXT} {REQUEST}",
        f"{CONTEXT} {REQUEST} {CONTEXT}",
        f"{REQUEST} {CONTEXT}",
    ],
    ids=["behind", "between", "before"],
)
def test_a_request_at_any_position_in_a_long_message_gets_the_matching_memory(
    memory: Memory, text: str
) -> None:
    alone = Fabric(memory, NOW).inject_for_prompt(REQUEST).text
    told = Fabric(memory, NOW).inject_for_prompt(text).text

    assert RECORD in alone
    assert RECORD in told


def test_a_chinese_request_after_other_sentences_finds_the_matching_memory(memory: Memory) -> None:
    answer = Fabric(memory, NOW).recall(f"{CHINESE_CONTEXT}退款的金额应该怎样保存？")

    assert answer.hits[0].text == "退款金额必须用整数分保存"


def test_a_memory_is_ranked_by_its_best_matching_sentence_of_the_message(memory: Memory) -> None:
    remember(memory, "Gardener3 keeps tulip5 and fern9 in shed11")  # words of four sentences

    answer = Fabric(memory, NOW).recall(f"{CONTEXT} Is money stored as integer cents or as float?")

    assert answer.hits[0].text == RECORD


def test_words_that_occur_in_no_memory_do_not_count_toward_the_search_term_limit(
    memory: Memory,
) -> None:
    strange = " ".join(f"unheard{n}" for n in range(500))
    query = parse(f"{strange} money refund {strange[::-1]} cents", now=NOW)

    asked = retrieve.with_rarest_terms(query, memory.readers(), retrieve.EVERY_SOURCE)

    assert {"money", "cents"} <= set(asked.terms)
    assert len(asked.terms) == retrieve.SEARCHED_TERMS


def test_only_the_rarest_words_of_a_long_query_are_searched(memory: Memory) -> None:
    query = parse("paid fridays gardener3 integer", now=NOW)

    asked = retrieve.with_rarest_terms(query, memory.readers(), retrieve.EVERY_SOURCE, 2)

    assert asked.terms == ("gardener3", "integer")


def test_a_short_question_keeps_all_its_words_without_a_database_query(memory: Memory) -> None:
    query = parse("integer unheard cents", now=NOW)

    assert retrieve.with_rarest_terms(query, (), retrieve.EVERY_SOURCE) == query


def test_the_store_counts_rows_that_contain_a_word_only_in_the_given_tables(memory: Memory) -> None:
    (reader,) = (r for r in memory.readers() if r.kind == "project")

    assert reader.rows_with(["fridays", "integer", "unheard"], {"records"}) == {
        "fridays": 6,
        "integer": 1,
    }
    assert reader.rows_with(["integer"], {"episodes"}) == {}
    assert reader.records([["integer"]], 5, Filters(), "")


def test_a_message_of_unrelated_sentences_gets_no_memory(memory: Memory) -> None:
    strangers = " ".join(f"The baker{n} sold bread{n} to the sailor{n}." for n in range(40))

    assert Fabric(memory, NOW).inject_for_prompt(strangers).text == ""


def test_a_request_before_a_pasted_log_gets_the_matching_memory(memory: Memory) -> None:
    log = "\n".join(f"[2026-02-0{n}] worker {n} {{ok}} cents 0.{n}" for n in range(1, 10))

    told = Fabric(memory, NOW).inject_for_prompt(f"{REQUEST}\n\n{log}").text

    assert RECORD in told
    assert Fabric(memory, NOW).inject_for_prompt(log).text == ""


def test_a_list_in_a_prompt_is_not_taken_for_pasted_text(memory: Memory) -> None:
    tasks = "\n".join(f"- plant tulip{n} near the pond" for n in range(9))

    query = inject.query_of(f"Please do this:\n{tasks}\n- {REQUEST}", NOW)

    assert REQUEST in query.asked


def test_words_of_a_pasted_log_do_not_cause_memories_to_be_injected(
    memory: Memory,
) -> None:
    log = "\n".join(f"  at gardener{n}.shed{n} (paid/fridays.js:{n})" for n in range(10))

    told = Fabric(memory, NOW).inject_for_prompt(f"The same happens again here:\n\n{log}").text

    assert told == ""

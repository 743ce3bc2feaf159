"""Names meant by an alias or a misspelt word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.recall.meant import edits, with_names_meant
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.history import merge
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import entity_search
from recall.given import NOW, USER, open_memory, remember

RULE = "Cache sessions in Redis with a prefix for each tenant"
CODE = "Write every module of the shop in TypeScript"
CLUSTER = "The Zephyrion cluster is restarted on Sundays"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory of three subjects, one of them with an alias."""
    found = open_memory(tmp_path)
    remember(found, RULE, names=("Redis",))
    remember(found, CODE, names=("TypeScript",))
    remember(found, CLUSTER, names=("Zephyrion",))
    merge.change_aliases(found, "Zephyrion", ["zph"], USER)
    yield found
    found.close()


def meant(memory: Memory, text: str) -> dict[str, str]:
    """The names that words of a question mean."""
    return dict(with_names_meant(parse(text, plain=True), memory.readers()).meant)


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("redis", "redis", 0),
        ("reedis", "redis", 1),
        ("rdis", "redis", 1),
        ("radis", "redis", 1),
        ("typsecript", "typescript", 1),
        ("tpyscript", "typescript", 2),
        ("rust", "redis", 3),
    ],
)
def test_edit_distance_is_computed_only_up_to_a_limit(one: str, other: str, count: int) -> None:
    assert edits(one, other, 2) == edits(other, one, 2) == count


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("how do we use Reedis", {"reedis": "Redis"}),
        ("which typsecript version", {"typsecript": "TypeScript"}),
        ("restart the zephirion nodes", {"zephirion": "Zephyrion"}),
        ("restart zph tonight", {"zph": "Zephyrion"}),
        ("where are reads cached", {}),
        ("what about the tenant and his sessions", {}),
        ("redi is short", {}),
        ("how do we use rydis", {"rydis": "Redis"}),
        ("restart the zefyrion nodes", {"zefyrion": "Zephyrion"}),
        ("restart the zefyron nodes", {}),
        ("restart the kefyrion nodes", {}),
        ("how do we use Kafka", {}),
    ],
)
def test_misspelt_names_and_aliases_are_mapped_to_the_entity_name(
    memory: Memory, text: str, names: dict[str, str]
) -> None:
    assert meant(memory, text) == names


def test_a_word_found_in_memory_is_not_taken_for_a_typo(memory: Memory) -> None:
    remember(memory, "Reedis is our fork of a cache")

    assert meant(memory, "how do we use Reedis") == {}


def test_a_misspelt_name_that_resembles_two_entities_is_not_corrected(memory: Memory) -> None:
    remember(memory, "Zephyriox is another cluster", names=("Zephyriox",))

    assert meant(memory, "restart zephyrios") == {}


@pytest.mark.parametrize(
    ("prompt", "text"),
    [("Which prefix do sessions in Reedis get?", RULE), ("zph cluster restarted when?", CLUSTER)],
)
def test_a_misspelt_name_in_a_prompt_finds_and_injects_the_record(
    memory: Memory, prompt: str, text: str
) -> None:
    fabric = Fabric(memory, NOW)

    assert fabric.recall(prompt).hits[0].text == text
    assert [hit.text for hit in fabric.hits_to_inject(prompt)] == [text]


def test_a_question_that_is_one_misspelt_name_finds_the_record(memory: Memory) -> None:
    for asked, text in (("typsecript", CODE), ("zph", CLUSTER), ("reedis", RULE)):
        assert text in [hit.text for hit in Fabric(memory, NOW).recall(asked).hits], asked


def test_graph_search_finds_an_entity_by_one_word_of_its_alias(memory: Memory) -> None:
    (database,) = memory.databases()

    found = entity_search.find(database, "zph restarted")

    assert found.best[0][1] == "Zephyrion"


@pytest.mark.parametrize(("asked", "names"), [("kubrixa", {"kubrixa": "Kubrina"}), ("kobrixa", {})])
def test_a_word_of_seven_letters_may_have_one_typo_but_not_two(
    memory: Memory, asked: str, names: dict[str, str]
) -> None:
    remember(memory, "Kubrina plans the shifts", names=("Kubrina",))

    assert meant(memory, f"ask {asked} about the shifts") == names


def test_a_number_and_an_ordinary_word_are_never_taken_for_a_misspelt_name(memory: Memory) -> None:
    remember(memory, "Zephyr1 and 20261 are rooms", names=("20261", "Cables"))

    assert meant(memory, "book 20262 with two tables") == {}


def test_at_most_six_unknown_words_are_compared_with_names(memory: Memory) -> None:
    strange = "qwxlor qwxlur qwxlar qwxler qwxlir"

    assert meant(memory, f"{strange} zephirion") == {"zephirion": "Zephyrion"}
    assert meant(memory, f"{strange} qwxlyr zephirion") == {}

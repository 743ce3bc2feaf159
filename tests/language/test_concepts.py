from __future__ import annotations

from memory_fabric.language.concepts import concepts, name_keys
from memory_fabric.recall.parse import parse


def test_an_abbreviated_technology_is_also_searched_by_its_full_name() -> None:
    [concept] = concepts(parse("k8s"))

    assert {"k8s", "kubernetes"} <= set(concept.spellings)


def test_a_search_for_an_abbreviation_also_finds_its_full_form() -> None:
    [concept] = concepts(parse("db"))

    assert concept.spellings == ("db", "database")


def test_common_words_of_prompts_have_a_lower_weight_than_nouns_and_names() -> None:
    weights = {c.text: c.strength for c in concepts(parse("fix the invoices in Redis"))}

    assert weights["fix"] < weights["invoices"] < weights["redis"]


def test_words_of_an_agents_name_have_a_lower_weight_than_the_subject() -> None:
    weights = {c.text: c.strength for c in concepts(parse("what did database-engineer say"))}

    assert weights["database"] < 1.0


def test_inflections_of_one_word_are_one_search_concept() -> None:
    assert len(concepts(parse("caching caches cached"))) == 1


def test_names_are_recognised_as_word_sequences_and_by_known_abbreviations() -> None:
    keys = name_keys("is the list endpoints service on pg")

    assert {"listendpoints", "postgresql"} <= keys

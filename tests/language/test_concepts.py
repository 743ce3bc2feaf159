from __future__ import annotations

from memory_fabric.language.concepts import concepts, name_keys
from memory_fabric.recall.parse import parse


def test_an_abbreviated_technology_is_also_searched_by_its_full_name() -> None:
    [concept] = concepts(parse("k8s"))

    assert {"k8s", "kubernetes"} <= set(concept.spellings)


def test_a_search_for_an_abbreviation_also_finds_its_full_form() -> None:
    [concept] = concepts(parse("db"))

    assert concept.spellings == ("db", "database")


def test_a_search_weights_names_above_nouns_and_nouns_above_common_prompt_words() -> None:
    weights = {c.text: c.strength for c in concepts(parse("fix the invoices in Redis"))}

    assert weights["fix"] < weights["invoices"] < weights["redis"]


def test_words_in_an_agents_name_have_a_reduced_weight_in_a_search() -> None:
    weights = {c.text: c.strength for c in concepts(parse("what did database-engineer say"))}

    assert weights["database"] < 1.0


def test_inflected_forms_of_a_word_count_as_one_search_term() -> None:
    assert len(concepts(parse("caching caches cached"))) == 1


def test_names_written_as_separate_words_or_abbreviations_are_recognised() -> None:
    keys = name_keys("is the list endpoints service on pg")

    assert {"listendpoints", "postgresql"} <= keys


def test_a_short_and_a_long_form_of_a_word_are_searched_alike() -> None:
    [short], [long] = concepts(parse("docs")), concepts(parse("documentation"))

    assert short.spellings == ("docs", "documentation")
    assert long.spellings == ("documentation", "docs")
    assert short.stems == long.stems and len(short.stems) == 2


def test_names_of_at_most_four_words_are_recognised() -> None:
    keys = name_keys("a1 b2 c3 d4 e5")

    assert {"a1", "e5", "b2c3", "a1b2c3d4", "b2c3d4e5"} <= keys
    assert "a1b2c3d4e5" not in keys and len(keys) == 5 + 4 + 3 + 2

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


def test_a_short_form_and_its_long_form_are_searched_and_matched_alike() -> None:
    [short], [long] = concepts(parse("docs")), concepts(parse("documentation"))

    assert short.spellings == ("docs", "documentation")
    assert long.spellings == ("documentation", "docs")
    assert short.stems == long.stems and len(short.stems) == 2


def test_numbers_and_words_of_other_languages_weigh_less_than_nouns() -> None:
    weights = {c.text: c.strength for c in concepts(parse("invoices 42 nicht"))}

    assert weights["nicht"] < weights["42"] < weights["invoices"]


def test_each_word_of_an_agents_name_is_one_concept_beside_the_name() -> None:
    found = concepts(parse("what did database-engineer say about invoices"))

    by_text = {concept.text: concept for concept in found}
    assert by_text["engineer"].spellings == ("engineer",)
    assert by_text["engineer"].strength < by_text["invoices"].strength


def test_names_of_at_most_four_words_are_recognised() -> None:
    keys = name_keys("alpha beta gamma delta epsilon")

    assert {"alpha", "epsilon", "betagamma", "alphabetagammadelta", "betagammadeltaepsilon"} <= keys
    assert "alphabetagammadeltaepsilon" not in keys and len(keys) == 5 + 4 + 3 + 2

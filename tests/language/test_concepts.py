from __future__ import annotations

from memory_fabric.language.concepts import concepts, name_keys
from memory_fabric.recall.parse import parse


def test_a_technology_is_asked_for_in_all_its_spellings() -> None:
    [concept] = concepts(parse("k8s"))

    assert {"k8s", "kubernetes"} <= set(concept.spellings)


def test_short_forms_are_asked_for_in_full() -> None:
    [concept] = concepts(parse("db"))

    assert concept.spellings == ("db", "database")


def test_words_of_every_prompt_weigh_less_than_words_that_name_something() -> None:
    weights = {c.text: c.strength for c in concepts(parse("fix the invoices in Redis"))}

    assert weights["fix"] < weights["invoices"] < weights["redis"]


def test_an_agents_words_count_but_are_not_what_is_asked() -> None:
    weights = {c.text: c.strength for c in concepts(parse("what did database-engineer say"))}

    assert weights["database"] < 1.0


def test_variants_of_one_word_are_one_concept() -> None:
    assert len(concepts(parse("caching caches cached"))) == 1


def test_names_are_found_in_runs_of_words_and_by_their_known_variant() -> None:
    keys = name_keys("is the list endpoints service on pg")

    assert {"listendpoints", "postgresql"} <= keys

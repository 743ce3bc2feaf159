"""Names that are known or classified before anything was learned."""

from __future__ import annotations

import pytest

from memory_fabric.language.proper_names import is_ordinary, kind_of
from memory_fabric.language.vocabulary import (
    AGENT_TERMS,
    KNOWN_AGENTS,
    ORDINARY,
    PATTERNS,
    TECHNOLOGIES,
    agent_terms,
    canonical,
    entity_type,
    is_agent,
)
from memory_fabric.text import name_key

BRIEF_AGENTS = (
    "database-engineer backend-system-architect frontend-ui-developer security-auditor "
    "test-generator workflow-architect llm-integrator data-pipeline-engineer"
).split()
BRIEF_TECHNOLOGIES = (
    "pgvector PostgreSQL FastAPI SQLAlchemy React TypeScript LangGraph Redis Celery Docker "
    "Kubernetes"
).split()


@pytest.mark.parametrize("agent", BRIEF_AGENTS)
def test_every_agent_named_in_the_specification_is_known_and_has_search_terms(agent: str) -> None:
    assert agent in KNOWN_AGENTS
    assert agent_terms(agent)


@pytest.mark.parametrize("name", BRIEF_TECHNOLOGIES)
def test_every_technology_named_in_the_specification_is_known(name: str) -> None:
    assert canonical(name.lower()) == name
    assert entity_type(name) == "technology"


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("k8s", "Kubernetes"),
        ("postgres", "PostgreSQL"),
        ("pg", "PostgreSQL"),
        ("node_js", "Node.js"),
        ("Cursor Pagination", "cursor-pagination"),
        ("something else", "something else"),
    ],
)
def test_a_variant_is_mapped_to_its_canonical_name(variant: str, name: str) -> None:
    assert canonical(variant) == name


@pytest.mark.parametrize("name", ["billing-engineer", "api-designer", "cloud-cost-analyst"])
def test_a_hyphenated_name_ending_in_a_role_is_an_agent(name: str) -> None:
    assert is_agent(name)
    assert entity_type(name) == "agent"


@pytest.mark.parametrize("name", ["engineer", "non-developer", "cursor-pagination", "Re-Tester"])
def test_names_such_as_engineer_or_non_developer_are_not_recognised_as_agents(name: str) -> None:
    assert not is_agent(name)


def test_a_name_ending_in_a_word_like_pagination_is_classified_as_a_pattern() -> None:
    assert entity_type("token-pagination") == "pattern"
    assert entity_type("Token-Pagination") == "pattern"
    assert entity_type("pagination") == entity_type("kitchen-table") == ""


def test_every_technology_and_pattern_name_can_be_looked_up_in_normalised_form() -> None:
    for table in (TECHNOLOGIES, PATTERNS):
        for key, name in table.items():
            assert key == name_key(key)
            assert table.get(name_key(name)) == name


def test_each_ordinary_word_listed_as_a_name_is_a_known_technology_or_pattern() -> None:
    assert all(word in TECHNOLOGIES or word in PATTERNS for word in ORDINARY)


def test_search_terms_of_an_unknown_agent_are_derived_from_its_name() -> None:
    assert "PostgreSQL" in agent_terms("database-tuning-specialist")
    assert agent_terms("poem-writer") == ()


def test_the_database_engineer_agent_is_searched_by_postgresql_schema_and_migration() -> None:
    assert {"PostgreSQL", "schema", "migration"} <= set(AGENT_TERMS["database-engineer"])


def test_an_agents_name_is_found_in_any_case_and_its_words_in_any_spelling() -> None:
    assert agent_terms("Database-Engineer") == AGENT_TERMS["database-engineer"]
    assert agent_terms("sql_Tuning") == agent_terms("sql-tuning") != ()


def test_an_ordinary_word_in_an_agents_name_is_a_technology_only_before_a_role() -> None:
    assert "Go" in agent_terms("go-expert") and "Go" in agent_terms("go-engineer")
    assert "Go" not in agent_terms("go-live")
    assert "Redis" in agent_terms("redis-live")
    assert agent_terms("sql-sql") == agent_terms("sql")


@pytest.mark.parametrize(
    ("name", "before", "after", "kind"),
    [
        ("Germany", "", "", "place"),
        ("Cape Town", "", "", "place"),
        ("Globex Inc.", "", "", "organisation"),
        ("Inc", "", "", ""),
        ("Ann", "", "", "person"),
        ("Jean-Luc Zork", "", "", "person"),
        ("Zork", "customer", "", "organisation"),
        ("Zork", "at", "", "organisation"),
        ("Zork", "ask", "", "person"),
        ("Zork", "by", "", ""),
        ("Zork", "", "said", "person"),
        ("ZORK", "", "said", ""),
        ("Zork", "", "runs", ""),
    ],
)
def test_the_kind_of_a_name_follows_from_the_name_and_the_words_around_it(
    name: str, before: str, after: str, kind: str
) -> None:
    assert kind_of(name.split(), before.split(), after) == kind


def test_plurals_and_verb_forms_of_ordinary_words_are_ordinary() -> None:
    words = "save saves boxes saved walking walked zorks saver".split()

    assert [word for word in words if not is_ordinary(word)] == ["zorks", "saver"]

"""The meaning of an agent's type: its subject, its domain, whether it only searches."""

from __future__ import annotations

import pytest

from memory_fabric.recall.agent_domains import plain_name
from memory_fabric.recall.for_agents import Kind, kind_of


@pytest.mark.parametrize("name", ["general-purpose", "claude", "fork", "", "Claude"])
def test_a_general_purpose_agent_has_no_search_terms_and_no_domain(name: str) -> None:
    assert kind_of(name, {}) == Kind(plain_name(name))


@pytest.mark.parametrize(
    "name",
    [
        *("Explore", "Plan", "statusline-setup", "output-style-setup", "claude-code-guide"),
        *("code-searcher", "pr-review-toolkit:code-explorer", "grep_agent", "file-finder"),
        *("codebase-locator", "web-search-researcher"),
    ],
)
def test_an_agent_that_only_searches_is_recognised_by_its_name(name: str) -> None:
    kind = kind_of(name, {})

    assert kind.searches
    assert (kind.terms, kind.domain) == ((), "")


@pytest.mark.parametrize("name", ["planner", "research-writer", "findings-reporter", "planetary"])
def test_an_agent_with_a_name_like_planner_is_not_treated_as_a_search_agent(name: str) -> None:
    assert not kind_of(name, {}).searches


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("my-plugin:database-engineer", "PostgreSQL"),
        ("Database_Engineer", "schema"),
        ("payments:db-tuner", "migration"),
        ("api-tester", "REST"),
        ("api-tester", "pytest"),
        ("postgres-expert", "PostgreSQL"),
        ("go-developer", "Go"),
        ("react-specialist", "React"),
        ("release-captain", "changelog"),
    ],
)
def test_search_terms_of_an_agent_are_derived_from_its_name(name: str, term: str) -> None:
    assert term in kind_of(name, {}).terms


@pytest.mark.parametrize("name", ["poem-writer", "go-around", "react-quickly", "x"])
def test_an_agent_name_of_unknown_words_sets_a_domain_but_no_search_terms(name: str) -> None:
    kind = kind_of(name, {})

    assert kind.terms == ()
    assert kind.domain == name.replace("-", "_")


def test_configured_terms_replace_the_built_in_terms_of_an_agent_type() -> None:
    stated = {"code-reviewer": "invoice, VAT rate,, invoice "}

    assert kind_of("code-reviewer", stated).terms == ("invoice", "VAT rate")
    assert kind_of("plugin:Code_Reviewer", stated).terms == ("invoice", "VAT rate")
    assert kind_of("code-writer", stated).terms == ()


def test_terms_for_an_agents_full_name_override_terms_for_its_short_name() -> None:
    stated = {"reviewer": "naming", "shop:reviewer": "prices"}

    assert kind_of("shop:reviewer", stated).terms == ("prices",)
    assert kind_of("other:reviewer", stated).terms == ("naming",)


def test_an_empty_configuration_removes_the_terms_and_domain_of_an_agent_type() -> None:
    assert kind_of("code-reviewer", {"code-reviewer": ""}) == Kind("code-reviewer")
    assert kind_of("code-reviewer", {"code-reviewer": " , "}) == Kind("code-reviewer")


def test_a_search_agent_with_configured_terms_is_treated_as_an_ordinary_agent() -> None:
    assert kind_of("Explore", {"explore": "layout"}) == Kind("explore", ("layout",))

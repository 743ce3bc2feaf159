"""Nearly the same words say the same, unless one of them denies, counts or names something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.near_duplicates import says_the_same
from memory_fabric.models import Entity, Record

RULE = "We keep all feature flags in the central settings service"


def rule(what: str, **more: str) -> Record:
    return Record("constraint", what, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "again",
    [
        RULE.lower(),
        RULE + "!",
        "We are keeping all feature flags in the central settings service",
        "Keep feature flags in the central settings service",
    ],
)
def test_the_same_said_a_little_differently(again: str) -> None:
    assert says_the_same(rule(RULE), rule(again))


@pytest.mark.parametrize(
    "other",
    [
        "We never keep all feature flags in the central settings service",
        "We keep all feature flags in the central settings service 2",
        "We keep all feature flags in the central Redis service",
        "We keep all feature flags in the local config file",
        "We keep all secrets in the central settings service",
    ],
)
def test_a_denial_a_number_a_name_or_another_thing_makes_it_another(other: str) -> None:
    assert not says_the_same(rule(RULE), rule(other))


def test_a_name_of_the_memory_tells_too() -> None:
    ours = rule(RULE + " Atlas")._replace(entities=(Entity("Atlas", "component"),))

    assert not says_the_same(rule(RULE), ours)


def test_the_same_choice_in_other_words() -> None:
    assert says_the_same(rule("Use pnpm, not npm"), rule("We use pnpm instead of npm here"))
    assert not says_the_same(rule("Use pnpm, not npm"), rule("We use npm instead of pnpm here"))
    assert not says_the_same(rule("Use pnpm, not npm"), rule("Use pnpm, not yarn"))


def test_few_words_must_all_be_the_same() -> None:
    assert not says_the_same(rule("Run the linter"), rule("Run the linter first"))


def test_other_scopes_and_domains_stay_apart() -> None:
    assert not says_the_same(rule(RULE), rule(RULE, scope="user"))
    assert not says_the_same(rule(RULE), rule(RULE, domain="code_reviewer"))


@given(st.text(max_size=80), st.text(max_size=80))
def test_it_does_not_matter_which_was_first(left: str, right: str) -> None:
    a, b = rule(left), rule(right)

    assert says_the_same(a, b) == says_the_same(b, a)
    assert says_the_same(a, a)

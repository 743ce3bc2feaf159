"""A rule of another person asks at most, and only if an owner of the team's space marked it."""

from __future__ import annotations

import pytest

from memory_fabric.client import Client
from memory_fabric.config import read_settings
from memory_fabric.models import EFFECT, FOR_TEAM, OTHERS, QUOTATION, WHEN, Record
from memory_fabric.rules import effects
from memory_fabric.rules.bindings import bindings_of

SETTINGS = read_settings({"HOME": "/home/ann"}, {})._replace(attended=True)
[PUSH] = bindings_of("git push")
CLAIMED = {WHEN: "git push", EFFECT: "deny", QUOTATION: "never push"}


def rule(**evidence: object) -> Record:
    return Record("constraint", "Never push", source=OTHERS, evidence={**CLAIMED, **evidence})


@pytest.mark.parametrize("trust", ["foreign", "user"])
def test_a_shared_rule_asks_the_user_only_if_a_space_owner_requires_it(trust: str) -> None:
    marked = rule(**{FOR_TEAM: True})._replace(trust=trust)

    assert effects.effect_of(marked, PUSH, SETTINGS) == effects.ASK
    assert effects.effect_of(rule()._replace(trust=trust), PUSH, SETTINGS) == effects.CONTEXT


def test_a_team_rule_is_only_shown_if_the_session_cannot_ask_the_user() -> None:
    marked = rule(**{FOR_TEAM: True})
    cannot_ask = SETTINGS._replace(client=Client("codex", "Codex", asks=False))

    for settings in (cannot_ask, SETTINGS._replace(attended=False)):
        assert effects.effect_of(marked, PUSH, settings) == effects.CONTEXT

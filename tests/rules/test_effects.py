"""The effect of a rule: by the user's words, by its trust, and as the user has set it."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.client import Client
from memory_fabric.config import SDK, read_settings
from memory_fabric.errors import BadInput
from memory_fabric.models import CONFIRMED, EFFECT, LIFTED, QUOTATION, UNSAID, WHEN, Record
from memory_fabric.rules import effects
from memory_fabric.rules.bindings import Binding, bindings_of
from memory_fabric.rules.effects import ASK, CONTEXT, DENY, LIFT, TELL

SETTINGS = read_settings({"HOME": "/home/ann"}, {})._replace(attended=True)
NOW = "2026-03-01T12:00:00.000Z"
# The user has not typed the name of this binding.
UNSAID_PUSH: dict[str, Any] = {UNSAID: ["push"]}
UNSAID_DEPLOY: dict[str, Any] = {UNSAID: ["deploy"]}


def bound(when: str) -> Binding:
    [binding] = bindings_of(when)
    return binding


def push_rule(what: str = "Pushes are reviewed", trust: str = "user", **evidence: Any) -> Record:
    return Record("constraint", what, trust=trust, evidence={WHEN: "git push", **evidence})


BANS_OF_PUSHES = (
    *("Never push", "Don’t push", "dont push", "We do not push", "Stop pushing", "禁止 push"),
    *("We deploy.\nNever push", "Never push one two three four five six"),
)
NO_BANS_OF_PUSHES = (
    *("禁止 deploy", "Do push", "Push, but never deploy", "Never mind, push it"),
    *("Please push. Never deploy", "Never push on fridays", "Never push unless told"),
    "Never push one two three four five six seven",
)


@pytest.mark.parametrize(
    ("when", "text", "expected"),
    [
        *(("git push", text, True) for text in BANS_OF_PUSHES),
        *(("git push", text, False) for text in NO_BANS_OF_PUSHES),
        ("`npm run`", "Never run migrations by hand", False),
        ("`npm run`", "Never use npm run here", True),
        ("./run", "Never start run yourself", True),
        ("src/api/**", "src/api must not be changed", True),
        ("src/api/**", "src/api must not be empty", False),
        ("src/api/**", "Never touch src/api", True),
        ("`make clean`", "make clean must not be changed", False),
        ("`make clean`", "Never make it dirty", True),
        ("`npm run zap`", "Never run npm", False),
        ("`npm run zap`", "Never zap", True),
        ("`zap --force x`", "Never use force", False),
        ("`sudo`", "Never use sudo", True),
        ("`zap --force x`", "Never use x", False),
    ],
)
def test_a_rule_forbids_only_what_an_unconditional_ban_in_the_same_clause_names(
    when: str, text: str, *, expected: bool
) -> None:
    assert effects.forbids(text, bound(when)) is expected


@pytest.mark.parametrize(
    ("when", "typed", "expected"),
    [
        ("git push", "pushing is slow", True),
        ("git push", "git is slow", False),
        ("`make clean`", "make it clean", True),
        ("`make clean`", "make it", False),
        ("`npm run zap`", "npm run it", False),
        ("`npm run zap`", "zap it", True),
        ("`just clean`", "just cleaning", True),
        ("`just clean`", "just cleanable", False),
        ("`just fmt`", "just fmts", False),
        ("`just sync`", "just syncs", True),
        ("`just migrate`", "just migration", True),
        ("`just migrate`", "just migra", False),
        ("`just deploy`", "just déployer", True),
        ("src/api/**", "the api", True),
        ("src/api/**", "the src", False),
        ("docs/*.md", "in Docs", True),
        ("docs/*.md", "every md", False),
        ("*.sql", "sql files", True),
        ("`yarn`", "use pnpm here", False),
        ("`yarn`", "no yarn here", True),
        ("`npm run`", "npm is slow", False),
    ],
)
def test_a_prompt_names_a_binding_by_all_its_words_or_any_word_of_its_activity(
    when: str, typed: str, *, expected: bool
) -> None:
    assert effects.is_named(bound(when), [typed]) is expected


def test_the_words_that_name_a_command_must_be_in_one_prompt() -> None:
    assert not effects.is_named(bound("`make clean`"), ["make it", "clean it"])
    assert effects.is_named(bound("`make clean`"), ["go on", "make it clean"])
    assert not effects.is_named(bound("`make clean`"), [])


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (push_rule(), TELL),
        (push_rule("Never push")._replace(source="prompt"), ASK),
        (push_rule("Never push"), TELL),
        (push_rule(**{QUOTATION: "never push"}), ASK),
        (push_rule("Never push", **{QUOTATION: "review pushes"})._replace(source="prompt"), TELL),
        (push_rule(trust="assistant"), CONTEXT),
        (push_rule(trust="assistant", **{EFFECT: DENY}), DENY),
        (push_rule(**{EFFECT: "shout"}), TELL),
        (push_rule(**UNSAID_PUSH), CONTEXT),
        (push_rule(**UNSAID_DEPLOY), TELL),
        (push_rule(**UNSAID_PUSH, **{CONFIRMED: NOW}), TELL),
    ],
)
def test_a_rule_acts_by_its_set_effect_its_trust_and_the_words_of_the_user(
    record: Record, expected: str
) -> None:
    assert effects.stated_effect(record, bound("git push")) == expected
    assert effects.effect_of(record, bound("git push"), SETTINGS) == expected
    assert effects.binds(record) is (expected != CONTEXT)


def test_a_rule_only_adds_context_if_nobody_can_answer_unless_configured() -> None:
    alone = SETTINGS._replace(attended=False)
    by_program = SETTINGS._replace(entrypoint=f"{SDK}py")
    denied = push_rule(**{EFFECT: DENY})

    for settings in (alone, by_program):
        assert effects.effect_of(denied, bound("git push"), settings) == CONTEXT
        full = settings._replace(capture_unattended="full")
        assert effects.effect_of(denied, bound("git push"), full) == DENY


def test_a_client_that_cannot_ask_is_told_instead_and_still_refuses() -> None:
    settings = SETTINGS._replace(client=Client("codex", "Codex", asks=False))

    assert effects.effect_of(push_rule(**{EFFECT: ASK}), bound("git push"), settings) == TELL
    assert effects.effect_of(push_rule(**{EFFECT: DENY}), bound("git push"), settings) == DENY


def test_only_rules_with_a_condition_may_stop_a_call() -> None:
    assert not effects.binds(push_rule()._replace(type="note"))
    assert not effects.binds(Record("constraint", "Pushes wait", trust="user"))
    assert effects.binds(push_rule(**{WHEN: "think, git push"}))


def test_the_description_of_an_effect_names_the_commands_that_end_it() -> None:
    gated = push_rule(**{WHEN: "git push, first `pytest -q`, lint"})

    assert effects.does(gated, DENY) == (
        "refuses each such call, unless `pytest -q` and lint passed before"
    )
    assert effects.does(push_rule(), DENY) == "refuses each such call"
    assert effects.does(gated, LIFT) == effects.DOES[LIFT]
    assert effects.does(gated, CONTEXT) == effects.DOES[CONTEXT]


def test_an_effect_is_set_lifted_and_set_again_and_the_same_effect_changes_nothing() -> None:
    denied = effects.set_by_user(push_rule(), DENY, NOW)
    lifted = effects.set_by_user(denied, LIFT, NOW)
    again = effects.set_by_user(lifted, TELL, "later")

    assert denied.evidence == {WHEN: "git push", EFFECT: DENY, CONFIRMED: NOW}
    assert lifted.evidence == {LIFTED: "git push", CONFIRMED: NOW}
    assert again.evidence == {WHEN: "git push", EFFECT: TELL, CONFIRMED: "later"}
    assert effects.set_by_user(denied, DENY, "later") == denied
    assert effects.set_by_user(lifted, LIFT, "later") == lifted


@pytest.mark.parametrize(
    ("evidence", "action", "said"),
    [
        ({}, DENY, "it has no When:"),
        ({}, LIFT, "it has no When:"),
        ({WHEN: "always"}, TELL, "'always' names no command, path or activity"),
    ],
)
def test_a_rule_that_is_bound_to_nothing_gets_no_effect(
    evidence: dict[str, str], action: str, said: str
) -> None:
    record = Record("constraint", "Be quick", id="12345678", evidence=evidence)

    with pytest.raises(BadInput, match=f"12345678 is bound to nothing: .*{said}"):
        effects.set_by_user(record, action, NOW)

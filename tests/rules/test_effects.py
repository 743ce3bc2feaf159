"""The effect of a rule: what the user's words forbid, what they name, and what is set by hand."""

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


def bound(when: str) -> Binding:
    [binding] = bindings_of(when)
    return binding


def rule(what: str = "Pushes are reviewed", trust: str = "user", **evidence: Any) -> Record:
    return Record("constraint", what, trust=trust, evidence={WHEN: "git push", **evidence})


def unsaid(*names: str) -> dict[str, Any]:
    """Return the evidence that the user typed none of these names."""
    return {UNSAID: [*names]}


@pytest.mark.parametrize(
    ("when", "text", "expected"),
    [
        ("git push", "Never push", True),
        ("git push", "Don’t push", True),
        ("git push", "dont push", True),
        ("git push", "We do not push", True),
        ("git push", "Stop pushing", True),
        ("git push", "禁止 push", True),
        ("git push", "禁止 deploy", False),
        ("git push", "Do push", False),
        ("git push", "Push, but never deploy", False),
        ("git push", "Never mind, push it", False),
        ("git push", "Please push. Never deploy", False),
        ("git push", "We deploy.\nNever push", True),
        ("git push", "Never push on fridays", False),
        ("git push", "Never push unless told", False),
        ("git push", "Never push one two three four five six", True),
        ("git push", "Never push one two three four five six seven", False),
        ("src/api/**", "src/api must not be changed", True),
        ("src/api/**", "src/api must not be empty", False),
        ("src/api/**", "Never touch src/api", True),
        ("`make clean`", "make clean must not be changed", False),
        ("`make clean`", "Never make it dirty", True),
        ("`npm run zap`", "Never run npm", False),
        ("`npm run zap`", "Never zap", True),
        ("`zap --force x`", "Never use force", False),
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
        (rule(), TELL),
        (rule("Never push")._replace(source="prompt"), ASK),
        (rule("Never push"), TELL),
        (rule(**{QUOTATION: "never push"}), ASK),
        (rule("Never push", **{QUOTATION: "review pushes"})._replace(source="prompt"), TELL),
        (rule(trust="assistant"), CONTEXT),
        (rule(trust="assistant", **{EFFECT: DENY}), DENY),
        (rule(**{EFFECT: "shout"}), TELL),
        (rule(**unsaid("push")), CONTEXT),
        (rule(**unsaid("deploy")), TELL),
        (rule(**unsaid("push"), **{CONFIRMED: NOW}), TELL),
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
    denied = rule(**{EFFECT: DENY})

    for settings in (alone, by_program):
        assert effects.effect_of(denied, bound("git push"), settings) == CONTEXT
        full = settings._replace(capture_unattended="full")
        assert effects.effect_of(denied, bound("git push"), full) == DENY


def test_a_client_that_cannot_ask_is_told_instead_and_still_refuses() -> None:
    settings = SETTINGS._replace(client=Client("codex", "Codex", asks=False))

    assert effects.effect_of(rule(**{EFFECT: ASK}), bound("git push"), settings) == TELL
    assert effects.effect_of(rule(**{EFFECT: DENY}), bound("git push"), settings) == DENY


def test_only_rules_with_a_condition_may_stop_a_call() -> None:
    assert not effects.binds(rule()._replace(type="note"))
    assert not effects.binds(Record("constraint", "Pushes wait", trust="user"))
    assert effects.binds(rule(**{WHEN: "think, git push"}))


def test_the_description_of_an_effect_names_the_commands_that_end_it() -> None:
    gated = rule(**{WHEN: "git push, first `pytest -q`, lint"})

    assert effects.does(gated, DENY) == (
        "refuses each such call, unless `pytest -q` and lint has passed"
    )
    assert effects.does(rule(), DENY) == "refuses each such call"
    assert effects.does(gated, LIFT) == effects.DOES[LIFT]
    assert effects.does(gated, CONTEXT) == effects.DOES[CONTEXT]


def test_a_rule_that_is_lifted_keeps_its_condition_and_can_be_set_again() -> None:
    denied = effects.set_by_user(rule(), DENY, NOW)
    lifted = effects.set_by_user(denied, LIFT, NOW)
    again = effects.set_by_user(lifted, TELL, "later")

    assert denied.evidence == {WHEN: "git push", EFFECT: DENY, CONFIRMED: NOW}
    assert lifted.evidence == {LIFTED: "git push", CONFIRMED: NOW}
    assert again.evidence == {WHEN: "git push", EFFECT: TELL, CONFIRMED: "later"}


def test_setting_the_same_effect_again_changes_nothing() -> None:
    denied = effects.set_by_user(rule(), DENY, NOW)
    lifted = effects.set_by_user(denied, LIFT, NOW)

    assert effects.set_by_user(denied, DENY, "later") is denied
    assert effects.set_by_user(lifted, LIFT, "later") is lifted


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

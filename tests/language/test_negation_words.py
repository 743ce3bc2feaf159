"""One table of denying words, for everyone who must not take a sentence for its opposite."""

from __future__ import annotations

import pytest

from memory_fabric.capture.clauses import is_denied
from memory_fabric.language.negations import ALL, NEVER, NOT
from memory_fabric.recall.inject import requests
from memory_fabric.recall.normalize import is_decisive
from memory_fabric.recall.session_block import DENIALS
from memory_fabric.rules.bindings import bindings_of
from memory_fabric.rules.effects import forbids


@pytest.mark.parametrize("word", sorted(ALL))
def test_every_negation_word_is_recognised_as_a_denial(word: str) -> None:
    assert is_denied(f"we {word} redis")
    assert is_decisive(word)
    assert word in DENIALS


@pytest.mark.parametrize("word", sorted(NEVER | NOT))
def test_a_negated_instruction_in_a_prompt_is_not_taken_for_a_request(word: str) -> None:
    assert requests("use redis")
    assert requests(f"use {word} redis") == []


@pytest.mark.parametrize("word", sorted(NEVER))
def test_a_rule_with_a_negation_word_forbids_the_following_action(word: str) -> None:
    (binding,) = bindings_of("git push")

    assert forbids(f"{word} push", binding)
    assert not forbids("push", binding)


@pytest.mark.parametrize("said", ["sin", "sans", "ohne", "без"])
def test_a_rule_like_never_push_without_review_does_not_forbid_every_push(said: str) -> None:
    (binding,) = bindings_of("git push")

    assert not forbids(f"Never push {said} review", binding)

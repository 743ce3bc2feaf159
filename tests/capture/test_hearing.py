"""What capture hears: the phrases in a sentence, wherever its clause begins."""

from __future__ import annotations

import pytest

from memory_fabric.capture.hearing import judged


def held(text: str, speaker: str = "user") -> list[str]:
    return [h.phrase.type for one in judged(text, speaker) for h in one.heard if h.held]


@pytest.mark.parametrize(
    "text",
    [
        "Do not use sleep in any test.",
        "Tests: do not use sleep in any test.",
        "When you write tests, do not use sleep in any of them.",
        "In `ledger-core`, functions with a session must never commit it.",
    ],
)
def test_a_rule_is_heard_behind_a_label_and_behind_a_condition(text: str) -> None:
    assert "constraint" in held(text)


def test_under_decision_the_first_sentences_are_it() -> None:
    text = "## Decision\n\nRun a single instance. It is shared by both teams. Each has a folder."
    assert [bool(one.heard) for one in judged(text, "assistant")] == [True, True, False]
    assert held("## Context\n\nRun a single instance.", "assistant") == []


def test_an_imperative_counts_in_a_list_of_rules_and_not_in_one_of_requests() -> None:
    rules = "- Use Zod for form validation\n- Never use default exports\n- Avoid enums everywhere"
    requests = "- Use the blue icon on the first page\n- Move the footer\n- Rename the tab"
    assert len(held(rules)) >= 3
    assert held(requests) == []


def test_an_assistants_sentence_without_a_phrase_costs_no_signs() -> None:
    text = "I looked at the parser. The bug was a missing index on the table."
    assert [bool(one.signs) for one in judged(text, "assistant")] == [False, True]
    assert all(one.signs for one in judged(text, "assistant", every=True))


def test_what_was_named_before_is_a_sign_of_what_follows() -> None:
    first, second = judged("We decided to use Redis. It will hold sessions.", "user", every=True)
    assert "earlier:0" in first.signs
    assert {"earlier:1", "earlier here:1"} <= set(second.signs)

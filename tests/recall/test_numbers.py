"""Numbers and single letters count: in what is asked, in what is found, and in what is pushed."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.recall.pipeline import Fabric
from memory_fabric.text import terms
from recall.given import NOW, open_memory, remember

TICKETS = [
    "Ticket 5 is about the login form",
    "Ticket 34 is about the invoice export",
    "Ticket 7 is about the search index",
]
MINUTES = [
    "The image build takes 7 minutes on the runner",
    "The unit tests take 5 minutes on the runner",
    "The nightly backup takes 40 minutes",
    "A cold start of the gateway takes 2 minutes",
]
PLANS = ["Plan A is to shard the orders table", "Plan B is to move the orders table to Aurora"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ticket 7", ["ticket", "7"]),
        ("what takes 7 minutes", ["takes", "7", "minutes"]),
        ("plan B", ["plan", "b"]),
        ("Is it plan A or plan B?", ["plan", "a", "b"]),
        ("option a, please", ["option", "a"]),
        ("bindings in C and R", ["bindings", "c", "r"]),
        ("vitamin D", ["vitamin", "d"]),
        ("the plan I made is a good one, isn't it", ["plan", "made", "good", "one"]),
        ("plan a trip, I'd say, e.g. DON'T", ["plan", "trip", "say"]),
    ],
)
def test_numbers_and_single_letter_labels_are_kept_as_search_terms(
    text: str, found: list[str]
) -> None:
    assert [term for term in terms(text) if term not in ("e", "g")] == found


@pytest.mark.parametrize(
    ("texts", "asked", "first"),
    [
        (TICKETS, "ticket 7", TICKETS[2]),
        (TICKETS, "ticket 34", TICKETS[1]),
        (MINUTES, "what takes 7 minutes", MINUTES[0]),
        (PLANS, "plan B", PLANS[1]),
        (PLANS, "what is plan A?", PLANS[0]),
    ],
)
def test_a_prompt_gets_only_the_memory_that_contains_its_number_or_label(
    tmp_path: Path, texts: list[str], asked: str, first: str
) -> None:
    memory = open_memory(tmp_path)
    for text in texts:
        remember(memory, text)
    fabric = Fabric(memory, NOW)

    best, second, *_ = fabric.recall(asked).hits
    injection = fabric.inject_for_prompt(asked, session="other").text

    assert best.text == first
    assert best.relevance > second.relevance
    assert [text for text in texts if text in injection] == [first]
    memory.close()

"""A project's sessions in few words: newest first, within a budget, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing.past import Machine, fixed
from memory_fabric.importing.learn import CHARS_PER_TOKEN, Condensed, condense
from memory_fabric.store.memory import Memory

SEMICOLONS = "The invoice export writes CSV with semicolons now, as Excel in Germany needs them."


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def condensed(machine: Machine, place: Path, budget: int = 8000, before: str = "") -> Condensed:
    memory = Memory.open(machine.settings._replace(project_dir=str(place)))
    try:
        return condense(memory, budget, before)
    finally:
        memory.close()


def test_condensed_sessions_are_listed_newest_first_with_prompts_and_answers(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    error = "E   AssertionError: expected 3 orders in the report, got 2"
    steps = fixed("pytest tests/test_orders.py", error, "orders.py")
    steps.insert(2, "The failure was caused by an off-by-one error in the loop over orders.")
    machine.session(shop, "Please fix the report of orders.", *steps, "Done.", days_ago=9)
    machine.session(shop, "Make the invoice export usable in Excel.", SEMICOLONS, days_ago=2)
    machine.learn()

    found = condensed(machine, shop)

    assert (found.sessions, found.all_sessions, found.before) == (2, 2, "")
    assert found.lines[1:3] == (
        "- asked: Make the invoice export usable in Excel.",
        f"  answered: {SEMICOLONS}",
    )
    older = found.lines[4:]
    assert older[0] == "- asked: Please fix the report of orders."
    assert any(line.startswith("- on record (solution):") for line in older)
    assert "- changed: orders.py" in older


def test_condensed_output_stays_within_the_budget_and_can_be_continued(machine: Machine) -> None:
    shop = machine.project("shop")
    for days_ago in range(20, 1, -1):
        asked = f"Please write page {days_ago} of the manual, with all its pictures and tables."
        machine.session(shop, asked, "Done.", days_ago=days_ago)
    machine.learn()

    seen, before = [], ""
    while True:
        part = condensed(machine, shop, 100, before)
        assert sum(len(line) + 1 for line in part.lines) <= 100 * CHARS_PER_TOKEN
        assert part.tokens <= 100
        seen += [line for line in part.lines if line.startswith("- asked")]
        before = part.before
        if not before:
            break

    pages = [int(line.split("page ")[1].split()[0]) for line in seen]
    assert pages == list(range(2, 21))


def test_a_token_budget_of_zero_returns_only_the_number_of_past_sessions(machine: Machine) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Please write the manual of the shop.", "Done.")
    machine.learn()

    found = condensed(machine, shop, 0)

    assert (found.lines, found.sessions, found.all_sessions) == ((), 0, 1)
    assert found.all_tokens > 0


def test_a_long_session_is_shortened_to_the_budget(machine: Machine) -> None:
    shop = machine.project("shop")
    said = [part for n in range(30) for part in (f"Please write page {n} of the manual.", "Yes.")]
    machine.session(shop, *said)
    machine.learn()

    found = condensed(machine, shop, 60)

    assert found.sessions == 1 and found.tokens <= 60
    assert sum(len(line) + 1 for line in found.lines) <= 60 * CHARS_PER_TOKEN


def test_sessions_of_other_projects_are_not_listed(machine: Machine) -> None:
    shop, atlas = machine.project("shop"), machine.project("atlas")
    machine.session(shop, "Please sell boats in the shop.", "Done.")
    machine.session(atlas, "Please draw lakes in the atlas.", "Done.")
    machine.learn()

    assert "lakes" not in "".join(condensed(machine, shop).lines)

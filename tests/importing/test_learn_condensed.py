"""A project's sessions in few words: newest first, within a budget, without secrets."""

from __future__ import annotations

from pathlib import Path

from importing.past import Machine, call, fixed, result
from memory_fabric.importing import learn
from memory_fabric.importing.learn import CHARS_PER_TOKEN, Condensed, condense
from memory_fabric.models import Provenance, Record
from memory_fabric.store.memory import Memory

SEMICOLONS = "The invoice export writes CSV with semicolons now, as Excel in Germany needs them."


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


def test_a_condensed_session_has_a_heading_cut_texts_records_and_a_few_files(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    said: list[object] = ["Please add pages. " + "word " * 80]
    for number in range(learn.MAX_FILES + 1):
        path, id_ = str(shop / f"page{number}.py"), f"t{number}"
        said += [call(id_, "Write", file_path=path, content="x"), result(id_, "ok")]
    machine.session(shop, *said, "All pages\nare there.", "Thanks.", session="abcdefgh-1234")
    machine.learn()
    memory = Memory.open(machine.settings._replace(project_dir=str(shop)))
    records = [
        Record("note", "The first fact of it", confidence=0.9),
        Record("note", "The second fact of it", confidence=0.9),
        Record("note", "A candidate of it", confidence=0.4),
        Record("note", "A local fact of it", confidence=0.9, scope="local"),
    ]
    for number, record in enumerate(records):
        at = f"2026-01-02T03:04:0{number}.000Z"
        memory.remember(record, Provenance("cli", "user", session="abcdefgh-1234", at=at))
    memory.close()

    head, asked, answered, thanks, *rest = condensed(machine, shop).lines

    began_at = machine.found()[0].transcript.head.began_at
    assert head == f"## {began_at[:10]} {began_at[11:16]}, session abcdefgh"
    assert asked.startswith("- asked: Please add pages. word word")
    assert len(asked) <= len("- asked: ") + learn.MAX_ASKED_CHARS
    assert (answered, thanks) == ("  answered: All pages are there.", "- asked: Thanks.")
    assert rest[:2] == [
        "- on record (note): The first fact of it",
        "- on record (note): The second fact of it",
    ]
    (changed,) = rest[2:]
    assert changed.startswith("- changed: page0.py, ") and "page6.py" not in changed


def test_a_session_that_fits_a_budget_exactly_is_condensed_and_one_token_less_leaves_it_out(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Please write the manual of the shop.", "Done.", days_ago=4)
    machine.session(shop, "Please print the manual of the shop.", "Done.", days_ago=2)
    machine.learn()
    whole = condensed(machine, shop)
    size = sum(len(line) + 1 for line in whole.lines)
    newest = sum(len(line) + 1 for line in whole.lines[:3])
    budget = -(-size // CHARS_PER_TOKEN)

    fits, less = condensed(machine, shop, budget), condensed(machine, shop, budget - 1)

    assert whole.lines[1] == "- asked: Please print the manual of the shop."
    assert (whole.tokens, whole.all_tokens, whole.before) == (budget, budget, "")
    assert (fits.sessions, fits.lines, fits.before) == (2, whole.lines, "")
    assert (less.sessions, less.all_sessions, less.lines) == (1, 2, whole.lines[:3])
    assert (less.tokens, less.all_tokens) == (-(-newest // CHARS_PER_TOKEN), budget)
    later = machine.found()[1].transcript.head.began_at
    assert less.before == later
    older = condensed(machine, shop, budget, later)
    assert (older.lines, older.all_sessions, older.before) == (whole.lines[3:], 1, "")


def test_a_budget_below_one_line_shows_the_beginning_of_the_newest_session(
    machine: Machine,
) -> None:
    shop = machine.project("shop")
    machine.session(shop, "Please write the manual of the shop.", "Done.")
    machine.learn()

    found = condensed(machine, shop, 1)

    (line,) = found.lines
    assert line.startswith("##") and len(line) <= CHARS_PER_TOKEN
    assert (found.sessions, found.tokens, found.before) == (1, 1, "")

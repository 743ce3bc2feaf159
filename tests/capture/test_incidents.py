"""Fixes: commands that failed and passed after a change, and what still fails."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture import incidents
from memory_fabric.capture.incidents import Failure, Step, fix_of, symptom_in
from memory_fabric.models import Record
from memory_fabric.rules.commands import command_in

PYTEST = "pytest tests/test_cart.py"
ERROR = "Exit code 1\nE   KeyError: 'total'\n1 failed"


def ran(command: str, *, failed: bool = False, output: str = "", place: str = "/shop") -> Step:
    output = output or (ERROR if failed else "3 passed")
    return Step(command=command, failed=failed, output=output, place=place)


def changed(file: str = "cart.py") -> Step:
    return Step(changed_file=file)


RED, GREEN = ran(PYTEST, failed=True), ran(PYTEST)


def said(text: str) -> Step:
    return Step(said=text)


def records(steps: list[Step]) -> list[Record]:
    solved, _ = incidents.follow(steps)
    return [record for failure in solved if (record := fix_of(failure))]


def test_a_solved_failure_without_a_stated_cause_is_not_recorded_as_a_fix() -> None:
    steps = [RED, changed(), changed("db.py"), GREEN]

    (solved,) = incidents.follow(steps)[0]
    assert records(steps) == []
    assert incidents.evidence_of(solved) == {
        "command": PYTEST,
        "error": "KeyError: 'total'",
        "files": ["cart.py", "db.py"],
    }


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("KeyError: 'total'", "KeyError: 'total'", True),
        ("cart.py:12: KeyError: 'total'", "cart.py:31: KeyError: 'total'", True),
        ("KeyError: 'total'", "ValueError: no currency", False),
        ("KeyError: 'total'", "", False), ("a b c d e", "a b c d x", True),
        ("a b c d e f", "a b c d x y", False), ("a b", "a b c d e", True),
        ("a b", "c d e", False), ("1 2", "1 2", False), ("", "", False),
    ],
)  # fmt: skip
def test_errors_are_the_same_if_they_share_four_fifths_of_the_words_of_the_shorter_one(
    one: str, other: str, is_same: bool
) -> None:
    assert incidents.is_same_error(one, other) is is_same


def test_a_recorded_fix_contains_the_cause_the_command_and_the_error() -> None:
    cause = "the discount was subtracted twice in applyDiscount"
    test = "npm test -- cart"
    error = "AssertionError: expected 90 to be 95"
    steps = [
        Step(asked="Checkout is cheaper than it should be. The discount looks wrong to me."),
        ran(test, failed=True, output=f"{error}\n1 failed"),
        changed("src/discount.ts"),
        ran(test, output="4 passed"),
        said(f"All tests pass now: {cause}.\n\nFixed. The root cause: {cause}."),
    ]
    (fix,) = records(steps)

    assert fix.what.endswith(f"(`{test}` failed: {error}; fixed in src/discount.ts)")
    assert cause in fix.what
    assert fix.evidence["symptom"] == "The discount looks wrong to me."


def test_a_failure_without_an_error_message_is_not_recorded_as_a_fix() -> None:
    red = ran(PYTEST, failed=True, output="Exit code 1")

    assert records([red, changed(), GREEN, said("It failed because the cart had no total.")]) == []


@pytest.mark.parametrize(
    ("end", "is_open"),
    [
        ((), True),
        ((said("Let me look at the other test."),), True),
        ((said("The cart test still fails; I could not find out why."),), True),
        ((said("The importer is in place and documented."),), False),
        ((said("Fixed, it works now."),), False),
        ((said("It still fails."), ran("pytest tests/test_db.py")), False),
        ((said("It still fails."), ran("npm run lint", output="done")), True),
        ((said("It is done."), RED), True),
    ],
)
def test_a_failure_is_closed_if_work_is_reported_done_or_a_similar_command_passes(
    end: tuple[Step, ...], is_open: bool
) -> None:
    _, failing = incidents.follow([RED, *end])

    assert [not failure.is_over for failure in failing] == [is_open]


def test_a_piped_build_that_prints_no_error_has_passed() -> None:
    build = "npm run build 2>&1 | tail -20"
    error = "src/a.ts(3,4): error TS2322: Type 'Cart' is not assignable to type 'Order'."
    red, green = ran(build, output=error), ran(build, output="> shop@1.0.0 build\n> tsc")

    (solved,), _ = incidents.follow([red, changed("src/types.ts"), green])
    assert solved.error == error


def test_the_symptom_is_read_from_the_users_sentence_about_the_error() -> None:
    asked = "Nothing fails in the list. The upload is broken since Monday. Please be quick."

    assert symptom_in(asked, "TypeError: upload is null") == "The upload is broken since Monday."
    assert symptom_in("The upload is broken. The car is broken.", "car") == "The upload is broken."
    assert symptom_in("Please add a list.", "TypeError: upload is null") == ""


@pytest.mark.parametrize(
    "steps",
    [
        [RED, GREEN],
        [changed(), RED, GREEN],
        [RED, changed("README.md"), GREEN],
        [RED, changed(), ran("pytest tests/test_other.py")],
        [RED, changed(), ran(PYTEST, place="/other")],
        [RED, changed(), ran(f"{PYTEST} | tail", output="no summary")],
        [RED, changed(), ran(PYTEST, output="1 failed, but somebody hid the status")],
        [ran("grep total cart.py", failed=True, output=""), changed(), ran("grep total cart.py")],
        [ran(PYTEST, failed=True, output="Exit code 130"), changed(), GREEN],
        [ran(PYTEST, failed=True, output="Command timed out after 2m"), changed(), GREEN],
    ],
)
def test_a_failure_stays_unsolved_without_clear_evidence_of_a_fix(steps: list[Step]) -> None:
    assert incidents.follow(steps)[0] == []


def test_a_piped_test_run_is_judged_by_its_printed_summary() -> None:
    tailed = f"cd /shop && {PYTEST} 2>&1 | tail -3"
    steps = [ran(tailed, output="E   KeyError: 'total'\n1 failed"), changed(), ran(tailed)]

    assert len(incidents.follow(steps)[0]) == 1


def test_a_passing_run_of_the_whole_test_suite_solves_every_failure() -> None:
    other = ran("pytest tests/test_db.py", failed=True)
    found, failing = incidents.follow([RED, other, changed(), ran("pytest -q")])

    assert len(found) == 2
    assert failing == []


def test_a_solved_failure_records_the_last_error_and_every_changed_file() -> None:
    again = ran(PYTEST, failed=True, output="E   TypeError: none\n1 failed")
    (found,), _ = incidents.follow([RED, changed("a.py"), again, changed("b.py"), GREEN])

    assert found.error == "TypeError: none"
    assert found.files == ("a.py", "b.py")


def test_the_cause_of_a_failure_may_be_stated_until_the_next_prompt() -> None:
    cause = "The root cause was that the cart had no total"
    words = said(f"I looked. {cause}. Fixing it now.")

    (before,), _ = incidents.follow([RED, words, changed(), GREEN])
    (after,), _ = incidents.follow([RED, changed(), GREEN, said("Good."), words])
    (late,), _ = incidents.follow([RED, changed(), GREEN, Step(asked="Now the docs."), words])

    assert (before.cause, after.cause, late.cause) == (cause, cause, "")


STEPS = st.lists(
    st.sampled_from(
        [RED, GREEN, changed(), changed("db.py"), ran("pytest -q"), ran("mypy .", failed=True),
         ran("mypy ."), Step(said="It failed because the cart had no total.")]
    ),
    max_size=14,
)  # fmt: skip


@given(STEPS, st.integers(0, 14))
def test_two_readings_find_what_one_would(steps: list[Step], cut: int) -> None:
    whole, failing = incidents.follow(steps)
    first, between = incidents.follow(steps[:cut])
    kept = json.loads(json.dumps([incidents.as_object(failure) for failure in between]))
    known = [failure for value in kept if (failure := incidents.from_object(value))]
    second, after = incidents.follow(steps[cut:], known)

    # Only the words for a cause may come too late for the first.
    bare = [failure._replace(cause="") for failure in whole]
    assert [failure._replace(cause="") for failure in (*first, *second)] == bare
    assert after == failing


@pytest.mark.parametrize("value", [{}, {"command": 3}, {"command": {"words": "x"}}])
def test_an_invalid_stored_failure_is_not_loaded(value: dict[str, object]) -> None:
    assert incidents.from_object(value) is None


def test_the_number_of_open_failures_is_limited_and_the_newest_are_kept() -> None:
    steps = [ran(f"make part{n}", failed=True) for n in range(50)]
    _, failing = incidents.follow(steps)

    assert len(failing) == incidents.MAX_OPEN
    assert isinstance(failing[-1], Failure)
    assert failing[-1].command.text == "make part49"


@pytest.mark.parametrize(
    "line",
    [
        "mysql -u root -p{} shop",
        "curl -u bob:{} https://api.example.org",
        "docker login -u bob -p {} registry.example.org",
        "sshpass -p {} ssh bob@db",
        "deploy --token {}",
        "redis-cli -a '{}' ping",
        'PGPASSWORD="{}" psql shop',
    ],
)
def test_secrets_in_a_failing_command_are_redacted_before_the_command_is_stored(line: str) -> None:
    secret = "hun" + "ter2xQ"
    step = ran(line.replace("{}", secret), failed=True)

    _, failing = incidents.follow([step])
    stored = json.dumps([incidents.as_object(failure) for failure in failing])
    kept = [failure for o in json.loads(stored) if (failure := incidents.from_object(o))]
    again, left = incidents.follow([changed(), ran(line.replace("{}", secret))], kept)

    assert failing and "redacted" in stored and secret not in stored
    assert len(again) == 1 and left == []


def test_each_changed_file_is_recorded_once_and_at_most_twenty() -> None:
    files = ["cart.py", "cart.py", *(f"f{number}.py" for number in range(30))]
    _, (failure,) = incidents.follow([RED, *map(changed, files)])

    assert failure.files == ("cart.py", *(f"f{number}.py" for number in range(19)))


def test_a_fix_names_its_files_only_if_they_are_few() -> None:
    _, (failure,) = incidents.follow([RED])
    few = failure._replace(files=("a", "b", "c"), cause="the cart had no total")
    many = few._replace(files=("a", "b", "c", "d"))
    told, short = fix_of(few), fix_of(many)

    assert told is not None and short is not None
    start = f"The cart had no total (`{PYTEST}` failed: KeyError: 'total'"
    assert (told.what, short.what) == (f"{start}; fixed in a, b, c)", f"{start})")
    assert (told.type, told.outcome, told.confidence) == ("solution", "success", 0.5)
    assert fix_of(few._replace(error="")) is None and fix_of(few._replace(cause="")) is None


def test_a_stored_failure_is_loaded_with_all_its_fields() -> None:
    bare = incidents.from_object({"command": {"words": ["a", 1], "text": 3}, "passes": 1})
    full = incidents.from_object(
        {
            "command": {"words": [], "place": "/shop"},
            "files": ["a"],
            "passes": True,
            "is_over": True,
            "error": "e",
            "cause": "c",
            "symptom": "s",
        }
    )

    assert bare is not None and full is not None
    assert bare == Failure(bare.command)
    assert (bare.command.text, bare.command.words, bare.command.place) == ("3", ("a", "1"), "")
    assert full == Failure(full.command, "e", ("a",), "c", "s", passes=True, is_over=True)
    assert full.command.place == "/shop"
    assert incidents.from_object({"command": {"words": ["a"]}, "files": "x"}) is not None


def test_a_report_of_a_prompt_has_the_error_and_the_symptom_that_fits_it() -> None:
    asked = "I get this:\nTypeError: cart is null\nThe upload is broken. The cart is broken."

    assert incidents.report_in(asked) == {
        "error": "TypeError: cart is null",
        "symptom": "The cart is broken.",
    }
    assert incidents.report_in("Please add a list.") == {}


@pytest.mark.parametrize(
    ("command", "failed", "output", "passed"),
    [
        (PYTEST, False, "collected", True),
        (PYTEST, True, "3 passed", False),
        (PYTEST, False, "1 failed", None),
        (PYTEST, True, "Exit code 130", None),
        (f"{PYTEST} | tail", False, "3 passed", True),
        (f"{PYTEST} | tail", False, "1 failed", False),
        (f"{PYTEST} | tail", False, "no summary", None),
        (f"{PYTEST} | tail", True, "no summary", None),
        ("npm run build | tail", False, "> tsc", True),
        ("npm run build | tail", True, "> tsc", None),
    ],
)
def test_the_status_decides_unless_a_pipe_hides_it_or_the_output_contradicts(
    command: str, failed: bool, output: str, passed: bool | None
) -> None:
    step = ran(command, failed=failed, output=output)
    found = command_in(command, "/shop")

    assert found is not None
    assert incidents.has_passed(step, found) is passed


def test_a_repeated_failure_keeps_the_first_symptom_and_moves_to_the_end() -> None:
    asked = [Step(asked="The cart is broken."), Step(asked="The list is broken.")]
    other = ran("mypy .", failed=True, output="a.py:1: error: name is missing in it")
    _, failing = incidents.follow([asked[0], RED, asked[1], other, RED])

    assert [failure.command.text for failure in failing] == ["mypy .", PYTEST]
    assert [failure.symptom for failure in failing] == [
        "The list is broken.",
        "The cart is broken.",
    ]


def test_a_new_failure_ends_the_search_for_the_cause_of_a_solved_one() -> None:
    words = said("The root cause was that the cart had no total.")
    other = ran("mypy .", failed=True, output="a.py:1: error: name is missing in it")
    solved = [RED, changed(), GREEN]

    (found,), (still,) = incidents.follow([*solved, other, words])
    (again,), _ = incidents.follow([words], [], incidents.follow(solved)[0])

    assert (found.cause, bool(still.cause)) == ("", True)
    assert again.cause == "The root cause was that the cart had no total"

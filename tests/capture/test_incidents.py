"""What failed and passed after a change: problems with their solutions, and what still fails."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture import incidents
from memory_fabric.capture.incidents import Failure, Step, cause_in

PYTEST = "pytest tests/test_cart.py"
ERROR = "Exit code 1\nE   KeyError: 'total'\n1 failed"


def ran(command: str, *, failed: bool = False, output: str = "", place: str = "/shop") -> Step:
    output = output or (ERROR if failed else "3 passed")
    return Step(command=command, failed=failed, output=output, place=place)


def changed(file: str = "cart.py") -> Step:
    return Step(changed_file=file)


RED, GREEN = ran(PYTEST, failed=True), ran(PYTEST)


def test_a_problem_and_its_solution_bear_command_error_and_files() -> None:
    (found,), failing = incidents.follow([RED, changed(), changed("db.py"), GREEN])

    assert failing == []
    assert found.problem.type == "problem"
    assert found.problem.what == f"`{PYTEST}` failed: KeyError: 'total'"
    assert (found.problem.outcome, found.solution.outcome) == ("failed", "success")
    assert found.solution.what == (
        f"`{PYTEST}` failed (KeyError: 'total'); it passed after changing cart.py, db.py"
    )
    assert found.solution.evidence == {
        "command": PYTEST,
        "error": "KeyError: 'total'",
        "files": ["cart.py", "db.py"],
    }


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
def test_what_is_not_surely_solved_is_no_incident(steps: list[Step]) -> None:
    assert incidents.follow(steps)[0] == []


def test_a_piped_run_counts_by_its_report() -> None:
    tailed = f"cd /shop && {PYTEST} 2>&1 | tail -3"
    steps = [ran(tailed, output="E   KeyError: 'total'\n1 failed"), changed(), ran(tailed)]

    assert len(incidents.follow(steps)[0]) == 1


def test_a_pass_of_everything_solves_each_part() -> None:
    other = ran("pytest tests/test_db.py", failed=True)
    found, failing = incidents.follow([RED, other, changed(), ran("pytest -q")])

    assert len(found) == 2
    assert failing == []


def test_the_last_error_counts_and_the_files_since_the_first() -> None:
    again = ran(PYTEST, failed=True, output="E   TypeError: none\n1 failed")
    (found,), _ = incidents.follow([RED, changed("a.py"), again, changed("b.py"), GREEN])

    assert found.problem.evidence["error"] == "TypeError: none"
    assert found.problem.evidence["files"] == ["a.py", "b.py"]


def test_the_assistants_own_words_for_the_cause_are_the_reason() -> None:
    said = Step(said="I looked. The root cause was that the cart had no total. Fixing it now.")

    (before,), _ = incidents.follow([RED, said, changed(), GREEN])
    (after,), _ = incidents.follow([RED, changed(), GREEN, said])
    assert (
        before.solution.why
        == after.solution.why
        == ("The root cause was that the cart had no total")
    )


@pytest.mark.parametrize(
    "said",
    [
        "This might be because the cart is empty.",
        "Let me check whether the problem is the cart.",
        "Is it because the cart is empty?",
        "All done.",
        "",
    ],
)
def test_a_guess_is_no_cause(said: str) -> None:
    assert cause_in(said) == ""


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
    assert [i.problem for i in whole] == [i.problem for i in (*first, *second)]
    assert [f._replace(cause="") for f in after] == [f._replace(cause="") for f in failing]


@pytest.mark.parametrize("value", [{}, {"command": 3}, {"command": {"words": "x"}}])
def test_what_is_no_failure_is_not_read_as_one(value: dict[str, object]) -> None:
    assert incidents.from_object(value) is None


def test_only_so_many_failures_are_watched() -> None:
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
def test_the_words_of_a_failing_command_are_redacted_as_the_line_that_they_were(line: str) -> None:
    secret = "hun" + "ter2xQ"
    step = ran(line.replace("{}", secret), failed=True)

    _, failing = incidents.follow([step])
    stored = json.dumps([incidents.as_object(failure) for failure in failing])
    kept = [failure for o in json.loads(stored) if (failure := incidents.from_object(o))]
    again, left = incidents.follow([changed(), ran(line.replace("{}", secret))], kept)

    assert failing and "redacted" in stored and secret not in stored
    assert len(again) == 1 and left == []

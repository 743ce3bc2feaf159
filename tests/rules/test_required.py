"""Commands that have to pass before a call: as `When:` names them, and the lines that ran them."""

from __future__ import annotations

import pytest

from memory_fabric.errors import BadInput
from memory_fabric.rules.bindings import bindings_of, required_by, with_first
from memory_fabric.rules.matching import of_command
from memory_fabric.rules.required import (
    as_typed,
    calls_of,
    changed_source,
    is_check,
    is_gate,
    runs,
    stated_first,
)


@pytest.mark.parametrize(
    ("when", "bound", "required"),
    [
        ("commit, first pytest", ["commit"], ["pytest"]),
        ("commit, push, first `npm test` and `npm run lint`", ["commit", "push"],
         ["npm test", "npm run lint"]),
        ("git push, first the tests, the linter", ["push"], ["test", "lint"]),
        ("deploying, first type-check", ["deploy"], ["type check"]),
        ("src/api/**, first scripts/gen.sh", ["src/api/**"], ["scripts/gen.sh"]),
        ("commit, first docs/checklist.md", ["commit"], []),
        ("commit, first think", ["commit"], []),
        ("the first commit", [], []),
        ("commit", ["commit"], []),
    ],
)  # fmt: skip
def test_the_commands_listed_after_first_in_a_rule_are_required(
    when: str, bound: list[str], required: list[str]
) -> None:
    assert [binding.text for binding in bindings_of(when)] == bound
    assert [binding.text for binding in required_by(when)] == required


@pytest.mark.parametrize(
    ("when", "required", "expected"),
    [
        ("commit", ("`npm test`", "lint"), "commit, first `npm test`, lint"),
        ("commit, first test", ("lint",), "commit, first lint"),
        ("commit, first test", (), "commit"),
        ("", ("lint",), ", first lint"),
    ],
)
def test_new_required_commands_replace_those_of_the_rule(
    when: str, required: tuple[str, ...], expected: str
) -> None:
    assert with_first(when, *required) == expected


@pytest.mark.parametrize(
    ("line", "is_gated"),
    [
        ("pytest && git commit", True),
        ("pytest -q && git add . && git commit", True),
        ("pytest && git log | head -1 && git commit", True),
        ("{ pytest; } && git commit", True),
        ("(cd a; pytest) && git commit", True),
        ("timeout 60 uv run pytest > /tmp/out 2>&1 && git commit", True),
        ("set -o pipefail; pytest | tail -1 && git commit", True),
        ("set -e\npytest\ngit add .\ngit commit", True),
        ("set -euo pipefail\npytest | tail -1\ngit commit", True),
        ("set -o errexit; pytest; git commit", True),
        ("set -e; (pytest); git commit", True),
        ("set -e; pytest | tail -1; git commit", False),
        ("set -e; pytest & git commit", False),
        ("pytest |& tail -1 && git commit", False),
        ("set -o pipefail; pytest |& tail -1 && git commit", True),
        ("set -e; pytest && echo fine; git commit", False),
        ("set -x; pytest; git commit", False),
        ("pytest\ngit commit", False),
        ("pytest && true; git commit", False),
        ("pytest || git commit", False),
        ("make || pytest && git commit", False),
        ("pytest | tail -1 && git commit", False),
        ("pytest & git commit", False),
        ("! pytest && git commit", False),
        ("echo $(pytest) && git commit", False),
        ("if pytest; then git commit; fi", False),
    ],
)
def test_tests_gate_a_commit_only_if_their_failure_prevents_the_commit(
    line: str, *, is_gated: bool
) -> None:
    calls = calls_of(line, "/srv/app")
    [test], [commit] = required_by("x, first pytest"), bindings_of("commit")
    at = max(place for place, call in enumerate(calls) if runs(test, call, ()))
    end = next(place for place, call in enumerate(calls) if runs(commit, call, ()))

    assert is_gate(calls, at, end) == is_gated


@pytest.mark.parametrize(
    ("line", "is_own"),
    [
        ("pytest", True),
        ("cd src && pytest -q;", True),
        ("pytest && echo fine", True),
        ("(cd src && pytest)", True),
        ("pytest; true", False),
        ("pytest | tail -1", False),
        ("pytest &", False),
        ("out=$(pytest); echo $out", False),
    ],
)
def test_a_pipe_or_later_command_can_hide_the_exit_status_of_tests(
    line: str, *, is_own: bool
) -> None:
    calls = calls_of(line, "/srv/app")
    [test] = required_by("x, first pytest")
    at = max(place for place, call in enumerate(calls) if runs(test, call, ()))

    assert is_gate(calls, at, len(calls)) == is_own


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        *((name, True) for name in ("pytest", "the tests", "`npm run lint`", "`make check`")),
        *((name, True) for name in ("terraform plan", "`./verify.sh all`", "`cargo clippy`")),
        *((name, False) for name in ("git pull", "`docker compose up -d`", "`make backup`")),
    ],
)
def test_a_test_or_lint_command_is_recognised_as_a_check(first: str, *, expected: bool) -> None:
    [binding] = required_by(f"commit, first {first}")

    assert is_check(binding) == expected


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("sed -i s/a/b/ src/a.py", "src/a.py"),
        ("rm -rf src/old", "src/old"),
        ("eslint --fix src", "src"),
        ("npm install left-pad", "package.json"),
        ("prettier --write src", ""),
        ("rm -rf dist node_modules", ""),
        ("tee docs/notes.md < /dev/null", ""),
        ("cp a.py /tmp/a.py", ""),
        ("touch build/x", ""),
        ("touch src/build/x", "src/build/x"),
        ("eslint --fix src && ruff format src", ""),
        ("touch docs/a.md src/a.py", "src/a.py"),
        ("ls src", ""),
    ],
)
def test_the_source_file_changed_by_a_command_is_detected(line: str, changed: str) -> None:
    assert changed_source(of_command(line, "/srv/app"), ("/srv/app",)) == changed


@pytest.mark.parametrize(
    ("when", "typed", "expected", "unsaid"),
    [
        ("commit, first `pytest -q`", "run pytest -q before you commit",
         "commit, first `pytest -q`", []),
        ("commit, first `npm test`", "run the tests before a commit",
         "commit, first `npm test`", []),
        ("commit, first `pytest`", "run the tests before a commit", "commit, first test", []),
        ("commit, first `ruff check`", "lint before each commit", "commit, first lint", []),
        ("commit, first `make x`", "look at it before each commit", "commit, first `make x`",
         ["make x"]),
        ("push, first test", "commit with care", "push, first test", ["push", "test"]),
    ],
)  # fmt: skip
def test_a_required_command_is_generalised_to_the_activity_that_the_user_typed(
    when: str, typed: str, expected: str, unsaid: list[str]
) -> None:
    assert as_typed(when, [typed]) == (expected, unsaid)


@pytest.mark.parametrize(
    ("when", "first", "named"), [("commit", "think hard", "'think hard'"), ("", "pytest", "--when")]
)
def test_a_required_command_needs_a_valid_command_and_a_condition(
    when: str, first: str, named: str
) -> None:
    with pytest.raises(BadInput, match=named):
        stated_first(when, first)


def test_a_condition_is_completed_by_the_commands_that_must_pass_first() -> None:
    assert stated_first("commit", "pytest") == "commit, first pytest"
    assert stated_first("commit, first lint", "pytest") == "commit, first pytest"
    assert stated_first("commit", "") == "commit"
    assert stated_first(None, "pytest") == ", first pytest"


@pytest.mark.parametrize(
    ("first", "line", "expected"),
    [
        ("pytest", "python -m pytest -q", True),
        ("`python -m pytest`", "pytest -q", True),
        ("pytest", "python -m mypy", False),
        ("pytest", "pytest --collect-only", False),
        ("pytest", "pytest -h", False),
        ("make", "make -n check", False),
        ("make check", "make check", True),
        ("`npm run lint`", "yarn lint", True),
        ("`npm run lint`", "yarn test", False),
        ("test", "python -m pytest", True),
    ],
)
def test_a_required_command_counts_in_any_form_that_really_runs_it(
    first: str, line: str, *, expected: bool
) -> None:
    required = required_by(f"commit, first {first}")
    calls = calls_of(line, "/srv/app")

    assert any(runs(binding, call, ()) for binding in required for call in calls) is expected


def test_the_commands_of_a_line_have_the_operator_behind_them() -> None:
    calls = calls_of("! a && timeout 5 b; c > f", "/srv")

    assert [(" ".join(call.words), call.after) for call in calls] == [
        ("a", "||"),
        ("timeout 5 b", "&&"),
        ("b", ";"),
        ("", "&&"),
        ("c", ""),
    ]

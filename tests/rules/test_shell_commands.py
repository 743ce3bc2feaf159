"""Shell lines: which command was meant, where, and whether its status says how it went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.rules.commands import (
    MAX_READ_CHARS,
    RUNNERS,
    Command,
    command_in,
    covers,
    is_silent,
    share_target,
)


def meant(line: str, place: str = "/shop") -> Command:
    command = command_in(line, place)
    assert command is not None
    return command


@pytest.mark.parametrize(
    "line",
    [
        "pytest tests/a.py",
        "  pytest   tests/a.py ",
        "cd /shop && pytest tests/a.py",
        "cd /shop; pytest tests/a.py",
        "cd .. && cd shop && pytest tests/a.py",
        "pytest tests/a.py 2>&1 | tail -20",
        "pytest -q --tb=short tests/a.py",
        ".venv/bin/pytest tests/a.py",
        "python -m pytest tests/a.py",
        "uv run pytest tests/a.py > out.txt",
        "timeout 60 pytest tests/a.py",
        "timeout -k 5 60 uv run pytest tests/a.py",
        "nice -n 10 nohup pytest tests/a.py",
        "npm exec pytest tests/a.py",
        "node_modules/.bin/pytest tests/a.py",
        "export CI_ONLY=1; pytest tests/a.py && echo done",
        "source .venv/bin/activate && pytest tests/a.py || true",
    ],
)
def test_different_forms_of_one_command_are_recognised_as_the_same_command(line: str) -> None:
    command = meant(line)

    assert (command.words, command.place) == (("pytest", "tests/a.py"), "/shop")
    assert not command.probes


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("pytest tests/a.py", "pytest tests/b.py"),
        ("cd api && pytest", "cd web && pytest"),
        ("pytest -k one", "pytest -k two"),
        ("pytest --lf", "pytest"),
        ("npm run build", "npm run test"),
        ("echo 'a && b'", "echo 'a' && b"),
        ("FLAG=1 make", "make"),
        ("env FLAG=1 make", "make"),
        ("sudo make", "make"),
        ("doppler run make", "make"),
        ("uv run --with x make", "make"),
    ],
)
def test_commands_that_may_have_different_effects_are_not_treated_as_the_same(
    line: str, other: str
) -> None:
    assert not covers(meant(line), meant(other))


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("pytest", True),
        ("pytest && echo fine", True),
        ("pytest | tail -5", False),
        ("pytest | grep FAILED", False),
        ("pytest || true", False),
        ("pytest; echo $?", False),
        ("pytest 2>&1", True),
    ],
)
def test_an_exit_status_that_may_belong_to_another_command_is_not_trusted(
    line: str, speaks: bool
) -> None:
    assert meant(line).speaks is speaks


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn total src",
        "diff a b",
        "git diff --exit-code",
        "test -f x",
        "command -v pytest",
        "nice -n 5 grep x y",
        "ls missing && pytest",
        "LC_ALL=C rg x",
        "/usr/bin/grep x y",
    ],
)
def test_a_command_that_only_inspects_files_or_state_is_recognised(line: str) -> None:
    assert meant(line).probes


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "for f in *; do pytest $f; done",
        "python - <<'E'\nprint(1)\nE",
        "pytest $(cat list)",
        "(cd api && pytest)",
        "npm start &",
        "x" * 5000,
    ],
)
def test_no_command_is_extracted_from_an_empty_or_ambiguous_line(line: str) -> None:
    assert command_in(line, "/shop") is None


def test_a_full_test_run_counts_for_a_single_test_only_in_the_same_folder() -> None:
    part = meant("pytest tests/a.py::test_x")

    assert covers(meant("pytest -q"), part)
    assert covers(meant("go test ./..."), meant("go test ./cart"))
    assert not covers(part, meant("pytest"))
    assert not covers(meant("cd api && pytest"), part)
    assert not covers(meant("pytest -k fast"), part)


@pytest.mark.parametrize(
    "again", ["npm run test", "npx vitest", "npx vitest run", "pnpm test", "yarn test", "bun test"]
)
def test_a_failed_npm_test_is_resolved_by_a_passing_equivalent_command(again: str) -> None:
    assert covers(meant(again), meant("npm test"))
    assert covers(meant(again), meant("npm test -- cart"))
    assert not covers(meant(f"{again} cart"), meant("npm test"))
    assert not covers(meant(again), meant("pytest"))


@pytest.mark.parametrize(
    ("line", "text", "place"),
    [
        ("cd api && pytest -q", "pytest -q", "/shop/api"),
        ("cd 'my api' && pytest", "pytest", "/shop/my api"),
        ("cd /api; cd v2; export A=1; pytest", "pytest", "/api/v2"),
        ("export A=1", "export A=1", "/shop"),
        ("cd - && pytest", "cd - && pytest", "/shop"),
        ("cd $X && pytest", "cd $X && pytest", "/shop"),
        ("cd a b && pytest", "cd a b && pytest", "/shop"),
        ("cd api || pytest", "cd api || pytest", "/shop"),
        ("make && pytest -q", "make && pytest -q", "/shop"),
        ("pytest; make", "pytest ; make", "/shop"),
        ("make\npytest", "make ; pytest", "/shop"),
        ("pytest && echo ok && echo fine", "pytest", "/shop"),
        ("pytest | sort | uniq", "pytest", "/shop"),
        ("pytest && tail -1 x", "pytest && tail -1 x", "/shop"),
        ("pytest | echo", "pytest | echo", "/shop"),
        ("pytest;", "pytest", "/shop"),
        ("nice -n 5", "nice -n 5", "/shop"),
    ],
)
def test_a_command_is_shown_without_changes_of_folder_before_it_and_filters_behind_it(
    line: str, text: str, place: str
) -> None:
    command = meant(line)

    assert (command.text, command.place) == (text, place)


def test_only_options_of_runners_that_change_the_output_are_left_out_of_comparisons() -> None:
    assert meant("pytest -x -k one -vv").words == ("pytest", "-k", "one")
    assert meant("pytest --lf -q").words == ("pytest", "--lf", "-q")
    assert meant("make -s all").words == ("make", "-s", "all")
    assert meant("make && pytest -q").words == ("make", "&&", "pytest", "-q")


def test_a_line_is_read_only_up_to_a_maximum_length() -> None:
    longest = "make " + "x" * (MAX_READ_CHARS - 5)

    assert meant(longest).text == longest
    assert command_in(f"{longest}x") is None


@pytest.mark.parametrize("line", ["git", "A=1 git log", "A=1 > f", "pytest && git status"])
def test_a_git_command_without_effect_or_a_bare_assignment_only_inspects(line: str) -> None:
    assert meant(line).probes


@pytest.mark.parametrize("line", ["git push", "pytest", "pytest && make", "A=ls make"])
def test_a_command_with_an_effect_does_not_only_inspect(line: str) -> None:
    assert not meant(line).probes


@pytest.mark.parametrize(
    ("passed", "failed", "expected"),
    [
        ("pytest", "tox -e py", True),
        ("ruff check .", "ruff check src", True),
        ("mypy .", "mypy src", True),
        ("mypy .", "ruff check src", False),
        ("mypy src", "mypy src/a.py", False),
    ],
)
def test_a_whole_check_covers_its_parts_and_the_same_check_by_another_name(
    passed: str, failed: str, *, expected: bool
) -> None:
    assert covers(meant(passed), meant(failed)) is expected


@pytest.mark.parametrize(
    ("passed", "failed", "expected"),
    [
        ("npm run build", "npx tsc", True),
        ("npm run test:unit", "pytest", True),
        ("npm run build", "pytest", False),
        ("pytest", "curl a", False),
        ("curl a", "pytest", False),
        ("cd api && pytest", "pytest", False),
        ("curl a", "curl b", True),
        ("curl a", "wget a", False),
        ("python a.py", "python a.py -v", True),
        ("python a.py", "python b.py", False),
        ("python -v a.py", "python -v b.py", False),
    ],
)
def test_commands_of_the_same_kind_of_work_or_program_share_their_target(
    passed: str, failed: str, *, expected: bool
) -> None:
    assert share_target(meant(passed), meant(failed)) is expected


def test_a_build_or_a_lint_may_print_nothing() -> None:
    lines = {"npm run build": True, "ruff check src": True, "pytest": False, "curl a": False}

    assert {line: is_silent(meant(line)) for line in lines} == lines


@given(st.text(alphabet="ab |&;<>'\"\\\n$()-/ .=2", max_size=60))
def test_any_line_is_read_without_complaint_and_covers_itself(line: str) -> None:
    command = command_in(line, "/shop")

    if command is not None and command.words:
        assert covers(command, command)
    for runner in RUNNERS:
        assert meant(" ".join(runner)).words == runner

"""Shell lines: which command was meant, where, and whether its status says how it went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.rules.commands import RUNNERS, Command, command_in, covers


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


@given(st.text(alphabet="ab |&;<>'\"\\\n$()-/ .=2", max_size=60))
def test_any_line_is_read_without_complaint_and_covers_itself(line: str) -> None:
    command = command_in(line, "/shop")

    if command is not None and command.words:
        assert covers(command, command)
    for runner in RUNNERS:
        assert meant(" ".join(runner)).words == runner

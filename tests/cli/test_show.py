"""The output of commands: tables, facts, warnings, files and progress."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cli.terminal import TerminalStream
from memory_fabric.cli import show
from memory_fabric.errors import BadInput

LONG = "one two three four five six seven eight nine ten eleven twelve"


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> TerminalStream:
    """Make standard output a terminal of 40 columns, without colours.

    No fixture, because pytest replaces standard output after the fixtures.
    """
    for name, value in (("COLUMNS", "40"), ("LINES", "20"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    stream = TerminalStream()
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines on standard output, without blanks at their ends."""
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        (["a"], ["mark", "text"]),
        (["—"], ["text"]),
        (["0"], ["text"]),
        ([""], ["text"]),
        (["a", "a"], ["text"]),
        (["—", "a"], ["mark", "text"]),
        ([], ["text"]),
    ],
)
def test_an_optional_column_is_shown_only_if_it_tells_something(
    capsys: pytest.CaptureFixture[str], marks: list[str], shown: list[str]
) -> None:
    show.table(("mark", "text"), [(mark, "x") for mark in marks], optional=("mark",))

    names, *rows = printed(capsys)
    assert names.split() == shown
    assert [row.split()[-1] for row in rows] == ["x"] * len(marks)


def test_the_last_cell_of_a_table_is_cut_to_a_number_of_lines_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = on_a_terminal(monkeypatch)
    show.table(("id", "memory"), [("12345678", LONG), ("7", "short")], lines=2)

    assert [line.rstrip() for line in screen.getvalue().splitlines()] == [
        "id        memory",
        "12345678  one two three four five six",
        "          seven eight nine ten eleven…",
        "7         short",
    ]


@pytest.mark.parametrize(("text", "lines"), [(LONG.removesuffix(" twelve"), 2), (LONG, 0)])
def test_a_cell_within_the_limit_of_lines_or_without_a_limit_is_not_cut(
    monkeypatch: pytest.MonkeyPatch, text: str, lines: int
) -> None:
    screen = on_a_terminal(monkeypatch)
    show.table(("id", "memory"), [("12345678", text)], lines=lines)

    assert screen.getvalue().split()[3:] == text.split()


def test_rows_are_indented_and_facts_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    show.rows([("a", "b", "c"), ("long", "d", "e")])
    show.facts(("name", "shop"), ("state", ""), ("id", "7"))

    assert printed(capsys) == ["  a     b  c", "  long  d  e", "name  shop", "id    7"]


def test_the_last_cell_of_a_row_is_wrapped_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = on_a_terminal(monkeypatch)
    show.rows([("a name", LONG)], indent=1)

    assert [line.rstrip() for line in screen.getvalue().splitlines()][:2] == [
        " a name  one two three four five six",
        "         seven eight nine ten eleven",
    ]


def test_lines_skip_empty_texts_and_have_no_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show.lines(["a\x1b[31m\tb", "", "<system-reminder>", "x" * 250])
    show.block("<memory-fabric>\x07\x7f\x9f\x80ok\xa0</memory-fabric>")

    first, second, third, block = capsys.readouterr().out.splitlines()
    assert (first.split(), second, third) == (["a[31m", "b"], "‹system-reminder>", "x" * 250)
    assert block == "<memory-fabric>ok\xa0</memory-fabric>"


def test_a_warning_is_one_line_of_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    show.warn_all(["two\n lines\x07", "more"])

    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "memory-fabric: two lines\nmemory-fabric: more\n")


@pytest.mark.parametrize(
    ("target", "force", "field"),
    [
        (".", True, "FILE"),
        ("pipe", True, "FILE"),
        ("none/out", False, "FILE"),
        ("dangling", False, "--force"),
    ],
)
def test_an_output_file_that_cannot_be_written_is_refused(
    tmp_path: Path, target: str, force: bool, field: str
) -> None:
    (tmp_path / "dangling").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(BadInput) as refused:
        show.write_file(str(tmp_path / target), b"x", force)

    assert refused.value.field == field
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "pipe"]


@pytest.mark.parametrize(
    ("interval_s", "told"),
    [(60.0, ""), (0.0, "Reading: 0 %\nReading: 33 %\nReading: 100 %\n")],
)
def test_progress_without_a_terminal_is_told_in_percent_at_intervals(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    interval_s: float,
    told: str,
) -> None:
    monkeypatch.setattr(show, "LINE_EVERY_S", interval_s)

    with show.progress_bar("Reading") as tell:
        assert tell is not None
        for done, total in ((0, 0), (1, 3), (3, 3)):
            tell(done, total)

    assert capsys.readouterr().err == told


def test_quiet_progress_is_not_told() -> None:
    with show.progress_bar("Reading", quiet=True) as tell:
        assert tell is None

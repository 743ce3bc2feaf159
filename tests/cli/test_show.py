"""The output of commands: tables, facts, warnings, questions, files and progress."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from memory_fabric.cli import show
from memory_fabric.errors import BadInput

LONG = "one two three four five six seven eight nine ten eleven twelve"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard output a terminal of 40 columns, without colours."""
    for name, value in (("COLUMNS", "40"), ("LINES", "20"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    return screen


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on standard output, without blanks at their ends."""
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([("a", "x")], ["mark", "text"]),
        ([("—", "x")], ["text"]),
        ([("0", "x")], ["text"]),
        ([("", "x")], ["text"]),
        ([("a", "x"), ("a", "y")], ["text"]),
        ([("—", "x"), ("a", "x")], ["mark", "text"]),
        ([], ["text"]),
    ],
)
def test_an_optional_column_is_shown_only_if_it_tells_something(
    capsys: pytest.CaptureFixture[str], rows: list[tuple[str, str]], shown: list[str]
) -> None:
    show.table(("mark", "text"), rows, optional=("mark",))

    lines = printed(capsys)
    assert lines[0].split() == shown
    assert [line.split()[-1] for line in lines[1:]] == [row[1] for row in rows]
    if rows:
        show.table(("mark", "text"), rows)
        assert printed(capsys)[0].split() == ["mark", "text"]


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


def test_a_cell_that_has_just_enough_lines_is_not_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = on_a_terminal(monkeypatch)
    text = LONG.removesuffix(" twelve")
    show.table(("id", "memory"), [("12345678", text)], lines=2)
    show.table(("id", "memory"), [("12345678", LONG)])

    assert "…" not in screen.getvalue()
    assert screen.getvalue().count("eleven") == 2 and screen.getvalue().count("twelve") == 1


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


def test_json_is_printed_and_the_exit_code_returned(capsys: pytest.CaptureFixture[str]) -> None:
    assert show.json_out({"a": "ö"}) == 0
    assert show.json_out({"a": "ö"}, 3) == 3

    assert capsys.readouterr().out == 2 * '{\n  "a": "ö"\n}\n'


def test_a_switch_is_shown_as_on_or_off() -> None:
    assert (show.on(True), show.on(False)) == ("on", "off")


def test_a_question_is_skipped_with_yes_and_refused_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    show.confirm("Remove it?", True)
    with pytest.raises(BadInput, match="needs a confirmation") as refused:
        show.confirm("Remove it?", False)

    assert refused.value.field == "--yes"
    assert capsys.readouterr().out == ""


def test_a_page_is_opened_only_from_a_terminal_with_a_display(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setattr(os, "environ", {"DISPLAY": ":0"})
    assert show.can_open_page() is True
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert show.can_open_page() is False


def test_a_new_output_file_is_private_and_an_old_one_is_replaced_only_by_force(
    tmp_path: Path,
) -> None:
    target = tmp_path / "out"
    show.write_file(str(target), b"one", False)
    with pytest.raises(BadInput, match="exists; nothing was written"):
        show.write_file(str(target), b"two", False)
    kept = target.read_bytes()
    show.write_file(str(target), [b"th", b"ree"], True)

    assert (kept, target.read_bytes()) == (b"one", b"three")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_an_output_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    dangling = tmp_path / "link"
    dangling.symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")

    for target, field, force in (
        (tmp_path, "FILE", True),
        (tmp_path / "pipe", "FILE", True),
        (tmp_path / "gone" / "out", "FILE", False),
        (dangling, "--force", False),
    ):
        with pytest.raises(BadInput) as refused:
            show.write_file(str(target), b"x", force)
        assert refused.value.field == field
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_progress_without_a_terminal_is_told_in_percent_but_seldom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with show.progress_bar("Reading", quiet=True) as quiet:
        assert quiet is None
    with show.progress_bar("Reading") as tell:
        assert tell is not None
        tell(1, 4)
    assert capsys.readouterr().err == ""

    monkeypatch.setattr(show, "LINE_EVERY_S", 0.0)
    with show.progress_bar("Reading") as tell:
        assert tell is not None
        tell(0, 0)
        tell(1, 3)
        tell(3, 3)

    assert capsys.readouterr().err == "Reading: 0 %\nReading: 33 %\nReading: 100 %\n"


def test_short_work_prints_nothing_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = Terminal()
    monkeypatch.setattr(sys, "stderr", errors)

    with show.progress_bar("Reading") as tell, show.patience("Checking"):
        assert tell is not None
        tell(1, 2)

    assert errors.getvalue() == ""


def test_attributes_of_a_value_are_returned_by_name() -> None:
    assert json.dumps(show.fields(3 + 4j, "real imag")) == '{"real": 3.0, "imag": 4.0}'

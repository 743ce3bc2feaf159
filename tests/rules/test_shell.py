"""Shell lines: their commands, folders, redirections, separators and input."""

from __future__ import annotations

import os

import pytest

from memory_fabric.rules import shell
from memory_fabric.rules.shell import Call, calls_in, plain_list


def words(line: str) -> str:
    """Return the words of a line's commands, with `; ` between the commands."""
    return "; ".join(" ".join(call.words) for call in calls_in(line, "/srv"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a && b || c; d | e |& f & g", "&& || ; | |& & "),
        ("a\nb", "\n "),
        ("a;", ";"),
        ("(a) && b", "&& "),
        ("a; (b); c", "; ) "),
    ],
)
def test_each_command_has_the_separator_behind_it(line: str, expected: str) -> None:
    assert " ".join(call.after for call in calls_in(line, "/srv")) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", "a b c d e f g"),
        ('a "b\\"c\\$d\\e"', 'a b"c$d\\e'),
        ("a 'b\\n'", "a b\\n"),
        ("a # b\nc", "a; c"),
        ("a b#c", "a b#c"),
        ('a $"b"', "a b"),
        ("X=1 Y+=2 a", "a"),
        ("X=1; a $X ${X} ${Y:-2} $Z", "a 1 1 2 $Z"),
        ("X='1 2'; a $X", "a 1 2"),
        ("X=1 b; a $X", "b; a $X"),
        ("a $((1 + 2)) b", "a $ b"),
        ("a $1b", "a $1b"),
        ("a $", "a $"),
        ("a `echo b` c", "echo b; a b c"),
        ("a $(b) c", "b; a $ c"),
        ("a {b,c}d", "a bd cd"),
        ("a {b}", "a {b}"),
        ("case $x in b) a;; esac; c", "a; c"),
        ("time -- a", "a"),
    ],
)
def test_the_words_of_a_line_are_read_as_in_a_shell(line: str, expected: str) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("a >> f 2> g", "f g"),
        ("a >| f", "f"),
        ("a &> f", "f"),
        ("a 2>&1", ""),
        ("a <> f", ""),
        ("a < f", ""),
        ("a >\t  f b", "f"),
        ("> f", "f"),
        ("a >; b", ""),
    ],
)
def test_a_redirection_of_the_output_names_a_written_file(line: str, written: str) -> None:
    assert " ".join(" ".join(call.written) for call in calls_in(line, "/srv")).strip() == written


def test_a_digit_at_the_end_of_a_word_is_part_of_the_word_before_a_redirection() -> None:
    [joined], [apart] = calls_in("a b2> f", "/srv"), calls_in("a b 2> f", "/srv")

    assert (joined.words, apart.words) == (("a", "b2"), ("a", "b"))


@pytest.mark.parametrize(
    ("line", "stdin"),
    [
        ("a <<E\nb\n c\nE\n", "b\n c"),
        ("a <<-E\n\tb\n\tE\nc", "\tb"),
        ("x <<E\nb\nE\na <<F\nc\nF\n", "c"),
        ("echo -n b |& a", "b"),
        ("pwd | a", "/srv"),
        ("which b | a", "b"),
        ("echo b; a", ""),
        ("echo b | a <<< c", "c"),
    ],
)
def test_the_input_of_a_command_is_known_if_the_line_contains_it(line: str, stdin: str) -> None:
    [call] = [call for call in calls_in(line, "/srv") if call.words[:1] == ("a",)]

    assert call.stdin == stdin


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("cd x; cd ..; a", "/srv"),
        ("cd /y && a", "/y"),
        ("cd -P x && a", "/srv/x"),
        ("cd x; cd y; cd -; a", "/srv/x"),
        ("pushd x; a", "/srv/x"),
        ("pushd x; pushd y; popd; a", "/srv/x"),
        ("popd; a", ""),
        ("(cd x; a)", "/srv/x"),
    ],
)
def test_a_command_runs_in_the_folder_to_which_the_line_has_changed(line: str, folder: str) -> None:
    [call] = [call for call in calls_in(line, "/srv") if call.words == ("a",)]

    assert call.folder == folder


def test_a_bare_cd_leads_to_the_home_folder() -> None:
    assert calls_in("cd && a", "/srv")[-1].folder == os.path.expanduser("~")


def test_the_words_of_a_command_are_also_kept_as_they_were_written() -> None:
    [call] = calls_in("X=1 a 'b c' < f", "/srv")

    assert call.raw == ("X=1", "a", "'b c'", "<", "f")


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("a; b && c | d", 4),
        ("time a", 1),
        ("a\nb", 2),
        ("(a)", 0),
        ("a $(b)", 0),
        ("a `b`", 0),
        ("a <<E\nb\nE", 0),
        ("for x in b; do a; done", 0),
        ("if a; then b; fi", 0),
        ("case x in y) a;; esac", 0),
        ("f() { a; }", 0),
    ],
)
def test_only_a_line_without_control_structures_is_a_plain_list(line: str, number: int) -> None:
    assert len(plain_list(line)) == number


def test_braces_in_a_pattern_are_expanded_into_all_alternatives_up_to_a_limit() -> None:
    assert shell.alternatives("x/{a,b}/{c,d}") == ["x/a/c", "x/a/d", "x/b/c", "x/b/d"]
    assert shell.alternatives("{a,b}{c}{d}") == ["acd", "bcd"]
    for pattern in ("x", "}a{", "{a", "{a,b}{c}{d}{e}"):
        assert shell.alternatives(pattern) == [pattern]


@pytest.mark.parametrize(
    ("line", "operands"),
    [
        ("find", "."),
        ("find a b -type f", "a b"),
        ("find . -name x -o -iname y", "x y"),
        ("find a -name x", "a"),
        ("find . ! -name x", "."),
        ("find . -not -name x", "."),
        ("find / -path x", "x"),
        ("find . ( -name x )", "x"),
        ("find . -type d -empty", ""),
    ],
)
def test_the_operands_of_find_are_its_names_or_else_its_folders(line: str, operands: str) -> None:
    assert " ".join(shell.operands_of_find(line.split())) == operands


def test_a_path_is_absolute_or_unknown() -> None:
    assert shell.path_in("/srv", "../a/./b") == "/a/b"
    assert shell.path_in("/srv", "/b/../c") == shell.path_in("", "/c") == "/c"
    for folder, path in (("", "a"), ("/srv", ""), ("/srv", "$X/a"), ("/srv", "a\0b")):
        assert shell.path_in(folder, path) == ""


def test_an_assignment_has_a_name_before_its_sign() -> None:
    assert all(map(shell.is_assignment, ("A=1", "A+=1", "_a=", "a1=b=c")))
    assert not any(map(shell.is_assignment, ("A", "=1", "1a=1", "a-b=1", "--a=1")))


def test_only_the_output_of_a_few_programs_is_known() -> None:
    assert shell.printed(Call(("echo", "-n", "a", "b"), "/srv")) == "a b"
    assert shell.printed(Call(("command", "-v", "rm"), "/srv")) == "rm"
    assert shell.printed(Call(("command", "ls"), "/srv")) == shell.printed(Call((), "/srv")) == ""
    assert shell.printed(Call(("find", "src"), "/srv")) == "src"

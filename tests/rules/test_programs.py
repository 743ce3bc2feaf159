"""The program, plain words, options, wrapper and script of a command."""

from __future__ import annotations

import pytest

from memory_fabric.rules import programs


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("npm run", ""),
        ("npm test", "npm test"),
        ("npm t", "npm test"),
        ("npm start", "npm start"),
        ("npm dev", ""),
        ("npm", ""),
        ("yarn add dev", ""),
        ("pnpm deploy", ""),
        ("yarn a.ts", ""),
        ("yarn src/a", ""),
        ("npm workspace web run dev", ""),
        ("bun x.ts", ""),
        ("bun src/dev", ""),
        ("bun test", ""),
        ("pnpm -r dev", "pnpm dev"),
        ("make dev", ""),
        ("", ""),
    ],
)
def test_a_script_is_recognised_by_its_package_manager(line: str, script: str) -> None:
    manager, _, name = script.partition(" ")
    expected = (manager, "run", name) if script else None

    assert programs.as_script(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "simple"),
    [
        ("/usr/bin/python3.11 x", "python x"),
        ("python3 x", "python x"),
        ("pythonic x", "pythonic x"),
        ("bin/x", "bin/x"),
        ("./gradlew x", "gradle x"),
        ("./run x", "./run x"),
        ("x.exe", "x"),
        ("A=1", "A=1"),
        ("git -c alias.p=!make p x", "git -x make"),
        ("git -c user.p=push p x", "git -c user.p=push p x"),
        ("hg -c alias.p=push p x", "hg -c alias.p=push p x"),
    ],
)
def test_the_name_of_a_program_is_simplified(line: str, simple: str) -> None:
    assert " ".join(programs.shell_words(line.split())) == simple


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("git -C d log -n 1", "git log 1"),
        ("ls -C d", "ls d"),
        ("ls -a -- -x y", "ls -x y"),
        ("cat - x", "cat - x"),
        ("make -j 4 x", "make x"),
        ("ls", "ls"),
    ],
)
def test_plain_words_omit_options_and_their_known_values(line: str, plain: str) -> None:
    assert " ".join(programs.plain_words(line.split())) == plain


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("rm -rf --x=1 a -- -z", "-rf -r -f --x"),
        ("head -1", "-1"),
        ("cat -", ""),
        ("-x a", ""),
    ],
)
def test_single_and_clustered_options_are_read_up_to_a_double_dash(line: str, options: str) -> None:
    assert programs.options_of(line.split()) == frozenset(options.split())


@pytest.mark.parametrize(
    ("line", "wrapper"),
    [
        ("git bisect run x", "git bisect run"),
        ("uv run x", "uv run"),
        ("ls sudo", ""),
    ],
)
def test_the_longest_known_wrapper_at_the_beginning_of_a_command_is_found(
    line: str, wrapper: str
) -> None:
    assert " ".join(programs.wrapper_of(line.split())) == wrapper


def test_only_a_program_in_a_bin_folder_loses_its_folder() -> None:
    names = {"a/bin/x": "x", "node_modules/.bin/x": "x", "a/x": "a/x", "bin": "bin"}

    assert {name: programs.installed_name(name) for name in names} == names

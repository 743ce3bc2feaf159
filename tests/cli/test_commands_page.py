"""docs/commands.md is what the commands say of themselves, and so is `--help`, in full."""

from __future__ import annotations

import re
import sys

import pexpect
import pytest
import typer

from cli.shell import Shell
from cli.write_page import PAGE, page
from memory_fabric.cli.commands import COMMANDS
from memory_fabric.cli.helping import divided, fenced, laid_out

TEXT = PAGE.read_text("utf-8")
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##? |^### |\Z)", TEXT, re.MULTILINE | re.DOTALL))
NAMES = [command.name for command in COMMANDS]


def letters(text: str) -> str:
    """The text without what differs between a page and a help: marks, brackets, line breaks."""
    text = re.sub(r"\[(docs/\S+?)\]\(\S+\.md(#\S+?)?\)", r"\1\2", text)
    return re.sub(r"[\s`│╭╮╰╯─]+", "", text)


def test_the_page_is_what_the_commands_say() -> None:
    assert page() == TEXT, "PYTHONPATH=plugin:tests .venv/bin/python -m cli.write_page"


def test_the_page_has_exactly_the_commands_in_their_order() -> None:
    assert list(SECTIONS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_help_says_all_that_the_page_says(shell: Shell, name: str) -> None:
    done = shell.run(name, "--help")

    assert done.status == 0
    assert done.out.startswith(f"Usage: memory-fabric {name}")
    said = letters(done.out)
    for sentence in re.split(r"\n\n|^- `.*?`: ", SECTIONS[name].partition("`\n")[2], flags=re.M):
        sentence = re.sub(r"```(sh)?|\(default: .*?\)", "", sentence)
        assert letters(sentence) in said


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_says_something(name: str) -> None:
    items = re.findall(r"^- `.*?`(.*)", SECTIONS[name], re.MULTILINE)

    assert len(SECTIONS[name].split()) > 5
    assert all(len(said) > 5 for said in items)


@pytest.mark.parametrize("name", ["recall", "share"])
def test_in_a_terminal_help_is_drawn_with_its_examples_line_by_line(
    shell: Shell, name: str
) -> None:
    drawn = pexpect.run(
        f"{sys.executable} -m memory_fabric.cli {name} --help",
        env={**shell.environ, "TERM": "xterm"},
        cwd=str(shell.project),
        dimensions=(60, 100),
    ).decode()

    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert "╭─ Options" in plain
    assert "```" not in plain and "`" not in plain
    for example in re.findall(r"```sh\n(.*?)```", SECTIONS[name], re.DOTALL)[0].splitlines():
        assert any(line.strip() == example for line in plain.splitlines())


def test_examples_are_kept_apart_from_the_prose() -> None:
    told = divided("Does it.\n\nMore.\n\nLike this:\n\n    one\n    two\n\nAfter.")

    assert told.prose == "Does it.\n\nMore."
    assert fenced(told.examples) == "Like this:\n\n```sh\none\ntwo\n```\n\nAfter."
    assert laid_out(told.examples, rendered=False) == (
        "Like this:\n\n\b\n    one\n    two\n\nAfter."
    )


def test_a_group_of_commands_has_a_section_for_each() -> None:
    from cli.write_page import sections

    app = typer.Typer(name="parts", help="Parts.")
    app.command("one", help="The first.")(lambda: None)
    app.command("two", help="The second.")(lambda: None)

    written = list(sections(typer.main.get_command(app), "parts", "###"))

    assert [section.split("\n")[0] for section in written] == [
        "### parts",
        "#### parts one",
        "#### parts two",
    ]
    assert "`memory-fabric parts COMMAND`" in written[0]

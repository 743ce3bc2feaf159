"""docs/commands.md lists every command, and `--help` says the rest."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
import typer

from cli.shell import Shell
from memory_fabric.cli.app import build, format_help, split_examples
from memory_fabric.cli.registry import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")
NAMES = [command.name for command in COMMANDS]
KNOWN: dict[str, Any] = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
ROWS = [
    (name, row)
    for row in re.findall(r"^\| `[a-z].*$", PAGE, re.MULTILINE)
    for name in re.findall(r"`([a-z]+)`", row.split("|")[1])
]


def options(name: str) -> set[str]:
    """Return all option names of a command and of its subcommands."""
    commands = [KNOWN[name], *getattr(KNOWN[name], "commands", {}).values()]
    return {option for one in commands for parameter in one.params for option in parameter.opts}


def test_commands_page_lists_each_command_once_grouped_as_in_the_help() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)

    assert sorted(name for name, _ in ROWS) == sorted(NAMES)
    assert headings == list(dict.fromkeys(command.panel for command in COMMANDS))
    for command in COMMANDS:
        section = PAGE.split(f"## {command.panel}\n")[1].split("\n## ")[0]
        assert f"`{command.name}`" in section


def test_the_table_on_the_commands_page_mentions_only_existing_options() -> None:
    named = {(name, option) for name, row in ROWS for option in re.findall(r"`(--[a-z-]+)", row)}

    assert len(named) > 5
    assert [(name, option) for name, option in named if option not in options(name)] == []


def test_examples_on_the_commands_page_use_only_existing_options() -> None:
    examples = re.findall(r"memory-fabric ([a-z]+) ([^\n`#]*)", PAGE)
    named = {(name, o) for name, rest in examples for o in re.findall(r"(?<!\S)--[a-z]+", rest)}

    assert len(named) > 5
    assert [(name, option) for name, option in named if option not in options(name)] == []


def test_recall_has_an_option_for_every_documented_filter() -> None:
    table = PAGE.split("| filter | finds |\n")[1].split("\n\n")[0]
    filters = {word.replace("_", "-") for word in re.findall(r"`([a-z_]+):", table)}

    assert {f"--{word}" for word in filters} <= options("recall")
    assert len(filters) == 10


def test_numeric_options_that_are_left_out_have_their_defaults() -> None:
    named = {("recall", "limit"): 10, ("review", "limit"): 3, ("worth", "days"): 30}
    named |= {("history", "limit"): 20, ("serve", "port"): 8002}

    defaults = {(name, p.name): p.default for name, known in KNOWN.items() for p in known.params}

    assert {option: defaults[option] for option in named} == named


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_has_a_help_text(name: str) -> None:
    command = KNOWN[name]

    assert len(command.help.split()) > 3
    assert [p.name for p in command.params if not p.hidden and len(p.help or "") <= 5] == []


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_the_text_of_every_option(shell: Shell, name: str) -> None:
    done = shell.run(name, "--help")

    assert done.status == 0
    assert done.out.startswith(f"Usage: memory-fabric {name}")
    shown = re.sub(r"[\s`]+", "", done.out)
    for parameter in KNOWN[name].params:
        assert parameter.hidden or re.sub(r"[\s`]+", "", parameter.help) in shown


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_80_columns(shell: Shell, name: str) -> None:
    shown = shell.run(name, "--help", COLUMNS="80").out

    assert [line for line in shown.splitlines() if len(line) > 80] == []
    actions = shown.partition("\nCommands:\n")[2]
    assert "..." not in actions  # their summaries are whole


@pytest.mark.parametrize("name", ["recall", "share"])
def test_help_in_a_terminal_shows_each_example_on_its_own_line(shell: Shell, name: str) -> None:
    drawn = pexpect.run(
        f"{sys.executable} -m memory_fabric.cli {name} --help",
        env={**shell.environ, "TERM": "xterm"},
        cwd=str(shell.project),
        dimensions=(60, 100),
    ).decode()

    plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
    assert "╭─ Options" in plain
    assert "```" not in plain and "`" not in plain
    indented = (line for line in KNOWN[name].epilog.splitlines() if line.startswith("    "))
    examples = [line.strip() for line in indented]
    assert examples
    assert [e for e in examples if e not in map(str.strip, plain.splitlines())] == []


def test_a_summary_that_ends_with_a_colon_does_not_belong_to_the_examples() -> None:
    example = "    x\n\nAfter."

    assert split_examples(f"Say this:\n\n{example}") == ("Say this:", example)
    assert split_examples(f"One.\n\nTwo.\n\n{example}") == ("One.\n\nTwo.", example)
    assert split_examples(f"One.\n\nTwo:\n\n{example}") == ("One.", f"Two:\n\n{example}")
    assert split_examples("One.\n\nTwo.") == ("One.\n\nTwo.", "")


def test_help_formats_indented_examples_as_separate_blocks() -> None:
    prose, examples = split_examples(
        "Does it.\n\nMore.\n\nLike this:\n\n    one\n    two\n\nAfter."
    )

    assert prose == "Does it.\n\nMore."
    assert format_help(examples, rendered=True) == "Like this:\n\n```sh\none\ntwo\n```\n\nAfter."
    assert format_help(examples, rendered=False) == ("Like this:\n\n\b\n    one\n    two\n\nAfter.")

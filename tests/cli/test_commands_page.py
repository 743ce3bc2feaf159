"""docs/commands.md is complete: every command and option of the application stands there."""

from __future__ import annotations

import re

import pytest
import typer

from cli.shell import ROOT, Shell
from memory_fabric.cli.app import build
from memory_fabric.cli.commands import COMMANDS

PAGE = (ROOT / "docs/commands.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def options(name: str) -> set[str]:
    """The long options of a command, as typer knows them."""
    command = typer.main.get_command(build()).commands[name]  # type: ignore[attr-defined]
    return {opt for p in command.params for opt in p.opts if opt.startswith("--")} - {"--help"}


def test_the_page_has_exactly_the_commands_in_their_order() -> None:
    assert list(SECTIONS) == [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_the_page_names_every_option_and_no_other(name: str) -> None:
    named = set(re.findall(r"`(--[a-z-]+)", SECTIONS[name]))

    assert named == options(name)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_help_that_says_what_it_does(shell: Shell, name: str) -> None:
    done = shell.run(name, "--help")

    assert done.status == 0
    assert done.out.startswith(f"Usage: memory-fabric {name}")

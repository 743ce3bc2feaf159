"""The typer application, built from the table of commands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memory_fabric import __version__
from memory_fabric.cli.help import format_help, help_text_of
from memory_fabric.cli.registry import COMMANDS, Command

NAME_WIDTH = max(len(command.name) for command in COMMANDS)
EPILOG = "Exit codes: 0 success, 1 failure, 2 usage error, 3 nothing found."


class GroupedCommands(TyperGroup):
    """A list of commands under the headings of the table, with each summary whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the summaries of all commands, each panel as one section."""
        styled = sys.stdout.isatty()
        for panel in dict.fromkeys(command.panel for command in COMMANDS):
            rows = [
                (command.name.ljust(NAME_WIDTH), command.says)
                for command in COMMANDS
                if command.panel == panel
            ]
            with formatter.section(typer.style(panel, bold=True) if styled else panel):
                formatter.write_dl(rows)


def build(names: Collection[str] = ()) -> typer.Typer:
    """Build the application with the named commands, or with all; import only their modules."""
    rendered = sys.stdout.isatty()
    app = _bare(rendered=rendered)
    for command in COMMANDS:
        if not names or command.name in names:
            function = _function(command)
            text = help_text_of(function)
            app.command(
                command.name,
                help=format_help(text.prose, rendered=rendered),
                epilog=format_help(text.examples, rendered=rendered),
                rich_help_panel=command.panel,
            )(function)
    return app


def listing() -> typer.Typer:
    """Build the application for `--help`: the name and summary of every command, none imported."""
    app = _bare(rendered=False)
    for command in COMMANDS:
        app.command(command.name, help=command.says)(_unloaded)
    return app


def _bare(*, rendered: bool) -> typer.Typer:
    return typer.Typer(
        name="memory-fabric",
        cls=GroupedCommands,
        callback=_top,
        invoke_without_command=True,
        add_completion=False,
        epilog=EPILOG,
        rich_markup_mode="markdown" if rendered else None,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )


def _function(command: Command) -> Callable[..., int]:
    module = importlib.import_module(f"memory_fabric.cli.{command.module}")
    function: Callable[..., int] = getattr(module, command.function)
    return function


def _unloaded() -> None:
    raise AssertionError("main builds the application with the command that it runs")


def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Persistent memory for Claude Code: what was decided, and why, in every session."""
    if version:
        typer.echo(f"memory-fabric {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())

"""The typer application, built from the table of commands."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from typing import Annotated

import typer

from memory_fabric import __version__
from memory_fabric.cli.commands import COMMANDS
from memory_fabric.cli.helping import laid_out, told_by

EPILOG = "Exit codes: 0 done, 1 failed, 2 wrong use, 3 nothing found."


def build(names: Collection[str] = ()) -> typer.Typer:
    """The application with these commands, or with all; only their modules are imported."""
    rendered = sys.stdout.isatty()
    app = typer.Typer(
        name="memory-fabric",
        callback=_top,
        invoke_without_command=True,
        add_completion=False,
        epilog=EPILOG,
        rich_markup_mode="markdown" if rendered else None,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    for command in COMMANDS:
        if not names or command.name in names:
            module = importlib.import_module(f"memory_fabric.cli.{command.module}")
            function = getattr(module, command.function)
            told = told_by(function)
            app.command(
                command.name,
                help=laid_out(told.prose, rendered=rendered),
                epilog=laid_out(told.examples, rendered=rendered),
                rich_help_panel=command.panel,
            )(function)
    return app


def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    """Persistent memory for Claude Code: what was decided, and why, in every session."""
    if version:
        typer.echo(f"memory-fabric {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())

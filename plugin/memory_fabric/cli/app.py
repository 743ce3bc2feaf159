"""The typer application, built from the table of commands."""

import importlib
import inspect
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memory_fabric import __version__
from memory_fabric.cli.registry import COMMANDS, Command

# Click keeps the lines of a paragraph that begins with this.
VERBATIM = "\b\n"
INDENT = "    "


@dataclass(frozen=True, slots=True)
class HelpText:
    """The prose of a help text in Markdown, and its examples."""

    prose: str
    examples: str


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


def help_text_of(function: Callable[..., object]) -> HelpText:
    """Return the help text in the docstring of a command."""
    return split_examples(inspect.getdoc(function) or "")


def split_examples(text: str) -> HelpText:
    """Split a text before its first example, or before the line with a colon that introduces it."""
    paragraphs = inspect.cleandoc(text).replace(VERBATIM, "").split("\n\n")
    first = next((n for n, part in enumerate(paragraphs) if part.startswith(INDENT)), None)
    if first is None:
        return HelpText("\n\n".join(paragraphs), "")
    if first > 1 and paragraphs[first - 1].endswith(":"):
        first -= 1
    return HelpText("\n\n".join(paragraphs[:first]), "\n\n".join(paragraphs[first:]))


def format_help(text: str, *, rendered: bool) -> str:
    """Format a text for `--help`: as Markdown if it is rendered, else with verbatim examples."""
    if rendered:
        return with_fences(text)
    parts = text.split("\n\n")
    return "\n\n".join(VERBATIM + p if p.startswith(INDENT) else p for p in parts)


def with_fences(text: str) -> str:
    """Return the text with its examples in fenced code blocks."""
    return "\n\n".join(_fenced(part) for part in text.split("\n\n"))


def _fenced(paragraph: str) -> str:
    if not paragraph.startswith(INDENT):
        return paragraph
    return f"```sh\n{inspect.cleandoc(paragraph)}\n```"

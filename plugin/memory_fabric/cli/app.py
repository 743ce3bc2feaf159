"""The typer application, built from the table of commands in `registry`."""

import importlib
import inspect
import sys
from collections.abc import Callable, Collection
from typing import Any

import typer
from typer.core import TyperGroup

from memory_fabric import __version__
from memory_fabric.cli.registry import COMMANDS

# At the beginning of a paragraph, this marker keeps Click from rewrapping the paragraph.
VERBATIM = "\b\n"
INDENT = "    "
NAME_WIDTH = max(len(command.name) for command in COMMANDS)


class GroupedCommands(TyperGroup):
    """A typer group whose help lists the commands in sections, with complete summaries."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section of the help for each `panel` (group of commands), with summaries."""
        styled = sys.stdout.isatty()
        for panel in dict.fromkeys(command.panel for command in COMMANDS):
            listed = [command for command in COMMANDS if command.panel == panel]
            rows = [(command.name.ljust(NAME_WIDTH), command.says) for command in listed]
            with formatter.section(typer.style(panel, bold=True) if styled else panel):
                formatter.write_dl(rows)


def build(names: Collection[str] = ()) -> typer.Typer:
    """Build the application with these commands (default: all); import only their modules."""
    rendered = sys.stdout.isatty()
    app = _bare(rendered=rendered)
    for command in COMMANDS:
        if not names or command.name in names:
            module = importlib.import_module(f"memory_fabric.cli.{command.module}")
            function = getattr(module, command.function)
            texts = {"rich_help_panel": command.panel} | _texts(function, rendered=rendered)
            actions = getattr(module, "SUBCOMMANDS", ())
            if not actions:
                app.command(command.name, **texts)(function)
                continue
            group = _bare(rendered=rendered, callback=function, cls=TyperGroup)
            for action in actions:
                group.command(action.__name__, **_texts(action, rendered=rendered))(action)
            app.add_typer(group, name=command.name, **texts)
    return app


def _texts(function: Callable[..., Any], *, rendered: bool) -> dict[str, Any]:
    prose, examples = split_examples(inspect.getdoc(function) or "")
    texts = {"help": prose, "epilog": examples}
    return {name: format_help(text, rendered=rendered) for name, text in texts.items()}


def listing() -> typer.Typer:
    """Build the application for `--help`, with names and summaries; it imports no command."""
    app = _bare(rendered=False)
    for command in COMMANDS:
        # The lambda is a placeholder and never called: `main` runs a named command with `build`.
        app.command(command.name, help=command.says)(lambda: None)
    return app


def _bare(
    *, rendered: bool, callback: Any = None, cls: type[TyperGroup] = GroupedCommands
) -> typer.Typer:
    return typer.Typer(
        name="memory-fabric",
        cls=cls,
        callback=callback or _top,
        invoke_without_command=True,
        add_completion=False,
        epilog="Exit codes: 0 success, 1 failure, 2 usage error, 3 nothing found.",
        rich_markup_mode="markdown" if rendered else None,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )


def _top(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Persistent memory for Claude Code: what was decided, and why, in every session."""
    if version:
        typer.echo(f"memory-fabric {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def split_examples(text: str) -> tuple[str, str]:
    """Split a help text into prose and examples (with the line that introduces the examples)."""
    paragraphs = inspect.cleandoc(text).replace(VERBATIM, "").split("\n\n")
    first = next((n for n, part in enumerate(paragraphs) if part.startswith(INDENT)), None)
    if first is None:
        return "\n\n".join(paragraphs), ""
    if first > 1 and paragraphs[first - 1].endswith(":"):
        first -= 1
    return "\n\n".join(paragraphs[:first]), "\n\n".join(paragraphs[first:])


def format_help(text: str, *, rendered: bool) -> str:
    """Format a help text for `--help`; if `rendered`, examples become Markdown code blocks."""
    parts = text.split("\n\n")
    for n, part in enumerate(parts):
        if part.startswith(INDENT):
            parts[n] = f"```sh\n{inspect.cleandoc(part)}\n```" if rendered else VERBATIM + part
    return "\n\n".join(parts)

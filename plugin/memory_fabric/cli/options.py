"""The options and arguments of commands: short forms of typer's, and those that commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

# For commands whose JSON needs no description of its own.
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
Step = Annotated[
    str,
    typer.Option(
        "--step",
        metavar="NAME",
        help="Make this one step with other changes of the name, for `undo --step NAME`.",
    ),
]


def flag(name: str, says: str) -> Any:
    """Return an option without a value, such as `--yes`."""
    return typer.Option(False, name, help=says)


def option(default: object, metavar: str, says: str, *names: str, **more: Any) -> Any:
    """Return an option with a value; its name is that of the parameter unless `names` has any.

    `more` are typer's own: min, max, autocompletion.
    """
    return typer.Option(default, *names, metavar=metavar or None, help=says, **more)


def argument(default: object, metavar: str, says: str, **more: Any) -> Any:
    """Return a word of the command line; `...` as default makes it necessary."""
    return typer.Argument(default, metavar=metavar, help=says, **more)

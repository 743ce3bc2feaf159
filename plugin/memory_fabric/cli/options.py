"""The options and arguments of commands: short forms of typer's, and those that commands share."""

from collections.abc import Collection
from typing import Annotated, Any

import typer

from memory_fabric.errors import BadInput
from memory_fabric.models import STATED_TYPES, TYPE_ALIASES

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


# Types of records on the command line.
RECORD_TYPES = (*STATED_TYPES, *TYPE_ALIASES)


def flag(name: str, says: str) -> Any:
    """Return an option without a value, such as `--yes`."""
    return typer.Option(False, name, help=says)


def option(
    default: object,
    metavar: str,
    says: str,
    *names: str,
    choices: Collection[str] = (),
    **more: Any,
) -> Any:
    """Return an option with a value; its name is that of the parameter unless `names` has any.

    The shell completes `choices`; `more` are typer's own: min, max.
    """
    more |= _completion(choices)
    return typer.Option(default, *names, metavar=metavar or None, help=says, **more)


def argument(default: object, metavar: str, says: str, choices: Collection[str] = ()) -> Any:
    """Return a word of the command line; `...` as default makes it necessary."""
    return typer.Argument(default, metavar=metavar, help=says, **_completion(choices))


def _completion(choices: Collection[str]) -> dict[str, Any]:
    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return {"autocompletion": complete} if choices else {}


def exclusive(field: str, text: str, *chosen: object, remedy: str = "Use one of them.") -> None:
    """Raise BadInput if more than one of these options is used."""
    if sum(map(bool, chosen)) > 1:
        raise BadInput(field, text, remedy=remedy)

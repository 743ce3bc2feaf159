"""Functions that declare typer options and arguments, and options shared by several commands."""

from collections.abc import Collection
from typing import Any

import typer

from memory_fabric.errors import BadInput


def flag(spec: str) -> Any:
    """Declare an option without a value; `spec` has its name and help: `--yes  Do not ask.`"""
    names, _, text = _parts(spec)
    return typer.Option(False, *names, help=text)


def option(spec: str, default: object = "", choices: Collection[str] = (), **more: Any) -> Any:
    """Declare an option with a value; `spec` has name, placeholder and help: `--type T  A type.`

    The name defaults to the parameter's. Shells complete `choices`. `more` may set `min` and `max`.
    """
    names, metavar, text = _parts(spec)

    def complete(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    more |= {"autocompletion": complete} if choices else {}
    return typer.Option(default, *names, metavar=metavar, help=text, **more)


def repeated(spec: str) -> Any:
    """Declare an option that can be repeated; its value is a list, or None if it is absent."""
    return option(f"{spec.rstrip('.')}; can be repeated.", None)


def argument(spec: str, default: object = ...) -> Any:
    """Declare a positional argument, by default required; `spec` has its placeholder and help."""
    _, metavar, text = _parts(spec)
    return typer.Argument(default, metavar=metavar, help=text)


def _parts(spec: str) -> tuple[list[str], str | None, str]:
    """Split `spec` at two spaces into names, placeholder (or None) and help."""
    head, gap, text = spec.partition("  ")
    words = head.split() if gap else []
    names = [word for word in words if word.startswith("--")]
    return names, " ".join(words[len(names) :]) or None, text if gap else spec


AS_JSON = flag("--json  Answer in JSON, for programs.")
STEP = option("--step NAME  Make this one step with others of the name, for `undo --step NAME`.")


def exclusive(field: str, text: str, *chosen: object, remedy: str = "Use one of them.") -> None:
    """Raise BadInput (option `field`, message `text`) if more than one of `chosen` is true."""
    if sum(map(bool, chosen)) > 1:
        raise BadInput(field, text, remedy=remedy)

"""completion: the script that lets a shell complete commands, options and their values."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from memory_fabric.cli import COMPLETING, option_values
from memory_fabric.errors import BadInput

PROGRAM = "memory-fabric"
# Where the script puts what the line holds so far.
LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def completion(
    shell: Annotated[
        str,
        typer.Argument(
            metavar="SHELL", help="bash, zsh or fish", autocompletion=option_values.shells
        ),
    ],
) -> int:
    """Print the script that completes commands, options and values in a shell.

    In bash: eval "$(memory-fabric completion bash)", for every shell in ~/.bashrc. In zsh the same
    in ~/.zshrc, after compinit. In fish: memory-fabric completion fish | source, in config.fish.
    """
    # typer has no other name for it, and does not list this one.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in option_values.SHELLS:
        raise BadInput("SHELL", f"{shell!r} is no shell that it knows.", remedy="bash, zsh or fish")
    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETING, shell=shell)
    typer.echo(script.strip())
    return 0


def line() -> list[str]:
    """The words of the line that is being completed, the program's name among them."""
    found = next((os.environ[name] for name in LINES if name in os.environ), "")
    return found.split()


def prepare() -> None:
    """Let typer know its shells; it answers from the environment when the application runs."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    # What goes wrong while somebody types is not for his screen.
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends

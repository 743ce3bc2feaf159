"""completion: print the shell script that completes commands, options and values."""

import os
import sys

import typer

from memory_fabric.cli import COMPLETING
from memory_fabric.cli.options import argument
from memory_fabric.errors import BadInput

PROGRAM = "memory-fabric"
SHELLS = ("bash", "zsh", "fish")
# Variables in which the script passes the words of the line.
LINES = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def completion(shell: str = argument(..., "SHELL", "bash, zsh or fish", choices=SHELLS)) -> int:
    """Print the script for completion in bash, zsh or fish.

    For bash, add eval "$(memory-fabric completion bash)" to ~/.bashrc. For zsh, add the same with
    zsh to ~/.zshrc, after compinit. For fish, add memory-fabric completion fish | source to
    config.fish.
    """
    # typer does not export this function under another name.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in SHELLS:
        text = f"The shell {shell!r} is not supported."
        raise BadInput("SHELL", text, remedy="Use bash, zsh or fish.")
    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETING, shell=shell)
    typer.echo(script.strip())
    return 0


def prepare() -> None:
    """Register typer's shells; the application then completes from the environment."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    # Errors must not be printed while the user types.
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def line() -> list[str]:
    """Return the words of the line that is completed, including the program's name."""
    return next((os.environ[name] for name in LINES if name in os.environ), "").split()

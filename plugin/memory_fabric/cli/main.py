"""Arguments in, exit code out: the one place where a command's errors become a line for people.

Exit codes: 0 done, 1 it failed, 2 the command was used wrongly, 3 nothing was found.
"""

from __future__ import annotations

import os
import sys

from memory_fabric.errors import BadInput, FabricError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# A shell asks what could stand next; it is set by the script that `completion` prints.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
DONE, FAILED, WRONG_USE, NOTHING_FOUND, INTERRUPTED = 0, 1, 2, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["hook"], ["mcp"]):  # programs start these all day: no command line is loaded
        from memory_fabric.cli import doors

        return doors.open_door(given[0])
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(given: list[str]) -> int:
    import sqlite3

    import typer

    from memory_fabric.cli.app import build, listing
    from memory_fabric.cli.commands import COMMANDS

    words = given
    if COMPLETING in os.environ:
        from memory_fabric.cli import completing

        completing.prepare()
        words = completing.line()[1:]
    first = next((word for word in words if not word.startswith("-")), "")
    asked = [c.name for c in COMMANDS if c.name == first]
    app = build(asked) if asked else listing()
    try:
        code = app(given, prog_name="memory-fabric", standalone_mode=False)
    except typer.TyperException as error:
        tried = " ".join(["memory-fabric", *asked])
        return _say(f"{error.format_message()} See {tried} --help.", WRONG_USE)
    except typer.Abort:
        return _say("stopped; nothing was changed.", FAILED)
    except NotFound as error:
        return _say(str(error), NOTHING_FOUND)
    except BadInput as error:
        return _say(str(error), WRONG_USE)
    except BrokenPipeError:
        raise
    except (FabricError, OSError, sqlite3.Error) as error:
        return _say(str(error), FAILED)
    return code if isinstance(code, int) else DONE


def _say(text: str, code: int) -> int:
    sys.stderr.write(f"memory-fabric: {' '.join(text.split())}\n")
    return code

"""Arguments in, exit code out: the one place where a command's errors become a line for people.

Exit codes: 0 done, 1 it failed, 2 the command was used wrongly, 3 nothing was found.
"""

from __future__ import annotations

import errno
import io
import os
import sys

from memory_fabric.cli import COMPLETING
from memory_fabric.errors import BadInput, FabricError, NotFound

DONE, FAILED, WRONG_USE, NOTHING_FOUND, INTERRUPTED = 0, 1, 2, 3, 130
DOCTOR = "memory-fabric doctor says what is wrong."
CHECK = "memory-fabric check says what is damaged."
MAX_SAID_CHARS = 200
# What ends a sentence, also one that lists choices.
ENDS = (".", "?", ")")
REMEDIES: dict[type[OSError], str] = {
    NotADirectoryError: "A file lies where a folder must be: move it away.",
    IsADirectoryError: "A folder lies where a file must be: name another, or move it away.",
    FileExistsError: "Something else lies there: move it away.",
    PermissionError: "Check who may write there; MEMORY_FABRIC_HOME moves memory elsewhere.",
    FileNotFoundError: "Check the path; MEMORY_FABRIC_HOME says where memory lies.",
    TimeoutError: "Try again in a moment.",
}
REMEDIES_BY_NUMBER = {
    errno.ENOSPC: "Make room there, and try again.",
    errno.EROFS: "That place is read-only; MEMORY_FABRIC_HOME moves memory elsewhere.",
}
DOORS = ("hook", "mcp")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    closed = _fill_closed_streams()
    if len(given) == 1 and given[0] in DOORS:  # programs start these all day: no command line
        from memory_fabric.cli import entry_points

        return entry_points.open_door(given[0])
    if closed:
        return _say(
            "standard output is closed; nothing was done. Send it to /dev/null instead.", FAILED
        )
    try:
        _keep_quiet()
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        _give_up_output()
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        code = _say(_told(error), FAILED)
        try:
            sys.stdout.flush()
        except OSError:  # it was the output itself that could not be written
            _give_up_output()
    return code


def _run(given: list[str]) -> int:
    import sqlite3

    import typer

    from memory_fabric.cli.app import build, listing
    from memory_fabric.cli.registry import COMMANDS

    words = given
    if COMPLETING in os.environ:
        from memory_fabric.cli.commands import completion

        completion.prepare()
        words = completion.line()[1:]
    first = next((word for word in words if not word.startswith("-")), "")
    asked = [c.name for c in COMMANDS if c.name == first]
    app = build(asked) if asked else listing()
    helps = f"See {' '.join(['memory-fabric', *asked])} --help."
    try:
        code = app(given, prog_name="memory-fabric", standalone_mode=False)
    except typer.TyperException as error:
        said = error.format_message().replace("Value error, ", "").rstrip()
        return _say(f"{said if said.endswith(ENDS) else said + '.'} {helps}", WRONG_USE)
    except typer.Abort:
        return _say("stopped; nothing was changed.", FAILED)
    except NotFound as error:
        return _say(f"{error} {'' if error.remedy else helps}", NOTHING_FOUND)
    except BadInput as error:
        return _say(f"{error} {'' if error.remedy else helps}", WRONG_USE)
    except FabricError as error:
        return _say(f"{error} {'' if error.remedy else DOCTOR}", FAILED)
    except OSError:
        raise
    except sqlite3.Error as error:
        return _say(f"The database: {error}. {CHECK}", FAILED)
    except Exception:  # noqa: BLE001 - the last door: a fault of ours becomes a line, not a trace
        return _say(_confess(), FAILED)
    return code if isinstance(code, int) else DONE


def _confess() -> str:
    """What is said of a fault of ours: what it was, and where its traceback lies."""
    import traceback

    from memory_fabric.config import home_path
    from memory_fabric.store import log

    kind, error, _ = sys.exc_info()
    path = log.keep_traceback(home_path(os.environ), traceback.format_exc())
    where = f"Its traceback lies in {path}" if path else "Its traceback could not be kept"
    name = kind.__name__ if kind else "error"
    return (
        f"this is a fault of memory-fabric, not yours ({name}: {str(error)[:MAX_SAID_CHARS]}). "
        f"{where}; please report it. memory-fabric doctor says whether all else is well."
    )


def _told(error: OSError) -> str:
    """What failed, where, and what helps."""
    where = str(error.filename2 or error.filename or "")  # of a link or a move: where it goes
    what = error.strerror or str(error)
    helps = REMEDIES.get(type(error)) or REMEDIES_BY_NUMBER.get(error.errno or 0, DOCTOR)
    return f"{where + ': ' if where else ''}{what.rstrip('.')}. {helps}"


def _fill_closed_streams() -> bool:
    """Whether standard output was closed. No file that is opened may take a stream's number."""
    closed = sys.stdout is None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - stays open
    return closed


def _keep_quiet() -> None:
    """Show what can be shown of any text, and no warnings of other packages, unless asked to."""
    import warnings

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _give_up_output() -> None:
    """Let nothing more be written where nobody reads or nothing fits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str, code: int) -> int:
    sys.stderr.write(f"memory-fabric: {' '.join(text.split())}\n")
    return code

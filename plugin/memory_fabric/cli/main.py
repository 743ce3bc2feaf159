"""Run a command, and report its error as a line on standard error and an exit code.

With `--json` the line is an object with the member `error`, which has `code`, `name` (the invalid
option or file, or ''), `message` and `remedy`. Exit codes: 0 success, 1 failure, 2 usage error, 3
nothing found, 130 interrupted.
"""

import errno
import io
import json
import os
import sys
import warnings

from memory_fabric.cli import COMPLETING
from memory_fabric.errors import BadInput, FabricError, NotFound, StoreUnavailable

DONE, FAILED, WRONG_USE, NOTHING_FOUND, INTERRUPTED = 0, 1, 2, 3, 130
# Map exit codes to the `code` of errors in JSON output; the HTTP server uses the same codes.
CODES = {FAILED: "failed", WRONG_USE: "bad_input", NOTHING_FOUND: "not_found"}
DOCTOR = "Run memory-fabric doctor to find the cause."
CHECK = "Run memory-fabric check to find the damage."
REMEDIES: dict[type[OSError] | int, str] = {
    NotADirectoryError: "A folder is needed, but a file is there: move it away.",
    IsADirectoryError: "A file is needed, but a folder is there: use another name.",
    FileExistsError: "The file exists already: move it away.",
    PermissionError: "Check its permissions, or set MEMORY_FABRIC_HOME to another folder.",
    FileNotFoundError: "Check the path; MEMORY_FABRIC_HOME sets the folder of the memory.",
    TimeoutError: "Try again in a moment.",
    errno.ENOSPC: "Free some disk space, and try again.",
    errno.EROFS: "The file system is read-only: set MEMORY_FABRIC_HOME to another folder.",
}
ARGUMENTS = "MEMORY_FABRIC_ARGUMENTS"  # passes on the arguments that a restart hides


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    if argv[:1] in (["team"], ["serve"], ["sync"]):
        argv = _hidden(argv)
    closed = sys.stdout is None
    # Replace missing streams by /dev/null, or a file opened later could get their descriptor.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - stays open
    # Programs start `hook`, `mcp` and `statusline` often: run them without loading typer.
    if len(argv) == 1 and argv[0] in ("hook", "mcp", "statusline"):
        from memory_fabric.cli.commands import programs

        return {"hook": programs.hook, "mcp": programs.mcp}.get(argv[0], programs.statusline)()
    if closed:
        text = "standard output is closed; nothing was done."
        return _say(argv, FAILED, text, "Send it to /dev/null instead.")
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # the encoding may lack some characters
                stream.reconfigure(errors="replace")
        if not sys.warnoptions:  # hide warnings of other packages
            warnings.simplefilter("ignore")
        code = _run(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the unwritten part
        return DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        where = str(error.filename2 or error.filename or "")  # filename2: a link's or move's target
        reason = error.strerror or str(error)
        helps = REMEDIES.get(type(error)) or REMEDIES.get(error.errno or 0, DOCTOR)
        text = f"{where + ': ' if where else ''}{reason.rstrip('.')}."
        code = _say(argv, FAILED, text, helps, where)
        try:
            sys.stdout.flush()
        except OSError:  # standard output is unusable
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _hidden(argv: list[str]) -> list[str]:
    """Return the arguments; restart first if this is needed to hide secrets from process lists."""
    import re  # imported late: hooks and the MCP server do not need it

    if ARGUMENTS in os.environ:
        return list(json.loads(os.environ.pop(ARGUMENTS)))
    shown = [re.sub(r"(?s)^(--\w+=)?\s*\w+(\s*(://|=)| ).*", r"\1HIDDEN", word) for word in argv]
    if shown != argv and sys.orig_argv[-len(argv) :] == argv and os.name == "posix":
        os.environ[ARGUMENTS] = json.dumps(argv)
        os.execv(sys.executable, [*sys.orig_argv[: -len(argv)], *shown])
    return argv


def _run(argv: list[str]) -> int:
    import sqlite3

    import typer

    from memory_fabric.cli.app import build, listing
    from memory_fabric.cli.registry import COMMANDS

    words = argv
    if COMPLETING in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()  # makes app() below print completions
        # Hide errors, which would be printed into the line that the user is typing.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the process ends
        # Depending on the shell, the words typed so far are in one of these two variables.
        line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
        words = line.split()[1:]
    first = next((word for word in words if not word.startswith("-")), "")
    names = [c.name for c in COMMANDS if c.name == first]
    app = build(names) if names else listing()
    if first == "keep":  # "keep ID" works only as a prompt in the chat
        text = "In a shell it is review --holds ID, or candidates --keep ID for what was heard."
        return _say(argv, WRONG_USE, "keep is no command.", text, first)
    helps = f"See {' '.join(['memory-fabric', *names])} --help."
    try:
        code = app(argv, prog_name="memory-fabric", standalone_mode=False)
    except typer.TyperException as error:
        text = error.format_message().replace("Value error, ", "").rstrip()
        text = text if text.endswith((".", "?", ")")) else text + "."  # listed choices end in ")"
        [name, *_] = getattr(getattr(error, "param", None), "opts", None) or [""]
        return _say(argv, WRONG_USE, text, helps, getattr(error, "option_name", name))
    except typer.Abort:
        return _say(argv, FAILED, "stopped; nothing was changed.")
    except FabricError as error:
        return _say_error(argv, error, helps)
    except OSError:
        raise
    except sqlite3.Error as error:
        from memory_fabric.store.database import translated  # imported late: only for errors

        return _say_error(argv, translated("the memory", error), CHECK)
    except Exception as error:  # noqa: BLE001 - the outermost boundary: users see a line
        import traceback

        from memory_fabric.config import home_path
        from memory_fabric.store.home import log

        path = log.keep_traceback(home_path(os.environ), traceback.format_exc())
        where = f"The traceback is in {path}" if path else "The traceback could not be saved"
        text = f"this is a bug in memory-fabric ({type(error).__name__}: {str(error)[:200]})."
        remedy = f"{where}; please report it. Run memory-fabric doctor to check everything else."
        return _say(argv, FAILED, text, remedy)
    return code if isinstance(code, int) else DONE


def _say_error(argv: list[str], error: FabricError, helps: str) -> int:
    statuses = ((NotFound, NOTHING_FOUND), (BadInput, WRONG_USE), (FabricError, FAILED))
    status = next(status for kind, status in statuses if isinstance(error, kind))
    remedy = error.remedy or (helps if status != FAILED or helps == CHECK else DOCTOR)
    names = (getattr(error, name, "") for name in ("name", "field", "path"))
    code = "unavailable" if isinstance(error, StoreUnavailable) else ""
    return _say(argv, status, error.message, remedy, next(filter(None, names), ""), code)


def _say(
    argv: list[str], status: int, message: str, remedy: str = "", name: str = "", code: str = ""
) -> int:
    message, remedy = " ".join(message.split()), " ".join(remedy.split())
    text = f"memory-fabric: {f'{message} {remedy}'.rstrip()}"
    if "--json" in (argv[: argv.index("--")] if "--" in argv else argv):
        error = {"code": code or CODES[status], "name": name, "message": message, "remedy": remedy}
        text = json.dumps({"error": error}, ensure_ascii=False)
    sys.stderr.write(f"{text}\n")
    return status

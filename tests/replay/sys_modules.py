"""Runs hooks/dispatch.py as the launcher does and writes down which modules the process held.

Beside the output, in `<output>.opened`, which files and folders it opened or listed, in
`<output>.lists` each reading of a text file beside our modules, in `<output>.compiled` the sources
that it compiled, and in `<output>.reached` its sockets and the programs that it started. Started as
`python -I -S sys_modules.py <dispatch.py> <output>`; the event comes on stdin.
"""

import _socket
import os
import posix
import sys

dispatch, output = sys.argv[1:]
leave = os._exit
opened: set[str] = set()
lists: list[str] = []
compiled: list[str] = []
reached: list[str] = []


def note_opened(event, arguments):  # type: ignore[no-untyped-def]
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        opened.add(arguments[0])
        if "/memory_fabric/" in arguments[0] and arguments[0].endswith(".txt"):
            lists.append(arguments[0])
    elif event == "compile" and arguments[0] is not None:
        source = arguments[0]
        compiled.append(source.decode() if isinstance(source, bytes) else str(source))
    elif event.startswith("socket.") and not is_local(event, arguments):
        reached.append(f"{event} {arguments[1:]}")
    elif event in ("os.posix_spawn", "subprocess.Popen", "os.fork"):
        reached.append(f"{event} {' '.join(map(str, arguments[1])) if len(arguments) > 1 else ''}")


def is_local(event: str, arguments: tuple) -> bool:  # type: ignore[type-arg]
    """True for a socket that is a file: the one of the session's server."""
    family = arguments[1] if event == "socket.__new__" else arguments[0].family
    return bool(family == _socket.AF_UNIX)


def write_and_leave(status):  # type: ignore[no-untyped-def]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(sorted(sys.modules)))
    with open(output + ".opened", "w", encoding="utf-8", errors="replace") as file:
        file.write("\n".join(sorted(opened)))
    for name, lines in (("lists", lists), ("compiled", compiled)):
        with open(f"{output}.{name}", "w", encoding="utf-8") as file:
            file.write("\n".join(line.replace("\n", " ") for line in lines))
    with open(output + ".reached", "w", encoding="utf-8", errors="replace") as file:
        file.write("\n".join(line.replace("\n", " ") for line in reached))
    leave(status)


os._exit = posix._exit = write_and_leave
with open(dispatch, encoding="utf-8") as source:
    code = compile(source.read(), dispatch, "exec")
sys.addaudithook(note_opened)
exec(code, {"__name__": "__main__", "__file__": dispatch})

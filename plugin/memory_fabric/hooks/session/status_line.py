"""The client's status line: how many memories exist, were shown, and wait for review. The client
runs this module repeatedly, so it neither writes nor waits: it reads the databases without locks,
and prints an empty line after MAX_S seconds.
"""

import json
import os
import signal
from collections.abc import Mapping

from memory_fabric import events
from memory_fabric.errors import BadInput
from memory_fabric.hooks.reply import MAX_INPUT_BYTES, read_input, write_reply
from memory_fabric.store.home import switches
from memory_fabric.store.projects import identity, registry_file
from memory_fabric.store.queries import quick_counts

MAX_S = 1.5  # wall-clock time limit for the status line, in seconds
MAX_NAME_CHARS = 40
NAME = "memory"


def _give_up(*_signal_and_frame: object) -> None:
    """Print an empty line and exit, even while waiting for input or a disk."""
    os.write(1, b"\n")
    os._exit(0)


def main() -> None:
    """Print the status line for the JSON object on stdin; exit at once, always with status 0."""
    line = ""
    try:
        if hasattr(signal, "setitimer"):  # not on Windows, where the client has its own limit
            signal.signal(signal.SIGALRM, _give_up)
            signal.setitimer(signal.ITIMER_REAL, MAX_S)
        # If the user runs the command in a terminal, the line describes the current folder.
        here = json.dumps({"cwd": os.getcwd()}).encode() if os.isatty(0) else b""
        line = status_line(here or read_input(), os.environ)
    except Exception:  # noqa: BLE001 - the client would show an error in place of the line
        line = ""
    finally:
        try:
            write_reply(f"{line}\n".encode("utf-8", "replace"))
        finally:
            os._exit(0)


def status_line(given: bytes, environ: Mapping[str, str]) -> str:
    """Return the status line for the client's JSON object; '' if it is invalid or has no folder."""
    try:
        raw = events.load_object(given) if len(given) <= MAX_INPUT_BYTES else {}
    except BadInput:
        return ""
    # Claude Code's `workspace` contains the folder in which the session was started.
    place = raw.get("workspace")
    folder = (place.get("project_dir") if isinstance(place, dict) else "") or raw.get("cwd")
    if not isinstance(folder, str) or not folder or "\0" in folder:
        return ""
    settings = switches.settings_of(environ)
    project = identity.identify(os.path.realpath(folder))
    id_ = registry_file.place_owner(registry_file.read_registry(settings.home), project)
    if not (settings.reads and switches.state(settings.home, id_)["read"]):
        return f"{NAME} off"
    name = "".join(char for char in project.name if char.isprintable())[:MAX_NAME_CHARS]
    session = raw.get("session_id")
    paths = [os.path.join(settings.home, "user.db")]
    if id_:
        paths.insert(0, os.path.join(identity.folder_of(settings.home, id_), "graph.db"))
    counts = quick_counts.of(paths, session if isinstance(session, str) else "", MAX_S)
    if counts is None:
        return f"{NAME} {name}: cannot be read"
    parts = [f"{counts.known} known"] if counts.known else ["nothing yet"]
    parts += [f"{counts.told} told"] if counts.told else []
    parts += [f"{counts.to_review} to review"] if counts.to_review else []
    return f"{NAME} {name}: {', '.join(parts)}"

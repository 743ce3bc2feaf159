"""Commands keep to this machine: none connects, looks a host up, or listens unless told to."""

from __future__ import annotations

import os
from pathlib import Path

import pexpect
import pytest

from cli.shell import Shell

# Python imports this at its start; what it finds goes into a file beside it.
WATCH = """
import sys
NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname")
def watch(event, arguments):
    if event in NETWORK:
        with open(__file__ + ".seen", "a", encoding="utf-8") as seen:
            seen.write(f"{event} {arguments[1:]}\\n")
sys.addaudithook(watch)
"""


@pytest.fixture
def watched(shell: Shell, tmp_path: Path) -> Shell:
    """A shell with a memory, in which every Python notes what it asks of the network."""
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCH, "utf-8")
    shell.environ["PYTHONPATH"] += os.pathsep + str(tmp_path / "watch")
    shell.remember("We chose PostgreSQL for orders because analytics needs window functions")
    return shell


def seen(tmp_path: Path) -> str:
    """Return what was asked of the network."""
    notes = tmp_path / "watch" / "sitecustomize.py.seen"
    return notes.read_text("utf-8") if notes.exists() else ""


def test_the_serve_command_listens_on_a_network_socket(watched: Shell, tmp_path: Path) -> None:
    serving = watched.terminal("serve", "--port", "0")
    serving.expect("Press Ctrl-C to stop")
    serving.sendintr()
    serving.expect(pexpect.EOF)

    assert "socket.bind" in seen(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "--failed", "Offset pagination timed out"),
        ("recall", "which database?", "--explain"),
        ("load",),
        ("history",),
        ("why", "PostgreSQL"),
        ("viz", "--no-open"),
        ("stale",),
        ("undo", "--last"),
        ("status",),
        ("doctor",),
        ("check",),
        ("sync",),
        ("backup",),
        ("export", "graph.jsonl"),
        ("setup", "--yes"),
        ("uninstall", "--yes"),
    ],
    ids=lambda words: words[0],
)
def test_commands_do_not_use_the_network(
    watched: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = watched.run(*words)

    assert done.status in (0, 1, 3), done.err
    assert "bug in memory-fabric" not in done.err
    assert seen(tmp_path) == ""

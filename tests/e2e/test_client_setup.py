"""Without the plugin: the hooks that `memory-fabric setup` wrote, in the real client."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator

import pytest

from e2e.harness.home import REPOSITORY, Home
from e2e.harness.result import blocks
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
QUESTION = "Which database should the analytics service talk to?"
PROGRAM = str(REPOSITORY / "bin" / "memory-fabric")


@pytest.fixture
def machine(empty_home: Home) -> Iterator[Home]:
    """A home without the plugin, with this interpreter's packages, where nothing is fetched."""
    empty_home.extra["MEMORY_FABRIC_PYTHON"] = sys.executable
    runtime = empty_home.memory / "runtime"
    runtime.mkdir(parents=True)
    with (runtime / "install.lock").open("w") as lock:  # an installation is single-flight
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield empty_home


def fabric(home: Home, *words: str) -> str:
    """A command of this checkout in the home; its output."""
    done = subprocess.run(
        [PROGRAM, *words],
        env=home.environment({}),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hooks_of_the_settings_remember_and_recall_and_go_again(machine: Home) -> None:
    home = machine
    fabric(home, "setup", "--yes")

    home.session(Script(prompts=(DECISION,), arguments=("--debug", "hooks")))
    [request, *_] = home.session(Script(prompts=(QUESTION,))).main_texts

    [log] = home.root.glob("debug-1.log")
    assert f"{REPOSITORY}/hooks/launch" in log.read_text("utf-8")
    assert any("PostgreSQL" in block for block in blocks(request))
    fabric(home, "uninstall", "--yes")
    [request, *_] = home.session(Script(prompts=(QUESTION,))).main_texts
    assert blocks(request) == []


def test_the_server_is_added_by_the_command_that_setup_prints(machine: Home) -> None:
    home = machine
    [command] = [
        line.split()
        for line in fabric(home, "setup", "--mcp", "--yes").splitlines()
        if line.startswith("  claude mcp add ")
    ]

    home.claude(*command[1:])

    assert PROGRAM in home.claude("mcp", "get", "memory")
    home.claude("mcp", "remove", "memory")

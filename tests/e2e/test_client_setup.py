"""Without the plugin: the hooks that `memory-fabric setup` wrote, in the real client."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.harness.home import REPOSITORY, Home
from e2e.harness.result import Result, blocks
from e2e.harness.script import Script
from waiting import until

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
QUESTION = "Which database should the analytics service talk to?"
PROGRAM = str(REPOSITORY / "bin" / "memory-fabric")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home without the plugin, with this interpreter's packages, where nothing is fetched."""
    home = Home(tmp_path_factory.mktemp("setup") / "machine")
    home.extra["MEMORY_FABRIC_PYTHON"] = sys.executable
    runtime = home.memory / "runtime"
    runtime.mkdir(parents=True)
    with (runtime / "install.lock").open("w") as lock:  # an installation is single-flight
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield home
    home.close()


@dataclass(frozen=True, slots=True)
class Story:
    """A session that decides and one that asks, what the client listed, and a session after
    `uninstall`.
    """

    deciding: Result
    asking: Result
    listed: str
    without: Result
    listed_without: str


@pytest.fixture(scope="module")
def story(machine: Home) -> Story:
    """The hooks and the server that one command sets up, and that another takes away."""
    fabric(machine, "setup", "--yes")
    deciding = machine.session(Script(prompts=(DECISION,), arguments=("--debug", "hooks")))
    listed = machine.claude("mcp", "get", "memory")
    with machine.open() as session:
        session.say(QUESTION)

        def found() -> bool:
            session.say("Thanks.")
            return bool(set("WB") & set(machine.ways))  # it is busy until it has rehearsed

        until(found, "a hook finds the server")
        asking = session.end()
    fabric(machine, "uninstall", "--yes")
    without = machine.session(Script(prompts=(QUESTION,)))
    return Story(deciding, asking, listed, without, machine.claude("mcp", "list"))


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


def test_hooks_installed_by_setup_store_and_recall_until_setup_removes_them(story: Story) -> None:
    assert any("PostgreSQL" in block for block in blocks(story.asking.main_texts[0]))
    assert story.without.hooks == [] and blocks(story.without.main_texts[0]) == []


def test_the_client_runs_the_hook_launcher_only_while_it_is_installed(
    story: Story,
) -> None:
    assert f"{REPOSITORY}/hooks/launch" in story.deciding.debug
    assert f"{REPOSITORY}/hooks/launch" not in story.without.debug


def test_hooks_installed_by_setup_are_answered_by_the_server_of_the_client(
    machine: Home, story: Story
) -> None:
    assert set("WB") & set(machine.ways) and story.asking.complaints == []


def test_the_client_lists_the_server_that_setup_added_until_setup_removes_it(story: Story) -> None:
    assert PROGRAM in story.listed
    assert PROGRAM not in story.listed_without


@pytest.mark.usefixtures("story")
def test_the_command_printed_by_setup_adds_the_server_to_the_client(machine: Home) -> None:
    home = machine
    [command] = [
        line.split()
        for line in fabric(home, "setup", "--settings", "local", "--yes").splitlines()
        if line.startswith("  claude mcp add ")
    ]

    home.claude(*command[1:])

    assert PROGRAM in home.claude("mcp", "get", "memory")
    home.claude("mcp", "remove", "memory")

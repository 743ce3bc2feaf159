"""hooks/launch called for rules or fixes: it starts Python only where memory may have some."""

from __future__ import annotations

import os
import subprocess

import pytest

from launchers.conftest import InstalledPlugin
from launchers.support import PYTHON, run, write
from launchers.test_launch import SHELLS
from memory_fabric.store.home import launch_marks

BASH = b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}'
FOLDER, PROJECT = "/srv/the app", "0198c0de-0000-7000-8000-000000000001"


class Launched:
    """A plugin whose memory knows the project of one folder."""

    def __init__(self, plugin: InstalledPlugin) -> None:
        self.plugin, self.home = plugin, os.path.join(plugin.home, ".claude", "memory-fabric")
        os.makedirs(os.path.join(self.home, "projects", PROJECT))
        write(plugin.remembered(), f"{PYTHON}\n")
        launch_marks.note_place(self.home, FOLDER, PROJECT)

    def mark(self, kind: str, *folders: str) -> None:
        write(os.path.join(self.home, *folders, f"has-{kind}"), "")

    def starts(
        self, kind: str = "rules", shell: str = "", without: tuple[str, ...] = (), **variables: str
    ) -> bool:
        """True if a call in the folder started Python; nothing may go wrong in either case."""
        environ = {**self.plugin.environ(), "CLAUDE_PROJECT_DIR": FOLDER, **variables}
        environ = {name: value for name, value in environ.items() if name not in without}
        launch = os.path.join(self.plugin.root, "hooks", "launch")
        done: subprocess.CompletedProcess[bytes] = run(
            [*shell.split(), launch, kind], environ, BASH
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        started = os.path.exists(self.plugin.report_path)
        if started:
            assert self.plugin.report()["length"] == len(BASH)
        return started


@pytest.fixture
def launched(plugin: InstalledPlugin) -> Launched:
    return Launched(plugin)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_launcher_starts_python_only_if_the_needed_rules_or_fixes_exist(
    launched: Launched, shell: str
) -> None:
    assert not launched.starts(shell=shell)
    launched.mark("fixes", "projects", PROJECT)
    assert not launched.starts(shell=shell)
    assert launched.starts("fixes", shell=shell)

    launched.mark("rules")
    assert launched.starts(shell=shell)


def test_the_launcher_does_not_start_python_for_records_of_another_project(
    launched: Launched,
) -> None:
    launched.mark("rules", "projects", PROJECT)
    launch_marks.note_place(launched.home, "/srv/other", launch_marks.NO_PROJECT)

    assert launched.starts()
    assert not launched.starts(CLAUDE_PROJECT_DIR="/srv/other")


@pytest.mark.parametrize(
    "folder", ["/srv", "/srv/the app/sub", "", "relative", "/srv/../srv/the app", "/"]
)
def test_the_launcher_starts_python_if_the_project_of_the_folder_is_unknown(
    launched: Launched, folder: str
) -> None:
    assert launched.starts(CLAUDE_PROJECT_DIR=folder)


def test_a_project_folder_with_a_trailing_slash_is_recognised(launched: Launched) -> None:
    assert not launched.starts(CLAUDE_PROJECT_DIR=FOLDER + "/")


def test_the_launcher_starts_python_if_its_entry_for_the_folder_is_damaged(
    launched: Launched,
) -> None:
    write(launch_marks.place_path(launched.home, FOLDER), "\n")
    assert launched.starts()


def test_the_launcher_finds_the_same_memory_home_as_python(launched: Launched) -> None:
    plugin = launched.plugin
    launched.mark("rules")

    assert launched.starts(CLAUDE_CONFIG_DIR="~/.claude")
    assert launched.starts(MEMORY_FABRIC_HOME="~/.claude/memory-fabric")
    assert launched.starts(MEMORY_FABRIC_HOME=".claude/memory-fabric")
    assert not launched.starts(MEMORY_FABRIC_HOME=os.path.join(plugin.home, "nothing yet"))


def test_the_launcher_starts_python_if_only_that_can_find_the_home_of_the_user(
    launched: Launched,
) -> None:
    launched.mark("rules")

    assert launched.starts(without=("HOME",))


def test_the_launcher_does_not_start_python_if_memory_is_off_or_missing(launched: Launched) -> None:
    launched.mark("rules")

    assert not launched.starts(MEMORY_FABRIC="off")
    assert not launched.starts(CLAUDE_CONFIG_DIR=os.path.join(launched.plugin.home, "new"))


def test_the_launcher_always_starts_python_for_hooks_other_than_rules_and_fixes(
    launched: Launched,
) -> None:
    assert launched.starts("")


def test_the_launcher_starts_no_process_if_no_rule_or_fix_exists(launched: Launched) -> None:
    assert not launched.starts(PATH="/nonexistent")

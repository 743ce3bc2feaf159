"""hooks/README.md: each command of the page is run, as a person would, in a terminal of their own.

The two that start the client are run in tests/e2e/test_client_setup.py.
"""

from __future__ import annotations

import fcntl
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from cli.shell import GIVE_UP_S, ROOT, Shell

GUIDE = (ROOT / "hooks" / "README.md").read_text("utf-8")
PROSE = re.sub(r"```.*?```", "", GUIDE[GUIDE.index("## Without the plugin") :], flags=re.DOTALL)
COMMANDS = [
    line.partition("   #")[0].strip().replace("/path/to/memory-fabric", str(ROOT))
    for line in re.findall(r"^    (\S.*)$", PROSE, re.MULTILINE)
]
FROM_THE_FOLDER = [c for c in COMMANDS if not c.startswith("claude ")]
BY_THE_CLIENT = {
    f"claude mcp add --scope user memory -- {ROOT}/bin/memory-fabric mcp",
    'claude --debug hooks -p "hello"',
}


@pytest.fixture
def reader(shell: Shell) -> Iterator[Shell]:
    """A shell as the page's reader has it, where packages are at hand and nothing is fetched."""
    del shell.environ["PYTHONPATH"]
    shell.environ["MEMORY_FABRIC_PYTHON"] = sys.executable
    runtime = shell.memory / "runtime"
    runtime.mkdir(parents=True)
    with (runtime / "install.lock").open("w") as lock:  # an installation is single-flight
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shell


def typed(shell: Shell, command: str, folder: Path) -> tuple[int | None, str]:
    """Exit code and screen of a command in a terminal; questions are answered with yes."""
    terminal = pexpect.spawn(
        "/bin/sh",
        ["-c", command],
        env={**shell.environ, "TERM": "dumb"},
        cwd=str(folder),
        encoding="utf-8",
        timeout=GIVE_UP_S,
    )
    screen = ""
    while terminal.expect([r"\[y/N\]:", r"\[Y/n\]:", pexpect.EOF]) != 2:
        screen += str(terminal.before)
        terminal.sendline("y")
    screen += str(terminal.before)
    terminal.close()
    return terminal.exitstatus, screen


def test_every_command_in_the_hooks_guide_is_covered_by_a_test() -> None:
    assert len(FROM_THE_FOLDER) == 13
    assert {c for c in COMMANDS if c.startswith("claude ")} == BY_THE_CLIENT


def test_commands_of_the_hooks_guide_succeed_when_run_in_order(reader: Shell) -> None:
    screens: dict[str, str] = {}
    for command in FROM_THE_FOLDER:
        folder = reader.project if "--settings project" in command else ROOT
        run = command.replace("bin/memory-fabric", f"{ROOT}/bin/memory-fabric")
        status, screen = typed(reader, run if folder != ROOT else command, folder)
        assert status == 0, f"{command}\n{screen}"
        screens.setdefault(command, screen)

    assert "Written: " in screens["bin/memory-fabric setup"]
    assert "Linked: " in screens["bin/memory-fabric setup --shell"]
    assert not (reader.user_home / ".local").exists()
    assert not (reader.project / ".claude" / "settings.json").exists()
    [rang] = [screen for command, screen in screens.items() if "hooks/launch" in command]
    assert "exit 0" in rang
    [found] = [screen for command, screen in screens.items() if command.startswith("cat ")]
    assert Path(found.strip()).is_file()
    assert "Nothing to do" in typed(reader, "bin/memory-fabric setup", ROOT)[1]
    settings = json.loads((reader.user_home / ".claude" / "settings.json").read_bytes())
    assert "SessionStart" in settings["hooks"]


def test_setup_recognises_hooks_that_the_user_added_by_hand(reader: Shell) -> None:
    (printing,) = (command for command in COMMANDS if command.startswith("sed "))
    settings = reader.user_home / ".claude" / "settings.json"
    typed(reader, f"{printing} > {settings}", ROOT)

    status, screen = typed(reader, "bin/memory-fabric setup --no-mcp", ROOT)

    assert status == 0
    assert "Nothing to do" in screen

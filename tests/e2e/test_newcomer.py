"""A newcomer's walk: README and its questions, an empty home, the real client and packages.

What stands in README's boxes is run as it stands there, but the demo, which has a test of its own
(tests/cli/test_run_demo.py). Every command that the text names is walked below, the first ones as
programs; a command that README names and nobody walks fails here.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import urllib.request
from pathlib import Path

import pexpect
import pytest

from command_line import run_here
from e2e.harness.home import Home, client_path, clone
from e2e.harness.script import Script
from waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
QUESTIONS = (ROOT / "docs/questions.md").read_text("utf-8")
BOXES = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
# A command may stand folded over two lines.
NAMED = {
    " ".join(text.split())
    for text in re.findall(r"`(?:bin/)?(memory-fabric [^`]+)`", README + QUESTIONS)
}

DECISION = "We decided to use PostgreSQL for the analytics DB because we need window functions."
QUESTION = "Which database should the analytics service talk to?"
USERS_SETTINGS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "env": {"EDITOR": "vi"},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
}
# About 15 s on an idle machine; it goes on after the session that began it.
INSTALLING_S = 200
# How many commands of the walk are processes of their own; the others run in this one.
AS_PROGRAMS = 3
# The command as README has it, its exit code, and words of what it says.
WALK = (
    ('memory-fabric recall "why PostgreSQL"', 0, "window functions"),
    ("memory-fabric status", 0, "healthy"),
    ("memory-fabric worth", 0, "tokens"),
    ('memory-fabric remember --failed "offsets timed out"', 0, "antipattern"),
    ('memory-fabric recall --explain "your prompt"', 3, "Nothing found"),
    ("memory-fabric recall --as-of 2026-01-15", 3, "Nothing found"),
    ('memory-fabric recall "retention domain:legal"', 3, "legal"),
    ("memory-fabric viz", 0, ".html"),
    ("memory-fabric stale", 3, "stale"),
    ("memory-fabric prune", 3, "stale"),
    ("memory-fabric review", 0, ""),
    ("memory-fabric why ID", 0, "said by"),
    ("memory-fabric history", 0, "PostgreSQL"),
    ("memory-fabric forget ID", 0, "would be forgotten"),
    ("memory-fabric export memory.jsonl", 0, "memory.jsonl"),
    ("memory-fabric import path/to/memory.jsonl", 0, "New: 0 entities"),
    ("memory-fabric undo --last", 0, "Undone"),
    ("memory-fabric share on", 0, "decisions.jsonl"),
    ("memory-fabric off --here", 0, "off"),
    ("memory-fabric setup", 2, "--force"),
    ("memory-fabric setup --client codex", 2, "needs a confirmation"),
    ("memory-fabric learn", 0, "essions"),
    ("memory-fabric import", 0, "import"),
)
# What the walk begins and ends with, and 100 MB that tests/cli/test_semantic.py installs.
LINK, LEAVE = "memory-fabric setup --shell", "memory-fabric uninstall"
# Until it is ended.
SERVE = "memory-fabric serve"
SEMANTIC = "memory-fabric semantic on"
# What needs a PostgreSQL: tests/team/test_cli_team.py.
TEAM = {"memory-fabric team init DSN", "memory-fabric team join DSN"}


class Newcomer:
    """Somebody with an empty home, a clone, the client on the PATH, and no Python packages."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.clone = clone(folder / "memory-fabric")
        home.config.mkdir()
        (home.config / "settings.json").write_text(json.dumps(USERS_SETTINGS), encoding="utf-8")
        programs = folder / "programs"
        programs.mkdir()
        (programs / "claude").symlink_to(client_path())
        (home.project / ".git").mkdir()
        self.environ = home.environment({})
        path = (str(programs), str(home.path / ".local/bin"), self.environ["PATH"])
        self.environ["PATH"] = os.pathsep.join(path)

    def types(self, command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run what stands in README in a shell."""
        return subprocess.run(
            ["sh", "-ec", command],
            env=self.environ,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    def sends(self, text: str) -> int:
        """The status of the answer, when another program brings a text in."""
        server = subprocess.Popen(
            ["sh", "-ec", f"exec {SERVE} --port 0"],
            env=self.environ,
            cwd=self.home.project,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1].partition("?")[0]
            body = json.dumps({"session_summary": text}).encode()
            headers = {"Content-Type": "application/json"}
            asked = urllib.request.Request(f"{address}v1/memory/ingest", body, headers)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return int(answer.status)
        finally:
            server.terminate()
            server.communicate(timeout=60)

    def leaves(self) -> str:
        """Uninstall in a terminal, keep all of the memory, and agree; what was said in the end."""
        terminal = pexpect.spawn(
            "sh",
            ["-ec", LEAVE],
            env=self.environ,
            cwd=str(self.home.project),
            encoding="utf-8",
            dimensions=(60, 200),
            timeout=120,
        )
        for kept in ("Keep the memory itself", "Keep the lines", "Keep the records"):
            terminal.expect_exact(kept)
            terminal.sendline("")
        terminal.expect(r"\[y/N\]")
        terminal.sendline("y")
        terminal.expect(pexpect.EOF)
        return str(terminal.before).replace("\r", "")


@pytest.fixture
def newcomer(empty_home: Home, tmp_path: Path) -> Newcomer:
    """A newcomer who has cloned the repository."""
    return Newcomer(empty_home, tmp_path)


def test_every_command_in_the_readme_is_tested() -> None:
    assert {command for command, _, _ in WALK} | {LINK, LEAVE, SERVE, SEMANTIC} | TEAM == NAMED


def test_the_commands_of_the_readme_work_in_the_given_order(newcomer: Newcomer) -> None:
    home = newcomer.home
    _demo, install, prove, _checks = BOXES

    installed = newcomer.types(install, newcomer.clone)
    assert installed.returncode == 0, installed.stdout

    home.attend()
    home.session(Script(prompts=(DECISION,)))
    [first, *_] = home.session(Script(prompts=(QUESTION,))).main_texts
    assert "window functions" in first
    until(
        lambda: home.installed,
        "the first session has installed the packages",
        give_up_s=INSTALLING_S,
    )

    proven = newcomer.types(prove, newcomer.clone)
    assert proven.returncode == 0, proven.stdout

    linked = newcomer.types(f"bin/{LINK}", newcomer.clone)
    assert linked.returncode == 0, linked.stdout

    assert (
        newcomer.sends("We keep invoices for ten years because the tax office asks for it.") == 202
    )

    recalled = newcomer.types("memory-fabric recall --json PostgreSQL", home.project)
    id_ = json.loads(recalled.stdout)["results"][0]["id"].partition(":")[2]
    for number, (command, code, words) in enumerate(WALK):
        meant = command.replace("ID", id_).replace("path/to/", "")
        if number < AS_PROGRAMS:
            typed = newcomer.types(meant, home.project)
            status, told = typed.returncode, typed.stdout
        else:
            done = run_here(shlex.split(meant)[1:], newcomer.environ, home.project)
            status, told = done.status, done.out + done.err
        assert status == code, f"{command}: {told}"
        assert words in told, f"{command}: {told}"

    last_words = newcomer.leaves()
    for command in re.findall(r"claude plugin .*memory-fabric", last_words):
        gone = newcomer.types(command, home.project)
        assert gone.returncode == 0, gone.stdout
    left_by_the_client: dict[str, object] = {"enabledPlugins": {}, "extraKnownMarketplaces": {}}
    assert home.settings() == {**USERS_SETTINGS, **left_by_the_client}
    assert list(home.memory.glob("projects/*/graph.db"))
    assert not (home.path / ".local/bin/memory-fabric").is_symlink()

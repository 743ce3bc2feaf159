"""A person's empty machine: a home, a project, and the pinned client."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from command_line import run_here
from e2e.harness.result import Result
from e2e.harness.script import Script
from e2e.harness.session import PATIENCE_S, Session
from e2e.harness.stub import StubAPI
from memory_fabric.events import EMPTY
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.store.home.log import OUT_OF_TIME

REPOSITORY = Path(__file__).resolve().parents[3]
CLIENT_PACKAGES = REPOSITORY / "tests/e2e/node_modules/@anthropic-ai"
NEWER_PACKAGES = REPOSITORY / "tests/e2e/newer/node_modules/@anthropic-ai"
CLIENT_VERSION, NEWER_VERSION = "2.1.329", "2.1.330"
PLUGIN = "memory-fabric@memory-fabric"
NOT_IN_A_CLONE = (
    *(".git", ".venv", ".ci", "node_modules", "dist", "__pycache__", "*.pyc", "*.egg-info"),
    *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache"),
)

# All that a session sees of the developer's environment: how to find programs and packages.
PASSED_ON = frozenset(
    ("LANG", "LC_ALL", "TERM", "TMPDIR", "PYENV_ROOT", "SSL_CERT_FILE", "SSL_CERT_DIR")
)
PASSED_ON_PREFIXES = ("PIP_", "UV_")
ATTENDED = '[capture]\nunattended = "full"\n'
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_BUG_COMMAND": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
    PATIENCE: "20",
}


def client_path(packages: Path = CLIENT_PACKAGES) -> Path:
    """The pinned client's binary for this machine; a missing one says how to get it."""
    found = sorted(packages.glob("claude-code-*/claude*"))
    if not found:
        raise FileNotFoundError("the client is not installed: run scripts/prepare client")
    return found[0]


def clone(target: Path) -> Path:
    """A copy of the repository as a person would clone it, without what builds leave behind."""
    ignore = shutil.ignore_patterns(*NOT_IN_A_CLONE)
    shutil.copytree(REPOSITORY, target, symlinks=True, ignore=ignore)
    return target


def repository(target: Path) -> Path:
    """A git repository with a clone's files in its only commit."""
    clone(target)
    git = ("git", "-C", str(target), "-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    for words in ("init --quiet", "add --all", "commit --quiet --message Start"):
        subprocess.run([*git, *words.split()], check=True)
    return target


class Home:
    """An empty HOME and an empty project; sessions in it share what it remembers."""

    def __init__(self, root: Path, client: Path | None = None) -> None:
        self.root = root
        self.client = client or client_path()
        self.path = root / "home"
        self.config = self.path / ".claude"
        self.project = root / "project"
        self.extra: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._locks: list[IO[str]] = []
        for folder in (self.path, self.project):
            folder.mkdir(parents=True)

    @property
    def memory(self) -> Path:
        """The folder in which the plugin keeps its memory."""
        return self.config / "memory-fabric"

    @property
    def data(self) -> Path:
        """The plugin's own folder, which the client makes and deletes."""
        return self.config / "plugins/data" / PLUGIN.replace("@", "-")

    @property
    def installed(self) -> bool:
        """True if the background installation has published the packages."""
        return any(self.data.glob("*/.complete"))

    @property
    def ways(self) -> str:
        """How hooks were answered so far, a letter each."""
        path = self.memory / "live/ways"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def log(self) -> str:
        """The plugin's own log: failures that it kept from the session.

        That a busy machine left a hook no time, or the client ended before it sent an event, is
        lawful.
        """
        path = self.memory / "logs/memory-fabric.log"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return "".join(
            line for line in text.splitlines(True) if OUT_OF_TIME not in line and EMPTY not in line
        )

    def forget_log(self) -> None:
        """Take away lines of the log that a test has seen and expected."""
        (self.memory / "logs/memory-fabric.log").unlink()

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of a client here: an allow-list, a dummy key, a quiet client."""
        kept = {k: v for k, v in os.environ.items() if passed_on(k)}
        own = {
            "HOME": str(self.path),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "PATH": path_without_our_own_venv(),
        }
        return {**kept, **QUIET, **own, **self.extra, **extra}

    def claude(self, *arguments: str) -> str:
        """Run one of the client's own commands; its output, or an AssertionError with it."""
        return self._run(str(self.client), *arguments)

    def _run(self, *command: str, status: int = 0) -> str:
        done = subprocess.run(
            command,
            env=self.environment({}),
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def install(self, marketplace: Path) -> None:
        """Install the plugin the way README says."""
        self.claude("plugin", "marketplace", "add", str(marketplace))
        self.claude("plugin", "install", PLUGIN)

    def copy_from(self, installed: Home) -> None:
        """Become a copy of a home in which the plugin was installed, with paths of this one.

        Two starts of the client cost more than most of the sessions that follow them.
        """
        shutil.rmtree(self.path)
        shutil.copytree(installed.path, self.path, symlinks=True)
        for path in (*self.config.glob("*.json"), *self.config.glob(".*.json")):
            _replace(path, str(installed.root), str(self.root))
        for path in (self.config / "plugins").glob("*.json"):
            _replace(path, str(installed.root), str(self.root))

    def copy_with_project(self, original: Home) -> None:
        """Become a copy of a home that has sessions, and share its project."""
        self.copy_from(original)
        self.project = original.project
        self.extra.update(original.extra)

    def bring_packages(self) -> None:
        """Give the server this interpreter's packages, and keep the hooks from installing any.

        An installation is single-flight: while another holds its lock, nobody starts one.
        """
        self.extra["MEMORY_FABRIC_PYTHON"] = sys.executable
        self.data.mkdir(parents=True, exist_ok=True)
        lock = (self.data / "install.lock").open("a", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._locks.append(lock)

    def attend(self) -> None:
        """Have what is said here count as the user's own word, as in a session at a terminal.

        Print mode is unattended, whatever its environment says: without this, it is told nothing
        of notes, and what such a session captures has the assistant's trust.
        """
        self.extra["MEMORY_FABRIC_NOTES"] = "on"
        self.memory.mkdir(parents=True, exist_ok=True)
        (self.memory / "config.toml").write_text(ATTENDED, encoding="utf-8")

    @property
    def program(self) -> Path:
        """The command of the installed plugin."""
        [program] = self.config.glob("plugins/cache/*/*/*/bin/memory-fabric")
        return program

    def runs(self, *arguments: str, status: int = 0) -> str:
        """Run the installed plugin's program in the project; its output, or an error with it."""
        return self._run(str(self.program), *arguments, status=status)

    def fabric(self, *arguments: str) -> str:
        """Run a command in the project by this checkout, in this process: much sooner than `runs`.

        For what a test prepares or asks; its output, or an AssertionError with it.
        """
        done = run_here(arguments, self.environment({}), self.project)
        assert done.status == 0, done.out + done.err
        return done.out

    def close(self) -> None:
        """Let go of what the home holds."""
        for lock in self._locks:
            lock.close()

    def open(self, script: Script | None = None) -> Session:
        """A started client; use it as a context manager, `say` prompts, `end` it."""
        script = script or Script()
        stub = StubAPI(script, self.config / "projects")
        debug_file = self.root / f"debug-{next(self._numbers)}.log"
        address = {"ANTHROPIC_BASE_URL": stub.url, "ANTHROPIC_API_KEY": "none-for-a-loopback-stub"}
        env = self.environment({**address, **script.env})
        allowed = () if script.asks_first else ("--dangerously-skip-permissions",)
        command = [*_stream_command(self.client, debug_file), *allowed, *script.arguments]
        return Session(command, env, self.project, debug_file, stub)

    def session(self, script: Script) -> Result:
        """Run a whole session: every prompt of the script, one after the other."""
        with self.open(script) as running:
            for prompt in script.prompts:
                running.say(prompt)
            return running.end()

    def settings(self) -> dict[str, object]:
        """The user's settings.json as JSON; empty where there is none."""
        path = self.config / "settings.json"
        if not path.exists():
            return {}
        value: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
        return value


def _stream_command(client: Path, debug_file: Path) -> Sequence[str]:
    return (
        *(str(client), "-p", "--input-format", "stream-json"),
        *("--output-format", "stream-json", "--verbose", "--include-hook-events"),
        *("--debug-file", str(debug_file)),
    )


def _replace(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def path_without_our_own_venv() -> str:
    """PATH as a person has it: the interpreter that runs the tests is none of the plugin's."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(f for f in folders if not f.startswith(sys.prefix))


def passed_on(name: str) -> bool:
    return name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)

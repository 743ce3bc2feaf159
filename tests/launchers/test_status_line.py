"""bin/memory-fabric statusline: one line for the client's status bar, whatever it is given."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launchers.support import PYTHON, ROOT, run
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance, Record
from memory_fabric.store.memory import Memory
from replay.hook_runner import HookRunner

COMMAND = [os.path.join(ROOT, "bin", "memory-fabric"), "statusline"]
HEARD = "Never push to the main branch of the shop."


class Bar:
    """The status bar of a session in a project that remembers a decision."""

    def __init__(self, folder: Path) -> None:
        self.hooks = HookRunner(folder)
        (self.hooks.project / ".git").mkdir()
        self.remember(Record("decision", "The workers use Redis for pagination"))

    def remember(self, record: Record) -> None:
        memory = Memory.open(read_settings(self.hooks.environ, {}))
        memory.remember(record._replace(confidence=0.9), Provenance("cli"))
        memory.close()

    def given(self, **more: Any) -> bytes:
        """What the client writes; its `cwd` follows `cd`."""
        project = {"current_dir": "/", "project_dir": str(self.hooks.project)}
        return json.dumps({"session_id": "s1", "cwd": "/", "workspace": project, **more}).encode()

    def line(self, given: bytes | None = None, **more: str) -> str:
        """The line without its end; nothing else is printed, and no file made or changed."""
        own = ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT")
        environ = {k: v for k, v in self.hooks.environ.items() if k not in own}
        environ |= {"CLAUDE_PLUGIN_ROOT": str(ROOT), **more}
        before = self.files()
        done = run(COMMAND, environ, self.given() if given is None else given, "/")
        assert (done.returncode, done.stderr, done.stdout[-1:]) == (0, b"", b"\n")
        assert done.stdout.count(b"\n") == 1
        assert self.files() == before
        return done.stdout.decode()[:-1]

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of each file of the memory; shared memory of SQLite is no file."""
        found = [p for p in self.hooks.folder.rglob("*") if p.is_file() and p.suffix != ".db-shm"]
        states = {str(path): path.stat() for path in found}
        return {path: (state.st_size, state.st_mtime_ns) for path, state in states.items()}


@pytest.fixture
def bar(tmp_path: Path) -> Bar:
    return Bar(tmp_path)


def test_the_status_line_counts_memories_that_are_stored_injected_or_need_review(bar: Bar) -> None:
    assert bar.line() == "memory project: 1 known"
    assert "Redis" in bar.hooks.say("How do the workers use Redis for pagination?").context
    bar.hooks.say(HEARD)
    stop = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": "All right."}
    bar.hooks.run(stop)
    bar.remember(Record("preference", "Answers are in German", scope="user"))

    assert bar.line() == "memory project: 2 known, 1 told, 1 to review"
    assert bar.line(bar.given(session_id="another")) == "memory project: 2 known, 1 to review"


def test_the_status_line_counts_a_record_that_a_running_process_just_stored(bar: Bar) -> None:
    memory = Memory.open(read_settings(bar.hooks.environ, {}))
    memory.remember(Record("decision", "The cache is Valkey", confidence=0.9), Provenance("cli"))

    assert bar.line() == "memory project: 2 known"
    memory.close()


@pytest.mark.parametrize(
    "given",
    [b"", b"nope", b"[]", b"{}", b'{"cwd": 7}', b'{"cwd": "a\\u0000b"}', b'{"workspace": []}'],
)
def test_the_status_line_is_empty_for_invalid_input(bar: Bar, given: bytes) -> None:
    assert bar.line(given) == ""


def test_the_status_line_does_not_create_a_missing_memory(bar: Bar, tmp_path: Path) -> None:
    home = tmp_path / "none"

    assert bar.line(MEMORY_FABRIC_HOME=str(home)) == "memory project: nothing yet"
    assert not home.exists()


def test_the_status_line_shows_that_memory_is_off(bar: Bar) -> None:
    assert bar.line(MEMORY_FABRIC="off") == "memory off"
    (bar.hooks.memory / "config.toml").write_text("read = false\n", "utf-8")
    assert bar.line() == "memory off"


def test_the_status_line_does_not_wait_for_a_damaged_or_locked_database(bar: Bar) -> None:
    [path] = bar.hooks.memory.glob("projects/*/graph.db")
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert bar.line() == "memory project: 1 known"
        other.execute("ROLLBACK")
    other.close()
    path.write_bytes(b"no database" * 1000)
    assert bar.line() == "memory project: cannot be read"


def test_the_status_line_prints_no_control_characters(bar: Bar, tmp_path: Path) -> None:
    odd = tmp_path / "a\x1b[31m\nb"
    odd.mkdir()
    place = {"project_dir": str(odd)}

    assert bar.line(bar.given(workspace=place)) == "memory a[31mb: nothing yet"


def test_the_status_line_is_empty_without_a_cached_python(bar: Bar) -> None:
    (bar.hooks.data / "interpreter").unlink()

    assert bar.line() == ""


def test_the_status_line_does_not_wait_for_endless_input(bar: Bar) -> None:
    with subprocess.Popen(
        COMMAND, env=bar.hooks.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"\n"
        assert process.wait() == 0


def test_the_status_line_works_with_ten_thousand_observations(bar: Bar) -> None:
    memory = Memory.open(read_settings(bar.hooks.environ, {}))
    for part in range(10):
        texts = [f"Case {part}-{n} of the audit is closed" for n in range(1000)]
        entity = {"name": f"audit-{part}", "entityType": "component", "observations": texts}
        memory.write("create_entities", {"entities": [entity]}, Provenance("import"))
    memory.close()

    assert bar.line() == "memory project: 1 known"


def test_the_status_line_loads_no_slow_module(bar: Bar) -> None:
    program = [PYTHON, "-I", "-S", "-X", "importtime", os.path.join(ROOT, "hooks/statusline.py")]
    done = run(program, bar.hooks.environ, bar.given())

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "memory_fabric.store.queries.quick_counts" in loaded
    slow = "pathlib dataclasses subprocess typer"
    assert loaded & set(slow.split()) == set()
    assert "memory_fabric.store.database" not in loaded


def test_the_statusline_command_works_without_the_plugin_launcher(bar: Bar) -> None:
    program = "import sys; from memory_fabric.cli.main import main; sys.exit(main())"
    environ = {**bar.hooks.environ, "PYTHONPATH": os.path.join(ROOT, "plugin")}

    done = run([PYTHON, "-c", program, "statusline"], environ, bar.given())

    assert (done.returncode, done.stdout) == (0, b"memory project: 1 known\n")

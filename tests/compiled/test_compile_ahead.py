"""compile_ahead: what hooks load is compiled once, used, and never out of date."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import compile_ahead, compiled_modules, file_lock
from memory_fabric.compiled_modules import file_of
from memory_fabric.detached import program
from memory_fabric.setup import compiling, packages
from memory_fabric.text import INJECTED_TAGS

ROOT = Path(compiled_modules.__file__).parents[2]
PYTHON = packages.base_interpreter()
FILES = (compiled_modules.EVERY_EVENT, compiled_modules.RECALLS)
GIVE_UP_S = 60
ASKED = "Which database holds the orders of the shop?"


class Installed:
    """A copy of the plugin, compiled as a session's start has it done, and a memory."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        ignored = shutil.ignore_patterns("__pycache__", "servers", "viewer", "semantic", "*.lock")
        shutil.copytree(ROOT / "plugin", self.root / "plugin", ignore=ignored)
        shutil.copytree(ROOT / "hooks", self.root / "hooks")
        self.plugin = self.root / "plugin"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MEMORY_FABRIC_HOME": str(folder / "memory"),
            "CLAUDE_PROJECT_DIR": str(folder),
            "CLAUDE_PLUGIN_ROOT": str(self.root),
        }

    def compile(self) -> None:
        command = [PYTHON, "-I", "-S", "-c", program("compile_ahead"), str(self.plugin)]
        subprocess.run(command, env=self.environ, check=True)

    def prompt(self, text: str, session: str, *options: str) -> tuple[str, set[str]]:
        """The output of the prompt's hook, and the modules that Python itself imported for it."""
        event = {"hook_event_name": "UserPromptSubmit", "prompt": text}
        return self.event(event, session, *options)

    def event(self, event: dict[str, str], session: str, *options: str) -> tuple[str, set[str]]:
        hook = str(self.root / "hooks" / "dispatch.py")
        done = subprocess.run(
            [PYTHON, "-I", "-S", *options, "-X", "importtime", hook],
            input=json.dumps({**event, "session_id": session, "cwd": self.environ["HOME"]}),
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return done.stdout, {line.rpartition("|")[2].strip() for line in lines}

    def parts(self, name: str) -> tuple[tuple[Any, ...], ...]:
        """The modules that a file holds."""
        found = marshal.loads(compiled_modules.content_of(self.file(name).read_bytes()))
        parts: tuple[tuple[Any, ...], ...] = found[1]
        return parts

    def file(self, name: str) -> Path:
        return Path(compiled_modules.path_of(str(self.plugin), name))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    installed = Installed(tmp_path_factory.mktemp("installed"))
    installed.compile()
    installed.prompt("We decided to use PostgreSQL for the orders of the shop.", "earlier")
    return installed


def test_a_prompt_needs_neither_python_s_finder_nor_expressions_that_are_not_compiled(
    installed: Installed,
) -> None:
    stated = installed.prompt("Always call the carts of the shop baskets, please.", "first")
    asked = installed.prompt(ASKED, "first")

    assert "PostgreSQL" in stated[0] + asked[0]
    together = {part[0] for name in FILES for part in installed.parts(name)}
    assert together >= {"memory_fabric.dispatcher", "memory_fabric.recall.pipeline"}
    assert together & (stated[1] | asked[1]) == set()
    ours = {name for name in asked[1] if name.startswith("memory_fabric.")}
    assert {name for name in ours if ".handlers" not in name} == {"memory_fabric.compiled_modules"}
    assert (stated[1] | asked[1]) & {"re", "enum", "functools"} == set()
    assert not compiling.is_due(str(installed.plugin))


def test_the_files_are_their_owner_s_and_hold_the_program_s_own_words(installed: Installed) -> None:
    installed.prompt("Never paint the zanzibar door of the shop, please.", "own")

    for name in (*FILES, compiling.MARK, "patterns"):
        assert stat.S_IMODE(installed.file(name).stat().st_mode) == 0o600
        assert b"zanzibar" not in installed.file(name).read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_planted_or_missing_file_costs_time_and_nothing_else(
    installed: Installed, name: str
) -> None:
    path, folder = installed.file(name), str(installed.plugin)
    whole, parts = path.read_bytes(), installed.parts(name)
    fails = compile("raise LookupError", "planted", "exec")
    known = next(part for part in parts if part[0].endswith((".dispatcher", ".pipeline")))
    planted = [part if part != known else (*known[:-1], fails) for part in parts]
    for number, data in enumerate(
        (
            whole[:-100],
            b"\0" * len(whole),
            b"",
            b"1234" + whole[4:],  # of another Python
            file_of("/another/folder", parts),  # copied from elsewhere
            file_of(folder, [(1, 2)]),
            file_of(folder, [(*part[:-1], "no code") for part in parts]),
            file_of(folder, planted),
            None,
        )
    ):
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        said, modules = installed.prompt(ASKED, f"{name}-{number}")
        assert "PostgreSQL" in said, number
        assert known[0] in modules, number
    path.write_bytes(whole)


def test_an_edited_source_is_what_runs_and_is_compiled_again(installed: Installed) -> None:
    source = installed.plugin / "memory_fabric" / "recall" / "pipeline.py"
    with source.open("a", encoding="utf-8") as stream:
        stream.write("\nimport colorsys\n")

    edited, modules = installed.prompt(ASKED, "edited")

    assert "PostgreSQL" in edited
    assert {"colorsys", "memory_fabric.recall.pipeline"} <= modules
    assert compiling.is_due(str(installed.plugin))
    installed.compile()
    assert not compiling.is_due(str(installed.plugin))
    again, modules = installed.prompt(ASKED, "again")
    assert "PostgreSQL" in again
    assert "colorsys" in modules
    assert "memory_fabric.recall.pipeline" not in modules


def test_a_session_s_start_has_it_compiled_once_in_the_folder_that_can_be_written(
    installed: Installed, tmp_path: Path
) -> None:
    """With a folder of compiled files beside the plugin's, as where that cannot be written."""
    kept = f"pycache_prefix={tmp_path}"
    start = {"hook_event_name": "SessionStart", "source": "startup"}
    mark = Path(f"{tmp_path}{installed.plugin}/memory_fabric", installed.file(compiling.MARK).name)

    installed.event(start, "prefix", "-X", kept)
    ends = time.monotonic() + GIVE_UP_S
    while not mark.exists() and time.monotonic() < ends:
        installed.event(start, "prefix", "-X", kept)

    assert sorted(path.name.partition(".")[0] for path in mark.parent.glob("*.marshal")) == [
        compiling.MARK, compiling.STARTED, compiled_modules.EVERY_EVENT, "patterns",
        compiled_modules.RECALLS,
    ]  # fmt: skip
    said, modules = installed.prompt(ASKED, "kept", "-X", kept)
    assert "PostgreSQL" in said
    assert "memory_fabric.recall.pipeline" not in modules


def test_one_process_at_a_time_is_started_and_none_for_an_hour_after_one_that_failed(
    installed: Installed,
) -> None:
    folder, started = str(installed.plugin), installed.file(compiling.STARTED)
    started.unlink(missing_ok=True)
    with started.open("wb") as other:
        assert file_lock.take(other.fileno())
        assert not compiling.claim(folder)  # another hook is about to start it
    assert [compiling.claim(folder) for _ in range(3)] == [True, False, False]
    os.utime(started, (time.time() - 2 * compiling.BACK_OFF_S,) * 2)
    assert [compiling.claim(folder) for _ in range(2)] == [True, False]


def test_nothing_is_started_outside_of_hooks() -> None:
    assert not compiled_modules.in_use()
    assert compiling.start_when_due({}) == 0


def test_every_table_of_expressions_is_compiled() -> None:
    found = set(compile_ahead.every_expression())

    assert len(found) > 400
    assert any(INJECTED_TAGS[0] in expression for expression in found)

"""OpenCode's plugin, as `setup` writes it, in a Node process that plays OpenCode's part."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.other_client import OtherClient
from memory_fabric.clients import hook_files
from memory_fabric.hooks.table import PATIENCE
from memory_fabric.models import WHEN, Provenance, Record
from memory_fabric.setup import packages

ROOT = Path(__file__).parents[2]
HOST = Path(__file__).parent / "opencode_host.mjs"
DECISION = Record("decision", "We use PostgreSQL for the analytics service", confidence=0.9)


class OpenCode(OtherClient):
    """The plugin in an OpenCode of one user."""

    def __init__(self, folder: Path) -> None:
        super().__init__("opencode", folder)
        self.plugin = folder / "memory-fabric.mjs"
        (change,) = hook_files.changes("opencode", "", str(self.plugin), str(ROOT), mcp=False)
        self.plugin.write_bytes(change.after or b"")
        runtime = self.home / ".claude/memory-fabric/runtime"
        runtime.mkdir(parents=True)
        (runtime / "interpreter").write_text(packages.base_interpreter() + "\n", "utf-8")
        # An installation is single-flight: a held lock keeps the hooks from starting one.
        self.lock = (runtime / "install.lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def play(self, *steps: dict[str, Any]) -> list[dict[str, Any]]:
        """Fire the events of a session; what the plugin changed at each step."""
        path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
        node = shutil.which("node", path=path)
        assert node, "node is missing: run scripts/prepare client"
        done = subprocess.run(
            [node, HOST, self.plugin, self.project, json.dumps(steps)],
            env={**self.person, PATIENCE: "20", "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[OpenCode]:
    made = OpenCode(tmp_path)
    yield made
    made.lock.close()


def store(opencode: OpenCode, record: Record) -> None:
    memory = opencode.memory()
    memory.remember(record, Provenance("cli", trust="user"))
    memory.close()


def test_memories_reach_the_opencode_model_in_the_system_prompt(opencode: OpenCode) -> None:
    store(opencode, DECISION)

    first, second = opencode.play(
        {"prompt": "Hello."},
        {"prompt": "Which database does the analytics service use, PostgreSQL?"},
    )

    assert ["PostgreSQL" in block for block in first["system"]] == [True]
    assert first["system"] == second["system"]
    assert [part["text"] for part in first["parts"]] == ["Hello."]


def test_a_note_in_the_last_message_is_stored(opencode: OpenCode) -> None:
    said = "The workers use Redis because pagination was slow"

    opencode.play(
        {"prompt": f"{said}."},
        {"event": "session.idle", "said": f'Noted decision: {said}. From: "{said}"'},
        {"event": "session.deleted"},
    )

    (record,) = opencode.records("type = 'decision'")
    assert (record.what, record.trust, record.evidence["client"]) == (said, "user", "opencode")
    assert opencode.log == ""


def test_a_rule_refuses_a_call_once_and_a_failed_command_gets_its_fix(opencode: OpenCode) -> None:
    rule = "Files in src get a header line"
    store(opencode, Record("constraint", rule, confidence=0.9, evidence={WHEN: "src/**"}))
    line = "Error: the port 5433 of the analytics proxy refuses the handshake"
    store(
        opencode, Record("solution", f'"{line}" goes away with a new certificate', confidence=0.9)
    )
    write = {"tool": "write", "args": {"filePath": str(opencode.project / "src/app.py")}}

    refused, passed, failed = opencode.play(
        {**write, "output": "written", "exit": 0},
        {**write, "output": "written", "exit": 0},
        {"tool": "bash", "args": {"command": "make"}, "output": line, "exit": 2},
    )

    assert rule in refused["refused"]
    assert passed == {"output": "written"}
    assert failed["output"].startswith(line) and "new certificate" in failed["output"]

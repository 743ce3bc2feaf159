"""Written sessions answered as their goldens say, to the byte, and stored as they say.

What commands say of that memory is pinned, too. The fixed clock and ids make a run equal to the
next one (`replay.sessions` has the form). After a wanted change write the goldens anew and read the
difference before committing it.
"""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path

import pytest
import typer

from memory_fabric.cli.app import build
from memory_fabric.live_client import WARM
from replay.commands import COMMANDS, answered
from replay.hook_runner import ROOT
from replay.sessions import MEMORY, SESSIONS, Replay, Step, names, read
from replay.ways import Way, by_launcher, in_process
from servers.live_server import LiveServer

ALL = [(name, in_process) for name in names()]
# Another one is played by launchers that find a running server.
FEW = [("compaction", by_launcher)]
# What it says depends on what is installed.
OTHERS = {"semantic"}
WRITE = "after a wanted change: PYTHONPATH=plugin:tests python -m replay.write_goldens"


@pytest.mark.parametrize(("name", "way"), ALL + FEW)
def test_replies_and_stored_data_of_a_session_match_its_golden_files(
    name: str, way: Way, tmp_path: Path
) -> None:
    with Replay(Path(os.path.realpath(tmp_path)), way) as replay:
        played = replay.play(read(SESSIONS / f"{name}.jsonl"))
        stored = replay.stored()

    assert_same(played, SESSIONS / f"{name}.jsonl")
    assert_same(stored, MEMORY / f"{name}.jsonl")
    assert replay.hooks.log == []


def test_hooks_answered_by_the_server_match_the_same_golden_files(tmp_path: Path) -> None:
    with Replay(Path(os.path.realpath(tmp_path)), by_launcher) as replay:
        command = [str(replay.python), "-I", "-S", str(ROOT / "hooks" / "mcp.py")]
        with LiveServer(replay.hooks.environ, command=command) as server:
            played = replay.play(read(SESSIONS / "fixes.jsonl"))
            ways = server.ways()
        stored = replay.stored()

    assert_same(played, SESSIONS / "fixes.jsonl")
    assert_same(stored, MEMORY / "fixes.jsonl")
    assert WARM.decode() in ways


def test_each_golden_session_has_a_snapshot_of_its_stored_data() -> None:
    assert sorted(path.stem for path in MEMORY.iterdir()) == names()


def test_json_output_of_commands_matches_the_golden_files(tmp_path: Path) -> None:
    with Replay(Path(os.path.realpath(tmp_path)), in_process) as replay:
        replay.play_all()
        answers = [answered(replay, line) for line in read(COMMANDS)]

    assert_same(answers, COMMANDS)


def test_every_command_with_a_json_option_has_golden_output() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    with_json = {
        name
        for name, command in commands.items()
        if any("--json" in p.opts for p in command.params)
    }
    assert {line["words"][0] for line in read(COMMANDS)} == with_json - OTHERS


def assert_same(lines: list[Step], golden: Path) -> None:
    wanted = read(golden)
    for number, (line, other) in enumerate(zip(lines, wanted, strict=False), 1):
        if line != other:
            golden_text, text = (
                json.dumps(x, indent=1, ensure_ascii=False).splitlines() for x in (other, line)
            )
            found = difflib.unified_diff(golden_text, text, "golden", "now", lineterm="", n=1)
            difference = "\n".join(found)
            pytest.fail(f"{golden}, line {number}; {WRITE}\n{difference}", pytrace=False)
    assert len(lines) == len(wanted), f"{golden}; {WRITE}"

"""Rewrite tests/replies and tests/goldens from what hooks and commands say today.

Read the difference afterwards.

PYTHONPATH=plugin:tests python -m replay.write_goldens
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from replay import commands, sessions
from replay.hook_runner import recordings
from replay.replies import REPLIES, World, replayed
from replay.sessions import Replay
from replay.ways import in_process


def main() -> None:
    """One file for every recording, two for every session, and one for all commands."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for path in recordings():
            text = json.dumps(replayed(path, world), indent=1, ensure_ascii=False)
            (REPLIES / path.name).write_text(text + "\n", "utf-8")
    for name in sessions.names():
        golden = sessions.SESSIONS / f"{name}.jsonl"
        with (
            tempfile.TemporaryDirectory() as folder,
            Replay(Path(folder).resolve(), in_process) as replay,
        ):
            sessions.write(golden, replay.play(sessions.read(golden)))
            sessions.write(sessions.MEMORY / golden.name, replay.stored())
    with (
        tempfile.TemporaryDirectory() as folder,
        Replay(Path(folder).resolve(), in_process) as replay,
    ):
        replay.play_all()
        lines = sessions.read(commands.COMMANDS)
        sessions.write(commands.COMMANDS, [commands.answered(replay, line) for line in lines])


if __name__ == "__main__":
    main()

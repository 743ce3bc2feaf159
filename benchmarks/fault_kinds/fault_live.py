"""Fault 17: `kill -9` of a session's server while it answers a prompt, which the hook then does."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from damage import Damage, Row, Scale
from driver import ROOT

sys.path[:0] = [os.path.join(ROOT, "plugin"), os.path.join(ROOT, "tests")]

from replay.hook_runner import HookRunner  # noqa: E402 - found only now
from servers.live_server import LiveServer  # noqa: E402

SEED = 17
# The server has answered a prompt after about twice the first.
EARLIEST_S, LATEST_S = 0.006, 0.016
STATED = "Remember that the warehouse of the region part{} has exactly {} docks."


def servers_killed(folder: str, scale: Scale) -> Iterator[Row]:
    """A server a prompt, killed at a random moment; each states something that is stored once."""
    chance, rounds = random.Random(SEED), scale.kills
    hooks = HookRunner(Path(tempfile.mkdtemp(dir=folder)))
    (hooks.project / ".git").mkdir()
    told = []
    for number in range(rounds):
        with LiveServer(hooks.environ) as server:
            killer = threading.Timer(chance.uniform(EARLIEST_S, LATEST_S), server.kill)
            killer.start()
            prompt = {"prompt": STATED.format(number, number), "session_id": f"session-{number}"}
            done = hooks.run({"hook_event_name": "UserPromptSubmit", **prompt})
            killer.join()
        told.append("remembered" in str((done.reply or {}).get("systemMessage", "")))
    [path] = hooks.memory.glob("projects/*/graph.db")
    connection = sqlite3.connect(path)
    stored = [row[0] for row in connection.execute("SELECT what FROM records")]
    connection.close()
    counts = [sum(f" part{n} " in text for text in stored) for n in range(rounds)]
    broken = [f"twice: {n}" for n, count in enumerate(counts) if count > 1]
    broken += [f"said nothing: {n}" for n, is_told in enumerate(told) if not is_told]
    yield Row(
        17,
        f"kill -9 of the session's server in a prompt, {rounds} times",
        Damage(rounds, counts.count(0), 0, "", tuple(broken)),
    )

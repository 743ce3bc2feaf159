"""Fault 15: what holds hooks up: a store that is locked, files of gigabytes in a repository."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

from damage import Damage, Row, Scale
from driver import Ours

HOOK = "from memory_fabric.hooks.dispatcher import main; main()"
# A prompt leaves out what MEMORY.md shows, so that reading back is asked for.
RECALL = "from memory_fabric.cli.main import main; main(['recall', 'the database of the shop'])"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
# The time that each may take.
LIMITS_S = {"SessionStart": 2.0, "UserPromptSubmit": 1.5, "Stop": 5.0, "SessionEnd": 1.2}
DECIDED = "We decided to use PostgreSQL for the shop because SQLite locks."
# Paths in the project, and their sizes in bytes: zeros that take no room on the disk.
GIANTS = {
    ".claude/memory/graph-queue.jsonl": 500_000_000,
    ".git/config": 1_500_000_000,
    ".claude/settings.json": 1_500_000_000,
}


def held_up_hooks(folder: str, scale: Scale) -> Iterator[Row]:
    """The events of a session, each in its time; what was decided before is recalled afterwards."""
    locked = _locked(_side(folder, "locked"), scale.slack_s)
    yield Row(15, "hooks while another process holds the store", locked)
    for giants in [GIANTS] if scale.at_once else [{path: GIANTS[path]} for path in GIANTS]:
        side = _side(folder, "-".join(map(os.path.basename, giants)))
        for path, size in giants.items():
            giant = os.path.join(side.project, path)
            os.makedirs(os.path.dirname(giant), exist_ok=True)
            with open(giant, "wb") as stream:
                stream.truncate(size)
        damage = _damage(side, _session(side), scale.slack_s)
        named = ", ".join(f"{path} of {size // 10**6} MB" for path, size in giants.items())
        yield Row(15, f"hooks, {named}", damage)


def _side(folder: str, name: str) -> Ours:
    side = Ours(os.path.join(folder, name))
    os.makedirs(os.path.join(side.project, ".git"))
    _hook(side, "UserPromptSubmit", "before", DECIDED, MEMORY_FABRIC_PATIENCE="20")
    return side


def _locked(side: Ours, slack_s: float) -> Damage:
    with ExitStack() as held:
        for name in _databases(side.home):
            other = held.enter_context(closing(sqlite3.connect(name, isolation_level=None)))
            other.execute("BEGIN EXCLUSIVE")
        took = _session(side)
    return _damage(side, took, slack_s)


def _databases(home: str) -> list[str]:
    found = [os.path.join(place, name) for place, _, names in os.walk(home) for name in names]
    return [path for path in found if path.endswith(".db")]


def _session(side: Ours) -> dict[str, float]:
    took = {}
    for event in EVENTS:
        began = time.monotonic()
        _hook(side, event, "during", "We decided to use Redis for the workers.")
        took[event] = time.monotonic() - began
    return took


def _damage(side: Ours, took: dict[str, float], slack_s: float) -> Damage:
    late = [
        f"{event} after {seconds:.1f} s, at most {LIMITS_S[event]:g}"
        for event, seconds in took.items()
        if seconds > LIMITS_S[event] + slack_s
    ]
    recalled = _run(side, RECALL, "")
    message = ", ".join(f"{event} {seconds:.1f} s" for event, seconds in took.items())
    return Damage(1, 0 if "PostgreSQL" in recalled else 1, 0, message, tuple(late))


def _hook(side: Ours, event: str, session: str, said: str, **variables: str) -> str:
    told = {
        "hook_event_name": event,
        "session_id": session,
        "transcript_path": os.path.join(side.folder, "none.jsonl"),
        "cwd": side.project,
        "reason": "other",
        "prompt": said,
        "last_assistant_message": said,
        **({"source": "startup"} if event == "SessionStart" else {}),
    }
    return _run(side, HOOK, json.dumps(told), **variables)


def _run(side: Ours, code: str, given: str, **variables: str) -> str:
    """Run a statement in a process of its own, in the project, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=given,
        text=True,
        capture_output=True,
        env=side.environ | {"CLAUDE_CODE_SESSION_ATTENDED": "1"} | variables,
        cwd=side.project,
        timeout=120,
        check=False,
    )
    return done.stdout

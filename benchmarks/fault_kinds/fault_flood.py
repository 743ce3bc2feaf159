"""Fault 16: many sessions that speak at once, none of whose statements may be lost."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

from damage import Damage, Row, Scale
from driver import PATIENCE_S, ROOT, Ours
from processes import interpreter

FORMS = (
    "remember that {} is kept in the blue cabinet",
    "From now on {} is checked before lunch",
    "We decided on {} instead of the old shelf.",
)
NOTED = "Noted fact: {} is kept in the blue cabinet."
# Of so many sessions the last has its turn ended, the others are typed into.
TURNS = 4


def flooded_hooks(folder: str, scale: Scale) -> Iterator[Row]:
    """Hooks of so many sessions at the same time, first in a home that has nothing yet."""
    side = Ours(folder)
    os.makedirs(os.path.join(side.project, ".git"))
    for wave, count in enumerate(scale.flood):
        names = [f"part{wave}{number:02d}" for number in range(count)]
        outputs = _all_at_once(side, [_event(number, name) for number, name in enumerate(names)])
        silent = [name for name, said in zip(names, outputs, strict=True) if not said]
        side.settle()
        kept, typed = _texts(side, "records", "what"), _texts(side, "prompts", "text")
        lost = [name for name in names if name not in kept]
        prompts = [name for number, name in enumerate(names) if number % TURNS < TURNS - 1]
        unkept = [name for name in prompts if name not in typed]
        broken = [f"prompts not kept: {', '.join(unkept)}"] if unkept else []
        broken += [f"said nothing: {', '.join(silent)}"] if silent else []
        message = f"lost: {', '.join(lost)}" if lost else ""
        damage = Damage(count, len(lost), 0, message, tuple(broken))
        yield Row(16, f"{count} hooks at once", damage)


def _event(number: int, name: str) -> dict[str, Any]:
    turn = number % TURNS
    event = {"session_id": f"session-{name}", "transcript_path": ""}
    if turn == TURNS - 1:
        return event | {"hook_event_name": "Stop", "last_assistant_message": NOTED.format(name)}
    return event | {"hook_event_name": "UserPromptSubmit", "prompt": FORMS[turn].format(name)}


def _all_at_once(side: Ours, events: list[dict[str, Any]]) -> list[bytes]:
    """Start a hook for each event before the first has ended; return what each printed."""
    running = []
    for event in events:
        with tempfile.TemporaryFile() as stream:
            stream.write(json.dumps(event | {"cwd": side.project}).encode())
            stream.seek(0)
            running.append(
                subprocess.Popen(
                    [interpreter(), "-I", "-S", os.path.join(ROOT, "hooks", "dispatch.py")],
                    stdin=stream,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=side.project,
                    env=side.environ | {"CLAUDE_PLUGIN_ROOT": ROOT},
                )
            )
    return [hook.communicate(timeout=PATIENCE_S)[0] for hook in running]


def _texts(side: Ours, table: str, column: str) -> str:
    """Return all texts of a column, of the project and of the user."""
    texts: list[str] = []
    for path in side.databases():
        connection = sqlite3.connect(path)
        texts += (row[0] for row in connection.execute(f"SELECT {column} FROM {table}"))
        connection.close()
    return "\n".join(texts).casefold()

"""The ways in which an event is answered: functions from hooks and an event to what is printed.

Replies, and what is stored, are the same on each of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from command_line import run_here
from replay.hook_runner import HookRunner

Way = Callable[[HookRunner, Mapping[str, Any]], bytes]


def in_process(hooks: HookRunner, event: Mapping[str, Any]) -> bytes:
    """Answer the event in this process, without a limit of time."""
    done = run_here(("hook",), hooks.environ, hooks.project, json.dumps(event))
    assert (done.status, done.err) == (0, "")
    return done.out.encode()


def by_launcher(hooks: HookRunner, event: Mapping[str, Any]) -> bytes:
    """Answer the event by the command of hooks.json, in a process of its own."""
    result = hooks.run(event)
    assert (result.status, result.stderr) == (0, "")
    return result.stdout

"""The hooks of a HookRunner in this process: their dispatcher, without the client's command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from command_line import run_here
from replay.hook_runner import HookResult, HookRunner


def fire_here(hooks: HookRunner, event: Mapping[str, Any]) -> HookResult:
    """Answer an event as its hook does, and return the result."""
    done = run_here(("hook",), hooks.environ, hooks.project, json.dumps(event))
    return HookResult(done.status, done.out.encode(), done.err)

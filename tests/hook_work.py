"""Work of a session as its transcript tells it: commands that fail or pass, and changed files."""

from __future__ import annotations

import time

from memory_fabric import ids
from simulated_client import SimulatedClient

ERROR = "Exit code 1\nE   KeyError: 'total'\n1 failed"
PYTEST = "pytest tests/test_cart.py"


def now() -> str:
    return ids.timestamp(time.time())


def ran(client: SimulatedClient, command: str, output: str, *, failed: bool = False) -> None:
    client.lines += 1
    id_ = f"b{client.lines}"
    call = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    client.say("assistant", call, timestamp=now())
    answered(client, id_, output, failed=failed)


def answered(client: SimulatedClient, id_: str, output: str, *, failed: bool = False) -> None:
    result = {"type": "tool_result", "tool_use_id": id_, "content": output, "is_error": failed}
    client.say("user", result, timestamp=now())


def changed(client: SimulatedClient, name: str = "cart.py", *, failed: bool = False) -> None:
    client.lines += 1
    id_, path = f"e{client.lines}", str(client.project / name)
    call = {"type": "tool_use", "id": id_, "name": "Edit", "input": {"file_path": path}}
    client.say("assistant", call, timestamp=now())
    answered(client, id_, "no such text" if failed else "ok", failed=failed)


def stop(client: SimulatedClient, session: str = "session-1", said: str = "Done.") -> None:
    client.fire("Stop", session, last_assistant_message=said, stop_hook_active=False)

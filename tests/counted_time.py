"""An event whose time ends after it has asked for it so many times."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from memory_fabric.deadline import Deadline
from memory_fabric.hooks import dispatcher
from memory_fabric.store.upkeep import maintenance
from simulated_client import SimulatedClient


class Counted(Deadline):
    """A deadline that is over once it was asked so many times."""

    def __init__(self, asked: int, **more: Any) -> None:
        super().__init__(3600, **more)
        self.left = asked

    def is_over(self) -> bool:
        self.left -= 1
        return self.left < 0


def fire(client: SimulatedClient, limit: Deadline, name: str, **fields: Any) -> dict[str, Any]:
    """The reply to an event that has this deadline."""
    data = {
        "hook_event_name": name,
        "session_id": "session-1",
        "transcript_path": str(client.transcript),
        "cwd": str(client.project),
        **fields,
    }
    # What a session's end starts would hold the store beside the test.
    with mock.patch.object(maintenance, "start"):
        output = dispatcher.run(json.dumps(data).encode(), client.environ, lambda _: limit)
    reply: dict[str, Any] = json.loads(output) if output else {}
    return reply

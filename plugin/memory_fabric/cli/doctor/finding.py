"""Input and result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memory_fabric.clients.claude_code.settings import Layer
from memory_fabric.config import Settings
from memory_fabric.store.memory import Memory

OK, WARNING, FAULT = "ok", "warning", "fault"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: how it is, and what helps where it is not well.

    `fixable`: `doctor --fix` mends it. `details` are further lines for people, `mended` what was
    done about it just now.
    """

    name: str
    state: str
    told: str
    remedy: str = ""
    fixable: bool = False
    area: str = ""
    details: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sight:
    """Input of all checks: settings, the client's settings files, the open memory, the time."""

    settings: Settings
    layers: tuple[Layer, ...]
    memory: Memory
    now_s: float


def as_json(check: Check) -> dict[str, Any]:
    """The finding for programs; docs/commands.md names the fields."""
    found: dict[str, Any] = {
        "name": check.name,
        "state": check.state,
        "told": check.told,
        "remedy": check.remedy,
        "area": check.area,
        "fixable": check.fixable and check.state != OK,
    }
    if check.details:
        found["details"] = list(check.details)
    if check.mended:
        found["mended"] = list(check.mended)
    return found

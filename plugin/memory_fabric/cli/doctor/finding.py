"""Input and result of a check."""

from dataclasses import dataclass
from typing import Any

from memory_fabric.clients.settings import Layer
from memory_fabric.config import Settings
from memory_fabric.store.memory import Memory

OK, WARNING, FAULT = "ok", "warning", "fault"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: a state, and a remedy if it is not good.

    `fixable`: `doctor --fix` repairs it. `details` are further lines for people, `mended` is the
    repair that was just made.
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
    """Return the finding as JSON; docs/commands.md lists the fields."""
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

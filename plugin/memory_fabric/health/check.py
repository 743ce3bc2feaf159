"""Input and result of a check."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memory_fabric.clients.settings import Layer
from memory_fabric.config import Settings
from memory_fabric.store.memory import Memory

OK, WARNING, FAULT = "ok", "warning", "fault"


class Message(NamedTuple):
    """A sentence, with a remedy if something is wrong."""

    text: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}".rstrip()


class TieState(NamedTuple):
    """The state of a tie to a team's log: one line about it, and the reason if it does not work."""

    space: str
    headline: str
    is_bad: bool
    troubles: Sequence[Message]


class Sight(NamedTuple):
    """Input of all checks: settings, the client's settings files, the open memory, the time.

    `events` are those with a hook; `ties` are those of this project and the user.
    """

    settings: Settings
    layers: list[Layer]
    memory: Memory
    now_s: float
    events: Sequence[str]
    ties: Callable[[], Iterable[TieState]]


class Finding(NamedTuple):
    """The result of a check: a state, and a remedy if it is not good.

    `fixable`: `doctor --fix` repairs it. `details` are further lines for people, `mended` is the
    repair that was just made.
    """

    state: str
    told: str
    remedy: str = ""
    fixable: bool = False
    details: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    name: str = ""
    area: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON; docs/commands.md lists the fields."""
        fields: dict[str, Any] = {
            "name": self.name,
            "state": self.state,
            "told": self.told,
            "remedy": self.remedy,
            "area": self.area,
            "fixable": self.fixable and self.state != OK,
        }
        more = {"details": list(self.details), "mended": list(self.mended)}
        return fields | {name: lines for name, lines in more.items() if lines}


def fine(told: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(OK, told)


def warning(told: str, remedy: str = "", *, fixable: bool = False) -> Finding:
    """Return the finding of something to look at."""
    return Finding(WARNING, told, remedy, fixable)


def fault(told: str, remedy: str = "", *, fixable: bool = False) -> Finding:
    """Return the finding of something broken."""
    return Finding(FAULT, told, remedy, fixable)


def when(timestamp: str) -> str:
    """Format a UTC timestamp for people: `2026-01-15 10:00 UTC`."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC" if timestamp else "an unknown date"


def ago(at: str, now_s: float) -> str:
    """Describe the age of an ISO time: `40 s ago`."""
    age_s = max(0.0, now_s - datetime.fromisoformat(at).timestamp())
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if age_s >= size:
            return f"{age_s / size:.0f} {unit} ago"
    return f"{age_s:.0f} s ago"

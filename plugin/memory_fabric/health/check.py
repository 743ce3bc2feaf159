"""The input and result of a health check, and functions that format times for people."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from memory_fabric.clients.settings import Layer
from memory_fabric.config import Settings
from memory_fabric.store.memory import Memory

OK, WARNING, FAULT = "ok", "warning", "fault"


class Message(NamedTuple):
    """A sentence for the user; if it reports a problem, it has a remedy."""

    text: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}".rstrip()


class Sight(NamedTuple):
    """The input of every health check; `events` lists the hook events that the plugin handles."""

    settings: Settings
    layers: list[Layer]
    memory: Memory
    now_s: float
    events: Sequence[str]


class Finding(NamedTuple):
    """The result of a health check: its state, a sentence and, unless the state is OK, a remedy."""

    state: str
    told: str
    remedy: str = ""
    fixable: bool = False  # True if `doctor --fix` can repair it
    details: tuple[str, ...] = ()  # additional lines to print
    mended: tuple[str, ...] = ()  # descriptions of the repairs made
    name: str = ""
    area: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as a dict for JSON; docs/commands.md documents the keys."""
        names = ("name", "state", "told", "remedy", "area")
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        fields |= {"fixable": self.fixable and self.state != OK}
        more = {"details": list(self.details), "mended": list(self.mended)}
        return fields | {name: lines for name, lines in more.items() if lines}


fine, warning, fault = (partial(Finding, state) for state in (OK, WARNING, FAULT))


def when(timestamp: str) -> str:
    """Format a UTC timestamp for people, for example `2026-01-15 10:00 UTC`."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC" if timestamp else "an unknown date"


def ago(at: str, now_s: float) -> str:
    """Format the age of an ISO time, like `40 s ago`; a damaged time is returned unchanged."""
    try:
        return f"{span(now_s - datetime.fromisoformat(at).timestamp())} ago"
    except ValueError:
        return at


def span(seconds: float) -> str:
    """Format a duration in its largest unit, such as 40 s, 12 min, 3 h or 5 days."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"

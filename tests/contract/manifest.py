"""The manifest of behaviours beside this file: what is kept, improved or diverges, and why."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

MANIFEST = Path(__file__).with_name("behaviours.toml")
STATUSES = ("kept", "improved", "diverges")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One behaviour: what holds, where it was read, its status, and the reason for a difference."""

    key: str
    what: str
    source: str
    status: str
    reason: str = ""

    @property
    def number(self) -> str:
        """The contract's number, e.g. MEM-01 for MEM-01b."""
        return self.key[:6]


def behaviours() -> dict[str, Behaviour]:
    """Every behaviour by its key, in the order of the manifest."""
    tables = tomllib.loads(MANIFEST.read_text("utf-8"))
    return {key: Behaviour(key, **fields) for key, fields in tables.items()}

"""The gate's part of the interface: what an arm must prove, and the check of its hooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AdmissionSignal:
    """The events that a session of an arm must show."""

    arm: str
    mcp_tool_prefixes: tuple[str, ...] = ()
    required_hooks: tuple[str, ...] = ()
    sandbox_paths: tuple[str, ...] = ()


def is_admitted(signal: AdmissionSignal, ledger: Sequence[dict[str, Any]]) -> bool:
    """True if the first run of each required hook ended with 0 and printed something."""
    first = {entry["event"]: entry for entry in reversed(ledger)}
    return all(
        hook in first and first[hook]["exit_code"] == 0 and first[hook]["output_sha256"]
        for hook in signal.required_hooks
    )

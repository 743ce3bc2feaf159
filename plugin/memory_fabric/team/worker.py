"""The detached process that exchanges operations; see team.trigger for its start."""

from __future__ import annotations


def main() -> int:
    """Exchange what waits."""
    return 0

"""A summary that the client made of a session: what it says, without how it got there."""

from __future__ import annotations

from memory_fabric.language.patterns import DOTALL, pattern

_NOT_SAID = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def said_in(summary: str) -> str:
    """The summary alone, without analysis and tags."""
    return pattern(_NOT_SAID, DOTALL).sub("", summary)

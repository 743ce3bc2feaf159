"""The client's summary of a session, without the analysis that led to it."""

from __future__ import annotations

from memory_fabric.language.patterns import DOTALL, pattern

_NOT_SAID = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def said_in(summary: str) -> str:
    """Return the summary alone, without analysis and tags."""
    return pattern(_NOT_SAID, DOTALL).sub("", summary)

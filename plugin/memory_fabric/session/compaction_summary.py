"""The client's summary of a session, without the analysis that led to it."""

from __future__ import annotations

from memory_fabric.patterns import DOTALL, pattern

_NOT_SUMMARY = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def summary_text(summary: str) -> str:
    """Return the summary alone, without analysis and tags."""
    return pattern(_NOT_SUMMARY, DOTALL).sub("", summary)

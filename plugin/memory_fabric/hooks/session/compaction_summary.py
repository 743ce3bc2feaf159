"""The client's summary of a session, without the analysis that led to it."""

from __future__ import annotations

import re

from memory_fabric.patterns import pattern

_NOT_SUMMARY = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def summary_text(summary: str) -> str:
    """Return the summary alone, without analysis and tags."""
    return pattern(_NOT_SUMMARY, re.DOTALL).sub("", summary)

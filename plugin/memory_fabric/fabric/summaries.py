"""A summary that the client made of a session: what it says, without how it got there."""

from __future__ import annotations

import re

_NOT_SAID = r"<analysis>.*?(?:</analysis>|\Z)|</?summary>"


def said_in(summary: str) -> str:
    """The summary alone, without analysis and tags."""
    return re.sub(_NOT_SAID, "", summary, flags=re.DOTALL)

"""Regular expressions, compiled on first use, because most texts need only a few of hundreds."""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(expression: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile and cache a regular expression; by default it ignores case."""
    return re.compile(expression, flags)


def exact(expression: str) -> re.Pattern[str]:
    """Compile and cache a case-sensitive regular expression."""
    return pattern(expression, 0)

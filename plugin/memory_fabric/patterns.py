"""Regular expressions compiled on first use, because most texts need only a few of hundreds."""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(expression: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return the compiled and cached expression, which ignores case by default."""
    return re.compile(expression, flags)


def exact(expression: str) -> re.Pattern[str]:
    """Return the compiled and cached expression, which is case-sensitive."""
    return pattern(expression, 0)

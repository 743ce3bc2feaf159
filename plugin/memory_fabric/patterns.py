"""Regular expressions of the program, compiled on first use: most texts need few of hundreds."""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(expression: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return the compiled expression, by default ignoring case."""
    return re.compile(expression, flags)


def exact(expression: str) -> re.Pattern[str]:
    """Return the compiled expression, which minds the case of letters."""
    return pattern(expression, 0)

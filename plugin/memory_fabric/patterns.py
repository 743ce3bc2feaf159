"""Regular expressions, compiled when first used: most texts need only a few of the hundreds."""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(expression: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return the compiled and cached regular expression; by default it ignores case."""
    return re.compile(expression, flags)


def exact(expression: str) -> re.Pattern[str]:
    """Return the compiled and cached regular expression; it is case-sensitive."""
    return pattern(expression, 0)

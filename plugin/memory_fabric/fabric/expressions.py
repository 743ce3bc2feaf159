"""Expressions of the language rules, compiled where they are first used: most texts need few."""

from __future__ import annotations

import re
from functools import cache


@cache
def pattern(expression: str) -> re.Pattern[str]:
    """The compiled expression; upper and lower case are not told apart."""
    return re.compile(expression, re.IGNORECASE)

"""Lines of standard input that the SDK can always read.

The SDK drops, without an answer, a request whose JSON escapes half of a surrogate pair (`\\ud83d`
alone). Such an escape becomes U+FFFD before the SDK sees the line (MEM-11).
"""

from __future__ import annotations

import re
from functools import cache

REPLACEMENT = "\\ufffd"


def whole_surrogates(line: str) -> str:
    """A JSON line with every lone surrogate escape replaced; pairs and all else stay."""
    if "\\ud" not in line and "\\uD" not in line:
        return line
    return _escapes().sub(_kept, line)


@cache
def _escapes() -> re.Pattern[str]:
    # In this order: an escaped backslash hides what follows it; then pairs; then what stands alone.
    high, low, two = "[dD][89aAbB]", "[dD][c-fC-F]", "[0-9a-fA-F]{2}"
    pair = rf"\\u{high}{two}\\u{low}{two}"
    return re.compile(rf"\\\\|{pair}|\\u[dD][89a-fA-F]{two}")


def _kept(found: re.Match[str]) -> str:
    return REPLACEMENT if len(found[0]) == len(REPLACEMENT) else found[0]

"""Hybrid logical clocks (Kulkarni et al., 2014): strings that sort operations of one user.

The time in milliseconds, a counter for operations of the same millisecond, and the machine. The
next reading is greater than every one seen before, even if the computer's clock was set back.
"""

TIME_DIGITS, COUNTER_DIGITS, ORIGIN_CHARS = 13, 4, 8
_MOST = (1 << 4 * COUNTER_DIGITS) - 1


def after(last: str, now_ms: int, origin: str) -> str:
    """Return the reading that follows `last`, which may be empty."""
    time_ms, counter = parts(last)
    if now_ms > time_ms:
        time_ms, counter = now_ms, 0
    elif counter < _MOST:
        counter += 1
    else:
        time_ms, counter = time_ms + 1, 0
    ending = origin[-ORIGIN_CHARS:].rjust(ORIGIN_CHARS, "0")
    return f"{time_ms:0{TIME_DIGITS}x}{counter:0{COUNTER_DIGITS}x}{ending}"


def parts(reading: str) -> tuple[int, int]:
    """Return the milliseconds and the counter of a reading; zeros if it is none."""
    if not is_reading(reading):
        return 0, 0
    end = TIME_DIGITS + COUNTER_DIGITS
    return int(reading[:TIME_DIGITS], 16), int(reading[TIME_DIGITS:end], 16)


def is_reading(text: object) -> bool:
    """True for a reading of a clock."""
    end = TIME_DIGITS + COUNTER_DIGITS
    if not isinstance(text, str) or len(text) != end + ORIGIN_CHARS:
        return False
    return not text[:end].strip("0123456789abcdef")

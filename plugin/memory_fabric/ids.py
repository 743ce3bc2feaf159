"""ids (UUIDv7, RFC 9562) and times (ISO 8601 in UTC); as text, both sort chronologically."""

from __future__ import annotations

import os
import time


def new_id(now_s: float | None = None) -> str:
    """Return a UUIDv7 as text. It begins with 48 bits of Unix milliseconds, so ids sort by time."""
    millis = int((time.time() if now_s is None else now_s) * 1000) & 0xFFFFFFFFFFFF
    noise = int.from_bytes(os.urandom(10), "big")
    value = millis << 80 | 0x7 << 76 | (noise >> 68) << 64 | 0b10 << 62 | noise & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def id_for(name: str) -> str:
    """Return an id (UUIDv8) derived from a name; the same name always gets the same id."""
    digits = name.replace("-", "").lower()
    if len(digits) != 32 or not set(digits) <= set("0123456789abcdef"):
        import hashlib  # imported late: loads OpenSSL, which few hooks need

        digits = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
    # Reverse the digits: if `name` is an id, the new id gets another short form (its last digits).
    text = digits[::-1]
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-9{text[17:20]}-{text[20:]}"


def checksum(text: str) -> int:
    """Return the CRC-32 of a text; it tells names apart, but does not protect against forgery."""
    from zlib import crc32  # imported late: few hooks need it; faster than hashlib

    return crc32(text.encode("utf-8", "replace"))


def short_id(identifier: str) -> str:
    """Return an id's short form for people, its last eight characters."""
    return identifier[-8:]


def timestamp(now_s: float | None = None) -> str:
    """Return a time in ISO 8601, UTC, with milliseconds, e.g. `2026-01-15T10:00:00.000Z`."""
    seconds, millis = divmod(int((time.time() if now_s is None else now_s) * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{millis:03d}Z"


def is_project_id(value: object) -> bool:
    """Return True if a value is a valid project id, and so can be used as a folder name."""
    return isinstance(value, str) and value.isascii() and value.replace("-", "").isalnum()

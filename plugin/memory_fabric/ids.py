"""Identifiers and times: UUIDv7 (RFC 9562) and ISO 8601 in UTC, both sortable as text."""

from __future__ import annotations

import os
import time


def new_id(now_s: float | None = None) -> str:
    """A UUIDv7 as text: 48 bits of Unix milliseconds, then random bits; sorts by time of making."""
    millis = int((time.time() if now_s is None else now_s) * 1000) & 0xFFFFFFFFFFFF
    noise = int.from_bytes(os.urandom(10), "big")
    value = millis << 80 | 0x7 << 76 | (noise >> 68) << 64 | 0b10 << 62 | noise & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def id_for(name: str) -> str:
    """An id (UUIDv8) that is always the same for a name: what is told of a session is told once."""
    digits = name.replace("-", "").lower()
    if len(digits) != 32 or not set(digits) <= set("0123456789abcdef"):
        from memory_fabric.digests import sha256  # the client's own ids need none

        digits = sha256(name.encode("utf-8", "replace"))[:32]
    # Backwards, so that nobody takes its short form for that of the session.
    text = digits[::-1]
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-9{text[17:20]}-{text[20:]}"


def checksum(text: str) -> int:
    """CRC-32 of the text: tells names apart, protects nothing."""
    from zlib import crc32  # hashlib costs a bare start, and hardly a hook needs even this

    return crc32(text.encode("utf-8", "replace"))


def short_id(identifier: str) -> str:
    """The last eight characters of an id: what people read and type."""
    return identifier[-8:]


def timestamp(now_s: float | None = None) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`, e.g. `2026-01-15T10:00:00.000Z`."""
    now_s = time.time() if now_s is None else now_s
    seconds, millis = divmod(int(now_s * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{millis:03d}Z"


def is_project_id(value: object) -> bool:
    """True for an id of a project: it becomes the name of a folder."""
    return isinstance(value, str) and value.isascii() and value.replace("-", "").isalnum()

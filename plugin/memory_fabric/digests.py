"""SHA-256 and HMAC by the interpreter's built-in module.

`hashlib` and `hmac` load OpenSSL, a quarter of a bare start; `hashlib` is the fallback.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BLOCK_BYTES = 64


def _sha256() -> Callable[[bytes], Any]:
    for name in ("_sha2", "_sha256"):  # of Python 3.12 and of 3.11
        try:
            found: Callable[[bytes], Any] = __import__(name).sha256
        except (ImportError, AttributeError):
            continue
        return found
    import hashlib  # an interpreter built without its own digests

    return hashlib.sha256


new = _sha256()


def sha256(message: bytes) -> str:
    """Return the SHA-256 of the message in hexadecimal digits."""
    digits: str = new(message).hexdigest()
    return digits


def signature(key: bytes, message: bytes) -> str:
    """Return the HMAC-SHA256 of the message (RFC 2104) in hexadecimal digits."""
    if len(key) > BLOCK_BYTES:
        key = new(key).digest()
    key = key.ljust(BLOCK_BYTES, b"\0")
    inner = new(bytes(byte ^ 0x36 for byte in key) + message).digest()
    digest: str = new(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()
    return digest

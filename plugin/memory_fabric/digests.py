"""SHA-256, HMAC and ids of git blobs by the interpreter's built-in module.

`hashlib` and `hmac` load OpenSSL, a quarter of a bare start; `hashlib` is the fallback.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BLOCK_BYTES = 64


def _built_in(name: str, *modules: str) -> Callable[[bytes], Any]:
    for module in modules:
        try:
            found: Callable[[bytes], Any] = getattr(__import__(module), name)
        except (ImportError, AttributeError):
            continue
        return found
    import hashlib  # an interpreter built without its own digests

    other: Callable[[bytes], Any] = getattr(hashlib, name)
    return other


new = _built_in("sha256", "_sha2", "_sha256")  # of Python 3.12 and of 3.11


def sha256(message: bytes) -> str:
    """Return the SHA-256 of the message in hexadecimal digits."""
    digits: str = new(message).hexdigest()
    return digits


def git_blob_id(content: bytes) -> str:
    """Return the id that git gives a file with this content (`git hash-object --no-filters`)."""
    digits: str = _built_in("sha1", "_sha1")(b"blob %d\0%b" % (len(content), content)).hexdigest()
    return digits


def signature(key: bytes, message: bytes) -> str:
    """Return the HMAC-SHA256 of the message (RFC 2104) in hexadecimal digits."""
    signing = Signing(key)
    signing.update(message)
    return signing.hexdigest()


class Signing:
    """The HMAC-SHA256 (RFC 2104) of a message that comes in parts."""

    def __init__(self, key: bytes) -> None:
        if len(key) > BLOCK_BYTES:
            key = new(key).digest()
        self._key = key.ljust(BLOCK_BYTES, b"\0")
        self._inner: Any = new(bytes(byte ^ 0x36 for byte in self._key))

    def update(self, part: bytes) -> None:
        """Add a part of the message."""
        self._inner.update(part)

    def hexdigest(self) -> str:
        """Return the signature of all parts in hexadecimal digits."""
        outer = bytes(byte ^ 0x5C for byte in self._key)
        digits: str = new(outer + self._inner.digest()).hexdigest()
        return digits

"""A key in home and signatures made with it, to recognise lines that this home wrote."""

from __future__ import annotations

import os

from memory_fabric import jsontext
from memory_fabric.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEY = "queue.key"
KEY_BYTES, MAX_BYTES = 32, 4096


def key_of(home: str) -> bytes:
    """Return the key of this home, created at its first use. Raises OSError, TimeoutError."""
    path = os.path.join(home, KEY)
    found = _read(path)
    if found:
        return found
    with files.Locked(path + ".lock", timeout_s=1.0):
        found = _read(path)
        if not found:
            found = os.urandom(KEY_BYTES)
            files.write_atomic(path, found)
    return found


def known_key(home: str) -> bytes:
    """Return the key of this home; empty if there is none yet or it cannot be read."""
    try:
        return _read(os.path.join(home, KEY))
    except OSError:
        return b""


def signature(line: Mapping[str, Any], key: bytes) -> str:
    """Return the signature of a line, which only a holder of the key can make."""
    from memory_fabric import digests  # only needed for a queue

    plain = {name: part for name, part in line.items() if name != "signature"}
    return digests.signature(key, jsontext.dumps(plain, sort_keys=True).encode())


class ListSignature:
    """The signature of `{NAME: [items]}`, as `signature` makes it, for a list that is not held."""

    def __init__(self, name: str, key: bytes) -> None:
        from memory_fabric import digests  # only needed for a page

        self._signing, self._before = digests.Signing(key), ""
        self._signing.update(f"{{{jsontext.dumps(name)}: [".encode())

    def add(self, item: Mapping[str, Any]) -> None:
        """Add the next item of the list."""
        self._signing.update((self._before + jsontext.dumps(item, sort_keys=True)).encode())
        self._before = ", "

    def close(self) -> str:
        """Return the signature; nothing can be added after it."""
        self._signing.update(b"]}")
        return self._signing.hexdigest()


def is_ours(line: Mapping[str, Any], key: bytes) -> bool:
    """True if the line has a signature made with this key."""
    from _operator import _compare_digest  # `hmac` uses the same function but loads OpenSSL

    stated = line.get("signature")
    return isinstance(stated, str) and _compare_digest(
        stated.encode("utf-8", "replace"), signature(line, key).encode()
    )


def _read(path: str) -> bytes:
    found = files.read_bytes(path, MAX_BYTES)
    return found if found and len(found) == KEY_BYTES else b""

"""The secret key of a home folder, and signatures that identify the lines written by this home."""

import json
import os
from collections.abc import Mapping
from typing import Any

from memory_fabric import deadline
from memory_fabric.store import files

KEY = "queue.key"
KEY_BYTES, MAX_BYTES = 32, 4096


def key_of(home: str) -> bytes:
    """Return this home's key; create it on first use. Raises OSError, TimeoutError."""
    path = os.path.join(home, KEY)
    if key := _read(path):
        return key
    # Ignore the event's time limit: this happens only once, and without the key no queue works.
    with deadline.running(deadline.Deadline()), files.Locked(path + ".lock", timeout_s=1.0):
        key = _read(path)
        if not key:
            key = os.urandom(KEY_BYTES)
            files.write_atomic(path, key)
    return key


def known_key(home: str) -> bytes:
    """Return this home's key; empty if it does not exist yet or the key file is unreadable."""
    try:
        return _read(os.path.join(home, KEY))
    except OSError:
        return b""


def signature(line: Mapping[str, Any], key: bytes) -> str:
    """Return the HMAC of a line, which nobody can compute without the key."""
    import hmac  # imported late: hmac loads OpenSSL, and few hooks need it

    plain = {name: part for name, part in line.items() if name != "signature"}
    return hmac.new(key, json.dumps(plain, sort_keys=True).encode(), "sha256").hexdigest()


class ListSignature:
    """Computes the `signature` of a line `{name: [items]}` item by item, without the whole list."""

    def __init__(self, name: str, key: bytes) -> None:
        import hmac  # imported late, as in `signature`

        self._signing = hmac.new(key, f"{{{json.dumps(name)}: [".encode(), "sha256")
        self._before = ""

    def add(self, item: Mapping[str, Any]) -> None:
        """Add the next item of the list to the signature."""
        self._signing.update((self._before + json.dumps(item, sort_keys=True)).encode())
        self._before = ", "

    def close(self) -> str:
        """Return the signature; afterwards, no more items can be added."""
        self._signing.update(b"]}")
        return self._signing.hexdigest()


def is_ours(line: Mapping[str, Any], key: bytes) -> bool:
    """Return True if the line has a signature made with this key."""
    import hmac  # imported late, as in `signature`

    stated = line.get("signature")
    return isinstance(stated, str) and hmac.compare_digest(
        stated.encode("utf-8", "replace"), signature(line, key).encode()
    )


def _read(path: str) -> bytes:
    key = files.read_bytes(path, MAX_BYTES)
    return key if key and len(key) == KEY_BYTES else b""

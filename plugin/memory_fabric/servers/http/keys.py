"""The API keys of the server: one for each run, single-use keys, and permanent keys. A permanent
key is shown only on creation; the server stores its name, its SHA-256 and its creation time.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from hmac import compare_digest, digest
from secrets import token_bytes, token_urlsafe
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.errors import BadInput, FabricError, NotFound, StoreReadOnly, StoreUnavailable
from memory_fabric.store import files

FILE = "serve-keys.json"
MAX_NAME_CHARS = 64
# The first characters of each key, by which people and secret scanners recognise a key.
PREFIX = "mf_"
KEY_BYTES = 32
# The maximum length of a team member's key; a longer text is refused without a look-up.
MAX_KEY_CHARS = 200
# Seconds between checks of the key file; a new or deleted key is noticed at the next check.
LOOK_EVERY_S = 1.0
# A request's `holder` is the digest of its key, NOBODY (no valid key) or START (this run's key).
NOBODY, START = "", "start"


class KeptKey(NamedTuple):
    """A permanent key: its name, its SHA-256 in hexadecimal (`digest`), and its creation time."""

    name: str
    digest: str
    created_at: str


def path_in(home: str) -> str:
    return os.path.join(home, FILE)


def digest_of(key: str) -> str:
    """Return the SHA-256 that is stored for a key; a long random key needs no slower hash."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def kept(home: str) -> tuple[KeptKey, ...]:
    """Return the permanent keys, oldest first. Raises StoreUnavailable if they cannot be read."""
    path = path_in(home)
    try:
        text = files.read_text(path)
    except OSError as error:
        raise StoreReadOnly(path, f"{path} cannot be read: {error.strerror}.") from error
    if text is None:
        return ()
    try:
        rows: Any = (files.parsed(text) or {})["keys"]
        keys = tuple(KeptKey(row["name"], row["sha256"], row["created_at"]) for row in rows)
        are_texts = all(isinstance(part, str) for key in keys for part in key)
        are_keys = are_texts and all(re.fullmatch("[0-9a-f]{64}", key.digest) for key in keys)
        if not (isinstance(rows, list) and are_keys):
            raise TypeError("no list of keys")
    except (KeyError, TypeError) as error:
        remedy = "Remove it and make the keys again."
        raise StoreUnavailable(path, f"{path} is damaged.", remedy=remedy) from error
    return keys


def make(home: str, name: str) -> str:
    """Create and return a permanent key; without a `name`, its name is `key-1` or similar. Raises
    BadInput if the name is invalid or in use, and StoreUnavailable.
    """
    key = PREFIX + token_urlsafe(KEY_BYTES)
    with _changed(home) as keys:
        taken = {other.name for other in keys}
        if len(name) > MAX_NAME_CHARS or not name.isprintable() or name != name.strip():
            message = f"{name[:MAX_NAME_CHARS]!r} is no name for a key."
            remedy = f"Use at most {MAX_NAME_CHARS} characters that can be printed."
            raise BadInput("--new-key", message, remedy=remedy)
        if name in taken:
            message = f"The key {name!r} exists already."
            raise BadInput("--new-key", message, remedy="Choose another name, or drop it first.")
        numbered = (f"key-{number}" for number in range(1, len(taken) + 2))
        name = name or next(free for free in numbered if free not in taken)
        keys.append(KeptKey(name, digest_of(key), ids.timestamp()))
    return key


def drop(home: str, name: str) -> None:
    """Delete the permanent key with this name. Raises NotFound and StoreUnavailable."""
    with _changed(home) as keys:
        remaining = [key for key in keys if key.name != name]
        if len(remaining) == len(keys):
            message = f"There is no key {name!r}."
            raise NotFound(name, message, remedy="memory-fabric serve --list-keys lists the keys.")
        keys[:] = remaining


@contextmanager
def _changed(home: str) -> Iterator[list[KeptKey]]:
    """Yield the list of permanent keys, which the caller may change; then write it to its file."""
    path = path_in(home)
    try:
        with files.Locked(files.lock_path(home, path)):
            keys = list(kept(home))
            yield keys
            rows = [{"name": k.name, "sha256": k.digest, "created_at": k.created_at} for k in keys]
            files.write_atomic(path, files.pretty_json({"keys": rows}))
    except (OSError, TimeoutError) as error:
        raise StoreUnavailable(path, f"{path} cannot be written: {error}.") from error


class Keys:
    """The keys that a server accepts: one made for this run, single-use keys, and the permanent
    keys in `home`. A browser is opened with a single-use key, because other users can read the URL
    in the list of processes. Ingest needs a key if `strict`, or once any permanent key has existed
    in this run: deleting the last key must not open ingest to everyone. Raises StoreUnavailable.
    """

    def __init__(
        self, home: str, *, strict: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lasting = token_urlsafe(KEY_BYTES)
        self._secret = token_bytes(KEY_BYTES)
        self._once: list[str] = []
        self._home, self._clock, self._strict = home, clock, strict
        self._stamp = files.stamp(path_in(self._home))
        self._learn(kept(home))
        self._looked_at = clock()

    def once(self) -> str:
        self._once.append(token_urlsafe(KEY_BYTES))
        return self._once[-1]

    @property
    def are_needed(self) -> bool:
        self._strict = self.has_kept or self._strict
        return self._strict

    @property
    def has_kept(self) -> bool:
        self._look()
        return bool(self._kept)

    def holder(self, key: str) -> str:
        """Check a key in constant time; return its digest, START (this run) or NOBODY (invalid)."""
        self._look()
        hashed = digest_of(key)
        holders = [known.digest for known in self._kept if compare_digest(known.digest, hashed)]
        return START if _same(key, self.lasting) else next(iter(holders), NOBODY)

    def cookie_for(self, key: str) -> str:
        """Return the cookie for a key; '' if it is invalid. A single-use key becomes invalid."""
        used = [unused for unused in self._once if _same(key, unused)]
        self._once = [unused for unused in self._once if unused not in used]
        return self._cookies.get(START if used else self.holder(key), "")

    def holder_by_cookie(self, cookie: str) -> str:
        self._look()
        holders = [holder for holder, own in self._cookies.items() if _same(cookie, own)]
        return next(iter(holders), NOBODY)

    def is_good(self, holder: str) -> bool:
        self._look()
        return holder == NOBODY or holder in self._cookies

    def _learn(self, keys: tuple[KeptKey, ...]) -> None:
        self._kept = keys
        holders = (START, *(key.digest for key in keys))
        self._cookies = {h: digest(self._secret, h.encode(), "sha256").hex() for h in holders}

    def _look(self) -> None:
        """Reload the permanent keys if their file has changed; ignore an unreadable file."""
        now = self._clock()
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        stamp = files.stamp(path_in(self._home))
        if stamp == self._stamp:
            return
        try:
            keys = kept(self._home)
        except FabricError as error:
            print(f"memory-fabric: {error}", file=sys.stderr)  # noqa: T201
        else:
            self._strict = self._strict or bool(self._kept)
            self._learn(keys)
        self._stamp = stamp


class MemberKeys:
    """The keys of a team's members. The server only hashes a key; the database checks the hash."""

    are_needed = True

    def holder(self, key: str) -> str:
        """Return the SHA-256 of a key or cookie, unchecked; NOBODY if it is empty or too long."""
        return digest_of(key) if 0 < len(key) <= MAX_KEY_CHARS else NOBODY

    holder_by_cookie = holder

    def cookie_for(self, key: str) -> str:
        return cookie_of(key) if self.holder(key) else ""

    def is_good(self, holder: str) -> bool:
        """Return True: a response ends so soon that its key need not be checked again meanwhile."""
        return True


def cookie_of(key: str) -> str:
    """Return the browser's cookie for a key. Any server process can compute it from the key."""
    return sha256(b"memory-fabric cookie\n" + key.encode("utf-8", "replace")).hexdigest()


def _same(key: str, known: str) -> bool:
    return compare_digest(key.encode(), known.encode())

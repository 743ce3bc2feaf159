"""The kept keys of `memory-fabric serve`: of each its name, its SHA-256 and when it was made.

The keys themselves are shown once and kept nowhere.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.errors import BadInput, FabricError, NotFound, StoreReadOnly, StoreUnavailable
from memory_fabric.store import files

FILE = "serve-keys.json"
KEY_BYTES = 32
DIGEST_CHARS, HEXADECIMAL = 64, frozenset("0123456789abcdef")
MAX_NAME_CHARS = 64
# The prefix of a key, so that people and secret scanners recognise it.
PREFIX = "mf_"


class KeptKey(NamedTuple):
    """A key by its name; `digest` is the SHA-256 of the key in hexadecimal."""

    name: str
    digest: str
    created_at: str


def path_in(home: str) -> str:
    """Return the path of the file of keys."""
    return os.path.join(home, FILE)


def stamp(home: str) -> tuple[int, int, int] | None:
    """Return a value that differs after every change of the file; None without a file."""
    try:
        found = os.stat(path_in(home))
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def digest_of(key: str) -> str:
    """Return the stored hash of a key, which is long and random, so a plain hash is safe."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()


def kept(home: str) -> tuple[KeptKey, ...]:
    """Return all permanent keys, the oldest first.

    Raises StoreUnavailable if the file cannot be read: without keys, ingest would be open to all.
    """
    path = path_in(home)
    try:
        text = files.read_text(path)
    except OSError as error:
        raise StoreReadOnly(path, f"{path} cannot be read: {error.strerror}.") from error
    if text is None:
        return ()
    try:
        return tuple(_keys_in(files.parsed(text)))
    except (KeyError, TypeError) as error:
        raise StoreUnavailable(
            path, f"{path} is damaged.", remedy="Remove it and make the keys again."
        ) from error


def make(home: str, name: str) -> str:
    """A new key, kept under this name or, where that is empty, `key-1`, `key-2` …

    Raises BadInput for a name that is taken or no name, StoreUnavailable.
    """
    from secrets import token_urlsafe  # too slow to load for hooks, which make no keys

    key = PREFIX + token_urlsafe(KEY_BYTES)
    with _lock(home):
        keys = kept(home)
        taken = {one.name for one in keys}
        name = _checked(name, taken) if name else _free(taken)
        _write(home, (*keys, KeptKey(name, digest_of(key), ids.timestamp())))
    return key


def drop(home: str, name: str) -> None:
    """Delete a key. Raises NotFound, StoreUnavailable."""
    with _lock(home):
        keys = kept(home)
        left = tuple(one for one in keys if one.name != name)
        if len(left) == len(keys):
            raise NotFound(
                name,
                f"There is no key {name!r}.",
                remedy="memory-fabric serve --list-keys lists the keys.",
            )
        _write(home, left)


def _checked(name: str, taken: set[str]) -> str:
    if len(name) > MAX_NAME_CHARS or not name.isprintable() or name != name.strip():
        raise BadInput(
            "--new-key",
            f"{name[:MAX_NAME_CHARS]!r} is no name for a key.",
            remedy=f"Use at most {MAX_NAME_CHARS} characters that can be printed.",
        )
    if name in taken:
        raise BadInput(
            "--new-key",
            f"The key {name!r} exists already.",
            remedy="Choose another name, or drop it first.",
        )
    return name


def _free(taken: set[str]) -> str:
    return next(name for n in range(1, len(taken) + 2) if (name := f"key-{n}") not in taken)


def _keys_in(value: dict[str, Any] | None) -> Iterator[KeptKey]:
    if value is None or not isinstance(value["keys"], list):
        raise TypeError("no list of keys")
    for one in value["keys"]:
        found = KeptKey(one["name"], one["sha256"], one["created_at"])
        if not all(isinstance(part, str) for part in found) or not _is_digest(found.digest):
            raise TypeError("no key")
        yield found


def _is_digest(text: str) -> bool:
    return len(text) == DIGEST_CHARS and not set(text) - HEXADECIMAL


@contextmanager
def _lock(home: str) -> Iterator[None]:
    path = path_in(home)
    lock = files.Locked(files.lock_path(home, path))
    try:
        lock.__enter__()
    except (OSError, TimeoutError) as error:
        raise _refused(path, error) from error
    try:
        yield
    finally:
        lock.__exit__()


def _write(home: str, keys: tuple[KeptKey, ...]) -> None:
    path = path_in(home)
    listed = [
        {"name": one.name, "sha256": one.digest, "created_at": one.created_at} for one in keys
    ]
    try:
        files.write_atomic(path, files.pretty_json({"keys": listed}))
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: str, error: Exception) -> FabricError:
    return StoreUnavailable(path, f"{path} cannot be written: {error}.")

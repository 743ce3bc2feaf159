"""The bytes of a mirrored file: its signature, its content, and lines appended to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memory_fabric.store import files
from memory_fabric.store.graph_file import exchange

if TYPE_CHECKING:
    from memory_fabric.store.graph_file.sync_state import Signature

# The signature of no file: forces reading it.
UNSEEN = (-1, -1, -1)


def signature(path: str) -> Signature:
    """Return size, time and inode of the file. Raises OSError if it is not a regular file."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError("it is not a file")
    return _of(found)


def read(path: str) -> bytes:
    """Return the whole content; empty if the file is missing. Raises OSError."""
    try:
        with files.open_regular(path) as stream:
            return stream.read()
    except FileNotFoundError:
        return b""


def append(path: str, expected: Signature, lines: Iterable[bytes]) -> Signature:
    """Append lines to a file that still has the expected signature, durable on return.

    Returns the new signature; UNSEEN if others have changed the file meanwhile; None if they had
    before, and then nothing is appended. Raises OSError, after removing what was appended.
    """
    data = exchange.content_of(lines)
    return append_bytes(path, expected, data) if data else expected


def append_bytes(path: str, expected: Signature, data: bytes) -> Signature:
    """Append bytes as `append` does lines; a last line without an end is ended first."""
    handle = files.open_to_extend(path)
    try:
        before = os.fstat(handle)
        if _of(before) != expected:
            return None
        size = before.st_size
        if data[:1] == b"{" and files.is_torn(handle):
            data = b"\n" + data
        try:
            files.write_all(handle, data)
            os.fsync(handle)
        except OSError:
            if size < os.fstat(handle).st_size <= size + len(data):
                os.ftruncate(handle, size)
            raise
        written = os.fstat(handle)
    finally:
        os.close(handle)
    is_ours = written.st_size == size + len(data) and signature(path) == _of(written)
    return _of(written) if is_ours else UNSEEN


def missing(content: bytes, size: int, lines: Iterable[bytes]) -> bytes:
    """Return what is missing of lines that were to be appended to the first `size` bytes of a
    content; empty if that is not what is behind them, or all of it is.
    """
    whole = exchange.content_of(lines)
    if size and content[size - 1 : size] != b"\n":
        whole = b"\n" + whole
    begun = content[size:]
    return whole[len(begun) :] if whole.startswith(begun) else b""


def reason_of(error: OSError) -> str:
    """Return the error's reason without its path, which may be that of a temporary file."""
    return error.strerror or str(error)


def _of(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ino

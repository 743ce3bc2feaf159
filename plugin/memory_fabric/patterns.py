"""Regular expressions of the program, compiled ahead or on first use: most texts need few.

Compiling takes as long as two bare starts of a hook, and importing `re` another half. So compiled
patterns are saved next to this module's own `.pyc`, under the same name, and loaded into the
interpreter's matcher. Only expressions of the program are compiled here, never a text of the user.

A template of `sub` with a backslash in it would import `re`: functions are given to it instead.
"""

from __future__ import annotations

import os
import sys

from memory_fabric.cache import Memo

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

    Key = tuple[str, int]

IGNORECASE, MULTILINE, DOTALL = 2, 8, 16  # as in `re`, without importing it
# More than the program has, so that patterns of older releases are dropped in the end.
MAX_KEPT, MAX_KEPT_BYTES = 4_000, 16 << 20
WORD_BYTES = 4
# What `re.escape` escapes.
_ESCAPED = {ord(c): f"\\{c}" for c in "()[]{}?*+-|^$\\.&~# \t\n\r\v\f"}


def pattern(expression: str, flags: int = IGNORECASE) -> re.Pattern[str]:
    """Return the compiled expression, by default ignoring case."""
    compiled: re.Pattern[str] = _COMPILED[expression, flags]
    return compiled


def exact(expression: str) -> re.Pattern[str]:
    """Return the compiled expression, which minds the case of letters."""
    compiled: re.Pattern[str] = _COMPILED[expression, 0]
    return compiled


def escaped(text: str) -> str:
    """Return the expression that matches the text itself."""
    return text.translate(_ESCAPED)


def keep() -> None:
    """Save the newly compiled patterns for later processes, if possible."""
    if not _new or not _FILE or sys.dont_write_bytecode:
        return
    kept = {**_kept(), **_new}
    _new.clear()
    if len(kept) > MAX_KEPT:
        return
    from marshal import dumps

    try:
        write(_FILE, dumps((_made_by(), kept)))
    except OSError:
        return  # as with a `.pyc`: the next process compiles them again


def _made(key: Key) -> re.Pattern[str]:
    if _KEPT is None:
        _take()
    saved = (_KEPT or {}).get(key)
    if saved is None:
        return _compiled(key)
    from marshal import loads

    try:
        return _pattern_of(key[0], loads(saved))
    # a damaged file: `keep` saves it anew
    except (EOFError, TypeError, ValueError, RuntimeError, OverflowError):
        return _compiled(key)


def _compiled(key: Key) -> re.Pattern[str]:
    import re  # late: only for an expression that was not saved
    from marshal import dumps

    expression, flags = key
    try:
        inside = vars(re)  # not among the names that type checkers know
        parsed = inside["_parser"].parse(expression, flags)
        code = inside["_compiler"]._code(parsed, flags)
        state = parsed.state
        names = {place: name for name, place in state.groupdict.items()}
        words = b"".join(word.to_bytes(WORD_BYTES, sys.byteorder) for word in code)
        groups = tuple(names.get(place) for place in range(state.groups))
        parts = (int(flags | state.flags), words, state.groups - 1, dict(state.groupdict), groups)
        found = _pattern_of(expression, parts)
    # an interpreter with different internals
    except (AttributeError, KeyError, TypeError, OverflowError):
        return re.compile(expression, flags)
    _new[key] = dumps(parts)
    return found


def _pattern_of(expression: str, parts: Any) -> re.Pattern[str]:
    import _sre  # type: ignore[import-not-found]

    flags, words, count, places, groups = parts
    code = list(memoryview(words).cast("I"))
    found: re.Pattern[str] = _sre.compile(expression, flags, code, count, places, groups)
    return found


def _take() -> None:
    global _KEPT
    _KEPT = _kept()


def _kept() -> Mapping[Key, bytes]:
    """Return the patterns that earlier processes of the same interpreter saved.

    The parts of each are marshalled by themselves: a hook needs few of them.
    """
    from marshal import loads

    try:
        made_by, kept = loads(_content(_FILE))
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return kept if made_by == _made_by() and isinstance(kept, dict) else {}


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MAX_KEPT_BYTES)


def write(path: str, data: bytes) -> None:
    """Write a compiled file, for its owner only, whole or not at all. Raises OSError."""
    beside = f"{path}.{os.getpid()}"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError:
        os.unlink(beside)
        raise


def _made_by() -> tuple[str, int]:
    """Return the identity of the interpreter: only the same one can load its compiled patterns."""
    import _sre

    return sys.version, _sre.MAGIC


# Next to the `.pyc`, so that it needs the same access rights; "" without a folder.
_FILE = ((__spec__ and __spec__.cached) or "").removesuffix(".pyc")
_FILE = _FILE and f"{_FILE}.marshal"
_COMPILED = Memo(_made, 4096)
_KEPT: Mapping[Key, bytes] | None = None
_new: dict[Key, bytes] = {}

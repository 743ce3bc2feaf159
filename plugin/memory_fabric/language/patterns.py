"""Expressions of the language rules, compiled where they are first used: most texts need few.

Compiling takes a hook two bare starts, and the package `re` another half. So what was compiled is
kept beside this module's own `.pyc`, under the same name, and the interpreter's matcher takes it
from there. Only expressions written in the program are asked for here, never a text of the user.
"""

from __future__ import annotations

import sys

from memory_fabric.cache import Memo

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

    Key = tuple[str, int]

IGNORECASE, DOTALL = 2, 16  # as in `re`, without the package
# More than the program has: what an older release left is not kept forever.
MAX_KEPT, MAX_KEPT_BYTES = 500, 4 << 20
WORD_BYTES = 4


def pattern(expression: str, flags: int = IGNORECASE) -> re.Pattern[str]:
    """The compiled expression; unless told otherwise, it does not tell upper from lower case."""
    compiled: re.Pattern[str] = _COMPILED[expression, flags]
    return compiled


def keep() -> None:
    """Keep what this process had to compile for the next ones; where it cannot, do nothing."""
    if not _new or not _FILE or sys.dont_write_bytecode:
        return
    from memory_fabric.store import files  # only the first hooks have something to keep

    kept = {**_kept(), **_new}
    _new.clear()
    if len(kept) > MAX_KEPT:
        return
    from marshal import dumps

    try:
        files.write_atomic(_FILE, dumps((_made_by(), kept)))
    except OSError:
        return  # as with a `.pyc`: the next process compiles them again


def _made(key: Key) -> re.Pattern[str]:
    if _KEPT is None:
        _take()
    parts = (_KEPT or {}).get(key)
    return _compiled(key) if parts is None else _pattern_of(key[0], parts)


def _compiled(key: Key) -> re.Pattern[str]:
    import re  # only for an expression that no process has kept

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
    except (
        AttributeError,
        KeyError,
        TypeError,
        OverflowError,
    ):  # an interpreter that is made otherwise
        return re.compile(expression, flags)
    _new[key] = parts
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


def _kept() -> Mapping[Key, Any]:
    """What earlier processes of this very interpreter kept."""
    from marshal import loads

    from memory_fabric.store import files  # every hook has loaded it

    try:
        made_by, kept = loads((_FILE and files.read_bytes(_FILE, MAX_KEPT_BYTES)) or b"")
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return kept if made_by == _made_by() and isinstance(kept, dict) else {}


def _made_by() -> tuple[str, int]:
    """Codes are understood by the interpreter that made them, and by no other."""
    import _sre

    return sys.version, _sre.MAGIC


# Beside the `.pyc`, so that who could change the one could change the other; "" without a place.
_FILE = ((__spec__ and __spec__.cached) or "").removesuffix(".pyc")
_FILE = _FILE and f"{_FILE}.marshal"
_COMPILED = Memo(_made, 4096)
_KEPT: Mapping[Key, Any] | None = None
_new: dict[Key, Any] = {}

"""SQLite's driver as `sqlite3`, without modules that it imports but does not need.

`sqlite3` imports `datetime` for its default converters, and `_sqlite3` imports `functools`, hence
`collections` and more, only for its statement cache, which is written in C. Together they cost a
third of a bare start in every hook. The classes are the same.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    import sys

    try:
        if "functools" in sys.modules:
            import _sqlite3 as sqlite3
        else:
            from _functools import _lru_cache_wrapper

            stand_in = type(sys)("functools")
            stand_in.lru_cache = lambda most: (
                lambda run: _lru_cache_wrapper(run, most, False, tuple)
            )
            sys.modules["functools"] = stand_in
            try:
                import _sqlite3 as sqlite3
            finally:
                del sys.modules["functools"]
    # another Python than CPython, or one without SQLite, which raises its own error
    except ImportError:
        import sqlite3

__all__ = ["as_address", "sqlite3"]


def as_address(path: str, separator: str = os.sep) -> str:
    """Escape the path for a `file:` URI of SQLite; `separator` is `os.sep`."""
    if separator == "\\":  # SQLite wants /C:/Users
        path = "/" + path.replace("\\", "/").lstrip("/")
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")

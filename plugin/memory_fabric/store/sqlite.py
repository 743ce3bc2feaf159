"""SQLite's driver as the one name `sqlite3`, without what it and its package load for nothing.

`sqlite3` imports `datetime` for its default converters; `_sqlite3` asks `functools` for the cache
of its statements, which is compiled itself, and `functools` brings `collections` and more. Together
they cost a third of a bare start, in every hook. The classes are the same ones.
"""

from __future__ import annotations

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
    except ImportError:  # another Python than CPython, or one built without SQLite: says so itself
        import sqlite3

__all__ = ["sqlite3"]

"""SQLite's driver as the one name `sqlite3`, without what the package of that name adds for dates.

`sqlite3` imports `datetime` for its default converters, which nothing here uses: a tenth of a bare
start, in every hook. The classes are the same ones.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:  # another Python than CPython, or one built without SQLite: says so itself
        import sqlite3

__all__ = ["sqlite3"]

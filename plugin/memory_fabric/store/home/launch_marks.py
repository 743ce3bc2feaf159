"""Marker files by which `hooks/launch` decides, without Python, that a tool call needs no hook.

The file `has-<kind>` next to a database exists while the database has records of this kind (KINDS).
There is one exception: if no rule with a `When:` condition applies to any tool call, `has-rules` is
removed. The file `unbound-rules` then stores a checksum of these rules, valid until a rule changes.

In the home folder, the file `launch/places/<folder>/@project` names the project of a folder in
which a session was launched. If it exists, and neither the project nor the user has a `has-<kind>`
file, the launcher exits at once. If it is missing, the launcher starts Python, and the hook writes
it. A missing `has-<kind>` file is created by the next change of the database, at the latest at a
session's start.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping

from memory_fabric import __version__
from memory_fabric.models import RULE_TYPES
from memory_fabric.store import files
from memory_fabric.store.schema import ACTIVE_CURRENT

RULES, FIXES = "rules", "fixes"
STATES = 2**61 - 1
# The SQL condition for records of each kind, with a partial index (store/schema.sql).
# `main.records` is the table itself; a temporary view `records` may hide rows of isolated domains.
KINDS: Mapping[str, str] = {
    RULES: (
        f"instr(body, '\"when\"') > 0 AND type IN ({', '.join(map(repr, RULE_TYPES))}) "
        f"AND {ACTIVE_CURRENT}"
    ),
    FIXES: f"type = 'solution' AND {ACTIVE_CURRENT}",
}
_HELD = ", ".join(f"EXISTS (SELECT 1 FROM main.records WHERE {where})" for where in KINDS.values())
# The content of `@project` for a folder where memory may not be read: tool calls need no hook.
NO_PROJECT = "-"
LAUNCH, PLACES, PLACE = "launch", "places", "@project"


def mark_path(database_path: str, kind: str) -> str:
    """Return the path of the file that exists while the database has records of this kind."""
    return os.path.join(os.path.dirname(database_path), f"has-{kind}")


def update(connection: sqlite3.Connection, database_path: str) -> None:
    """Create or remove marker files to match the database, just before the caller's commit. The
    database's write lock lets only one process do this at a time. Errors are ignored: a needless
    file only makes the launcher start Python, and the next transaction creates a missing file.
    """
    try:
        held = connection.execute(f"SELECT {_HELD}").fetchone()
        for kind, is_held in zip(KINDS, held, strict=True):
            path = mark_path(database_path, kind)
            if bool(is_held) == os.path.exists(path):
                continue
            if not is_held:
                _remove(path)
            elif kind != RULES or not _is_noted_unbound(connection, database_path):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except (sqlite3.Error, OSError):
        return  # the change itself must succeed even without a marker file


def note_unbound(connection: sqlite3.Connection, database_path: str, state: str) -> None:
    """Record that no rule with `When:` applies to any tool call, and remove the file `has-rules`.
    `state` is the checksum (`state_of_rules`) from before the rules were read; if it has changed,
    do nothing. Call this within a transaction, so that no other process changes a rule meanwhile.
    """
    try:
        if not state or state_of_rules(connection) != state:
            return
        files.write_atomic(_unbound_path(database_path), state.encode())
        _remove(mark_path(database_path, RULES))
    except (sqlite3.Error, OSError):
        return


def _is_noted_unbound(connection: sqlite3.Connection, database_path: str) -> bool:
    try:
        return files.read_text(_unbound_path(database_path)) == (state_of_rules(connection) or "-")
    except OSError:
        return False


def state_of_rules(connection: sqlite3.Connection) -> str:
    """Return a checksum of the rules' `When:` texts, to notice changes; '' if unreadable."""
    texts = "SELECT seq, json_extract(body, '$.evidence.when') FROM main.records"
    try:
        rows = connection.execute(f"{texts} WHERE {KINDS[RULES]} ORDER BY seq").fetchall()
    except sqlite3.Error:
        return ""
    state = 0
    for char in str(rows):  # importing zlib for its crc32 would be slower
        state = (state * 31 + ord(char)) % STATES
    return f"{__version__} {state:x}"  # another release may interpret the rules differently


def _unbound_path(database_path: str) -> str:
    return os.path.join(os.path.dirname(database_path), "unbound-rules")


def note_place(home: str, folder: str, project_id: str) -> None:
    """Save the project of a launch folder in a file for the launcher, if `is_plain(folder)`."""
    path, line = place_path(home, folder), f"{project_id}\n"
    try:
        if is_plain(folder) and os.path.isdir(home) and files.read_text(path) != line:
            files.write_atomic(path, line.encode())
    except (OSError, ValueError):
        return  # the launcher then starts Python for every call


def place_path(home: str, folder: str) -> str:
    """Return the path of the file that stores the project of a launch folder."""
    drive, path = os.path.splitdrive(folder)
    below = f"/{drive[0]}{path}" if drive else path
    return f"{os.path.join(home, LAUNCH, PLACES)}{below.replace(os.sep, '/').rstrip('/')}/{PLACE}"


def is_plain(folder: str) -> bool:
    """Return True for an absolute path on this machine, without `.`, `..` and empty parts."""
    drive, path = os.path.splitdrive(folder)
    if len(drive) > 2 or not path.startswith(os.sep):
        return False
    return os.path.normpath(path) == (path.rstrip(os.sep) or os.sep)


def forget_places(home: str) -> None:
    """Remove the stored projects of all launch folders. Later hooks store them again."""
    for folder, _, names in os.walk(os.path.join(home, LAUNCH), topdown=False):
        for name in names:
            _remove(os.path.join(folder, name))
        _remove(folder, os.rmdir)


def _remove(path: str, remove: Callable[[str], None] = os.unlink) -> None:
    try:
        remove(path)
    except OSError:
        return


def forget_unbound(database_path: str) -> None:
    """Remove the file `unbound-rules`; the next hook that reads the rules writes it again."""
    _remove(_unbound_path(database_path))
